package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// streamTime is how long a stream of the embedded target lasts.
const streamTime = 2 * time.Second

// Network is where an embedded target listens. Tests give it one of their own.
type Network interface {
	// Listen serves h and returns its URL.
	Listen(h http.Handler) (url string, stop func() error, err error)
	// Dial connects to an address of this network.
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// Embedded is the target that a scenario asks for, with a proxy in front of it if the scenario compares with
// an origin or its fault is one of a proxy.
type Embedded struct {
	target        *Target
	where, origin string
	stops         []func() error
}

// Embed starts the target of a scenario for builtin. redis is as for OpenStore. network is nil for TCP on
// loopback.
func Embed(s *scenario.Scenario, seed uint64, redis string, network Network) (*Embedded, error) {
	if network == nil {
		network = loopback{}
	}
	e := &Embedded{}
	if err := e.start(s, seed, redis, network); err != nil {
		_ = e.Close() // what was started listens no more; the first error says why
		return nil, err
	}
	return e, nil
}

func (e *Embedded) start(s *scenario.Scenario, seed uint64, redis string, network Network) (err error) {
	opts := Options{Limit: s.Limit, RetryAfter: s.Target.RetryAfter, Seed: seed, Rules: rulesOf(s),
		OnStoreError: OnStoreError(s.Target.OnStoreError), ClientHeader: s.Target.ClientAddress}
	dress(&opts, s)
	if s.Cost.ByAnswers() {
		opts.Tokens, opts.Dialect = streamTime, []Dialect{OpenAI, RetryAfterField}
	}
	inProxy := ""
	opts.Fault = s.Target.Fault
	if _, err := FindFault(opts.Fault, true); err == nil {
		opts.Fault, inProxy = "", s.Target.Fault
	}
	if opts.Store, err = OpenStore(redis); err != nil {
		return err
	}
	if e.target, err = New(opts); err != nil {
		return err
	}
	e.stops = append(e.stops, e.target.Close)
	h := keyed(s.Partition, priced(s.Cost.Each, e.target))
	if s.Target.Protocol == scenario.H2 {
		h = GRPC(h, GRPCExhausted) // for scenarios of gRPC
	}
	if e.where, err = e.listen(network, h); err != nil {
		return err
	}
	if slices.ContainsFunc(s.Phases, func(p scenario.Phase) bool {
		return len(p.Spelling) > 0 || p.Vary != ""
	}) {
		e.where += scenario.BuiltinPath
	}
	if s.Target.Origin == "" && inProxy == "" {
		return nil
	}
	if s.Target.Origin != "" {
		e.origin = e.where
	}
	return e.front(inProxy, network)
}

// front starts a proxy in front of the target.
func (e *Embedded) front(fault string, network Network) error {
	up, err := url.Parse(e.where)
	if err != nil {
		return err
	}
	way := &http.Transport{DialContext: network.Dial, DisableCompression: true, MaxIdleConnsPerHost: 512}
	e.stops = append(e.stops, func() error { way.CloseIdleConnections(); return nil })
	p, err := NewProxy(fault, ProxyOptions{Upstream: up, Transport: way})
	if err != nil {
		return err
	}
	e.where, err = e.listen(network, p)
	return err
}

func (e *Embedded) listen(network Network, h http.Handler) (string, error) {
	where, stop, err := network.Listen(h)
	if err == nil {
		e.stops = append(e.stops, stop)
	}
	return where, err
}

// URLs returns where requests go, and the server behind the proxy; origin is empty without one.
func (e *Embedded) URLs() (target, origin string) { return e.where, e.origin }

// Denials returns how many requests the target has denied.
func (e *Embedded) Denials() int64 { return e.target.Denials() }

// Do performs the action of an event.
func (e *Embedded) Do(event timeline.Event) error { return e.target.Do(event.Action, event.Limit) }

// Close stops what was started, the last one first. It returns the first error.
func (e *Embedded) Close() error {
	var first error
	for _, stop := range slices.Backward(e.stops) {
		if err := stop(); first == nil {
			first = err
		}
	}
	return first
}

// dress tells the target how to find the client of a request and how to answer.
func dress(opts *Options, s *scenario.Scenario) {
	switch s.Partition.Kind {
	case scenario.ByHeader:
		opts.PartitionHeader = s.Partition.Name
	case scenario.ByAddress, scenario.ByNone:
		opts.PartitionHeader = "X-No-Client" // whatever ids a client invents, it has an address
	}
	if len(s.Allowed) > 0 && !slices.Contains(s.Allowed, http.StatusOK) {
		opts.AllowStatus = s.Allowed[0]
	}
	for i := range s.Phases {
		switch p := &s.Phases[i]; {
		case p.Mint == scenario.MintTokens:
			opts.Owned = true
		case p.Mint != "" && p.OwnLimit && p.Counted():
			opts.Caps = append(opts.Caps, Cap{Path: p.Path, Limit: p.Limit,
				ByAddress: p.Mint == scenario.MintAccounts})
		}
	}
}

// rulesOf returns the rules that the target needs for phases with a limit of their own, or with none. A rule
// recognises the requests of its phase by path, method and header fields.
func rulesOf(s *scenario.Scenario) []Rule {
	var out []Rule
	seen := map[string]bool{}
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Quiet() || p.Mint != "" || !p.OwnLimit || p.Path == "" && p.Method == "" && len(p.Header) == 0 {
			continue
		}
		key := fmt.Sprintf("%q %q %q", p.Path, p.Method, p.Header)
		if seen[key] {
			continue
		}
		seen[key] = true
		u := Rule{Path: p.Path, Method: p.Method, Header: p.Header, Barred: p.Barred}
		if p.Counted() {
			u.Limit = p.Limit
		}
		out = append(out, u)
	}
	return out
}

// loopback is the real network.
type loopback struct{}

func (loopback) Listen(h http.Handler) (string, func() error, error) {
	s, err := Listen(h, "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("embedded target: %w", err)
	}
	return s.URL(), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return s.Close(ctx)
	}, nil
}

func (loopback) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// keyed wraps the embedded target so that it counts by the partition of the scenario. The target itself knows
// only a header field and the address. keyed copies a path, query parameter, cookie or body field into that
// header field.
func keyed(p scenario.Partition, h http.Handler) http.Handler {
	var key func(r *http.Request) string
	switch p.Kind {
	case scenario.ByPath:
		key = func(r *http.Request) string { return r.URL.Path }
	case scenario.ByQuery:
		key = func(r *http.Request) string { return r.URL.Query().Get(p.Name) }
	case scenario.ByCookie:
		key = func(r *http.Request) string {
			c, err := r.Cookie(p.Name)
			if err != nil {
				return ""
			}
			return c.Value
		}
	case scenario.ByBody:
		key = func(r *http.Request) string { return bodyField(r, p.Name) }
	default:
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Api-Key", key(r))
		h.ServeHTTP(w, r)
	})
}

// priced wraps a target so that each request costs several units, unless it states a cost.
func priced(each int, h http.Handler) http.Handler {
	if each < 2 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Cost") == "" {
			r.Header.Set("X-Cost", strconv.Itoa(each))
		}
		h.ServeHTTP(w, r)
	})
}

// mostBody is how many bytes of a body are read.
const mostBody = 64 << 10

// bodyField returns a field of the request body, which is a JSON object or a form. It is empty if there is no
// such field.
func bodyField(r *http.Request, name string) string {
	text, err := io.ReadAll(io.LimitReader(r.Body, mostBody))
	if err != nil {
		return ""
	}
	object := map[string]any{}
	if json.Unmarshal(text, &object) == nil {
		v, _ := object[name].(string)
		return v
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return ""
	}
	return form.Get(name)
}
