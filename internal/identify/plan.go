package identify

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// experiment is one or several phases, at most maxPhases where models predict it.
type experiment struct {
	phases []Phase
}

// perform makes an experiment that was planned some time ago. It reports false where nothing more is sent.
func (x *search) perform(ctx context.Context, e experiment, planned time.Duration) bool {
	x.made[family(e)]++
	x.made[e.phases[0].Name]++
	e.phases[0].Rest = x.rest(e.phases[0].Rest, planned)
	for _, p := range e.phases {
		if !x.send(ctx, p) {
			x.exclude()
			return false
		}
	}
	return true
}

// rest is what is left of a rest that was planned some time ago: planning is part of it.
func (x *search) rest(rest, planned time.Duration) time.Duration {
	return max(min(rest, x.every), rest-(x.s.Now()-planned))
}

// planner chooses the next experiment.
type planner struct {
	models []*model
	now    time.Duration
	// made counts the experiments so far.
	made map[string]int
	// trip is the time from a request to its answer. every is the shortest gap between requests, dense the
	// shortest in a burst: less than every far away.
	trip, every, dense time.Duration
	// far tells that answers take longer than the shortest gap between requests.
	far bool
	// wait is how long nothing will be sent from now on.
	wait time.Duration
	// requests and left are what is left of the budget.
	requests int
	left     time.Duration
	// over tells that the time to plan is over; nil: it never is.
	over func() bool
}

// volley asks for as many requests as use up a quota, including what a bucket regains meanwhile.
func (p *planner) volley(name string, rest, every time.Duration) Phase {
	most := int64(1)
	for _, m := range p.models {
		n := m.point.q2
		if m.kind.paced && every < m.point.t1*3/4 {
			n = int64(float64(n) / (1 - float64(every)/float64(m.point.t1)))
		}
		most = max(most, n)
	}
	return Phase{Name: name, Rest: rest, Requests: int(most) + 3, Every: every, Denials: 2}
}

// waits returns times at which models disagree on whether share of the quota is back: quantiles of what they
// predict.
func (p *planner) waits(share float64) []time.Duration {
	var all []time.Duration
	for _, m := range p.models {
		n := max(1, int64(math.Round(share*float64(m.point.q1))))
		if w := m.wait(p.now, n); w != reference.Never && w < p.left {
			all = append(all, w)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return nil
	}
	var out []time.Duration
	for _, at := range []float64{0.1, 0.3, 0.5, 0.7, 0.9} {
		i := int(at * float64(len(all)))
		w := all[i]
		if i+1 < len(all) {
			w += (all[i+1] - w) / 2
		}
		w = max(w, p.every, p.wait)
		out = append(out, w)
	}
	return append(out, max(p.wait, all[len(all)-1]+all[len(all)-1]/50))
}

// menu returns the experiments to choose from.
func (p *planner) menu() []experiment {
	var out []experiment
	add := func(phases ...Phase) { out = append(out, experiment{phases}) }
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		for _, w := range p.waits(share) {
			add(p.volley(fmt.Sprintf("quota-after-%s", brief(w)), w, p.every))
			if !p.far || p.alone() { // far away one request tells little about the kind
				add(Phase{Name: "one-after-" + brief(w), Rest: w, Requests: 1, Every: p.every})
			}
		}
	}
	full := p.waits(1)
	if p.far {
		out = append(out, p.afar(full)...)
	}
	for _, m := range p.spread() {
		q, t := int(m.point.q1), m.point.t1
		if m.kind.paced {
			t *= time.Duration(q)
		}
		for _, later := range []time.Duration{t / 3, t * 3 / 5, t * 9 / 10} {
			for _, more := range []time.Duration{0, t * 2 / 5,
				t * 7 / 10} { // at another phase of a window by the clock
				if len(full) == 0 {
					break
				}
				name := fmt.Sprintf("half-then-%s", brief(later))
				add(Phase{Name: name, Rest: full[len(full)-1] + more, Requests: (q + 1) / 2,
					Every: p.every},
					p.volley(name, later, p.every), p.volley(name, later, p.every))
			}
		}
		every := max(p.every, t/time.Duration(2*q))
		steady := Phase{Name: fmt.Sprintf("steady-every-%s", brief(every)), Rest: every,
			Requests: min(q+4, 20), Every: every}
		first := steady
		first.Rest = max(every, p.wait)
		add(first, steady, steady)
		if m.kind.queue { // a queue is empty again when its last answer is there
			out = append(out, p.overloads(m)...)
		}
		if m.kind.bans && len(full) > 0 {
			out = append(out, p.quiet(m, full[len(full)-1])...)
		}
		if len(full) > 0 {
			out = append(out, p.ladders(m, full[len(full)-1])...)
			out = append(out, p.edges(m.kind, full[len(full)-1])...)
			add(p.volley("wider-"+brief(p.every*3/2), full[len(full)-1], p.every*3/2))
		}
	}
	return out
}

// overloads returns experiments that keep a queue full for a while.
func (p *planner) overloads(m *model) []experiment {
	var out []experiment
	for _, share := range []time.Duration{2, 3} {
		every := max(p.every, m.point.t1/share)
		fill := float64(m.point.q2)
		if every < m.point.t1 {
			fill /= 1 - float64(every)/float64(m.point.t1)
		}
		for _, n := range []int{10, 25, 50, 100} {
			out = append(out, experiment{[]Phase{{Name: "overload-every-" + brief(every),
				Rest: max(p.every, p.wait), Requests: int(fill) + n, Every: every}}})
		}
	}
	return out
}

// rungs is how many steps of a ladder divide what is open of a time.
const rungs = 8

// ladders returns experiments that use up the quota and then send one request after the other until one is
// admitted, about when m admits one. They begin with a whole quota, or with what is there now.
func (p *planner) ladders(m *model, full time.Duration) []experiment {
	var out []experiment
	for _, rest := range []time.Duration{full, max(p.every, p.wait)} {
		use := p.volley("", rest, p.dense)
		_, s, end := m.predict(p.now, p.trip/2, []Phase{use})
		after := *m
		after.state = s
		back := after.wait(end, 1)
		if back == reference.Never || back <= 0 {
			continue
		}
		wide := time.Duration(float64(back) * (float64(m.around.t2)/float64(m.around.t1) - 1))
		step := max(p.dense, wide/rungs)
		from := max(p.every, back-wide-2*step)
		use.Name = "return-about-" + brief(back)
		climb := Phase{Name: use.Name, Rest: from, Requests: int(2*wide/step) + 4, Every: step, Admits: 1}
		if !m.kind.counts() {
			out = append(out, experiment{[]Phase{use, climb}})
			continue
		}
		for i := range time.Duration(4) { // a denial would put the next admission off
			climb.Requests, climb.Rest = 1, max(p.every, back-p.trip-wide/2+i*(wide+p.trip)/3)
			out = append(out, experiment{[]Phase{use, climb}})
		}
	}
	return out
}

// edges returns experiments that use a rested quota up a little before windows by the clock end, as models of
// a kind suppose, and ask once a little after it, when one that the first request opened goes on:
//
//	|     a a a d | a         by the clock, | where windows end
//	.     a a a d   d         by the first request
func (p *planner) edges(of *kind, full time.Duration) (out []experiment) {
	if !of.base.Fixed() || of.base.Align != spec.AlignUnknown || p.alone() {
		return nil
	}
	for _, m := range p.models {
		if m.kind != of {
			continue
		}
		use := p.volley("", full, p.dense)
		_, s, end := m.predict(p.now, p.trip/2, []Phase{use})
		after := *m
		after.state = s
		back := after.wait(end, 1)
		for _, share := range []time.Duration{20, 6} {
			near := m.point.t1 / share
			once := Phase{Rest: max(p.every, 2*near), Requests: 1, Every: p.every}
			if use.Rest = full + back - near; back < near {
				use.Rest += m.point.t1
			}
			use.Name = "edge-after-" + brief(use.Rest)
			once.Name = use.Name
			out = append(out, experiment{[]Phase{use, once}})
		}
	}
	return out
}

// alone tells whether one kind is left.
func (p *planner) alone() bool { return len(p.spread()) == 1 }

// quiet returns experiments that use up the quota without a denial, which would begin a ban. Then they ask
// once, at a time when some models admit a request and others do not.
func (p *planner) quiet(of *model, full time.Duration) []experiment {
	use := Phase{Rest: full, Requests: int(of.point.q1), Every: p.every, Denials: 1}
	var all []time.Duration
	for _, m := range p.models {
		if m.kind == of.kind {
			shown, s, end := m.predict(p.now, p.trip/2, []Phase{use})
			if _, d := m.limiter.Step(s, end, 1); shown[0].denied == 0 && d.RetryAfter != reference.Never {
				all = append(all, d.RetryAfter)
			}
		}
	}
	slices.Sort(all)
	var out []experiment
	for i := range len(all) - 1 {
		once := Phase{Rest: max(p.every, all[i]+(all[i+1]-all[i])/2), Requests: 1, Every: p.every}
		use.Name = "quiet-then-" + brief(once.Rest)
		once.Name = use.Name
		out = append(out, experiment{[]Phase{use, once}})
	}
	return out
}

// spread returns a model of each kind.
func (p *planner) spread() []*model {
	seen := map[*kind]bool{}
	var out []*model
	for _, m := range p.models {
		if !seen[m.kind] {
			seen[m.kind] = true
			out = append(out, m)
		}
	}
	return out
}

// worth returns how many bits e is expected to tell, and its cost as a share of the budget. Telling the kind
// counts several times as much as telling its policies.
func (p *planner) worth(e experiment) (bits, cost float64) {
	all, ofKind, weights := map[seen]float64{}, map[*kind]map[seen]float64{}, map[*kind]float64{}
	requests, within := 0.0, 0.0 // within is what the time of a decision leaves open
	lates := []time.Duration{0, p.trip / 2, p.trip}
	for _, m := range p.models {
		own := map[seen]float64{}
		for _, late := range lates {
			shown, _, _ := m.predict(p.now, late, e.phases)
			own[shown] += m.weight / float64(len(lates))
			requests += m.weight * float64(shown.sent()) / float64(len(lates))
		}
		if ofKind[m.kind] == nil {
			ofKind[m.kind] = map[seen]float64{}
		}
		weights[m.kind] += m.weight
		for k, share := range own {
			all[k] += share
			ofKind[m.kind][k] += share
		}
		within += entropy(own, m.weight)
	}
	total, kindly := entropy(all, 1), 0.0
	for _, m := range p.spread() {
		kindly += entropy(ofKind[m.kind], weights[m.kind])
	}
	bits = total - within + kindWorth*(total-kindly)
	var lasts, volleys time.Duration
	for _, phase := range e.phases {
		all := time.Duration(phase.Requests) * phase.Every
		if lasts += phase.Rest + p.trip; phase.Denials == 0 {
			lasts += all
		} else {
			volleys += all
		}
	}
	if requests > float64(p.requests) || lasts+volleys > p.left {
		return 0, 1
	}
	cost = requests/float64(p.requests) + float64(lasts)/float64(p.left)
	if p.far && p.alone() { // planning costs little there
		return bits, cost + 0.01
	}
	return bits, cost + 0.05
}

// kindWorth is how many times as much it counts to tell the kind.
const kindWorth = 3

// entropy is the entropy of shares of whole in bits, times whole. The order of its sum is fixed, so that a
// seed always gives the same result.
func entropy[K comparable](shares map[K]float64, whole float64) (bits float64) {
	for _, w := range slices.Sorted(maps.Values(shares)) {
		bits -= w * math.Log2(w/whole)
	}
	return bits
}

// family is the name of an experiment without its time.
func family(e experiment) string {
	name := e.phases[0].Name
	return name[:strings.LastIndexByte(name, '-')]
}

// mostAlike is how often an experiment is made while several kinds are left. Of one kind the same tells more
// each time, as no two answers take equally long.
const mostAlike = 4

// best returns the experiment that tells most for its cost, of those that there was time to weigh; false
// where none tells anything.
func (p *planner) best() (experiment, bool) {
	var out experiment
	most := 0.0
	for _, e := range p.menu() {
		if p.over != nil && p.over() {
			break
		}
		if p.made[e.phases[0].Name] >= mostAlike && !p.alone() { // the models promise what does not come
			continue
		}
		bits, cost := p.worth(e)
		again := 1 + float64(p.made[family(e)])/4 + 2*float64(p.made[e.phases[0].Name])
		if value := bits / cost / again; bits > 0.02 && value > most {
			out, most = e, value
		}
	}
	return out, most > 0
}

// next describes the experiment that would tell most, whatever the budget. A recording that was cut out of
// traffic leaves most open because of the cut.
func (x *search) next() string {
	switch {
	case x.overdue():
		return ""
	case x.tl.Header.CompleteFrom > 0:
		return fmt.Sprintf("a log of all requests since the limiter started (--complete, if this is "+
			"one), because earlier requests may explain denials; and finer times: each decision is "+
			"known to %s",
			quantity.Brief(x.trip()))
	}
	p := x.planner()
	p.requests, p.left = 100_000, 48*time.Hour
	_, p.over = x.think(x.judgeUntil() + (x.o.MaxTime-x.judgeUntil())/2)
	e, ok := p.best()
	if !ok {
		return ""
	}
	return costs(e.phases)
}

// brief prints a time for the name of a phase.
func brief(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, 10 * time.Millisecond, time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Microsecond).String()
}
