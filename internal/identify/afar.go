package identify

import (
	"context"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// spaced sets the gaps between requests by the slowest answer so far. Far from the target no answer comes
// after the next request, in a burst not after the one that follows it.
func (w *wire) spaced() {
	if w.nearer(); !w.pace.far {
		w.pace.every = max(w.o.Every, w.trip()*5/4/time.Duration(max(1, w.pace.atOnce)))
	}
	if w.pace.far && w.pace.every > w.o.Every {
		w.pace.every = max(w.pace.every, w.slow()*21/20)
	}
	if w.pace.dense = w.pace.every; w.pace.far {
		w.pace.dense = min(w.pace.every, max(w.o.Every, w.slow()*21/40))
	}
}

// nearer takes back that the target is far away once most answers come before the next request, or one
// came much sooner than most. Far away every answer is slow. On a busy machine only some are.
func (w *wire) nearer() {
	const much = 8
	took := w.trip()
	if w.pace.far && (much*Soonest(w.shown()) < took || took*5/4 <= max(w.o.Every, near)) {
		w.pace.far, w.pace.every = false, max(w.o.Every, took*5/4)
	}
}

// bursts asks for the quota twice, each time when it is surely whole. A burst takes little time, so it tells
// the quota apart from that of a short window. Of two bursts one has usually lost no answer.
func (x *search) bursts(ctx context.Context) bool {
	for rest := 2 * x.s.Now(); x.made[burstPhase] < 2; x.made[burstPhase]++ {
		x.spaced()
		burst := Phase{Name: burstPhase, Rest: rest, Requests: x.drained() + 2, Every: x.o.Every,
			Denials: 2}
		if !x.send(ctx, burst) {
			return false
		}
	}
	return true
}

// drained is how many requests were sent in the phase that used up the quota.
func (w *wire) drained() int {
	asked := map[string]int{}
	for i := range w.tl.Observations {
		asked[w.tl.Observations[i].Phase]++
	}
	if n := asked[fasterPhase]; n > 0 {
		return n
	}
	return asked[quotaPhase]
}

// burstPhase is the name of a burst for the whole quota.
const burstPhase = "burst"

// deepen lets the exact search judge counters once few classes are left. Near the target it also lets it
// judge windows by the first request. The bounds refute little of a window that is short for its answers. Far
// away the search refutes most of the counters that bounds leave. There three roundings of a counter count as
// one class.
func (x *search) deepen() {
	few, after, left := 3, x.o.MaxRequests/5, classes(x.regions)
	if x.pace.far {
		few = 5
		left = slices.CompactFunc(left, func(a, b []*Region) bool { return a[0].Kind.Like(b[0].Kind) })
	}
	if len(left) > few || len(x.tl.Observations) < after {
		return
	}
	for _, r := range x.regions {
		first := r.Kind.Base.Align == spec.AlignFirst && !x.pace.far
		if (r.Kind.Base.Weighs() || first) && !r.Kind.Searched {
			k := *r.Kind
			k.Searched = true
			r.Kind = &k
		}
	}
}

// choose returns the next experiment; false where none within the budget tells anything.
func (x *search) choose() (Experiment, bool) {
	p := x.planner(x.settled(x.likely())) // then only doubtful kinds are to be told
	p.Weigh()
	return p.Best()
}

// Far from the target a request is decided at any time until its answer. So each end of a window is open by a
// round trip. A kind and its quota may be known long before its time is known to 2 %. Then it is named, with
// all that is left of its time.

// blur is how much one experiment leaves open of the time in which a limit recovers; 0 where that is little.
// In a queue the fastest answer tells how far away it is, since others wait.
func (w *wire) blur() time.Duration {
	if !w.pace.far && (w.within == 0 || Soonest(w.judged()) < near) {
		return 0
	}
	return 2 * w.slow()
}

// coarse tells whether regions are one class with one quota, whose time is open by no more than round trips
// leave.
func (x *search) coarse(regions []*Region) bool {
	const widest = 1.25 // the ratio between the ends of a time
	blur := x.blur()
	return blur > 0 && x.alike(regions, func(r *Region) bool {
		h := r.Hull()
		open := h.T2 - h.T1
		if r.Kind.Paced {
			open *= time.Duration(h.Q2)
		}
		return h.Q1 == h.Q2 && open <= blur && float64(h.T2) <= float64(h.T1)*widest
	})
}
