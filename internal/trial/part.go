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
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Order is what an agent needs to send its part of a scenario: everything that the scenario was read from,
// except secrets. An agent has the secrets in its own environment.
type Order struct {
	// File is the name of the scenario file, Text what is in it.
	File string `json:"file"`
	Text string `json:"text"`
	// Target, Limit, Partition, Set, Request and Promises are fields of scenario.ParseOptions.
	Target    string             `json:"target,omitempty"`
	Limit     string             `json:"limit,omitempty"`
	Partition string             `json:"partition,omitempty"`
	Set       []scenario.Setting `json:"set,omitempty"`
	Request   []scenario.Setting `json:"request,omitempty"`
	Promises  []result.Promise   `json:"promises,omitempty"`
	// Env are the environment variables of the file that are not secret.
	Env map[string]string `json:"env,omitempty"`
	// SkipKeys is how many issued keys belong to other scenarios of the run.
	SkipKeys int `json:"skip_keys,omitempty"`
	// ID and Seed are fields of Options. Deal says how the agents divide the requests.
	ID   string     `json:"id"`
	Seed uint64     `json:"seed"`
	Deal fleet.Deal `json:"deal"`
	// URL and Origin are where requests go. An embedded target must be running before they are known.
	URL    string `json:"url"`
	Origin string `json:"origin,omitempty"`
}

// Fleet lets agents send the scenarios of a run.
type Fleet struct {
	*fleet.Coordinator
	// Order says how a scenario was read; nil is not allowed.
	Order func(s *scenario.Scenario) Order
}

// fate is how a recording by agents ended.
type fate struct {
	// missing names the agents that may have sent requests which the recording lacks. stopped names the agent
	// that made all agents stop early. Both are empty if that did not happen.
	missing, stopped string
}

// tell makes a scenario Inconclusive (schedule-missed) if requests are missing, or if agents stopped early,
// unless it fails. If requests are missing, only conformance can fail: more requests would not make the
// admissions of the others right, but may explain everything else. Claims that are inconclusive lose their
// text, as the cause is told once for the scenario.
func (is fate) tell(out result.Scenario) result.Scenario {
	proof := out.Verdict == result.Fail
	if is.missing != "" {
		proof = false
		for i := range out.Claims {
			if c := &out.Claims[i]; c.Kind == result.ClaimConformance && c.Verdict == result.Fail {
				proof = true
			} else if c.Verdict == result.Fail {
				c.Verdict = result.Inconclusive
			}
		}
	}
	if proof || is.missing == "" && is.stopped == "" {
		return out
	}
	for i := range out.Claims {
		if c := &out.Claims[i]; c.Verdict == result.Inconclusive {
			c.Reason, c.Text = result.ScheduleMissed, ""
		}
	}
	return inconclusive(out, result.ScheduleMissed, cmp.Or(is.missing, is.stopped))
}

// record lets the agents send a schedule and returns what they saw.
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

// digestOf returns a digest of everything that decides what is sent and what is recorded of it. The
// coordinator and the agents compare it.
func digestOf(s *scenario.Scenario, schedule *timeline.Schedule, opts load.Options) (string, error) {
	h := sha256.New()
	all := json.NewEncoder(h)
	keys := s.Issued(schedule)
	err := errors.Join(
		all.Encode([]string{opts.URL.String(), opts.Partition.String(), opts.Method, string(opts.Body)}),
		all.Encode(opts.Header), all.Encode(keys), all.Encode(s.Target), all.Encode(s.Partition),
		all.Encode(s.Denied), all.Encode(s.Cost), all.Encode(s.Allowed), all.Encode(s.Safety),
		timeline.WriteSchedule(h, schedule))
	return hex.EncodeToString(h.Sum(nil)[:16]), err
}

// Agent sends its parts of scenarios. It implements fleet.Sender.
type Agent struct {
	// Version is that of rlcheck.
	Version string
	// Allow names hosts that may be reached although their address is public. What the coordinator allows has
	// no effect here.
	Allow []string
	// Socket is that of Options.
	Socket string
	// Keys are the issued keys, and TLS the certificates, on this machine.
	Keys []string
	TLS  *tls.Config
	// Env looks up an environment variable of this machine.
	Env func(string) (string, bool)
	// Spill is that of Options. Pacer is that of load.Options.
	Spill func() (timeline.Spill, error)
	Pacer transport.Pacer
	Network
	// sends is the scenario of the last order.
	sends *scenario.Scenario
}

// Kept returns a part of the last order as it may be kept: without secrets, and with the terms by which it
// can be judged alone. Others send to the same target, so no denial in it is held against the target.
func (a *Agent) Kept(w fleet.Work, tl *timeline.Timeline) *timeline.Timeline {
	out := *NewRedactor([]*scenario.Scenario{a.sends}, nil, "").CopyOf(tl)
	h := &out.Header
	h.DriftPPM, h.CompleteFrom, h.Interrupted = otherDrift, completeFrom, true
	h.Judged = terms(doubtful(a.sends), tl)
	h.Judged.SingleUnits = freeCosts(a.sends)
	h.Notes = append(slices.Clip(h.Notes), fmt.Sprintf("part %d of %d: other agents sent to the same target",
		w.Part+1, w.Of))
	return &out
}

// scenario parses the scenario of an order again, with the variables of the order and of this machine.
func (a *Agent) scenario(order *Order) (*scenario.Scenario, error) {
	env := func(name string) (string, bool) {
		if v, ok := order.Env[name]; ok {
			return v, true
		}
		return a.Env(name)
	}
	s, err := scenario.Parse([]byte(order.Text), order.File, scenario.ParseOptions{Env: env,
		Target: order.Target, Limit: order.Limit, Partition: order.Partition, Set: order.Set,
		Request: order.Request, Promises: order.Promises, Keys: a.Keys})
	if err == nil {
		s.SkipKeys = order.SkipKeys
	}
	return s, err
}

// Prepare reads an order and plans the schedule of all agents. It returns that schedule, its digest, and a
// function that sends this agent's part.
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
	a.sends = s
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
	opts, err := loadOptions(ctx, s, Options{Version: a.Version, Allow: a.Allow, Socket: a.Socket, TLS: a.TLS,
		Pacer: a.Pacer, Network: a.Network, Spill: a.Spill, Progress: func(p load.Progress) {
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

// shareOf turns the options of a whole run into those of one agent: it gets its part of every ceiling.
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
	most := max(o.MaxConnections, transport.DefaultMaxConnections)
	if o.MaxConnections > 0 {
		most = o.MaxConnections
	}
	o.MaxConnections = min(most, max((most+w.Of-1)/w.Of, together(mine)))
	// The coordinator performs the events between phases, before the phase begins.
	o.Do = func(context.Context, timeline.Event) error { return nil }
	o.Journal, o.MaxDuration = nil, max(0, o.MaxDuration)
}

// together is the largest number of requests of a schedule that leave at the same instant.
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

// Secret returns the flag of a setting that would write a secret into the Redis of the fleet. It is empty if
// there is none.
func Secret(o Order) string {
	for _, s := range slices.Concat(o.Set, o.Request) {
		if s.Secret && !strings.Contains(strings.ReplaceAll(s.Value, "$${", ""), "${") {
			return s.Flag
		}
	}
	return ""
}

// doubtful returns s for a recording that may lack requests: then a denial may be explained by requests of
// others.
func doubtful(s *scenario.Scenario) *scenario.Scenario {
	out := *s
	out.Partition.Exclusive, out.Expect.Shared = false, true
	return &out
}
