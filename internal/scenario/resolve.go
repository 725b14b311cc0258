package scenario

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// resolve turns the multiples of a phase into numbers.
func (p *phaseDraft) resolve(d *decoder, s *Scenario) {
	p.resolveLimit(s)
	n := p.at
	own, priced := 1, boundsOf(budget(p.Limit), 1)
	if p.cost.total(priced, 1) > 0 { // 0.5x-1 of one unit is still a request
		own = p.cost.resolve(d, n.Get("cost"), priced, 1)
	}
	p.Cost, p.Priced = int64(own*max(1, s.Cost.Each)), own > 1
	b := boundsOf(p.Limit, p.Cost)
	flow, counts := paceOf(p.Limit, p.Cost, p.pace != fastest), b
	if p.rate.x.den+p.from.x.den > 0 || p.pace != "" {
		counts = flow
	}
	p.Requests = p.requests.resolve(d, n.Get("requests"), counts, p.Cost)
	p.Clients = p.clients.resolve(d, n.Get("clients"), boundsOf(p.Limit, 1), 1)
	p.Rate = p.rate.resolve(d, n.Get("rate"), flow, p.Cost)
	p.From = p.from.resolve(d, n.Get("from"), flow, p.Cost)
	p.To = p.to.resolve(d, n.Get("to"), flow, p.Cost)
	rest := b
	if s.Cost.ByAnswers() { // a limit of requests beside a budget says nothing of when that is back
		rest = boundsOf(budget(p.Limit), p.Cost)
	}
	if p.Shape == timeline.HonorRetryAfter { // its clients wait as long as they are told
		rest.recovery = MulDiv(rest.recovery, int64(100*(1+s.Expect.RetryAfter.Spread)), 100, true)
	}
	p.Duration = p.duration.resolve(d, n.Get("duration"), rest)
	switch p.Shape {
	case timeline.Steps:
		p.resolveSteps(d, b)
	case timeline.Backoff:
		p.resolveRetry(d, b)
	case timeline.Hook:
		p.resolveHook(s.Phases)
	case timeline.HonorRetryAfter:
		if p.Requests == 0 { // twice what a right limiter admits, and a few for each client
			admitted := MulDiv(int64(p.Duration), b.rate.N, int64(b.rate.Per), true)
			p.Requests = clampCount(2*(float64(b.full)+float64(admitted))/float64(p.Cost) +
				20*float64(p.Clients))
		}
	case timeline.Boundary:
		p.resolveBoundary(d, b)
	}
	p.Complete()
	// Requests keep the field that the limiter counts by, and the fields that are sent with every request.
	p.Forge = slices.DeleteFunc(p.Forge, func(name string) bool {
		for fixed := range s.Target.Header {
			if strings.EqualFold(name, fixed) {
				return true
			}
		}
		return s.Partition.Kind == ByHeader && strings.EqualFold(name, s.Partition.Name)
	})
}

// resolveSteps completes the rates of a phase of shape steps.
func (p *phaseDraft) resolveSteps(d *decoder, b bounds) {
	n := p.at.Get("rates")
	for i, v := range p.rates {
		p.Rates = append(p.Rates, v.resolve(d, n.Items[i], b, p.Cost))
	}
	if len(p.Rates) > 0 && p.Duration/time.Duration(len(p.Rates)) == 0 {
		d.add(n, fmt.Sprintf("%d rates", len(p.Rates)), "each lasts at least 1ns", "")
	}
}

// resolveBoundary completes aim, window and lead of a boundary phase.
func (p *phaseDraft) resolveBoundary(d *decoder, b bounds) {
	n := p.at
	if p.Aim = p.aim; p.Aim == "" || p.Aim == aimAuto {
		p.Aim = aimOf(p.Limit)
	}
	p.Window = cmp.Or(p.window.resolve(d, n.Get("window"), b), windowOf(p.Limit))
	p.Lead = cmp.Or(p.lead.resolve(d, n.Get("lead"), b), min(defaultLead, p.Window/10))
	if at := n.Get("lead"); at != nil && p.Lead > p.Window/2 {
		d.add(at, "lead "+text.Short(p.Lead), "it is at most half of the window of "+
			text.Short(p.Window), "")
	}
	if p.Requests < 2 {
		d.add(n.Get("requests"), fmt.Sprintf("%d requests", p.Requests),
			"one half goes before the boundary and one after it", "")
	}
}

// aimOf returns the aim that suits how the windows of l are aligned.
func aimOf(l spec.Limit) timeline.Aim {
	for _, p := range l {
		if !p.Windowed() {
			continue
		}
		switch p.Align {
		case spec.AlignFirst:
			return timeline.AimFirst
		case spec.AlignUnknown, spec.AlignShared, spec.AlignPhase:
			return timeline.AimProbe
		}
	}
	return timeline.AimClock
}

// windowOf returns the distance between the boundaries of a limiter that counts in windows: the longest
// window of l. For a bucket it is the time in which its rate gives its burst, multiplied until a generator
// can aim at it.
func windowOf(l spec.Limit) time.Duration {
	var w time.Duration
	for _, p := range l {
		if p.HasWindow() {
			w = max(w, p.Rate.Per)
		}
	}
	if w == 0 {
		if w = time.Duration(boundsOf(l, 1).recovery); w > 0 && w < aimable {
			w *= (aimable + w - 1) / w
		}
	}
	return w
}

// aimable is the shortest window whose end a generator can surely aim at after it has seen the beginning.
const aimable = 200 * time.Millisecond

// resolve returns the number of requests of one partition.
func (a amount) resolve(d *decoder, n *Node, b bounds, cost int64) int {
	if n == nil {
		return 0
	}
	total := a.total(b, cost)
	switch {
	case total < 1:
		d.add(n, Quote(n.Text), fmt.Sprintf("with a limit that admits %d at once that is %d "+
			"requests, and a phase sends at least 1", b.full, total), "")
	case total > MaxRequests && d.lenient: // it does not fit
		return MaxRequests + 1
	case total > MaxRequests:
		d.add(n, Quote(n.Text), fmt.Sprintf("with a limit that admits %d at once that is over %d "+
			"requests", b.full, MaxRequests), "")
		return MaxRequests
	}
	return int(total)
}

// total returns the number that a stands for. It may be under 1.
func (a amount) total(b bounds, cost int64) int64 {
	if a.x.den == 0 {
		return a.plus
	}
	total := MulDiv(a.x.num, b.full, a.x.den*cost, true)
	if total < math.MaxInt64/2 {
		total += a.plus
	}
	return total
}

// resolve returns the rate of one partition. Its pair is reduced no further than the multiple needs.
func (v speed) resolve(d *decoder, n *Node, b bounds, cost int64) spec.Rate {
	if n == nil || v.x.den == 0 {
		return v.fixed
	}
	g := gcd(v.x.num, v.x.den)
	num, den := v.x.num/g, v.x.den/g*cost
	r := spec.Rate{N: MulDiv(b.rate.N, num, 1, false),
		Per: time.Duration(MulDiv(int64(b.rate.Per), den, 1, false))}
	if r.N == math.MaxInt64 || r.Per == math.MaxInt64 {
		d.add(n, Quote(n.Text), "that multiple of "+b.rate.String()+" does not fit", "")
	}
	return r
}

// resolve returns the duration between its bounds.
func (s span) resolve(d *decoder, n *Node, b bounds) time.Duration {
	if n == nil || s.x.den == 0 {
		return s.fixed
	}
	t := max(time.Duration(s.x.times(b.recovery)), s.min)
	if s.max > 0 {
		t = min(t, s.max)
	}
	if t > longest && d.lenient { // it is not waited for
		return min(t, 50*longest)
	}
	if t > longest || t == 0 {
		d.add(n, "the duration",
			fmt.Sprintf("with a limit that recovers in %s that is %s, and a phase lasts from 1ns to %s",
				text.Short(time.Duration(b.recovery)), text.Short(t), text.Short(longest)), "")
		return longest
	}
	return t
}

// gcd is the greatest common divisor of two positive numbers.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// clampCount makes a count of a float, from 1 to a number that is over every ceiling.
func clampCount(f float64) int { return int(max(1, min(f, math.MaxInt32))) }

// checkTogether reports parts of a scenario that contradict each other. It also tells the expectations what
// they need to know of the phases.
func (s *draft) checkTogether(d *decoder, root *Node) {
	s.checkNames(d)
	if !slices.ContainsFunc(s.Phases, func(p Phase) bool { return !p.Quiet() }) {
		d.add(root.Get("phases"), "no requests", "a scenario sends at least one request", "")
	}
	s.checkRequests(d)
	expect := root.Get("expect")
	s.checkExpected(d, expect)
	for i := range s.Phases {
		s.expectOf(&s.Phases[i])
	}
	s.Expect.Counted = s.countedPhases()
	s.checkNeeded(d, expect)
	s.checkKeyField(d, root.Get("target").Get("header"),
		"remove it here, or with this one key take partition none")
}

// checkNames reports phases with the same name, and phases to an origin that does not exist.
func (s *draft) checkNames(d *decoder) {
	names := make(map[string]*Node, len(s.Phases))
	for i := range s.phases {
		p := &s.phases[i]
		at := p.at.Get("name")
		if first := names[p.Name]; first != nil {
			d.add(at, Quote(p.Name), fmt.Sprintf("each phase has its own name, and this name is used "+
				"at %d:%d already", first.At.Line, first.At.Col), "")
		} else {
			names[p.Name] = at
		}
		if p.Origin && s.Target.Origin == "" {
			d.add(p.at.Get("origin"), "phase "+Quote(p.Name),
				"it goes to the origin, and the target has none", "write target.origin")
		}
	}
	for i := range s.phases {
		p := &s.phases[i]
		aim := timeline.AimPhase(p.Name)
		if other := names[aim]; p.Shape == timeline.Boundary && other != nil {
			d.add(other, Quote(aim), "the requests that find the boundary of phase "+Quote(p.Name)+
				" have that name", "")
		}
	}
}

// expectOf notes what a phase means for the expectations.
func (s *draft) expectOf(p *Phase) {
	if p.Barred && !p.Quiet() {
		s.Expect.Barred = append(s.Expect.Barred, p.Name)
	}
	s.limitPhase(p)
	if method := cmp.Or(p.Method, s.Target.Method); method == http.MethodHead && !p.Quiet() {
		s.Expect.Bodiless = append(s.Expect.Bodiless, p.Observed()...)
	}
}

// countedPhases returns the names of the phases between two counts by the target itself, in their order.
func (s *draft) countedPhases() (out [][]string) {
	var between []string
	counting := false
	for i := range s.Phases {
		switch p := &s.Phases[i]; {
		case p.Shape != timeline.Hook && !p.Quiet():
			between = append(between, p.Observed()...)
		case p.Shape == timeline.Hook && p.Event.Action == timeline.Count:
			if counting {
				out = append(out, between)
			}
			counting, between = true, nil
		}
	}
	return out
}

// checkNeeded reports expectations that need a phase which is missing.
func (s *draft) checkNeeded(d *decoder, expect *Node) {
	has := func(is func(Phase) bool) bool { return slices.ContainsFunc(s.Phases, is) }
	if s.Expect.RetryAfter.Honored &&
		!has(func(p Phase) bool { return p.Shape == timeline.HonorRetryAfter }) {
		d.add(expect.Get("retry_after"), "honored", "no phase waits as told",
			"add a phase of shape honor-retry-after")
	}
	origin := has(func(p Phase) bool { return p.Origin })
	through := has(func(p Phase) bool { return !p.Origin && !p.Quiet() })
	if s.Expect.Intact != nil && (!origin || !through) {
		d.add(expect.Get("intact"), "intact", "it compares phases with origin: true and phases without",
			"add the one that is missing")
	}
}

// checkKeyField reports a header field that is also the field of the client's key.
func (s *draft) checkKeyField(d *decoder, header *Node, mend string) {
	if header == nil || s.Partition.Kind != ByHeader {
		return
	}
	for _, k := range header.Keys {
		if strings.EqualFold(k.Text, s.Partition.Name) {
			d.add(k, Quote(k.Text), "this field holds the key of the client", mend)
		}
	}
}

// named returns the place of the phase with the name, or -1.
func named(phases []Phase, name string) int {
	return slices.IndexFunc(phases, func(p Phase) bool { return p.Name == name })
}
