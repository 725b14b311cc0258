package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// aim finds the window boundary of a boundary phase and then runs the gate around it.
//
//	          boundary
//	   group 0    |    group 1
//	------||||----+----||||-------> time
//	      At < 0       At >= 0
//
// The requests that find the boundary are recorded in the phase NAME-aim.
type aim struct {
	p    *phase
	r    *recorder
	gate *gate
	name string
	// reach is the smallest distance of a group from the boundary, at most an eighth of the window. Aiming
	// ends when the boundary is known to a quarter of reach.
	reach time.Duration
}

// finest is the smallest uncertainty that aiming asks for.
const finest = 250 * time.Microsecond

// armTime is the time before the first group in which withheld requests are written and settle.
const armTime = 3 * settle

func newAim(p *phase) *aim {
	a := &aim{p: p, r: p.r, gate: newGate(p), name: timeline.AimPhase(p.plan.Name), reach: p.plan.Window / 8}
	for i := range a.gate.groups {
		if at := a.gate.groups[i].at.Abs(); at > 0 {
			a.reach = min(a.reach, at)
		}
	}
	// Idle connections would keep a target with few threads from answering.
	a.r.net.Retire()
	return a
}

// goal is the uncertainty at which aiming ends.
func (a *aim) goal() time.Duration { return max(a.reach/4, finest) }

func (a *aim) run(begin time.Duration) time.Duration {
	if !a.r.pause(begin) || len(a.p.fixed) == 0 {
		return a.p.finish(begin)
	}
	a.p.add(1)
	boundary, off, err := a.find()
	a.p.done()
	if a.r.net.MeanOpening() == 0 {
		a.gate.warm() // to know how long before the boundary the connections are to be opened
	}
	if err == nil {
		boundary, err = a.next(boundary)
	}
	if err != nil {
		a.r.net.Note("phase %s: no boundary was found: %v", a.p.plan.Name, err)
		return a.p.finish(begin)
	}
	a.r.net.Note("phase %s: boundary (%s) at %v, known to %v", a.p.plan.Name, a.p.plan.Aim, boundary,
		off.Round(time.Microsecond))
	if a.r.pause(boundary + a.gate.groups[0].at - armTime - settle - a.r.net.OpeningTime(len(a.p.fixed))) {
		a.gate.warm()
	}
	a.gate.release(boundary)
	return a.p.finish(begin)
}

// find returns a boundary and how far off it may be. The boundary may be past.
func (a *aim) find() (boundary, off time.Duration, err error) {
	switch a.p.plan.Aim {
	case timeline.AimClock:
		return a.byClock()
	case timeline.AimReset:
		return a.byReset()
	case timeline.AimProbe:
		return a.byProbe()
	default:
		return a.byFirst()
	}
}

// next returns the first boundary that leaves enough time to open the connections and to arm the gate. Later
// boundaries are whole windows apart. Under AimFirst the window of the first request repeats at no known
// time. So that boundary counts only if there is still time to arm the gate.
func (a *aim) next(boundary time.Duration) (time.Duration, error) {
	earliest := a.r.clock.Now() + armTime + settle - min(0, a.gate.groups[0].at)
	if a.p.plan.Aim != timeline.AimFirst {
		earliest += a.r.net.OpeningTime(len(a.p.fixed))
	}
	if boundary >= earliest {
		return boundary, nil
	}
	if a.p.plan.Aim == timeline.AimFirst {
		return 0, fmt.Errorf("it was %v after the first request, which leaves no time to arm the gate",
			a.p.plan.Window)
	}
	w := a.p.plan.Window
	return boundary + (earliest-boundary+w-1)/w*w, nil
}

// byFirst sends one request on each partition of the phase. The boundary is one window after the first of
// them was sent.
func (a *aim) byFirst() (boundary, off time.Duration, err error) {
	seen := map[string]bool{}
	var wishes []transport.Wish
	for i := range a.p.obs {
		o := &a.p.obs[i]
		if !seen[o.Partition] {
			seen[o.Partition] = true
			wishes = append(wishes, transport.Wish{Origin: o.Origin, Partition: o.Partition, Cost: a.r.o.Each,
				Own: &a.p.plan.Request})
		}
	}
	got := a.ask(a.r.clock.Now(), wishes...)
	if got == nil {
		return 0, 0, errStopped
	}
	last := got[0].FirstByte
	for _, o := range got {
		if !o.Answered {
			return 0, 0, errUnanswered
		}
		last = max(last, o.FirstByte)
	}
	return got[0].Sent + a.p.plan.Window, last - got[0].Sent, nil
}

// byProbe drains a partition of its own and then asks until it is admitted again. The boundary lies between
// the last denial and that admission.
func (a *aim) byProbe() (boundary, off time.Duration, err error) {
	n := a.p.plan.ProbeRequests
	drain := make([]transport.Wish, n)
	for i := range drain {
		drain[i] = a.probe()
	}
	got := a.ask(a.r.clock.Now(), drain...)
	if got == nil {
		return 0, 0, errStopped
	}
	denied := time.Duration(-1)
	for _, o := range got {
		if o.Outcome == timeline.Denied {
			denied = max(denied, o.Sent)
		}
	}
	if denied < 0 {
		return 0, 0, fmt.Errorf("%d requests did not drain partition %q", n, drain[0].Partition)
	}
	questions := min(50, n)
	step := a.p.plan.Window / time.Duration(questions-1)
	for due := a.r.clock.Now(); questions > 0; questions-- {
		got := a.ask(due, a.probe())
		if got == nil {
			return 0, 0, errStopped
		}
		switch o := got[0]; o.Outcome {
		case timeline.Denied:
			denied = o.Sent
		case timeline.Allowed:
			return (denied + o.FirstByte) / 2, (o.FirstByte - denied) / 2, nil
		}
		due = max(due+step, a.r.clock.Now())
	}
	return 0, 0, fmt.Errorf("partition %q was not admitted again within one window of %v", drain[0].Partition,
		a.p.plan.Window)
}

// resetAsks is the most requests that refine an announced reset. They cost quota of the partition.
const resetAsks = 6

// byReset takes the reset that the partition announces. An announced wait in whole seconds is refined: it
// asks again when the announced number is about to fall. An announced instant cannot be refined: its second
// answer names the same instant.
func (a *aim) byReset() (boundary, off time.Duration, err error) {
	o := &a.p.obs[0]
	w := transport.Wish{Origin: o.Origin, Partition: o.Partition, Cost: a.r.o.Each, Own: &a.p.plan.Request}
	var lo, hi time.Duration
	due := a.r.clock.Now()
	for n := 0; n < resetAsks; n++ {
		got := a.ask(due, w)
		if got == nil {
			return 0, 0, errStopped
		}
		wait, unit, ok := a.r.announced(got[0])
		if !ok {
			return 0, 0, fmt.Errorf("no answer announces a reset")
		}
		// The notation rounds up: the true wait is in (wait-unit, wait].
		from, to := got[0].Sent+wait-unit, got[0].FirstByte+wait
		if n == 1 && (to-hi).Abs() < unit/100 {
			return to, unit, nil
		}
		if n > 0 && from <= hi && to >= lo {
			from, to = max(from, lo), min(to, hi)
		}
		lo, hi = from, to
		mid := lo + (hi-lo)/2
		if hi-lo <= a.goal() || unit <= a.goal() {
			break
		}
		now := a.r.clock.Now() + time.Millisecond
		due = mid - (mid-now)/unit*unit
		if due < now || due > lo-armTime-settle+min(0, a.gate.groups[0].at) {
			break
		}
	}
	return lo + (hi-lo)/2, (hi - lo) / 2, nil
}

// announced returns the wait that an answer announces, counted from its first byte. unit is the step of its
// notation.
func (r *recorder) announced(o *timeline.Observation) (wait, unit time.Duration, ok bool) {
	if !o.Answered {
		return 0, 0, false
	}
	return headers.AnnouncedReset(o.Fields.Get, r.clock.Start.Add(o.FirstByte))
}

var (
	errStopped    = errors.New("the recording stopped")
	errUnanswered = errors.New("a request was not answered")
)

// question is the driver of one request whose answer the sender waits for.
type question struct {
	p    *phase
	over chan struct{}
}

func (q *question) Ended(_ *transport.Shot, c *transport.Conn) {
	q.p.r.net.Release(c)
	q.p.done()
	close(q.over)
}

func (q *question) Dropped(*transport.Shot) {
	q.p.done()
	close(q.over)
}

// ask sends requests at due and waits for their answers. It returns nil if the run was stopped.
func (a *aim) ask(due time.Duration, wishes ...transport.Wish) []*timeline.Observation {
	if !a.r.pause(due) {
		return nil
	}
	out := make([]*timeline.Observation, len(wishes))
	for i, w := range wishes {
		o := &timeline.Observation{Arrival: timeline.Arrival{
			Partition: w.Partition, Phase: a.name, At: due, Cost: w.Cost, Origin: w.Origin,
		}}
		q := &question{p: a.p, over: make(chan struct{})}
		s := &transport.Shot{Obs: o, Owner: q, Request: a.r.requests.Of(w)}
		s.Pool, s.Entry.Free = a.r.net.Pool(w.Origin, w.Partition), true
		a.r.net.Keep(s.Pool)
		a.p.loose = append(a.p.loose, s)
		a.p.add(1)
		out[i] = o
		a.r.net.Submit(s)
	}
	stopped := false
	for _, s := range a.p.loose[len(a.p.loose)-len(wishes):] {
		<-s.Owner.(*question).over
		stopped = stopped || !s.Over()
	}
	if stopped {
		return nil
	}
	return out
}

func (a *aim) probe() transport.Wish {
	o := &a.p.obs[0]
	return transport.Wish{Origin: o.Origin, Partition: o.Partition + "-probe", Cost: a.r.o.Each,
		Own: &a.p.plan.Request}
}

// wallClock is what is known about the target's clock: its Unix time is the clock of the recording plus
// something in [lo, hi].
type wallClock struct {
	lo, hi time.Duration
	known  bool
}

// see takes in an answer. Its Date, cut to the second, was read between sent and first. see reports false if
// that contradicts what was known by more than slack. A cache or a second server causes such contradictions.
// Servers that compute the Date once a second are a little late, which slack allows.
func (w *wallClock) see(date time.Time, sent, first, slack time.Duration) bool {
	d := time.Duration(date.UnixNano())
	lo, hi := d-first, d+time.Second-sent
	if !w.known {
		w.lo, w.hi, w.known = lo, hi, true
		return true
	}
	w.lo, w.hi = max(w.lo, lo), min(w.hi, hi)
	if w.lo > w.hi && w.lo-w.hi <= slack {
		w.lo, w.hi = w.hi, w.lo
	}
	return w.lo <= w.hi
}

// flip returns the next time from now on at which the second of the target's clock turns. It takes the middle
// of what is possible: the answer to a request sent then halves the uncertainty.
func (w *wallClock) flip(now time.Duration) time.Duration {
	offset := w.middle()
	return (now+offset+time.Second-1)/time.Second*time.Second - offset
}

func (w *wallClock) middle() time.Duration { return w.lo + (w.hi-w.lo)/2 }

// clockAsks is the most requests that read the target's clock.
const clockAsks = 12

// byClock reads the target's clock from its Date fields, unless it is known to agree with ours (WallError).
// Windows begin at the multiples of their length since the Unix epoch.
func (a *aim) byClock() (boundary, off time.Duration, err error) {
	var w wallClock
	if e := a.r.o.WallError; e > 0 && 2*e <= a.goal() {
		ours := time.Duration(a.r.clock.Start.UnixNano())
		w = wallClock{lo: ours - e, hi: ours + e, known: true}
	}
	due := a.r.clock.Now()
	for n := 0; n < clockAsks && (!w.known || w.hi-w.lo > a.goal()); n++ {
		got := a.ask(due, a.probe())
		if got == nil {
			return 0, 0, errStopped
		}
		o := got[0]
		v, _ := o.Fields.Get("Date")
		date, err := headers.ParseDate(v)
		if err != nil {
			return 0, 0, fmt.Errorf("the target's clock is not known: an answer has no valid Date")
		}
		if !w.see(date, o.Sent, o.FirstByte, a.reach/2) {
			return 0, 0, fmt.Errorf("the target's Date fields contradict each other by %v", w.lo-w.hi)
		}
		due = w.flip(a.r.clock.Now() + time.Millisecond)
	}
	offset, window := w.middle(), a.p.plan.Window
	now := a.r.clock.Now()
	return (now+offset)/window*window - offset, (w.hi - w.lo) / 2, nil
}
