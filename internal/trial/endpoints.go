package trial

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/httpd"
	"github.com/rlcheck/rlcheck/internal/redact"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/target"
	"github.com/rlcheck/rlcheck/internal/target/proxy"
	"github.com/rlcheck/rlcheck/internal/target/redisstore"
	"github.com/rlcheck/rlcheck/internal/target/state"
)

// The error of a target's wall clock against ours: none but of rounding for the embedded target, half a
// second for others, or what their Dates show.
const (
	sameClock  = time.Millisecond
	otherClock = 500 * time.Millisecond
)

// otherDrift is by how many millionths the clock of another machine may run faster or slower than ours: a
// hundred for each of two crystals that nobody corrects.
const otherDrift = 200

// endpoints are where the requests of a scenario go, and what must be stopped afterwards.
type endpoints struct {
	target, origin *url.URL
	wallError      time.Duration
	// local tells that the target is on this machine, and not embedded.
	local bool
	// assumed tells that wallError is what was assumed of a target on this machine: no FAIL rests on it.
	assumed bool
	// driftPPM is by how much the clock of the target may drift from ours.
	driftPPM int64
	events   events
	stops    []func() error
}

// connect finds the endpoints of a scenario and starts those that are embedded.
func connect(s *scenario.Scenario, o Options) (*endpoints, error) {
	e := &endpoints{wallError: otherClock, events: events{output: o.Output}}
	if o.Network == nil {
		o.Network = loopback{}
	}
	where, origin := s.Target.URL, s.Target.Origin
	if where == scenario.Builtin {
		e.wallError = sameClock
		var err error
		if where, origin, err = e.embed(s, o); err != nil {
			e.close()
			return nil, err
		}
	}
	var err error
	if e.target, err = url.Parse(where); err != nil {
		return nil, err
	}
	if s.Target.URL != scenario.Builtin {
		e.tellClock(o.WallError)
		e.driftPPM = otherDrift // also on loopback: a tunnel or a virtual machine may be there
	}
	if origin != "" {
		e.origin, err = url.Parse(origin)
	}
	return e, err
}

// tellClock sets how far the target's clock may be from ours: what the user says, if above 0, or else what
// the host shows.
func (e *endpoints) tellClock(said time.Duration) {
	host := e.target.Hostname()
	a, err := netip.ParseAddr(host)
	e.local = host == "localhost" || err == nil && a.IsLoopback()
	switch {
	case said > 0:
		e.wallError = said
	case e.local:
		e.wallError, e.assumed = sameClock, true
	}
}

// embed starts the embedded target and, where the scenario compares with an origin, the embedded proxy in
// front of it.
func (e *endpoints) embed(s *scenario.Scenario, o Options) (where, origin string, err error) {
	opts := target.Options{Limit: s.Limit, RetryAfter: s.Target.RetryAfter, Seed: o.Seed, Rules: rulesOf(s),
		OnStoreError: target.OnStoreError(s.Target.OnStoreError), ClientHeader: s.Target.ClientAddress}
	dress(&opts, s)
	behindProxy, inProxy := s.Target.Fault, ""
	if proxyFault(s.Target.Fault) {
		behindProxy, inProxy = "", s.Target.Fault
	}
	opts.Fault = behindProxy
	if opts.Store, err = Store(o.Redis); err != nil {
		return "", "", err
	}
	t, err := target.New(opts)
	if err != nil {
		return "", "", err
	}
	e.events.embedded = t
	e.stops = append(e.stops, t.Close)
	h := keyed(s.Partition, t)
	if s.Target.Protocol == scenario.H2 {
		h = target.GRPC(h, target.GRPCExhausted) // the lean server of our targets speaks HTTP/1.1 only
	}
	if where, err = e.listen(o.Network, h); err != nil {
		return "", "", err
	}
	if slices.ContainsFunc(s.Phases, func(p scenario.Phase) bool {
		return len(p.Spelling) > 0 || p.Vary != ""
	}) {
		where += scenario.BuiltinPath
	}
	if s.Target.Origin == "" && inProxy == "" {
		return where, "", nil
	}
	origin = where
	up, err := url.Parse(origin)
	if err != nil {
		return "", "", err
	}
	way := &http.Transport{DialContext: o.Network.Dial, DisableCompression: true, MaxIdleConnsPerHost: 512}
	e.stops = append(e.stops, func() error { way.CloseIdleConnections(); return nil })
	p, err := target.NewProxy(inProxy, proxy.Options{Upstream: up, Transport: way})
	if err != nil {
		return "", "", err
	}
	if where, err = e.listen(o.Network, p); err != nil {
		return "", "", err
	}
	if s.Target.Origin == "" {
		origin = ""
	}
	return where, origin, nil
}

// dress tells the embedded target for whom the requests of a scenario are counted, and what answers them.
func dress(opts *target.Options, s *scenario.Scenario) {
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
			opts.Caps = append(opts.Caps, target.Cap{Path: p.Path, Limit: p.Limit,
				ByAddress: p.Mint == scenario.MintAccounts})
		}
	}
}

func (e *endpoints) listen(n Network, h http.Handler) (string, error) {
	where, stop, err := n.Listen(h)
	if err == nil {
		e.stops = append(e.stops, stop)
	}
	return where, err
}

// proxyFault tells whether a fault lives in the proxy.
func proxyFault(name string) bool {
	for _, f := range target.Faults() {
		if f.Name == name {
			return f.Proxy
		}
	}
	return false
}

// Store opens the store of the embedded target: a redis:// URL, EmbeddedRedis, or empty for memory (nil).
func Store(redis string) (state.Store, error) {
	switch redis {
	case "":
		return nil, nil
	case EmbeddedRedis:
		return redisstore.Embedded()
	default:
		return redisstore.Open(redis)
	}
}

// EmbeddedRedis is the word for the embedded Redis in place of a URL.
const EmbeddedRedis = "embedded"

// storeName says in a report where the embedded target keeps its state.
func storeName(redis string) string {
	switch redis {
	case "":
		return "memory"
	case EmbeddedRedis:
		return "embedded redis"
	default:
		return "redis"
	}
}

func (e *endpoints) urls() []*url.URL {
	if e.origin == nil {
		return []*url.URL{e.target}
	}
	return []*url.URL{e.target, e.origin}
}

func (e *endpoints) originText() string {
	if e.origin == nil {
		return ""
	}
	return redact.URL(e.origin.String())
}

// close stops what was started, the last one first.
func (e *endpoints) close() {
	for i := len(e.stops) - 1; i >= 0; i-- {
		// the run is over: a listener that does not close changes nothing of what was recorded
		_ = e.stops[i]()
	}
}

// loopback is the real network.
type loopback struct{}

func (loopback) Listen(h http.Handler) (string, func() error, error) {
	s, err := httpd.Listen(h, "127.0.0.1:0")
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

// unverified tells whether a certificate of any authority, or of none, would be taken.
func (e *endpoints) unverified(s *scenario.Scenario) bool {
	secure := func(u *url.URL) bool { return u.Scheme == "https" }
	return s.Target.Insecure && slices.ContainsFunc(e.urls(), secure)
}

// tlsConfig is how connections to an https target are made; nil for the defaults. A Host field names the
// server, as for a gateway that is reached by its address.
func tlsConfig(s *scenario.Scenario, given *tls.Config) *tls.Config {
	name := ""
	for field, value := range s.Target.Header {
		if strings.EqualFold(field, "Host") {
			name = (&url.URL{Host: value}).Hostname()
		}
	}
	if given == nil && name == "" && !s.Target.Insecure {
		return nil
	}
	c := given.Clone()
	if c == nil {
		c = &tls.Config{} //nolint:gosec // the lowest version is that of crypto/tls
	}
	c.InsecureSkipVerify = s.Target.Insecure
	if name != "" {
		c.ServerName = name
	}
	return c
}
