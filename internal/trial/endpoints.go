package trial

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/scenario"
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

// endpoints are the URLs that the requests of a scenario go to, and the embedded target if there is one.
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
}

// connect finds the endpoints of a scenario, and starts the embedded target if the scenario asks for it.
func connect(s *scenario.Scenario, o Options) (*endpoints, error) {
	e := &endpoints{wallError: sameClock, events: events{output: o.Output, own: o.Events}}
	where, origin := s.Target.URL, s.Target.Origin
	if where == scenario.Builtin {
		t, err := o.Embed(s, o.Seed, o.Network)
		if err != nil {
			return nil, err
		}
		e.events.embedded = t
		where, origin = t.URLs()
	}
	var err error
	if e.target, err = url.Parse(where); err != nil {
		return nil, err
	}
	if s.Target.URL != scenario.Builtin && !o.SameClock {
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
		e.assumed = true
	default:
		e.wallError = otherClock
	}
}

// storeName says in a report where the embedded target keeps its state.
func storeName(redis string) string {
	switch redis {
	case "":
		return "memory"
	case scenario.EmbeddedRedis:
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
	return RedactURL(e.origin.String())
}

// close stops the embedded target.
func (e *endpoints) close() {
	if e.events.embedded != nil {
		// the run is over: a listener that does not close changes nothing of what was recorded
		_ = e.events.embedded.Close()
	}
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

// Sending returns the load options of a scenario for a caller that plans its own requests. driftPPM is how
// much the target's clock may drift from ours, in parts per million. stop ends the servers that were started.
func Sending(ctx context.Context, s *scenario.Scenario, o Options) (out load.Options, driftPPM int64,
	stop func(), err error) {
	ends, err := connect(s, o)
	if err != nil {
		return out, 0, nil, fmt.Errorf("target %s: %w", RedactURL(s.Target.URL), err)
	}
	if out, err = loadOptions(ctx, s, o, ends); err != nil {
		ends.close()
		return out, 0, nil, fmt.Errorf("target %s: %w", RedactURL(s.Target.URL), err)
	}
	if ends.assumed {
		out.WallError = otherClock
	}
	return out, ends.driftPPM, ends.close, nil
}
