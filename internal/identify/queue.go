package identify

import (
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A queue admits as a bucket of the same places and rate does, but it holds the answers back. That hides when
// it decided. So if admitted requests wait and denied ones do not, decisions are supposed to be no later than
// the slowest denial. Then the bucket is looked for. That is a guess. If a later denial takes longer, or no
// bucket is left, decisions may have been later, and what was refuted may be true. A queue is named only if
// its delays explain those in the recording.

// queueing is what is supposed of a queue.
type queueing struct {
	// without are the kinds that delay no answers, while admitted requests are supposed to wait in a queue;
	// nil where none is supposed.
	without []*Region
	// passing is how many requests pass a queue without waiting.
	passing int64
}

// asQueue supposes that admitted requests wait in a queue.
func (x *search) asQueue() {
	x.queue.without, x.regions = x.regions, queues(x.regions)
	x.within = Unqueued(x.judged())
}

// queues returns the queues that admit as the buckets among regions do.
func queues(regions []*Region) (out []*Region) {
	for _, r := range regions {
		if r.Kind.Base.Bucketed() && r.Kind.Base.Count != spec.CountAll {
			out = append(out, &Region{Kind: QueueKind(r.Kind), Live: slices.Clone(r.Live)})
		}
	}
	return out
}

// later begins anew with queues where a denial took longer than all before.
func (x *search) later() {
	if x.queue.without == nil || Unqueued(x.judged()) <= x.within {
		return
	}
	x.within, x.regions = Unqueued(x.judged())*5/4, queues(x.queue.without)
}

// dropQueue takes back the queue as soon as no queue that is left has a place to wait in: then answers were
// merely slow. It tells whether it did so. Otherwise it drops the queues without a place.
func (x *search) dropQueue() bool {
	if x.queue.without == nil || len(x.regions) == 0 {
		return false
	}
	if !slices.ContainsFunc(x.regions, func(r *Region) bool { return r.Hull().Q2 > 1 }) {
		x.noQueue()
		return true
	}
	full := func(b Box) bool { return b.Q2 == 1 }
	for _, r := range x.regions {
		r.Live, r.Doubtful = slices.DeleteFunc(r.Live, full), slices.DeleteFunc(r.Doubtful, full)
	}
	x.regions = slices.DeleteFunc(x.regions, (*Region).Empty)
	return false
}

// noQueue takes back that admitted requests wait in a queue.
func (x *search) noQueue() { x.regions, x.queue.without, x.within = x.queue.without, nil, 0 }

// queued tells whether a third of the admitted requests of a phase took much longer than the fastest answer;
// of all phases where phase is empty.
func queued(tl *timeline.Timeline, phase string) bool {
	soon := slowAfter(tl)
	slow, admitted := 0, 0
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if o.Outcome == timeline.Allowed && (phase == "" || o.Phase == phase) {
			if admitted++; o.FirstByte-o.Sent > soon {
				slow++
			}
		}
	}
	return slow > 0 && 3*slow >= admitted
}

// Waits tells whether a third of the admitted requests of a recording waited for their answers, as in a
// queue.
func Waits(tl *timeline.Timeline) bool { return queued(tl, "") }

// slowAfter is the time from which on an answer is much slower than the fastest one.
func slowAfter(tl *timeline.Timeline) time.Duration { return Soonest(tl)*3 + 10*time.Millisecond }

// waiting tells whether each of the last n requests was admitted and waited.
func (w *wire) waiting(n int) bool {
	tl, soon := w.shown(), slowAfter(w.shown())
	last := tl.Observations[max(0, len(tl.Observations)-n):]
	return len(last) == n && !slices.ContainsFunc(last, func(o timeline.Observation) bool {
		return o.Outcome != timeline.Allowed || o.FirstByte-o.Sent <= soon
	})
}

// queueOf is the queue that admits as a bucket does. So many requests pass it without waiting.
func queueOf(bucket spec.Policy, undelayed int64) spec.Policy {
	return spec.Policy{Algorithm: spec.LeakyBucketQueue, Rate: bucket.Rate, Queue: bucket.Burst - 1,
		Undelayed: min(undelayed, bucket.Burst-1)}
}

// queueIn returns a queue whose delays the recording does not refute, and the times that the delays leave.
// Delays tell a rate much more finely than admissions do. The queue has a round time, if possible, or one
// near the middle. If all that are tried are refuted, it is best, with all that is left of r.
func (x *search) queueIn(r *Region, best Box) (spec.Policy, Box) {
	const steps = 40
	h, late := r.Hull(), x.late()
	at := func(t time.Duration) spec.Policy {
		b := best
		b.T1, b.T2 = t, t
		return Complete(queueOf(r.Kind.Written(b), x.queue.passing))
	}
	explains := func(t time.Duration) bool { return !x.fails(spec.Limit{at(t)}) }
	times := []time.Duration{best.T1}
	for i := range time.Duration(steps + 1) {
		times = append(times, h.T1+(h.T2-h.T1)*i/steps)
	}
	times = slices.DeleteFunc(times, func(t time.Duration) bool { return late() || !explains(t) })
	if len(times) == 0 {
		return at(best.T1), h
	}
	slices.Sort(times)
	left, step := h, (h.T2-h.T1)/steps+1 // the times next to these were refuted
	left.T1, left.T2 = max(h.T1, times[0]-step), min(h.T2, times[len(times)-1]+step)
	left.Q1, left.Q2 = best.Q1, best.Q1
	if round := queueOf(r.Kind.Rounded(left), x.queue.passing); !x.fails(spec.Limit{round}) {
		return Complete(round), left
	}
	if t := r.Kind.Conventional(left).T1; explains(t) {
		return at(t), left
	}
	return at(times[len(times)/2]), left
}

// laterStill supposes later decisions as long as the delays refute the only queue that is left. The guess was
// wrong then, and so was what it refuted.
func (x *search) laterStill() {
	last, late := Slowest(x.judged()), x.late()
	for x.queue.without != nil && len(x.regions) == 1 && x.within < last && !x.recorded() &&
		!late() {
		r := x.regions[0]
		if p, _ := x.queueIn(r, r.Hull().Conventional()); !x.fails(spec.Limit{p}) {
			return
		}
		x.within, x.regions, x.gone = min(4*x.within, last), queues(x.queue.without), nil
		x.narrow(ManyAsked)
	}
}

// byDelays narrows the only queue that is left to what its delays leave, where that settles it.
func (x *search) byDelays() {
	if x.queue.without == nil || len(x.regions) != 1 || x.settled(x.regions) || !x.queueExplains() {
		return
	}
	r := x.regions[0]
	p, left := x.queueIn(r, r.Hull().Conventional())
	if left.Single(0, 0) && !x.fails(spec.Limit{p}) {
		r.Live, r.Doubtful = []Box{left}, nil
	}
}

// passed is how many requests after the first phase were admitted in a row without waiting.
func passed(tl *timeline.Timeline) int64 {
	soon, n := Unqueued(tl), int64(0)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if o.Phase == firstPhase || o.Outcome != timeline.Allowed {
			continue
		}
		if o.FirstByte-o.Sent > soon {
			break
		}
		n++
	}
	return n
}

// queueExplains tells whether the queue explains the delays of four admissions in five: a busy machine delays
// some. It also finds how many requests pass without waiting. That may be less than passed, as some left the
// queue meanwhile. The queue must explain more delays than one in which nothing waits, else answers were
// merely slow.
func (x *search) queueExplains() bool {
	if len(x.regions) == 0 {
		return false
	}
	bucket, explains := x.regions[0].Kind.Written(x.regions[0].Hull().Point()), false
	places := bucket.Burst - 1
	best := max(0.8, delaysAs(queueOf(bucket, places), x.judged())+0.001)
	for pass := range min(passed(x.judged())+2, places) {
		q := queueOf(bucket, pass)
		if share := delaysAs(q, x.judged()); share >= best {
			x.queue.passing, best, explains = pass, share+0.001, true
		}
	}
	return explains
}

// doubtQueue drops a queue that does not explain the delays, and judges all other kinds: requests may wait
// for other reasons.
func (x *search) doubtQueue() {
	if x.queue.without == nil || x.recorded() || x.tl.Counts().Denied == 0 || x.queueExplains() {
		return
	}
	x.noQueue()
	x.narrow(ManyAsked)
}

// delaysAs is the share of the admitted requests whose delays are those of q.
func delaysAs(q spec.Policy, tl *timeline.Timeline) float64 {
	l, err := reference.New(q)
	if err != nil {
		return 0
	}
	soon := Unqueued(tl)
	early := soon + q.Rate.Per/time.Duration(2*q.Rate.N) + 2*time.Millisecond
	state, right, admitted := l.Init(), 0, 0
	for i := range tl.Observations {
		o := &tl.Observations[i]
		at := o.Sent + soon/2
		s, d := l.Step(state, at, 1)
		if o.Outcome == timeline.Allowed {
			if !d.Allow && d.RetryAfter < early { // its place was free a moment earlier
				at += d.RetryAfter
				s, d = l.Step(state, at, 1)
			}
			admitted++
			if late := o.FirstByte - at - d.Delay; d.Allow && late > -early && late < early {
				right++
			}
		}
		if o.Outcome != timeline.Denied {
			state = s
		}
	}
	return float64(right) / float64(max(1, admitted))
}

// Soonest is the shortest time from a request to its answer.
func Soonest(tl *timeline.Timeline) time.Duration {
	out := time.Duration(math.MaxInt64 / 4)
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			out = min(out, o.FirstByte-o.Sent)
		}
	}
	return out
}

// Slowest is the longest time from a request to its answer.
func Slowest(tl *timeline.Timeline) (out time.Duration) {
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			out = max(out, o.FirstByte-o.Sent)
		}
	}
	return out
}

// Unqueued is how long an answer takes that waits in no queue: as long as the slowest denial, or a bit longer
// than the fastest answer.
func Unqueued(tl *timeline.Timeline) time.Duration {
	soon := Soonest(tl)
	out := time.Duration(0)
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Denied {
			out = max(out, o.FirstByte-o.Sent)
		}
	}
	if out == 0 {
		return soon * 2
	}
	const jitter = 40 * time.Millisecond
	return max(out, soon+min(soon, jitter))
}

// Undelayed is the recording in which all admissions were decided within soon.
func Undelayed(tl *timeline.Timeline, soon time.Duration) *timeline.Timeline {
	out := *tl
	out.Observations = slices.Clone(tl.Observations)
	for i := range out.Observations {
		if o := &out.Observations[i]; o.Outcome == timeline.Allowed {
			o.FirstByte = min(o.FirstByte, o.Sent+soon)
		}
	}
	out.Header.Ended = max(tl.Header.Ended, tl.End())
	return &out
}

// places has, for each client, when the requests that may have held a place were sent, and when they were
// over; both ascend. Denied requests held none.
type places map[string]*struct{ sent, over []time.Duration }

// PlacesOf returns the places of a recording, in n log n.
func PlacesOf(tl *timeline.Timeline) places {
	late, out := Lateness(tl), places{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if o.Outcome == timeline.Denied {
			continue
		}
		p := out[o.Partition]
		if p == nil {
			p = &struct{ sent, over []time.Duration }{}
			out[o.Partition] = p
		}
		over := max(o.FirstByte, o.Done)
		if !o.Answered { // it was over soon, or never began
			over = o.Sent + late
		}
		p.sent, p.over = append(p.sent, o.Sent), append(p.over, over)
	}
	for _, p := range out {
		slices.Sort(p.sent)
		slices.Sort(p.over)
	}
	return out
}

// Held is the most requests of a client that may have held a place at some instant in a closed interval.
func (p places) Held(client string, from, to time.Duration) int64 {
	c := p[client]
	if c == nil {
		return 0
	}
	begun, _ := slices.BinarySearch(c.sent, to+1)
	over, _ := slices.BinarySearch(c.over, from)
	return int64(begun - over)
}
