package identify

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/load/cause"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Live sends to an endpoint.
type Live struct {
	// Load says where and how; its Classify is required.
	Load load.Options
	// Partition is the key of all requests; empty where they carry none.
	Partition string
	// DriftPPM is by how much the clock of the target may drift from ours.
	DriftPPM int64
	// Polite waits as long as a denial asks for.
	Polite bool

	// caches counts the answers that caches gave, phases what was sent.
	caches  headers.Caches
	phases  int
	started time.Time
	header  timeline.Header
	free    time.Duration
	// mute tells that a denial did not say how long to wait.
	mute bool
	// trip is the least time from a request to its answer.
	trip time.Duration
	// before is what the rounds have that are over, last what the present one has.
	before, last load.Progress
}

// Now is the time since the start of the recording.
func (l *Live) Now() time.Duration {
	if l.started.IsZero() {
		l.started = time.Now()
	}
	return time.Since(l.started)
}

// Wait is how long nothing is sent, as the last denial asked.
func (l *Live) Wait() time.Duration { return max(0, l.free-l.Now()) }

// Header is what is known of the clocks.
func (l *Live) Header() timeline.Header { return l.header }

// Send sends a phase. It returns an error only where nothing can be sent at all.
func (l *Live) Send(ctx context.Context, p Phase) ([]timeline.Observation, error) {
	if l.Now(); !l.silent(ctx, p.Rest) { // the first phase starts the recording
		return nil, nil
	}
	plan := &timeline.Schedule{Phases: []timeline.Phase{{Name: p.Name, Shape: timeline.Constant}}}
	for i := range p.Requests {
		plan.Phases[0].Arrivals = append(plan.Phases[0].Arrivals, timeline.Arrival{Seq: i,
			Partition: l.Partition,
			Phase:     p.Name, At: time.Duration(i) * p.Every, Cost: 1})
	}
	return l.record(ctx, plan, l.paced(p), p.Until)
}

// record sends a plan until a time since the start of the recording, 0 for all of it, and waits for what was
// sent. A request that is due later is none of the recording.
func (l *Live) record(ctx context.Context, plan *timeline.Schedule, o load.Options,
	until time.Duration) ([]timeline.Observation, error) {
	if until > 0 {
		o.MaxDuration = max(1, until-l.Now())
	}
	began := time.Now()
	tl, err := load.Record(ctx, plan, o)
	if err != nil {
		return nil, err
	}
	tl.Header.Notes = slices.DeleteFunc(tl.Header.Notes, cause.AtCeiling) // the budget is said elsewhere
	// The wall clock is asked twice within a moment, so that it does not matter if it is set meanwhile.
	l.keep(tl, began.Sub(l.started)+tl.Header.Started.Sub(began.Round(0)))
	return tl.Observations, nil
}

// silent waits for a rest, or as long as a denial asked. It reports false where ctx ended meanwhile.
func (l *Live) silent(ctx context.Context, rest time.Duration) bool {
	timer := time.NewTimer(max(rest, l.Wait()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// paced returns the options of a phase: a request waits until no more are under way than its answers take,
// which is one where they come before the next request, so that a stall does not send several at once.
// Denials end it, politely the first one, and as many errors in a row as end the search.
func (l *Live) paced(p Phase) load.Options {
	if l.Polite && !l.mute {
		p.Denials = 1
	}
	most := 1
	if p.Crowded {
		most = p.Requests
	} else if p.Every > 0 {
		most += int(l.trip / p.Every)
	}
	free, admitted, denied, failed := make(chan struct{}, most), 0, 0, 0
	for range most {
		free <- struct{}{}
	}
	var mu sync.Mutex
	o := l.round(&mu, free, func(out timeline.Outcome) {
		switch out {
		case timeline.Denied:
			denied, failed = denied+1, 0
		case timeline.Allowed:
			admitted, failed = admitted+1, 0
		default:
			failed++
		}
	})
	o.Next = func() bool {
		lost := 0
		select {
		case <-free:
		case <-time.After(lostAfter):
			lost = 1
		}
		mu.Lock()
		defer mu.Unlock()
		failed += lost
		return !p.over(admitted, denied) && failed < mostLost
	}
	return o
}

// round returns the options of the next round. Each answer is told to seen under mu, and then on answered.
// Its progress is that of all rounds together.
func (l *Live) round(mu *sync.Mutex, answered chan<- struct{}, seen func(timeline.Outcome)) load.Options {
	o := l.Load
	l.before, l.last = sum(l.last, l.before), load.Progress{}
	if o.Progress != nil {
		o.Progress = func(p load.Progress) {
			l.last = p
			l.Load.Progress(sum(p, l.before))
		}
	}
	if l.phases++; o.PastCaches != "" {
		o.PastCaches = fmt.Sprintf("%s-%d", o.PastCaches, l.phases)
	}
	o.Classify = func(status int) timeline.Outcome {
		out := l.Load.Classify(status)
		mu.Lock()
		defer mu.Unlock()
		seen(out)
		select {
		case answered <- struct{}{}:
		default:
		}
		return out
	}
	return o
}

// sum adds the counts of b to those of a.
func sum(a, b load.Progress) load.Progress {
	a.Sent += b.Sent
	a.Allowed += b.Allowed
	a.Denied += b.Denied
	a.Unknown += b.Unknown
	return a
}

// lostAfter is how long an answer is waited for before the next request.
const lostAfter = time.Second

// keep moves what was recorded to its place in the whole recording.
func (l *Live) keep(tl *timeline.Timeline, from time.Duration) {
	for i := range tl.Observations {
		o := &tl.Observations[i]
		result.DoubtCached(o, &l.caches)
		o.At, o.Sent = o.At+from, o.Sent+from
		if o.Answered {
			o.FirstByte += from
			if took := o.FirstByte - o.Sent; l.trip == 0 || took < l.trip {
				l.trip = took
			}
		}
		if o.Done > 0 {
			o.Done += from
		}
		if wait, ok := retryAfter(o, l.started); l.Polite && ok {
			l.free = max(l.free, o.FirstByte+wait)
		} else if o.Outcome == timeline.Denied {
			l.mute = true
		}
	}
	notes := append(l.header.Notes, tl.Header.Notes...)
	stalls := l.header.Stalls
	for _, s := range tl.Header.Stalls {
		stalls = append(stalls, timeline.Stall{From: s.From + from, To: s.To + from})
	}
	l.header = timeline.Header{Started: l.started.Round(0), WallError: tl.Header.WallError,
		Tick:     max(tl.Header.Tick, clockStep),
		DriftPPM: l.DriftPPM, Ended: tl.Header.Ended + from,
		Notes: result.NoteCaches(notes, l.caches), Stalls: stalls}
}

// clockStep is how coarse the clock of a limiter may be without being told of: many count in milliseconds,
// HAProxy in two.
const clockStep = 2 * time.Millisecond

// retryAfter returns how long a denial asks to wait.
func retryAfter(o *timeline.Observation, started time.Time) (time.Duration, bool) {
	v, has := o.Fields.Get("Retry-After")
	if !has || o.Outcome != timeline.Denied {
		return 0, false
	}
	ra, err := headers.ParseRetryAfter(v)
	if err != nil {
		return 0, false
	}
	return max(0, ra.Wait(started.Add(o.FirstByte))), true
}
