package identify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Where answers take longer than the gaps between requests, nobody knows when a request was decided. Then
// what a model predicts seldom refutes another one. So the most promising experiments are rehearsed. A model
// answers them, with round trips from the recording, and the judge tells which rivals that refutes.

// spaced sets the gaps between requests by the slowest answer so far. Far from the target no answer comes
// after the next request, in a burst not after the one that follows it.
func (x *search) spaced() {
	x.nearer()
	if x.far && x.every > x.o.Every {
		x.every = max(x.every, slowest(x.shown())*21/20)
	}
	if x.dense = x.every; x.far {
		x.dense = min(x.every, max(x.o.Every, slowest(x.shown())*21/40))
	}
}

// nearer takes back that the target is far away once most answers come before the next request, or one
// came much sooner than most. Far away every answer is slow. On a busy machine only some are.
func (x *search) nearer() {
	const much = 8
	trip := x.trip()
	if x.far && x.path == nil && (much*soonest(x.shown()) < trip || trip*5/4 <= x.o.Every) {
		x.far, x.every = false, x.o.Every
	}
}

// bursts asks for the quota twice, each time when it is surely whole. A burst takes little time, so it tells
// the quota apart from that of a short window. Of two bursts one has usually lost no answer.
func (x *search) bursts(ctx context.Context) bool {
	rest := 2 * x.s.Now()
	if x.brisk() {
		for range overloads {
			if !x.overload(ctx, rest) {
				return false
			}
		}
		return true
	}
	for ; x.made[burstPhase] < 2; x.made[burstPhase]++ {
		x.spaced()
		burst := Phase{Name: burstPhase, Rest: rest, Requests: x.drained() + 2, Every: x.o.Every, Denials: 2}
		if !x.send(ctx, burst) {
			return false
		}
	}
	return true
}

// drained is how many requests were sent in the phase that used up the quota.
func (x *search) drained() int {
	asked := map[string]int{}
	for i := range x.tl.Observations {
		asked[x.tl.Observations[i].Phase]++
	}
	return cmp.Or(asked[fasterPhase], asked[quotaPhase])
}

// hopeless tells whether two fifths of the budget refuted no kind, although the judge was asked again. It is
// so too where all that is left recovers too soon to be told from here.
func (x *search) hopeless() bool {
	if !x.far || x.path != nil || 5*len(x.tl.Observations) <= 2*x.o.MaxRequests {
		return false
	}
	if x.aside == nil && len(x.gone) == 0 {
		x.excludeBy(manyAsked / 2)
	}
	return x.aside == nil && len(x.gone) == 0 || !x.brisk() && x.fleeting()
}

// fleeting tells whether all likely kinds recover within seven round trips, of which an experiment leaves two
// open. Limits that take longer were nearly all named.
func (x *search) fleeting() bool {
	const trips = 7
	likely := x.likely()
	return len(likely) > 0 && !slices.ContainsFunc(likely, func(r *region) bool {
		return (&region{kind: r.kind, live: r.live}).whole() >= trips*slowest(x.shown())
	})
}

// brisk tells whether units come back within a round trip: requests that waited for answers were never
// denied.
func (x *search) brisk() bool { return x.far && x.every <= x.o.Every }

// burstPhase is the name of a burst for the whole quota.
const burstPhase = "burst"

// deepen lets the exact search judge counters once few classes are left. Near the target or on a steady path
// it also lets it judge windows by the first request. The bounds refute little of a window that is short for
// its answers. Far away the search refutes most of the counters that bounds leave. There three roundings of a
// counter count as one class.
func (x *search) deepen() {
	few, after, left := 3, x.o.MaxRequests/5, classes(x.regions)
	if x.far {
		few = 5
		left = slices.CompactFunc(left, func(a, b []*region) bool { return a[0].kind.like(b[0].kind) })
	}
	if len(left) > few && x.path == nil || len(x.tl.Observations) < after {
		return
	}
	for _, r := range x.regions {
		first := r.kind.base.Align == spec.AlignFirst && (!x.far || x.path != nil)
		if (r.kind.base.Weighs() || first) && !r.kind.searched && !r.kind.seconds {
			k := *r.kind
			k.searched = true
			r.kind = &k
		}
	}
}

// choose returns the next experiment; false where none within the budget tells anything.
func (x *search) choose() (experiment, bool) {
	p := x.planner()
	if !x.far && !x.hazy() || len(p.models) == 0 {
		return p.best()
	}
	p.weigh()
	r := rand.New(rand.NewPCG(uint64(len(x.tl.Observations)), 1))
	rivals := x.rivals()
	for range rehearsals {
		var out experiment
		truth, most := p.draw(r.Float64()), 0.0
		for _, c := range p.shortlist(r) {
			if x.ended() || p.over() {
				break
			}
			tl, value := x.rehearsal(p, truth, c.phases, r), 0.0
			for _, v := range rivals {
				if x.asker.refuted(tl, v.limit, verdict.Exact, false) {
					value += v.weight
				}
			}
			if value /= c.cost * (1 + float64(p.made[family(c.experiment)])/8); value > most {
				out, most = c.experiment, value
			}
		}
		if most > 0 {
			return out, true
		}
	}
	return p.best()
}

// hazy tells whether one class is left and answers are too slow to tell its time well, as for a short window
// on a busy machine.
func (x *search) hazy() bool {
	likely := x.likely()
	return len(classes(likely)) == 1 && x.aside == nil &&
		float64(2*slowest(x.shown())) > float64(quickest(likely))*(resolution-1)
}

// quickest is the shortest time in which one of regions may recover.
func quickest(regions []*region) time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, r := range regions {
		h := r.hull()
		if r.kind.paced {
			h.t1 *= time.Duration(h.q1)
		}
		least = min(least, h.t1)
	}
	return least
}

// rehearsals is how often experiments are rehearsed as long as none refutes anything.
const rehearsals = 5

// weigh lowers the weight of models that miss more outcomes.
func (p *planner) weigh() {
	least, whole := math.MaxInt, 0.0
	for _, m := range p.models {
		least = min(least, m.missed)
	}
	for _, m := range p.models {
		m.weight /= float64(int(1) << min(m.missed-least, 20))
		whole += m.weight
	}
	for _, m := range p.models {
		m.weight /= whole
	}
}

// draw returns the model at a share of all weight.
func (p *planner) draw(share float64) *model {
	for _, m := range p.models {
		if share -= m.weight; share <= 0 {
			return m
		}
	}
	return p.models[len(p.models)-1]
}

// rival is a limit that is not refuted yet.
type rival struct {
	limit  spec.Limit
	weight float64
}

// rivals are policies near the ends of what is left, of each kind with the same weight. An experiment that
// refutes one narrows a kind by a fifth. Of the only kind left there are some nearer to its ends, too.
func (x *search) rivals() []rival {
	const most = 6 // rivals, unless there are more kinds
	shares := []float64{0.2}
	if len(x.regions) == 1 {
		shares = []float64{0.07, 0.2}
	}
	var out []rival
	tl := x.shown()
	for _, r := range x.regions {
		for _, share := range shares {
			for _, b := range r.hull().within(share)[:min(2, 1+most/len(x.regions))] {
				if l := r.standing(tl, b); l != nil {
					out = append(out, rival{l, 1 / float64(len(x.regions)*len(shares))})
				}
			}
		}
	}
	return out
}

// standing returns the limit at a point of the first part of the kind that is not refuted; nil where all are.
func (r *region) standing(tl *timeline.Timeline, b box) spec.Limit {
	for _, k := range r.kind.each() {
		if l := r.with(k.policy(b)); !r.asker.refuted(tl, l, verdict.Exact, false) {
			return l
		}
	}
	return nil
}

// within returns the policies at a share of b from its lower and from its upper end.
func (b box) within(share float64) []box {
	low, high := b, b
	in := math.Pow(float64(b.t2)/float64(b.t1), share)
	low.t1 = time.Duration(float64(b.t1) * in)
	high.t2 = time.Duration(float64(b.t2) / in)
	low.t2, high.t1, low.q1, high.q2 = low.t1, high.t2, low.q2, high.q1
	return []box{low, high}
}

// promise is an experiment with what models predict of it.
type promise struct {
	experiment
	bits, cost float64
}

// shortlist returns the experiments to rehearse: of each family the most promising ones and one at random.
func (p *planner) shortlist(r *rand.Rand) []promise {
	const each = 2
	byFamily := map[string][]promise{}
	var names []string
	for _, e := range p.menu() {
		bits, cost := p.worth(e)
		if cost >= 1 {
			continue
		}
		name := family(e)
		if byFamily[name] == nil {
			names = append(names, name)
		}
		byFamily[name] = append(byFamily[name], promise{e, bits, cost})
	}
	var out []promise
	for _, name := range names {
		all := byFamily[name]
		slices.SortStableFunc(all, func(a, b promise) int {
			return int(math.Copysign(1, b.bits/b.cost-a.bits/a.cost))
		})
		out = append(out, all[:min(each, len(all))]...)
		if len(all) > each {
			out = append(out, all[each+r.IntN(len(all)-each)])
		}
	}
	return out
}

// rehearsal is the recording with the answers that m would give to phases.
func (x *search) rehearsal(p *planner, m *model, phases []Phase, r *rand.Rand) *timeline.Timeline {
	tl := *x.shown()
	n := len(tl.Observations)
	tl.Observations = tl.Observations[:n:n]
	var trips []time.Duration
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			trips = append(trips, o.FirstByte-o.Sent)
		}
	}
	at, s := p.now, m.state
	for _, phase := range phases {
		at += max(phase.Rest, x.path.floor())
		end := at
		for admitted, denied := 0, 0; !phase.Over(admitted, denied); at += phase.Every {
			trip := trips[r.IntN(len(trips))]
			var d reference.Decision
			s, d = m.limiter.Step(s, at+time.Duration(r.Int64N(int64(trip)+1)), 1)
			o := timeline.Observation{Sent: at, FirstByte: at + trip, Answered: true}
			o.Seq, o.At, o.Phase, o.Cost = len(tl.Observations), at, phase.Name, 1
			if d.Allow {
				o.Outcome = timeline.Allowed
				admitted++
			} else {
				o.Outcome = timeline.Denied
				denied++
			}
			if r.IntN(len(tl.Observations)+1) >= len(trips) { // as many are lost as in the recording
				o.FirstByte, o.Answered, o.Outcome = 0, false, timeline.Unknown
			}
			end = max(end, at+trip)
			tl.Observations = append(tl.Observations, o)
		}
		at = max(at, end)
	}
	tl.Header.Ended = max(tl.Header.Ended, at)
	return &tl
}

// afar returns experiments for a target far away. Bursts take little time. Long experiments have many
// windows, so a round trip matters less.
func (p *planner) afar(full []time.Duration) []experiment {
	var out []experiment
	if len(full) > 0 {
		for _, rest := range slices.Concat(full, []time.Duration{3 * full[len(full)-1]}) {
			out = append(out, experiment{[]Phase{p.volley("burst-after-"+brief(rest), rest, p.dense)}})
		}
	}
	for _, m := range p.spread() { // a bucket that is drained slowly shows its rate
		for _, share := range []time.Duration{50, 62, 73} {
			if every := m.point.t1 * share / 100; m.kind.paced && every > p.every && len(full) > 0 {
				out = append(out, experiment{[]Phase{p.volley("emptied-every-"+brief(every),
					full[len(full)-1], every)}})
			}
		}
	}
	for _, every := range p.spacings() {
		for _, n := range []int{10, 25, 60} {
			out = append(out, experiment{[]Phase{{Name: "drain-every-" + brief(every),
				Rest: max(every, p.wait), Requests: n, Every: every}}})
		}
	}
	if p.alone() && p.models[0].kind.base.Refresh == spec.RefreshAll {
		out = append(out, p.chains(p.models[0].around)...)
	}
	return out
}

// chains returns experiments that use up the quota and then ask about once a window until a request is
// admitted. Where every request starts the window anew, each of them tells.
func (p *planner) chains(around box) []experiment {
	var out []experiment
	const steps = 8
	from := max(p.every, around.t1-p.trip)
	for i := range time.Duration(steps + 1) {
		every := from + (around.t2-from)*i/steps
		use := p.volley("chain-every-"+brief(every), max(p.every, p.wait), p.dense)
		use.Denials = 1
		out = append(out, experiment{[]Phase{use, {Name: use.Name, Rest: every, Requests: 10, Every: every,
			Admits: 1}}})
	}
	return out
}

// spacings are gaps between requests that keep a quota used up, ascending. Where few kinds are left, some
// gaps are about the time of one unit. If denied requests count, each request tells then.
func (p *planner) spacings() []time.Duration {
	out := []time.Duration{p.dense, p.every, p.every * 3 / 2, p.every * 9 / 4}
	kinds, few := p.spread(), []time.Duration{}
	if len(kinds) <= 2 {
		few = []time.Duration{94, 97, 100, 103}
	}
	for _, m := range kinds {
		unit := m.point.t1
		if !m.kind.paced {
			unit /= time.Duration(m.point.q1)
		}
		for _, share := range append([]time.Duration{50, 70, 90}, few...) {
			if every := unit * share / 100; every > p.every {
				out = append(out, every)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Far from the target a request is decided at any time until its answer. So each end of a window is open by a
// round trip. A kind and its quota may be known long before its time is known to 2 %. Then it is named, with
// all that is left of its time.

// coarsest is the largest ratio between the ends of a time with which a limit is named from far away.
const coarsest = 1.25

// blur is how much one experiment leaves open of the time in which a limit recovers; 0 where that is little.
// In a queue the fastest answer tells how far away it is, since others wait.
func (x *search) blur() time.Duration {
	if !x.far && (x.aside == nil || soonest(x.judged()) < x.o.Every) {
		return 0
	}
	return 2 * slowest(x.shown())
}

// coarse tells whether regions are one class with one quota, whose time is open by no more than round trips
// leave. It is never so for rare kinds: there are so many that what is open of one may be another.
func (x *search) coarse(regions []*region) bool {
	blur := x.blur()
	return blur > 0 && x.stage == 0 && x.alike(regions, func(r *region) bool {
		h := r.hull()
		open := h.t2 - h.t1
		if r.kind.paced {
			open *= time.Duration(h.q2)
		}
		return h.q1 == h.q2 && open <= blur && float64(h.t2) <= float64(h.t1)*coarsest
	})
}

// named tells whether what is left may be named.
func (x *search) named() bool {
	return x.settled(x.regions) || x.usuals > 0 && x.coarse(x.regions)
}

// Sharper is what would tell the time of a limit to 2 % that is known less well from far away.
type Sharper struct {
	// Trip is the slowest round trip, which is why the time is not known better.
	Trip time.Duration
	// Requests and Time estimate what it takes in addition.
	Requests int
	Time     time.Duration
}

// sharper returns what would tell the time of c to 2 %; nil where it is known. Each end of a window lies
// anywhere within a round trip. So the best of n windows leaves open about one over the root of n.
func (x *search) sharper(c Candidate) *Sharper {
	if x.settled(x.regions) {
		return nil
	}
	times := float64(c.most-c.least) / (float64(c.least) * (resolution - 1))
	more := math.Max(times*times-1, 0.1)
	return &Sharper{slowest(x.shown()) + x.path.floor(),
		int(math.Ceil(more*float64(len(x.tl.Observations))/10)) * 10,
		time.Duration(more * float64(x.tl.End())).Round(time.Second)}
}

// sentence describes it for people.
func (s *Sharper) sentence() string {
	return fmt.Sprintf("its time is not known to 2 %%, as answers take up to %s: the SPEC has the "+
		"roundest time that is left; about %s in %s would narrow it", quantity.Brief(s.Trip),
		quantity.Plural(s.Requests, "more request"), quantity.Brief(s.Time))
}

// blurred says how little one experiment tells from far away; empty where that is enough. Each end of a
// window is a request that was decided at any time until its answer.
func (x *search) blurred() string {
	if !x.far || len(x.regions) == 0 {
		return ""
	}
	least := quickest(x.regions)
	if float64(x.blur()) <= float64(least)*(resolution-1) {
		return ""
	}
	return fmt.Sprintf("; from here a request may be decided at any time until its answer, up to %s "+
		"later, and every limit that is left may recover in %s: each experiment leaves %s of that open",
		quantity.Brief(x.blur()/2),
		quantity.Brief(least), quantity.Brief(x.blur()))
}

// fromNearer says why a limit of requests in flight can be refuted only from nearer; empty where units come
// back more slowly than answers.
func (x *search) fromNearer(found []Candidate) string {
	if !x.far || len(found) == 0 || found[0].Measured.Rate.Lo <= 0 {
		return ""
	}
	unit := func(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }
	rate, trip := found[0].Measured.Rate, x.trip()
	if unit(rate.Hi) > 2*trip {
		return ""
	}
	return fmt.Sprintf("; ask from nearer: a unit may come back in %s..%s, but answers take %s, so a "+
		"request after the last answer is seldom denied", quantity.Brief(unit(rate.Hi)),
		quantity.Brief(unit(rate.Lo)), quantity.Brief(trip))
}
