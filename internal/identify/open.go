package identify

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The first phases.
const (
	firstPhase    = "first"
	quotaPhase    = "quota"
	fasterPhase   = "quota-faster"
	comebackPhase = "comeback"
)

// pace is how fast requests are sent.
type pace struct {
	// every is the gap between requests: the time of an answer or, where that shows no denial,
	// Options.Every. dense is the gap in a burst, shorter than every far away.
	every, dense time.Duration
	// atOnce is how many requests are under way at once near the target; 0: one.
	atOnce int
	// far tells that answers take longer than near.
	far bool
}

// near is the longest time of an answer of a target that is not far away.
const near = 20 * time.Millisecond

// open asks once, then for the quota, then for its return. It reports false where there is nothing more to
// do.
func (x *search) open(ctx context.Context) bool {
	for x.skip == 0 && x.tl.Counts().Unknown == len(x.tl.Observations) { // a lost answer tells nothing
		if !x.send(ctx, Phase{Name: firstPhase, Requests: 1}) {
			return false
		}
	}
	if x.o.Every < near && x.trip() > near/2 { // the first answer had to wait for its connection
		x.pace.every = x.o.Every
		if !x.send(ctx, Phase{Name: firstPhase, Requests: 2, Every: x.o.Every, Denials: 1}) {
			return false
		}
	}
	quota := Phase{Name: quotaPhase, Rest: x.o.Every, Requests: x.spare() * 6 / 10, Every: x.o.Every,
		Denials: 3}
	soon := Soonest(x.shown()) * 5 / 4
	x.pace.every = max(x.o.Every, soon)
	if x.pace.far = soon > max(x.o.Every, near); x.pace.far {
		// requests that wait for answers tell more, if some are denied
		quota.Every, quota.Requests = x.pace.every, x.spare()/10
		if !x.send(ctx, quota) {
			return false
		}
		quota.Name, quota.Requests = fasterPhase, x.spare()*4/10
		x.nearer()
	}
	if x.shown().Counts().Denied == 0 {
		ask := x.askQuota
		if x.pace.far { // in parts, a short window would begin anew between them
			x.pace.every, ask = x.o.Every, x.send
		}
		quota.Every = x.o.Every
		if !ask(ctx, quota) {
			return false
		}
	}
	if queued(x.shown(), x.tl.Observations[len(x.tl.Observations)-1].Phase) {
		x.asQueue()
		if quota.Rest = x.trip(); x.shown().Counts().Denied == 0 && !x.send(ctx, quota) {
			return false
		}
	}
	if x.shown().Counts().Denied == 0 {
		x.stopped = Undenied
		return false
	}
	x.aimed()
	return x.comeback(ctx) && (!x.pace.far || x.bursts(ctx))
}

// aimed bounds what is looked for by the requests that may have been decided before the first denial: the
// quota, if nobody used it before, and the budget by what such a quota needs. A bucket that regains units
// sooner than they were asked for denies only requests that chance brought close together.
func (x *search) aimed() {
	const times, more, least = 12, 400, 600
	all, first := x.judged().Observations, time.Duration(math.MaxInt64)
	for i := range all {
		if all[i].Outcome == timeline.Denied {
			first = min(first, all[i].FirstByte)
		}
	}
	var begin, end, asked time.Duration
	n, phase := int64(-1), "" // the denial itself took nothing
	for i := range all {
		if o := &all[i]; o.Sent < first {
			if n++; o.Phase != phase {
				phase, begin, asked = o.Phase, o.Sent, 0
			}
			end, asked = o.Sent, asked+1
		}
	}
	n = max(n, 1)
	x.o.MaxRequests = min(x.o.MaxRequests, x.skip+max(int(times*n)+more, least))
	for _, r := range slices.Concat(x.regions, x.second) {
		for i := range r.Live {
			b := &r.Live[i]
			if r.Kind.Paced {
				b.T1 = max(b.T1, min((end-begin)/max(1, asked), b.T2))
			}
			if x.o.Fresh || x.skip > 0 {
				b.Q2 = max(b.Q1, min(b.Q2, n))
			}
		}
	}
}

// askQuota sends a phase in parts until some requests are denied: first one more than answers state, then
// twice as many each time. Soon several are under way at once, since one at a time may be slower than the
// limit. It ends early where all answers are as late as in a queue: that denies no requests that come one at
// a time.
func (x *search) askQuota(ctx context.Context, p Phase) bool {
	const some, inTurn, crowd = 12, 2, 8
	for n, parts := max(some, x.toldQuota(p.Requests)), 0; p.Requests > 0; n, parts = 2*n, parts+1 {
		part, before := p, len(x.tl.Observations)
		part.Requests = min(n, p.Requests)
		if (parts == inTurn || n > crowd*some) && x.o.Every < near {
			x.pace.atOnce = crowd
		}
		if !x.send(ctx, part) {
			return false
		}
		seen := timeline.Timeline{Observations: x.tl.Observations[before:]}
		late := x.s.Now()+p.Every >= x.sendUntil()
		if late || seen.Counts().Denied > 0 || queued(x.shown(), p.Name) && x.waiting(some-2) {
			break
		}
		p.Requests -= part.Requests
		p.Rest = p.Every
	}
	return true
}

// Answers state their limit in header fields. identify believes none of them and shows them beside the
// measured limit. It only aims by them: at one request more than a stated quota, and at the time that a
// denial states.

// toldQuota is the smallest quota that the first answer states, and three requests more; 0 if none fits most
// requests.
func (w *wire) toldQuota(most int) (out int) {
	o := &w.tl.Observations[0]
	for _, q := range stated(o, w.tl, w.o.Cost) {
		if n := int(min(q.Limit, int64(most))) + 3; q.HasLimit && n <= most && (out == 0 || n < out) {
			out = n
		}
	}
	return out
}

// comeback asks ever more rarely until a request is admitted again, but densely about the time that a denial
// states. Twice the rest each time would lose up to a minute of a window of a minute, so long rests become
// longer by a quarter. It reports false where the budget ends first.
func (x *search) comeback(ctx context.Context) bool {
	const long = 20 // a rest of this part of the time is long
	once := Phase{Name: comebackPhase, Rest: 2 * x.pace.every, Requests: 1}
	for believed := false; ; {
		last := &x.tl.Observations[len(x.tl.Observations)-1]
		if last.Outcome == timeline.Allowed {
			return true
		}
		ask := once
		if about, told := x.toldReturn(last); told && !believed && about.Rest > once.Rest {
			believed, ask, once.Rest = true, about, x.pace.every
		}
		if !x.send(ctx, ask) {
			return false
		}
		if 3*once.Rest > x.o.MaxTime/long {
			once.Rest += once.Rest / 4
		} else {
			once.Rest *= 2
		}
	}
}

// toldReturn is a phase that asks densely for the return of the quota, about the time that a denial states.
// Retry-After is in whole seconds, rounded up or down. It reports false where the denial states none, or the
// budget of time ends first.
func (w *wire) toldReturn(denied *timeline.Observation) (Phase, bool) {
	const rounded = time.Second + 100*time.Millisecond
	wait, told := ToldWait(denied, w.s.Header().Started)
	wait += denied.FirstByte - w.s.Now()
	step := max(w.pace.every, 2*rounded/Rungs)
	return Phase{Name: comebackPhase, Rest: wait - rounded, Requests: Rungs + 1, Every: step,
			Admits: 1},
		told && w.s.Now()+wait+rounded < w.sendUntil()
}

// crowded tells whether so many requests were under way at once that an exact search would take long.
func (w *wire) crowded() bool {
	const most = 8
	all := w.judged().Observations
	for i := range all {
		if j := i + most; j < len(all) && all[i].FirstByte > all[j].Sent {
			return true
		}
	}
	return false
}

// slow is the slowest answer so far.
func (w *wire) slow() time.Duration { return Slowest(w.shown()) }
