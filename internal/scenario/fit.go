package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// fit makes a scenario fit its ceilings, after its limit was given from outside. Requests that are sent at
// once and need too many connections are sent by clients in a closed loop. A phase that takes too long is
// left out, with all later phases. If the scenario still does not fit, it is not for such a limit, and says
// what it would take. That is no mistake of the file.
func (s *Scenario) fit() {
	for i := range s.Phases {
		s.closedLoop(&s.Phases[i])
	}
	if s.Unmet() != "" {
		return
	}
	s.cut()
	if s.Lacks = s.tooMuch(); s.Lacks != "" {
		s.Unfit = s.Lacks
		return
	}
	s.unbind()
}

// leastClients is the least number of clients that spend a quota in a closed loop. mostWait is how long an
// answer may take if they are still to be faster than the limit.
const (
	leastClients = 256
	mostWait     = 100 * time.Millisecond
)

// closedLoop changes a phase that needs more connections than it may have. A limit of requests in flight
// needs all of them.
func (s *Scenario) closedLoop(p *Phase) {
	most := s.Safety.MaxConnections
	if p.connections(s.Partition.Count) <= int64(most) || slices.ContainsFunc(p.Limit, spec.Policy.InFlight) {
		return
	}
	switch each := 2 * (most / s.Partition.Count); {
	case p.Shape == timeline.AtOnce:
		fast := MulDiv(2*p.Limit[0].Rate.N, int64(mostWait), int64(p.Limit[0].Rate.Per), true)
		p.Among = p.among(s.Partition.Count)
		p.Shape, p.Clients = timeline.Closed, int(min(max(leastClients, fast), int64(most)))
	case p.Shape == timeline.Boundary && int64(each) > 2*p.Limit.Full():
		p.Requests = each
	}
}

// cut leaves out the first phase that lasts too long and all later ones, if the rest still judges something:
// a quota that is spent once.
func (s *Scenario) cut() {
	var lasts time.Duration
	n := 0
	for n < len(s.Phases) && lasts+s.Phases[n].lasts() <= s.Safety.MaxDuration {
		lasts += s.Phases[n].lasts()
		n++
	}
	if n == len(s.Phases) {
		return
	}
	left := s.Phases[n:]
	for n > 0 && s.Phases[n-1].Quiet() {
		n--
	}
	spends := func(p Phase) bool { // and faster than it comes back
		fast := p.peak(int(p.Cost)) // in units
		return p.Counted() && int64(p.Requests)*p.Cost > p.Limit.Full() &&
			(fast.N == 0 || boundsOf(p.Limit, p.Cost).rate.Less(fast))
	}
	kept := s.Phases[:n]
	has := func(shape timeline.Shape) bool {
		return slices.ContainsFunc(kept, func(p Phase) bool { return p.Shape == shape })
	}
	if !slices.ContainsFunc(kept, spends) || s.Expect.Intact != nil || s.Expect.RetryAfter.Honored &&
		!has(timeline.HonorRetryAfter) || len(s.Expect.Storms) > 0 && !has(timeline.Backoff) {
		return
	}
	s.Unfit = unfit(left)
	s.Phases = slices.Clone(kept)
	s.Expect.keep(s.Phases)
}

// unfit says which phases are left out. The first of them lasts too long.
func unfit(left []Phase) string {
	long := fmt.Sprintf("%s (%s)", left[0].Name, text.Rough(left[0].lasts()))
	if left[0].Quiet() {
		return "not waited for: " + long + ", and not sent: " + strings.Join(loud(left), ", ")
	}
	return "not sent: " + strings.Join(append([]string{long}, loud(left[1:])...), ", ")
}

// loud returns the names of the phases that send anything.
func loud(phases []Phase) (names []string) {
	for i := range phases {
		if !phases[i].Quiet() {
			names = append(names, phases[i].Name)
		}
	}
	return names
}

// keep leaves out the expectations on other phases, and on the rate, as no phase may be long enough to
// measure it.
func (e *Expect) keep(phases []Phase) {
	gone := func(name string) bool { return named(phases, name) < 0 }
	e.Resolution.Rate = Tolerance{}
	e.Denials = slices.DeleteFunc(e.Denials, func(x claim.DenialBound) bool { return gone(x.Phase) })
	e.Answers = slices.DeleteFunc(e.Answers, func(x claim.AnswerBound) bool { return gone(x.Phase) })
	e.Parity = slices.DeleteFunc(e.Parity, func(x claim.ParityExpect) bool {
		return gone(x.Phase) || gone(x.Like)
	})
	e.Storms = slices.DeleteFunc(e.Storms, func(x claim.StormExpect) bool { return gone(x.Phase) })
	e.Barred = slices.DeleteFunc(e.Barred, gone)
	e.Attributes = slices.DeleteFunc(e.Attributes,
		func(x claim.AttributeExpect) bool { return gone(x.Phase) })
}

// unbind leaves out bounds on denials that the limit exceeds, even if each request is decided when it is
// planned. If each request postpones the end of a window, a client stays locked out at 0.9 times the limit.
// It does not see the rate either.
func (s *Scenario) unbind() {
	s.Expect.Denials = slices.DeleteFunc(s.Expect.Denials, func(b claim.DenialBound) bool {
		at := named(s.Phases, b.Phase)
		if b.Unlimited || at < 0 || !s.deniesMore(at, b.Max) {
			return false
		}
		s.Expect.Resolution.Rate = Tolerance{}
		s.Unfit = strings.TrimPrefix(s.Unfit+"; such a limit denies requests of phase "+b.Phase+
			" too, so no rate is demanded", "; ")
		return true
	})
}

// simulated is how many requests are simulated at most, begun how many beginnings within a tick are tried.
const (
	simulated = 5_000
	begun     = 8
)

// deniesMore tells whether the limit denies more than most requests of phase `at`. It is asked only of limits
// that may deny an even flow below their rate.
func (s *Scenario) deniesMore(at, most int) bool {
	limit, sum := s.Phases[at].Limit, int64(0)
	for i := range s.Phases[:at+1] {
		sum += s.Phases[i].total(s.Partition.Count)
	}
	if sum > simulated || !slices.ContainsFunc(limit, func(p spec.Policy) bool {
		return p.Refreshes() || p.Count == spec.CountAll || p.Tick > 0
	}) {
		return false
	}
	tick := time.Duration(0)
	for _, p := range limit {
		tick = max(tick, p.Tick)
	}
	some := *s
	some.Phases = s.Phases[:at+1]
	for i := range time.Duration(begun) {
		tl, err := reference.Play(some.plan("", 0, longPlan), reference.SimulationOptions{Rule: some.Rule,
			Started: time.Unix(0, int64(tick*i/begun)), Answer: time.Microsecond})
		if err == nil && deniedIn(tl, s.Phases[at].Name) > most {
			return true
		}
	}
	return false
}

// Rule is how a right limiter counts the requests of a phase. Requests of unknown phases are exempt.
func (s *Scenario) Rule(phase string) reference.SimulationRule {
	at := named(s.Phases, phase)
	if at < 0 {
		return reference.SimulationRule{Exempt: true}
	}
	p := &s.Phases[at]
	return reference.SimulationRule{Limit: p.Limit, Exempt: p.Unlimited || len(p.Limit) == 0,
		Barred: p.Barred}
}

// deniedIn counts the denials of a phase.
func deniedIn(tl *timeline.Timeline, phase string) (n int) {
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Phase == phase && o.Outcome == timeline.Denied {
			n++
		}
	}
	return n
}

// tooMuch says what a scenario would take beyond its ceilings. Empty: it fits.
func (s *Scenario) tooMuch() string {
	sum, most := s.Summary(), s.Safety
	var over []string
	ceiling := func(exceeded bool, most, key string) {
		if exceeded {
			over = append(over, fmt.Sprintf("at most %s (safety.%s)", most, key))
		}
	}
	var peak spec.Rate
	for _, p := range sum.Phases {
		if peak.Less(p.Peak) || peak.N == 0 {
			peak = p.Peak
		}
	}
	ceiling(sum.Requests > most.MaxRequests, text.Plural(most.MaxRequests, "request"), "max_requests")
	ceiling(sum.Duration > most.MaxDuration, text.Short(most.MaxDuration), "max_duration")
	ceiling(sum.Connections > most.MaxConnections, text.Plural(most.MaxConnections, "connection"),
		"max_connections")
	ceiling(peak.N > 0 && most.MaxRate.Less(peak), most.MaxRate.String(), "max_rate")
	if len(over) == 0 {
		return ""
	}
	takes := "it takes " + text.Plural(sum.Requests, "request") + ", " + sum.Span.String()
	if sum.Connections > 0 {
		takes += " and " + text.Plural(sum.Connections, "connection")
	}
	if peak.N > 0 {
		takes += " at up to " + pace(peak)
	}
	return takes + ", and may take " + strings.Join(over, " and ")
}

// Adapt suits a scenario that was just read to its target. If its clients are not new, it rests before it
// sends. issued: the target has issued their keys, so they are not new whatever the file says. fit: the limit
// was given from outside, so whatever does not fit the ceilings of Safety is changed or left out (Unfit).
func (s *Scenario) Adapt(issued, fit bool) {
	most := s.Safety.MaxDuration
	if issued && s.Partition.Named() {
		s.Partition.Fresh, most = false, min(most, mostRest)
	}
	s.rest(most)
	if fit {
		s.fit()
	}
}

// mostRest is how long a scenario waits at most until issued keys are as good as new. Perhaps nobody used
// them.
const mostRest = time.Minute

// rest puts silences into a scenario whose clients are not new, if none has to last longer than most. The
// first comes before everything else, and the limiter forgets earlier scenarios in it. If all clients share
// one quota, another silence comes before each phase that would have its own clients.
//
//	declared:     first (clients A)      second (clients B)
//	one quota:    silence  first  silence  second          each silence lasts as long as the limit recovers
func (s *Scenario) rest(most time.Duration) {
	if s.Partition.Fresh {
		return
	}
	recovery := s.recovery()
	if recovery > most {
		// Nobody waits so long, so what was before is not known.
		return
	}
	used := map[string]bool{}
	quiet := time.Duration(0) // how long nothing was sent
	if s.Target.URL == Builtin {
		quiet = recovery // it is new in each scenario
	}
	var out []Phase
	for _, p := range s.Phases {
		switch {
		case p.Shape == timeline.Silence:
			quiet += p.Duration
		case p.Quiet():
		case quiet < recovery && (len(used) == 0 || s.Partition.Kind == ByNone && !used[p.Partition]):
			s.rests += recovery
			out = append(out, Phase{Name: "forget-before-" + p.Name, Shape: timeline.Silence,
				Duration: recovery, Limit: p.Limit})
			fallthrough
		default:
			quiet, used[p.Partition] = 0, true
		}
		out = append(out, p)
	}
	s.Phases = out
}

// Rests returns how long the scenario is silent so that the limiter forgets earlier requests.
func (s *Scenario) Rests() time.Duration { return s.rests }

// recovery returns a silence after which the limits of all phases are as good as new. It is longer by a tenth
// or by two units. Then even a bucket that is larger by one unit has forgotten everything, and shows that it
// is larger.
func (s *Scenario) recovery() time.Duration {
	var d time.Duration
	for i := range s.Phases {
		p := &s.Phases[i]
		if !p.Counted() {
			continue
		}
		for _, one := range p.Limit {
			full, unit := one.Recovery(), one.LongestWindow()/time.Duration(max(one.Rate.N, 1))
			d = max(d, full+max(full/10, 2*unit))
		}
	}
	return d + s.Target.Tick + time.Millisecond
}
