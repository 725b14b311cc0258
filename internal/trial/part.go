package trial

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/fleet"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/load/options"
	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/grammar"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Order is what an agent must know of a scenario to send its part of it: what the scenario was read from, but
// no secret. An agent has those in its own environment.
type Order struct {
	// File is the name of the scenario file, Text what is in it.
	File string `json:"file"`
	Text string `json:"text"`
	// Target, Limit, Partition, Set, Request and Promises are those of grammar.Options.
	Target    string            `json:"target,omitempty"`
	Limit     string            `json:"limit,omitempty"`
	Partition string            `json:"partition,omitempty"`
	Set       []tree.Setting    `json:"set,omitempty"`
	Request   []tree.Setting    `json:"request,omitempty"`
	Promises  []verdict.Promise `json:"promises,omitempty"`
	// Env are the variables of the file that are no secrets.
	Env map[string]string `json:"env,omitempty"`
	// SkipKeys is how many of the issued keys other scenarios of the run use.
	SkipKeys int `json:"skip_keys,omitempty"`
	// ID and Seed are those of Options, Deal what the agents share out.
	ID   string     `json:"id"`
	Seed uint64     `json:"seed"`
	Deal fleet.Deal `json:"deal"`
	// URL and Origin are where requests go; they are known when an embedded target has started.
	URL    string `json:"url"`
	Origin string `json:"origin,omitempty"`
}

// Fleet lets agents send the scenarios of a run.
type Fleet struct {
	*fleet.Coordinator
	// Order says how a scenario was read; nil is not allowed.
	Order func(s *scenario.Scenario) Order
}

// fate is what became of a recording that agents made.
type fate struct {
	// missing says whose requests are not in it though they may have been sent; stopped says who made all
	// stop before the plan was done. Empty for nobody.
	missing, stopped string
}

// tell makes a scenario inconclusive of which requests are missing; and one that does not fail, whose agents
// had to stop. What its claims could not show for that has one cause, which is told once.
func (is fate) tell(out result.Scenario) result.Scenario {
	if is.missing == "" && (is.stopped == "" || out.Verdict == verdict.Fail) {
		return out
	}
	for i := range out.Claims {
		if c := &out.Claims[i]; c.Verdict == verdict.Inconclusive {
			c.Reason, c.Text = verdict.ScheduleMissed, ""
		}
	}
	return inconclusive(out, verdict.ScheduleMissed, cmp.Or(is.missing, is.stopped))
}

// record lets the agents send a schedule.
func (f *Fleet) record(ctx context.Context, s *scenario.Scenario, o Options, schedule *timeline.Schedule,
	opts load.Options) (tl *timeline.Timeline, is fate, err error) {
	order := f.Order(s)
	order.ID, order.Seed, order.Deal = o.ID, o.Seed, f.Deal
	order.URL, order.SkipKeys = opts.URL.String(), s.SkipKeys
	if opts.Origin != nil {
		order.Origin = opts.Origin.String()
	}
	text, err := json.Marshal(order)
	if err != nil {
		return nil, is, err
	}
	digest, err := digestOf(s, schedule, opts)
	if err != nil {
		return nil, is, err
	}
	r := fleet.Recording{Order: text, Digest: digest, Schedule: schedule, Do: opts.Do}
	if o.Progress != nil {
		planned, _ := schedule.Planned()
		r.Progress = func(b fleet.Beat) {
			o.Progress(load.Progress{Allowed: b.Allowed, Denied: b.Denied, Unknown: b.Unknown, Sent: b.Sent,
				Planned: planned, Late: b.Late, Phase: b.Phase})
		}
	}
	g, err := f.Record(ctx, r)
	if err != nil {
		return nil, is, err
	}
	defer g.Close()
	tl, err = g.Timeline(o.Spill, load.LongRecording)
	if err != nil {
		return nil, is, err
	}
	tl.Header.WallError, tl.Header.Tick = opts.WallError+g.WallError(), opts.Tick
	return tl, fate{g.Missing(), g.Stopped()}, nil
}

// digestOf is the digest of all that decides what is sent, and of what is recorded of it.
func digestOf(s *scenario.Scenario, schedule *timeline.Schedule, opts load.Options) (string, error) {
	h := sha256.New()
	all := json.NewEncoder(h)
	keys := s.Issued(schedule)
	err := errors.Join(
		all.Encode([]string{opts.URL.String(), opts.Partition.String(), opts.Method, string(opts.Body)}),
		all.Encode(opts.Header), all.Encode(keys), all.Encode(s.Target), all.Encode(s.Partition),
		all.Encode(s.Denied), all.Encode(s.Allowed), all.Encode(s.Safety),
		ndjson.WriteSchedule(h, schedule))
	return hex.EncodeToString(h.Sum(nil)[:16]), err
}

// Agent sends parts of scenarios. It is the fleet.Sender of an agent.
type Agent struct {
	// Version is that of rlcheck.
	Version string
	// Allow names hosts that may be reached although their address is neither loopback nor private. What the
	// coordinator allows does not count.
	Allow []string
	// Keys are the issued keys, TLS the certificates, of this machine.
	Keys []string
	TLS  *tls.Config
	// Env looks up variables.
	Env func(string) (string, bool)
	// Spill is that of Options, Pacer and Dial are those of load.Options.
	Spill func() (timeline.Spill, error)
	Pacer pacing.Pacer
	Network
}

// scenario reads the scenario of an order again.
func (a *Agent) scenario(order *Order) (*scenario.Scenario, error) {
	env := func(name string) (string, bool) {
		if v, ok := order.Env[name]; ok {
			return v, true
		}
		return a.Env(name)
	}
	s, err := grammar.Parse([]byte(order.Text), order.File, grammar.Options{Env: env,
		Target: order.Target, Limit: order.Limit, Partition: order.Partition, Set: order.Set,
		Request: order.Request, Promises: order.Promises, Keys: a.Keys})
	if err == nil {
		s.SkipKeys = order.SkipKeys
	}
	return s, err
}

// Prepare reads an order, plans what all agents send, and returns what sends this part of it.
func (a *Agent) Prepare(ctx context.Context, w fleet.Work) (*timeline.Schedule, string,
	func(context.Context) (*timeline.Timeline, error), error) {
	var order Order
	if err := json.Unmarshal(w.Order, &order); err != nil {
		return nil, "", nil, fmt.Errorf("the order: %w", err)
	}
	if err := fleet.CheckDeal(order.Deal); err != nil {
		return nil, "", nil, err
	}
	s, err := a.scenario(&order)
	if err != nil {
		return nil, "", nil, err
	}
	whole, err := s.Plan(order.ID, order.Seed)
	if err != nil {
		return nil, "", nil, err
	}
	ends := &endpoints{wallError: otherClock}
	if ends.target, err = url.Parse(order.URL); err == nil && order.Origin != "" {
		ends.origin, err = url.Parse(order.Origin)
	}
	if err != nil {
		return nil, "", nil, err
	}
	opts, err := loadOptions(ctx, s, Options{Version: a.Version, Allow: a.Allow, TLS: a.TLS, Pacer: a.Pacer,
		Network: a.Network, Spill: a.Spill, Progress: func(p load.Progress) {
			w.Turns.Tell(fleet.Beat{Allowed: p.Allowed, Denied: p.Denied, Unknown: p.Unknown, Sent: p.Sent,
				Late: p.Late, Phase: p.Phase})
		}}, ends)
	if err != nil {
		return nil, "", nil, err
	}
	digest, err := digestOf(s, whole, opts)
	opts.Keys = s.Issued(whole)
	mine := fleet.Slice(whole, w.Part, w.Of, order.Deal)
	shareOf(&opts, whole, mine, w)
	send := func(ctx context.Context) (*timeline.Timeline, error) { return load.Record(ctx, mine, opts) }
	return whole, digest, send, err
}

// shareOf makes the options of a run those of one of several agents: it has its part of every ceiling.
func shareOf(o *load.Options, whole, mine *timeline.Schedule, w fleet.Work) {
	all, _ := whole.Planned()
	planned, _ := mine.Planned()
	o.Share = &load.Share{Turns: w.Turns, Forged: all / w.Of * w.Part}
	if o.Partition.Kind == "address" {
		o.Share.Partitions = fleet.Partitions(whole)
	}
	if o.MaxRequests > 0 {
		o.MaxRequests = planned + max(0, o.MaxRequests-all)/w.Of
	}
	most := max(o.MaxConnections, options.DefaultMaxConnections)
	if o.MaxConnections > 0 {
		most = o.MaxConnections
	}
	o.MaxConnections = min(most, max((most+w.Of-1)/w.Of, together(mine)))
	// what happens to the target is the coordinator's to do, before the phase begins
	o.Do = func(context.Context, timeline.Event) error { return nil }
	o.Journal, o.MaxDuration = nil, max(0, o.MaxDuration)
}

// together is how many requests of a schedule leave at once, at most.
func together(s *timeline.Schedule) (most int) {
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Shape != timeline.AtOnce && p.Shape != timeline.Boundary {
			continue
		}
		n, at := 0, time.Duration(0)
		for j := range p.Arrivals {
			if a := &p.Arrivals[j]; j == 0 || a.At != at {
				n, at = 0, a.At
			}
			n++
			most = max(most, n)
		}
	}
	return most
}

// Secret tells which of the settings of an order would bring a secret into the Redis: its flag, empty for
// none.
func Secret(o Order) string {
	for _, s := range slices.Concat(o.Set, o.Request) {
		if s.Secret && !strings.Contains(strings.ReplaceAll(s.Value, "$${", ""), "${") {
			return s.Flag
		}
	}
	return ""
}

// doubtful returns s where requests may be missing: then what others take explains a denial.
func doubtful(s *scenario.Scenario) *scenario.Scenario {
	out := *s
	out.Partition.Exclusive, out.Expect.Shared = false, true
	return &out
}
