package identify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Options are the budget, all above 0.
type Options struct {
	// MaxRequests are sent at most, Every apart or more, within MaxTime.
	MaxRequests int
	Every       time.Duration
	MaxTime     time.Duration
	// Fresh tells that nobody used the quota before.
	Fresh bool
	// Think is how long the judge is asked after each phase, 0 for as long as it takes.
	Think time.Duration
	// Alike keeps clients that differ from being asked for: what tells them apart is not found.
	Alike bool
	// Told is called after each phase with what is left; may be nil.
	Told func(p Phase, tl *timeline.Timeline, left []string)
}

// search is one identification.
type search struct {
	o       Options
	s       Sender
	tl      *timeline.Timeline
	regions []*region
	// gone are the kinds of which nothing is left.
	gone []*region
	// ended tells that the search was interrupted.
	ended func() bool
	// every is how far requests are apart: as answers take, or where that shows no denial as the budget says.
	// dense is the same in a burst, less than every from far away.
	every, dense time.Duration
	// far tells that answers take longer than requests may be apart.
	far bool
	// made counts the experiments by the name of their first phase.
	made map[string]int
	// stopped says why it ended before its budget; empty if it did not.
	stopped string
	// aside are the kinds that delay no answers, while it is supposed that those here wait in a queue.
	aside []*region
	// skip is how many observations came before the silence that made sure that the quota is whole.
	skip int
	// undelayed is how many of a queue do not wait.
	undelayed int64
	// doubting asks for experiments on what is doubtful too.
	doubting bool
	// cut counts how often the judge was stopped as it took longer than Options.Think.
	cut int
	// trail is what was left of the usual kinds when something was; stage is how many stages of rare ones
	// were looked for since.
	trail []*region
	stage int
	// overran tells that a quota was asked for that is told beside what was found.
	overran bool
	// usuals is how many of the usual experiments were made.
	usuals int
	// confirmed tells that all was asked that could refute the one class that is left; what comes then tells
	// its time better.
	confirmed bool
}

// Identify finds out what limits the requests of s. Whatever goes wrong on the way is part of the result.
func Identify(ctx context.Context, s Sender, o Options) *Result {
	x := &search{o: o, s: s, tl: &timeline.Timeline{}, made: map[string]int{},
		ended: func() bool { return ctx.Err() != nil }}
	x.begin()
	if x.open(ctx) {
		x.explore(ctx)
	} else if x.tl.Counts().Denied > 0 { // at least the quota is known
		x.exclude()
	}
	if !o.Fresh && len(x.regions) == 0 && x.stopped == "" {
		x.afterRest(ctx)
	}
	res := x.result()
	if res.Clients = x.apart(ctx, res); res.Clients != nil {
		res.Used = x.s.Now()
	}
	return res
}

// begin supposes nothing.
func (x *search) begin() {
	x.regions, x.gone, x.aside = nil, nil, nil
	x.trail, x.stage = nil, 0
	for _, k := range kinds() {
		x.regions = append(x.regions, &region{kind: k, live: []box{x.widest(k)}})
	}
}

// widest is all that is looked for of a kind.
func (x *search) widest(k *kind) box {
	most := box{q1: 1, q2: int64(x.o.MaxRequests), t1: x.o.Every / 2, t2: 2 * x.o.MaxTime}
	if !k.paced { // nothing that is sent could show a shorter window
		most.t1 = 5 * x.o.Every / 2
	}
	return most
}

// afterRest begins anew after a silence, as others may have used the quota before: what was recorded so far
// is judged no more. Where nothing can be sent after it, what was recorded is what there is.
func (x *search) afterRest(ctx context.Context) {
	before, rest := *x, max(2*x.s.Now(), time.Second)
	x.skip, x.usuals, x.made = len(x.tl.Observations), 0, map[string]int{}
	x.begin()
	if x.send(ctx, Phase{Name: firstPhase, Rest: rest, Requests: 1}) && x.open(ctx) {
		x.explore(ctx)
	}
	if x.skip == len(x.tl.Observations) {
		*x = before
	}
}

// The first phases.
const (
	firstPhase    = "first"
	quotaPhase    = "quota"
	fasterPhase   = "quota-faster"
	comebackPhase = "comeback"
)

// open asks once, then for the quota, then for when it comes back. It reports false where there is no more
// to do.
func (x *search) open(ctx context.Context) bool {
	for x.skip == 0 && x.tl.Counts().Unknown == len(x.tl.Observations) { // a lost answer tells nothing
		if !x.send(ctx, Phase{Name: firstPhase, Requests: 1}) {
			return false
		}
	}
	quota := Phase{Name: quotaPhase, Rest: x.o.Every, Requests: x.o.MaxRequests * 6 / 10, Every: x.o.Every,
		Denials: 3}
	x.every = max(x.o.Every, x.trip()*5/4)
	if x.far = x.every > x.o.Every; x.far { // one after the other tells more
		quota.Every, quota.Requests = x.every, x.o.MaxRequests/4
		if !x.send(ctx, quota) {
			return false
		}
		quota.Name, quota.Requests = fasterPhase, x.o.MaxRequests*4/10
	}
	if x.shown().Counts().Denied == 0 {
		x.every, quota.Every = x.o.Every, x.o.Every
		if !x.send(ctx, quota) {
			return false
		}
	}
	if queued(x.shown()) {
		x.asQueue()
		if quota.Rest = x.trip(); x.shown().Counts().Denied == 0 && !x.send(ctx, quota) {
			return false
		}
	}
	if x.shown().Counts().Denied == 0 {
		x.stopped = undenied
		return false
	}
	return x.comeback(ctx) && (!x.far || x.bursts(ctx))
}

// comeback asks when a request is admitted again, ever more seldom. It reports false where the budget ends
// before.
func (x *search) comeback(ctx context.Context) bool {
	for rest := 2 * x.every; ; rest *= 2 {
		if last := x.tl.Observations[len(x.tl.Observations)-1]; last.Outcome == timeline.Allowed {
			return true
		}
		if !x.send(ctx, Phase{Name: comebackPhase, Rest: rest, Requests: 1}) {
			return false
		}
	}
}

// explore makes the best experiment until one class is left, or none, or the budget is used.
func (x *search) explore(ctx context.Context) {
	for !x.ended() {
		x.narrow(fewAsked)
		if x.far && x.aside == nil && len(x.gone) == 0 && 5*len(x.tl.Observations) > 2*x.o.MaxRequests {
			x.stopped = "two fifths of the requests refuted no kind of limit"
			return
		}
		if again, over := x.known(ctx); over {
			return
		} else if again {
			continue
		}
		e, ok := x.choose()
		if !ok { // what is likely may be what was asked too little
			x.exclude()
			e, ok = x.planner().best()
		}
		if !ok {
			x.doubting = true
			e, ok = x.planner().best()
			x.doubting = false
		}
		if !ok && x.usual(ctx, ofAny) {
			continue
		}
		if !ok {
			x.stopped = "no experiment within the budget tells more"
			return
		}
		x.made[family(e)]++
		x.made[e.phases[0].Name]++
		for _, p := range e.phases {
			if !x.send(ctx, p) {
				x.exclude()
				return
			}
		}
	}
}

// known asks for what could refute the one class that is left. It tells whether that was done again, or there
// is no more to ask. From far away what is left of a time may be narrowed after it.
func (x *search) known(ctx context.Context) (again, over bool) {
	one := func(regions []*region) bool {
		return x.settled(regions) || !x.confirmed && x.coarse(regions)
	}
	if !one(x.likely()) {
		return false, false
	}
	if x.exclude(); !one(x.regions) {
		return false, false
	}
	if x.confirm(ctx) {
		return true, false
	}
	x.confirmed = true
	return false, x.settled(x.regions) || x.stopped != ""
}

// narrow lets the recording refute what it can. Each kind has an equal share of the time that is left.
func (x *search) narrow(asked int) {
	var left []*region
	tl, began, cut := x.shown(), time.Now(), false
	shallow := x.crowded()
	x.deepen()
	for i, r := range x.regions {
		until := time.Now().Add((x.o.Think - time.Since(began)) / time.Duration(len(x.regions)-i))
		late := func() bool { return x.o.Think > 0 && time.Now().After(until) }
		over := func() bool { return x.ended() || late() }
		r.shallow, r.over = shallow, over
		if a := r.beside; a != nil { // each in turn, beside all that is left of the other
			a.shallow, a.over = shallow, over
			if a.narrow(tl, asked); a.empty() {
				x.gone = append(x.gone, a)
				continue
			}
		}
		if r.narrow(tl, asked); r.empty() {
			x.gone = append(x.gone, r)
			continue
		}
		parts := r.split()
		for _, part := range parts {
			if len(parts) > 1 {
				part.shallow, part.over = shallow, over
				part.narrow(tl, asked)
			}
			if !part.empty() {
				left = append(left, part)
			}
		}
		cut = cut || late()
	}
	if cut {
		x.cut++
	}
	if x.regions = left; len(left) == 0 && x.aside != nil {
		x.noQueue()
		x.narrow(asked)
	}
	x.recall()
}

// asQueue supposes that answers wait in a queue.
func (x *search) asQueue() {
	x.aside, x.regions = x.regions, nil
	for _, r := range x.aside {
		if r.kind.base.Bucketed() && r.kind.base.Count != spec.CountAll {
			x.regions = append(x.regions, &region{kind: queueKind(r.kind), live: r.live})
		}
	}
}

// noQueue takes that back.
func (x *search) noQueue() { x.regions, x.aside = x.aside, nil }

// shown is the recording as it is judged.
func (x *search) shown() *timeline.Timeline {
	tl := x.tl
	if x.skip > 0 {
		late := *tl
		late.Observations = tl.Observations[x.skip:]
		tl = &late
	}
	if x.aside == nil {
		return tl
	}
	return undelayed(tl)
}

// exclude asks much more of the judge, until no kind is doubtful.
func (x *search) exclude() { x.excludeBy(manyAsked) }

// excludeBy asks it so many times for each kind.
func (x *search) excludeBy(asked int) {
	if x.stage > 0 { // of rare kinds there are many, and the judge takes longer for each
		asked /= 2
	}
	for range 4 {
		if x.narrow(asked); len(x.likely()) == len(x.regions) {
			return
		}
	}
}

// likely are the regions of which some policy is known not to be refuted.
func (x *search) likely() []*region {
	return slices.DeleteFunc(slices.Clone(x.regions), func(r *region) bool { return len(r.live) == 0 })
}

// settled tells whether regions are one class or none, known as exactly as it must be.
func (x *search) settled(regions []*region) bool {
	return x.alike(regions, func(r *region) bool {
		h, slack := r.hull(), 5*x.tl.Header.Tick
		if r.kind.paced {
			slack /= time.Duration(h.q2)
		}
		return h.single(slack)
	})
}

// alike tells whether regions are one class or none, of which each is known.
func (x *search) alike(regions []*region, known func(*region) bool) bool {
	for _, r := range slices.Concat(regions, besides(regions)) {
		if len(r.kind.parts) > 0 || !known(r) {
			return false
		}
	}
	return len(classes(regions)) <= 1
}

// planner returns what chooses the next experiment.
func (x *search) planner() *planner {
	x.spaced()
	until := time.Now().Add(x.o.Think)
	p := &planner{over: func() bool { return x.o.Think > 0 && time.Now().After(until) },
		made: x.made, now: x.s.Now(), trip: x.trip(), every: x.every, dense: x.dense, far: x.far,
		wait:     x.s.Wait(),
		requests: x.spare(), left: x.o.MaxTime - x.s.Now()}
	likely, tl := x.likely(), x.shown()
	if _, recorded := x.s.(*sent); recorded { // what comes next is of a new client
		tl = &timeline.Timeline{}
	}
	for _, r := range likely {
		n := 8
		if r.kind.base.Align == spec.AlignUnknown {
			n = 4
		}
		points := r.points(n, x.doubting || len(likely) == 1)
		parts := []*kind{r.kind}
		if x.far { // with one rounding alone nothing there tells some apart
			parts = r.kind.each()
		}
		for i, b := range points {
			if m := r.newModel(tl, parts[i%len(parts)], b); m != nil {
				m.weight = 1 / float64(len(points)*len(likely))
				p.models = append(p.models, m)
			}
		}
	}
	return p
}

// crowded tells whether so many requests were under way at once that an exact search would take long.
func (x *search) crowded() bool {
	const most = 8
	for i := range x.tl.Observations {
		if j := i + most; j < len(x.tl.Observations) &&
			x.tl.Observations[i].FirstByte > x.tl.Observations[j].Sent {
			return true
		}
	}
	return false
}

// trip is the middle time from a request to its answer, which waits in no queue.
func (x *search) trip() time.Duration {
	var all []time.Duration
	tl := x.shown()
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			all = append(all, o.FirstByte-o.Sent)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// spare is how many requests may still be sent to name the limit. Of a limit that has denied, a quarter of
// all is kept for what tells clients apart, where that is asked.
func (x *search) spare() int {
	most := x.o.MaxRequests
	if _, ok := x.s.(Teller); ok && !x.o.Alike && x.tl.Counts().Denied > 0 {
		most -= most / 4
	}
	return most - len(x.tl.Observations)
}

// send sends one phase within the budget. It reports false where nothing more is to be sent.
func (x *search) send(ctx context.Context, p Phase) bool {
	switch left := x.spare(); {
	case left <= 0:
		x.stopped = "the budget of requests is used"
		return false
	case x.s.Now()+max(p.Rest, x.s.Wait()) >= x.o.MaxTime:
		x.stopped = "the budget of time is used"
		return false
	default:
		p.Requests = max(1, min(p.Requests, left))
	}
	p.Crowded, p.Until = x.aside != nil || x.every < x.trip(), x.o.MaxTime
	seen, err := x.s.Send(ctx, p)
	for _, o := range seen {
		o.Seq, o.Phase, o.Cost = len(x.tl.Observations), p.Name, 1
		x.tl.Observations = append(x.tl.Observations, o)
	}
	x.tl.Header = x.s.Header()
	if x.o.Told != nil {
		x.o.Told(p, x.tl, x.left())
	}
	switch {
	case err != nil:
		x.stopped = err.Error()
	case ctx.Err() != nil:
		x.stopped = "interrupted"
	default:
		x.stopped = trouble(x.tl.Observations)
	}
	return x.stopped == ""
}

// mostLost is how many requests in a row may have no outcome.
const mostLost = 3

// trouble says why a phase is the last one: its last requests have no outcome. Empty: go on.
func trouble(all []timeline.Observation) string {
	unknown, errors, last := 0, 0, ""
	for i := range all {
		o := &all[i]
		switch {
		case o.Outcome != timeline.Unknown:
			unknown = 0
			continue
		case o.Answered:
			errors++
			last = fmt.Sprintf("status %d", o.Status)
		default:
			last = o.Error
		}
		unknown++
	}
	refused := unknown > 0 && unknown == len(all) && last != "timeout"
	if errors >= mostLost || unknown >= mostLost || refused {
		return fmt.Sprintf("%s neither admitted nor denied (%s): is it the right URL, "+
			"and which status denies (--denied)?", quantity.Plural(max(unknown, errors), "request"), last)
	}
	return ""
}

// left names the kinds that are left.
func (x *search) left() []string {
	var out []string
	for _, r := range x.regions {
		out = append(out, r.text())
	}
	return out
}
