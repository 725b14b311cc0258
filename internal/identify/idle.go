package identify

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// A limiter may forget an idle client before its quota is whole again (ttl). The client then finds a whole
// quota. Only a silence that ends shortly before the quota is whole tells.
//
//	a a a d             a a d     remembered: two units came back
//	a a a d             a a a     forgotten

// idle uses up the quota, unless that was done, and asks again shortly before it is whole.
var idle = experiment{name: "idle", most: 3, least: (*search).chances, rival: (*search).expires,
	phases: func(x *search, _ int) []step {
		phases, _ := x.idling()
		return inTurn(phases...)
	},
	of: mayExpire,
	why: func(c *identity.Candidate) string {
		return fmt.Sprintf("a limit that forgets a client which is idle for less than %s (ttl) explains all "+
			"answers too", quantity.Brief(c.Limit[0].TTL))
	}}

// mayExpire tells whether a kind may have a time to live. A window that each request starts anew is one
// itself.
func mayExpire(r *space.Region) bool {
	return !r.Rare() && !r.Kind.Queue && r.Kind.Base.Refresh != spec.RefreshAll
}

// expires is c as a limiter that forgets clients, where that explains the recording too; nil where it does
// not, or nobody could tell.
func (x *search) expires(c identity.Candidate) *identity.Candidate {
	_, lasting := x.idling()
	if lasting <= 0 {
		return nil
	}
	if x.remembered(c.Limit, lasting, lasting*27/25) > 0 {
		return nil
	}
	c.Limit = slices.Clone(c.Limit)
	c.Text += " that forgets idle clients"
	c.Limit[0].TTL = lasting
	return &c
}

// remembered is ttl, if the recording refutes that a limit forgets clients after that time; 0 if not. Of
// windows by the clock, the judge may place those of each stretch apart then. But a forgotten client is a new
// one in the windows of the same clock. That is asked of the first time from ttl to other which each silence
// surely exceeds or not, and that time is returned.
func (x *search) remembered(l spec.Limit, ttl, other time.Duration) time.Duration {
	const steps = 8
	tl, forgets := x.shown(), slices.Clone(l)
	forgets[0].TTL = ttl
	if x.asker.Refuted(tl, forgets, verdict.Exact, true) {
		return ttl
	}
	if l[0].Align != spec.AlignUnknown || refute.Several(tl) {
		return 0
	}
	forgets[0].TTL, forgets[0].Align = 0, spec.AlignShared
	all := silences(tl)
	for i := range time.Duration(steps) {
		at := ttl + (other-ttl)*i/steps
		near := func(s time.Duration) bool { return (s - at).Abs() <= x.slack()+at/100 }
		if slices.ContainsFunc(all, near) {
			continue
		}
		if x.asker.Refuted(refute.Anew(tl, at), forgets, verdict.Exact, true) {
			return at
		}
		return 0
	}
	return 0
}

// remembers is the longest silence after which a client was seen to be known, before its quota was whole. 0:
// none was seen.
func (x *search) remembers(c identity.Candidate) time.Duration {
	const most = 12
	all := silences(x.shown())
	slices.Reverse(all)
	all = slices.DeleteFunc(all, func(s time.Duration) bool { return s >= c.Limit[0].Recovery() })
	for _, silence := range all[:min(most, len(all))] {
		if x.overdue() {
			break
		}
		if known := x.remembered(c.Limit, silence, silence*23/25); known > 0 {
			return known
		}
	}
	return 0
}

// chances is how often the experiment is made at least, where it costs little. A clock of whole seconds
// forgets a client after 1 to 2 s, say. A bucket that fills in about that time may be lucky once.
func (x *search) chances() int {
	const often, few, shortest, longest = 2, 12, time.Second, 4 * time.Second
	r := x.regions[0]
	whole := r.Recovery()
	if r.Kind.Paced && x.o.Fresh && whole > shortest && whole < longest && x.volley() <= few {
		return often
	}
	return 0
}

// idling are the phases of idle. lasting is an idle time after which the only limit that is left must have
// been seen to know a client: a little less than the longest that can tell. It is 0 where none can, from far
// away, and where few such silences fit the time: the name then says that none was seen.
func (x *search) idling() (phases []plan.Phase, lasting time.Duration) {
	r := x.regions[0]
	if !mayExpire(r) || x.recorded() || x.far || x.fewFit(r.Recovery()) {
		return nil, 0
	}
	all, slack := x.course(), 2*x.slack()
	ask := plan.Phase{Requests: x.volley(), Every: x.every, Denials: 1}
	drained, use := all.Clone(), ask
	if use.Rest = x.every; !r.Kind.Paced { // in a window that has just begun, the silence is longest
		use.Rest = max(x.every, all.Back(r.Hull().Q2)+slack)
	}
	drained.After(use)
	longest := drained.Idle(ask, slack)
	if lasting = longest*9/10 - slack; lasting <= 0 {
		return nil, 0
	}
	if ask.Rest = all.Idle(ask, slack); ask.Rest >= lasting+slack {
		return []plan.Phase{ask}, lasting
	}
	ask.Rest = longest
	return []plan.Phase{use, ask}, lasting
}

// idleRests are silences from now on that tell whether a client is forgotten, the longest first.
func (x *search) idleRests() (out []time.Duration) {
	const parts = 4 // of the time of a unit
	phases, lasting := x.idling()
	if len(phases) != 1 {
		return nil
	}
	rest, step := phases[0].Rest, x.regions[0].Hull().T1/parts
	for ; rest > lasting+2*x.slack() && len(out) < parts; rest -= step {
		out = append(out, rest)
	}
	return out
}

// volley is how many requests surely use up the quota of the first kind that is left.
func (x *search) volley() int {
	const more = 3
	r := x.regions[0]
	return r.Kind.Spends(r.Hull(), x.every) + more
}
