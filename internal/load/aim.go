package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
	if c != nil {
		q.p.r.net.Release(c)
	}
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
