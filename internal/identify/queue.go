package identify

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A queue admits as a bucket of the same places and rate does, but it holds answers back. So the answers
// of those that wait come a unit apart. That tells its rate more finely than admissions do, and its places
// follow from who was denied and who waited how long.

// Waits tells whether a third of the admitted requests of a recording waited for their answers, as in a
// queue.
func Waits(tl *timeline.Timeline) bool { return queued(tl, "") }

// queued is Waits for one phase; of all phases where phase is empty.
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

// slowAfter is the time from which on an answer is much slower than the fastest one.
func slowAfter(tl *timeline.Timeline) time.Duration { return Soonest(tl)*3 + 10*time.Millisecond }

// waiting tells whether each of the last n requests was admitted and waited.
func (w *wire) waiting(n int) bool {
	tl, soon := w.judged(), slowAfter(w.judged())
	last := tl.Observations[max(0, len(tl.Observations)-n):]
	return len(last) == n && !slices.ContainsFunc(last, func(o timeline.Observation) bool {
		return o.Outcome != timeline.Allowed || o.FirstByte-o.Sent <= soon
	})
}

// inLine asks a queue for more than it holds, after silences, until it is well known. It reports false where
// answers do not wait, or no queue explains how long: then other kinds are asked.
func (x *search) inLine(ctx context.Context) bool {
	for x.waits {
		now := x.queue()
		x.line = cmp.Or(now, x.line) // what disturbed the last answers may not come again
		x.crowd = x.line != nil
		over := !x.crowd || now != nil && x.made[usualName] >= confirming && x.lineKnown()
		if over || !x.usualExperiment(ctx, ofAny) {
			if x.line, x.crowd = now, now != nil; x.crowd {
				x.regions, x.second = nil, nil // nothing else delays answers so
			}
			break
		}
	}
	return x.crowd
}

// lineKnown tells whether one queue is left, and its time is known as well as a name needs.
func (x *search) lineKnown() bool {
	if x.line == nil {
		return false
	}
	b := x.line.box
	return b.Single(0, 0) || x.pace.far && b.roughly((b.T2-b.T1)*time.Duration(b.Q2), 2*x.slow())
}

// queue returns the queue that explains a recording, with all that is left of its places and its rate; nil
// for none.
func (x *search) queue() *Candidate {
	tl, late, soon := x.judged(), x.late(), slowAfter(x.judged())
	unit, t1, t2 := spacing(tl)
	if t2 == 0 || !queued(tl, "") {
		return nil
	}
	const mostPassing = 100
	most, held := min(passed(tl)+1, mostPassing), int64(0)
	waited := *tl
	waited.Observations = slices.DeleteFunc(slices.Clone(tl.Observations), func(o timeline.Observation) bool {
		return o.Outcome != timeline.Allowed || o.FirstByte-o.Sent <= soon
	})
	held = crowd(&waited)
	best, least := spec.Policy{}, float64(len(tl.Observations))/5 // a busy machine delays some
	of := func(places, undelayed int64) (best spec.Policy, least float64) {
		least = math.Inf(1)
		for _, t := range []time.Duration{(t1 + t2) / 2, unit} {
			q := spec.Policy{Algorithm: spec.LeakyBucketQueue, Rate: spec.Rate{N: 1, Per: t}, Queue: places,
				Undelayed: undelayed}
			if n := unexplained(q, tl); n < least {
				best, least = q, n
			}
		}
		return best, least
	}
	for undelayed := range most + 1 {
		for places := max(1, held-2); places <= held+undelayed+2 && !late(); places++ {
			if _, slow := of(places, places); undelayed < places {
				if q, n := of(places, undelayed); n < least && n < slow { // something waits in it
					best, least = q, n
				}
			}
		}
	}
	if best.Queue == 0 {
		return nil
	}
	left := Box{best.Queue, best.Queue, t1, t2}
	for n := range int64(3) {
		for _, places := range []int64{best.Queue - n, best.Queue + n} {
			_, missed := of(places, best.Undelayed)
			if missed <= least+min(least, 1) && places > best.Undelayed {
				left.Q1, left.Q2 = min(left.Q1, places), max(left.Q2, places)
			}
		}
	}
	return x.lineOf(best, left, unit, late)
}

// lineOf returns a queue with a round rate, with those of the times that are left which the judge does not
// refute; nil where it refutes all that are tried.
func (x *search) lineOf(best spec.Policy, left Box, unit time.Duration, late func() bool) *Candidate {
	const steps = 40
	bucket := Kinds()[0]
	at := func(p spec.Policy) spec.Limit {
		q := best
		q.Rate = p.Rate
		return spec.Limit{Complete(q)}
	}
	one := func(t time.Duration) Box { return Box{best.Queue, best.Queue, t, t} }
	var stand []time.Duration
	for i := range time.Duration(steps + 1) {
		t := left.T1 + (left.T2-left.T1)*i/steps
		if !late() && !x.fails(at(bucket.Policy(one(t)))) {
			stand = append(stand, t)
		}
	}
	if len(stand) == 0 {
		return nil
	}
	step := (left.T2-left.T1)/steps + 1 // the times next to these were refuted
	left.T1, left.T2 = max(left.T1, stand[0]-step), min(left.T2, stand[len(stand)-1]+step)
	middle := one(stand[len(stand)/2])
	whole := left
	whole.Q1, whole.Q2 = best.Queue, best.Queue
	c := &Candidate{Text: "a queue", Class: []spec.Algorithm{spec.LeakyBucketQueue}, Least: left.T1,
		Most: left.T2, Round: bucket.Round(left), box: left}
	near := unit / 100 // most answers are so far apart
	if !left.Single(0, 0) && unit+near >= left.T1 && unit-near <= left.T2 {
		whole.T1, whole.T2 = max(left.T1, unit-near), min(left.T2, unit+near)
	}
	for _, p := range []spec.Policy{bucket.Rounded(whole), bucket.Written(bucket.Conventional(whole)),
		bucket.Written(middle)} {
		if c.Limit = at(p); !x.fails(c.Limit) {
			break
		}
	}
	c.Measured.Burst = between(float64(left.Q1+1), float64(left.Q2+1))
	c.Measured.Rate = between(float64(time.Second)/float64(left.T2), float64(time.Second)/float64(left.T1))
	return c
}

// spacing returns the usual time between answers of requests that wait, and between which times it lies; 0
// where too few wait. An answer that was lost leaves a gap of two, a silence leaves a longer one.
func spacing(tl *timeline.Timeline) (unit, t1, t2 time.Duration) {
	rows := waitingRows(tl)
	var gaps []time.Duration
	for _, row := range rows {
		for i := 1; i < len(row); i++ {
			gaps = append(gaps, row[i]-row[i-1])
		}
	}
	if len(gaps) == 0 {
		return 0, 0, 0
	}
	slices.Sort(gaps)
	unit, t1, t2 = max(gaps[(len(gaps)-1)/2], 1), 1, math.MaxInt64
	silent := func(gap time.Duration) bool { return 2*gap > 5*unit }
	jitter := Unqueued(tl) - Soonest(tl) + tl.Header.Tick + time.Millisecond
	for _, gap := range gaps { // on a busy machine some answers are late
		if off := gap - (gap+unit/2)/unit*unit; !silent(gap) {
			jitter = max(jitter, 2*off, -2*off)
		}
	}
	for _, row := range rows {
		all, n := time.Duration(0), time.Duration(0)
		for i := 1; i <= len(row); i++ {
			if i < len(row) && !silent(row[i]-row[i-1]) {
				all, n = all+row[i]-row[i-1], n+(row[i]-row[i-1]+unit/2)/unit
				continue
			}
			if n > 0 {
				t1, t2 = max(t1, (all-jitter)/n), min(t2, (all+jitter)/n)
			}
			all, n = 0, 0
		}
	}
	if t1 > t2 { // some answers were later still
		return unit, min(unit, t2), max(unit, t1)
	}
	return unit, t1, t2
}

// waitingRows has the times of answers that waited, in rows that ascend. Between two rows the queue of the
// client was empty.
func waitingRows(tl *timeline.Timeline) (rows [][]time.Duration) {
	soon, row := slowAfter(tl), []time.Duration(nil)
	next := func() {
		slices.Sort(row) // a request that was sent later may have come earlier
		rows, row = append(rows, row), nil
	}
	for _, part := range Parted(byClient(tl)) {
		for i := range part.Observations {
			switch o := &part.Observations[i]; {
			case o.Outcome == timeline.Allowed && o.FirstByte-o.Sent > soon:
				row = append(row, o.FirstByte)
			case o.Outcome == timeline.Allowed:
				next()
			}
		}
		next()
	}
	return rows
}

// byClient has the requests of each client one after the other.
func byClient(tl *timeline.Timeline) *timeline.Timeline {
	out := *tl
	out.Observations = slices.Clone(tl.Observations)
	slices.SortStableFunc(out.Observations, func(a, b timeline.Observation) int {
		return strings.Compare(a.Partition, b.Partition)
	})
	return &out
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

// unexplained counts the requests that a queue would have decided or delayed otherwise, not even a moment
// earlier.
func unexplained(q spec.Policy, tl *timeline.Timeline) (wrong float64) {
	l, err := reference.New(q)
	if err != nil {
		return math.Inf(1)
	}
	soon := Unqueued(tl)
	early := soon + q.Rate.Per/4 + 2*time.Millisecond
	states := map[string]reference.State{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		state, has := states[o.Partition]
		if !has {
			state = l.Init()
		}
		at := o.Sent + soon/2
		s, d := l.Step(state, at, 1)
		switch o.Outcome {
		case timeline.Allowed:
			if !d.Allow && d.RetryAfter < early { // its place was free a moment earlier
				at += d.RetryAfter
				s, d = l.Step(state, at, 1)
			}
			if late := o.FirstByte - at - d.Delay; !d.Allow || late < -early || late > early {
				wrong++
			}
		case timeline.Denied:
			if _, before := l.Step(state, at-soon, 1); d.Allow && before.Allow {
				wrong++
			}
			s = state
		}
		states[o.Partition] = s
	}
	return wrong
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
