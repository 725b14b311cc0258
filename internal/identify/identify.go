package identify

import (
	"context"
	"fmt"
	"slices"
	"time"

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
	// made counts the experiments by the name of their first phase.
	made map[string]int
	// stopped says why it ended before its budget; empty if it did not.
	stopped string
	// usuals is how many of the usual experiments were made.
	usuals int
}

// Identify finds out what limits the requests of s. Whatever goes wrong on the way is part of the result.
func Identify(ctx context.Context, s Sender, o Options) *Result {
	x := &search{o: o, s: s, tl: &timeline.Timeline{}, made: map[string]int{}}
	for _, k := range kinds() {
		most := box{1, int64(o.MaxRequests), o.Every / 2, 2 * o.MaxTime}
		if !k.paced { // nothing that is sent could show a shorter window
			most.t1 = 5 * o.Every / 2
		}
		x.regions = append(x.regions, &region{kind: k, live: []box{most}})
	}
	if x.open(ctx) {
		x.explore(ctx)
	}
	return x.result()
}

// The first phases.
const (
	firstPhase    = "first"
	quotaPhase    = "quota"
	comebackPhase = "comeback"
)

// open asks once, then for the quota, then for when it comes back. It reports false where there is no more
// to do.
func (x *search) open(ctx context.Context) bool {
	if !x.send(ctx, Phase{Name: firstPhase, Requests: 1}) {
		return false
	}
	quota := Phase{Name: quotaPhase, Rest: x.o.Every, Requests: x.o.MaxRequests * 6 / 10, Every: x.o.Every,
		Denials: 3}
	if !x.send(ctx, quota) {
		return false
	}
	if x.tl.Counts().Denied == 0 {
		x.stopped = "no request was denied"
		return false
	}
	for rest := max(2*x.o.Every, x.trip()); ; rest *= 2 {
		back := Phase{Name: comebackPhase, Rest: rest, Requests: 1}
		if !x.send(ctx, back) {
			return false
		}
		if last := x.tl.Observations[len(x.tl.Observations)-1]; last.Outcome == timeline.Allowed {
			return true
		}
	}
}

// explore makes the best experiment until one class is left, or none, or the budget is used.
func (x *search) explore(ctx context.Context) {
	for {
		x.narrow(fewAsked)
		if settled(x.likely()) {
			if x.exclude(); settled(x.regions) {
				if x.o.Fresh || !x.usual(ctx, confirming) {
					return
				}
				continue
			}
		}
		e, ok := x.planner().best()
		if !ok { // what is likely may be what was asked too little
			x.exclude()
			e, ok = x.planner().best()
		}
		if !ok && x.usual(ctx, len(usualRests)) {
			continue
		}
		if !ok {
			x.stopped = "no experiment within the budget tells more"
			return
		}
		x.made[e.phases[0].Name]++
		for _, p := range e.phases {
			if !x.send(ctx, p) {
				x.exclude()
				return
			}
		}
	}
}

// usualRests are the silences before the usual experiments, in percent of the time in which what was found
// recovers: two at other places of its window, one amid it, and then so that a bucket is never quite full.
var usualRests = []time.Duration{210, 137, 60, 90, 92, 90, 92, 90}

// confirming is how many of them must be explained where others may have used the quota before.
const confirming = 3

// usual asks for the quota of the first kind that is left, as the next of the usual experiments does. It
// reports false where most of them were made, or nothing can be sent.
func (x *search) usual(ctx context.Context, most int) bool {
	likely := x.likely()
	if x.usuals >= most || len(likely) == 0 {
		return false
	}
	h := likely[0].hull()
	whole := h.t2
	if likely[0].kind.paced {
		whole *= time.Duration(h.q2)
	}
	every := max(x.o.Every, x.trip())
	rest := max(whole*usualRests[x.usuals]/100, every)
	x.usuals++
	if x.s.Now()+rest > x.o.MaxTime/2 { // there would be no time for others
		return false
	}
	return x.send(ctx, Phase{Name: "quota-after-" + brief(rest), Rest: rest, Requests: int(h.q2) + 3,
		Every:   every,
		Denials: 2})
}

// narrow lets the recording refute what it can.
func (x *search) narrow(asked int) {
	var left []*region
	for _, r := range x.regions {
		r.shallow = x.crowded()
		if r.narrow(x.tl, asked); r.empty() {
			x.gone = append(x.gone, r)
			continue
		}
		parts := r.split()
		for _, part := range parts {
			if len(parts) > 1 {
				part.shallow = r.shallow
				part.narrow(x.tl, asked)
			}
			if !part.empty() {
				left = append(left, part)
			}
		}
	}
	x.regions = left
}

// exclude asks much more of the judge, until no kind is doubtful.
func (x *search) exclude() {
	for range 4 {
		if x.narrow(manyAsked); len(x.likely()) == len(x.regions) {
			return
		}
	}
}

// likely are the regions of which some policy is known not to be refuted.
func (x *search) likely() []*region {
	return slices.DeleteFunc(slices.Clone(x.regions), func(r *region) bool { return len(r.live) == 0 })
}

// settled tells whether regions are one class or none, known as exactly as it must be.
func settled(regions []*region) bool {
	for _, r := range regions {
		if !r.hull().single() || len(r.kind.parts) > 0 {
			return false
		}
	}
	return len(classes(regions)) <= 1
}

// planner returns what chooses the next experiment.
func (x *search) planner() *planner {
	p := &planner{made: x.made, now: x.s.Now(), trip: x.trip(), every: max(x.o.Every, x.trip()),
		wait:     x.s.Wait(),
		requests: x.o.MaxRequests - len(x.tl.Observations), left: x.o.MaxTime - x.s.Now()}
	likely := x.likely()
	for _, r := range likely {
		n := 8
		if r.kind.base.Align == spec.AlignUnknown {
			n = 4
		}
		points := r.points(n)
		for _, b := range points {
			if m := r.newModel(x.tl, b); m != nil {
				m.weight = 1 / float64(len(points)*len(likely))
				p.models = append(p.models, m)
			}
		}
	}
	return p
}

// crowded tells whether so many requests were under way at once that an exact search would take long.
func (x *search) crowded() bool {
	const most = 6
	for i := range x.tl.Observations {
		if j := i + most; j < len(x.tl.Observations) &&
			x.tl.Observations[i].FirstByte > x.tl.Observations[j].Sent {
			return true
		}
	}
	return false
}

// trip is the middle time from a request to its answer.
func (x *search) trip() time.Duration {
	var all []time.Duration
	for i := range x.tl.Observations {
		if o := &x.tl.Observations[i]; o.Answered {
			all = append(all, o.FirstByte-o.Sent)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// send sends one phase within the budget. It reports false where nothing more is to be sent.
func (x *search) send(ctx context.Context, p Phase) bool {
	switch left := x.o.MaxRequests - len(x.tl.Observations); {
	case left <= 0:
		x.stopped = "the budget of requests is used"
		return false
	case x.s.Now()+max(p.Rest, x.s.Wait()) >= x.o.MaxTime:
		x.stopped = "the budget of time is used"
		return false
	default:
		p.Requests = max(1, min(p.Requests, left))
	}
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
		x.stopped = trouble(seen)
	}
	return x.stopped == ""
}

// trouble says why a phase is the last one: most of its requests have no outcome. Empty: go on.
func trouble(seen []timeline.Observation) string {
	unknown, errors, first := 0, 0, ""
	for i := range seen {
		o := &seen[i]
		if o.Outcome != timeline.Unknown {
			continue
		}
		if unknown++; o.Answered {
			errors++
		}
		if first = o.Error; o.Answered {
			first = fmt.Sprintf("status %d", o.Status)
		}
	}
	if errors > 2 || unknown > 0 && unknown == len(seen) || unknown > 2 && 2*unknown > len(seen) {
		return fmt.Sprintf("%d of %d requests were neither admitted nor denied (%s): is it the right URL, "+
			"and which status denies (--denied)?", unknown, len(seen),
			first)
	}
	return ""
}

// left names the kinds that are left.
func (x *search) left() []string {
	var out []string
	for _, r := range x.regions {
		out = append(out, r.kind.text)
	}
	return out
}
