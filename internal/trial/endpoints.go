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

// The assumed error of the target's wall clock against ours. For the embedded target only rounding remains.
// Other targets get half a second, or more if their Dates show more.
const (
	sameClock  = time.Millisecond
	otherClock = 500 * time.Millisecond
)

// otherDrift is how much faster or slower the clock of another machine may run than ours, in parts per
// million: 100 for each of two uncorrected crystals.
const otherDrift = 200

// endpoints are the URLs that the requests of a scenario go to, and the servers that must be stopped
// afterwards.
type endpoints struct {
	target, origin *url.URL
	wallError      time.Duration
	// local tells that the target is on this machine and is not the embedded one.
	local bool
	// assumed tells that wallError is only assumed, because the target is on this machine. No FAIL may rest
	// on it.
	assumed bool
	// driftPPM is how much the target's clock may drift from ours, in parts per million.
	driftPPM int64
	events   events
	stops    []func() error
}

// connect finds the endpoints of a scenario, and starts the embedded target if the scenario asks for it.
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

// tellClock sets the error of the target's clock. A value above 0 from the user wins; else a host on this
// machine is assumed to have our clock.
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

// embed starts the embedded target. If the scenario compares with an origin, or its fault is a fault of a
// proxy, it also starts the embedded proxy in front of it.
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
		h = target.GRPC(h, target.GRPCExhausted) // for scenarios of gRPC
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

// dress tells the embedded target how to find the client of a request and how to answer.
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
