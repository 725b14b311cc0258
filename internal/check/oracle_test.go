package check

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// oracle decides by exhaustion whether some order and some whole-nanosecond decision times inside the intervals let the
// limiter give the observed outcomes. It shares no code with the bounds.
type oracle struct {
	lim  reference.Limiter
	obs  []timeline.Observation
	end  time.Duration
	seen map[node]bool
}

type node struct {
	done  uint32
	at    time.Duration
	state reference.State
}

func explains(lim reference.Limiter, obs []timeline.Observation, end time.Duration) bool {
	o := &oracle{lim: lim, obs: obs, end: end, seen: map[node]bool{}}
	from := end
	for i := range obs {
		from = min(from, obs[i].Sent)
	}
	return o.search(node{at: from, state: lim.Init()})
}

func (o *oracle) until(i int) time.Duration {
	if o.obs[i].Answered && o.obs[i].Outcome != timeline.Unknown {
		return o.obs[i].FirstByte
	}
	return o.end
}

func (o *oracle) search(n node) bool {
	if n.done == 1<<len(o.obs)-1 {
		return true
	}
	if o.seen[n] {
		return false
	}
	o.seen[n] = true
	for i := range o.obs {
		if n.done&(1<<i) != 0 {
			continue
		}
		if o.until(i) < n.at {
			return false
		}
		if o.obs[i].Sent > n.at {
			continue
		}
		s, d := o.lim.Step(n.state, n.at, o.obs[i].Cost)
		fits := o.obs[i].Outcome == timeline.Unknown || d.Allow == (o.obs[i].Outcome == timeline.Allowed)
		if o.obs[i].Outcome == timeline.Allowed && n.at+d.Delay > o.until(i) {
			fits = false // it was answered before a queue would have let it through
		}
		if fits && o.search(node{n.done | 1<<i, n.at, s}) {
			return true
		}
	}
	n.at++
	return o.search(n)
}

// smallPolicies are the policies whose small histories are judged, with time in units of a nanosecond.
func smallPolicies() map[string]reference.Policy {
	rate := func(n int64, per time.Duration) reference.Rate { return reference.Rate{N: n, Per: per} }
	base := func(a reference.Algorithm, r reference.Rate) reference.Policy {
		return reference.Policy{Algorithm: a, Rate: r, Start: reference.StartFull, Count: reference.CountAdmitted,
			Refill: reference.RefillContinuous, Rounding: reference.RoundNone, Boundary: reference.HalfOpen}
	}
	bucket := base(reference.TokenBucket, rate(1, 20))
	bucket.Burst = 2
	queue := base(reference.LeakyBucketQueue, rate(1, 20))
	queue.Queue = 1
	log := base(reference.SlidingWindowLog, rate(2, 40))
	fixed := base(reference.FixedWindow, rate(2, 60))
	fixed.Align, fixed.PhaseFrom, fixed.PhaseTo = reference.AlignPhase, 10, 10
	counter := base(reference.SlidingWindowCounter, rate(2, 60))
	counter.Align, counter.PhaseFrom, counter.PhaseTo = reference.AlignPhase, 10, 10
	with := func(p reference.Policy, edit func(*reference.Policy)) reference.Policy { edit(&p); return p }
	return map[string]reference.Policy{
		"token bucket":               bucket,
		"gcra":                       with(bucket, func(p *reference.Policy) { p.Algorithm = reference.GCRA }),
		"leaky bucket":               with(bucket, func(p *reference.Policy) { p.Algorithm = reference.LeakyBucket }),
		"token bucket 3 per 50":      with(bucket, func(p *reference.Policy) { p.Rate = rate(3, 50) }),
		"token bucket, starts empty": with(bucket, func(p *reference.Policy) { p.Start = reference.StartEmpty }),
		"token bucket, batches": with(bucket, func(p *reference.Policy) {
			p.Refill, p.Fill, p.Rate = reference.RefillInterval, 2, rate(2, 30)
			p.Burst = 3
		}),
		"token bucket, counts all":     with(bucket, func(p *reference.Policy) { p.Count = reference.CountAll }),
		"token bucket, ban":            with(bucket, func(p *reference.Policy) { p.Ban = 30 }),
		"token bucket, tick":           with(bucket, func(p *reference.Policy) { p.Tick, p.TickSet = 7, true }),
		"sliding log":                  log,
		"sliding log, closed":          with(log, func(p *reference.Policy) { p.Boundary = reference.Closed }),
		"sliding log, counts all":      with(log, func(p *reference.Policy) { p.Count = reference.CountAll }),
		"sliding log, tick":            with(log, func(p *reference.Policy) { p.Tick, p.TickSet = 7, true }),
		"fixed window":                 fixed,
		"fixed window, counts all":     with(fixed, func(p *reference.Policy) { p.Count = reference.CountAll }),
		"fixed window, unknown phase":  with(fixed, func(p *reference.Policy) { p.Align = reference.AlignUnknown }),
		"fixed window, first request":  with(fixed, func(p *reference.Policy) { p.Align = reference.AlignFirst }),
		"sliding counter":              counter,
		"sliding counter, rounds down": with(counter, func(p *reference.Policy) { p.Rounding = reference.RoundDown }),
		"sliding counter, rounds up":   with(counter, func(p *reference.Policy) { p.Rounding = reference.RoundUp }),
		"sliding counter, nearest":     with(counter, func(p *reference.Policy) { p.Rounding = reference.RoundNearest }),
		"sliding counter, counts all":  with(counter, func(p *reference.Policy) { p.Count = reference.CountAll }),
		"sliding counter, any phase":   with(counter, func(p *reference.Policy) { p.Align = reference.AlignUnknown }),
		"sliding counter, first":       with(counter, func(p *reference.Policy) { p.Align = reference.AlignFirst }),
		"queue":                        queue,
	}
}

// randomHistory makes a timeline of 3 to 6 requests with latencies up to `late`. Most outcomes are those of the limiter
// at random decision times; some are then turned, and a few lost.
func randomHistory(r *rand.Rand, lim reference.Limiter, late int, costs bool) *timeline.Timeline {
	n := 3 + r.IntN(4)
	type plan struct{ s, d, e time.Duration }
	plans := make([]plan, n)
	var at time.Duration
	for i := range plans {
		if r.IntN(3) > 0 {
			at += time.Duration(r.IntN(30))
		}
		width := 0
		if late > 0 {
			width = r.IntN(late + 1)
		}
		plans[i] = plan{at, at + time.Duration(r.IntN(width+1)), at + time.Duration(width)}
	}
	order := r.Perm(n)
	outcomes, cost := make([]timeline.Outcome, n), make([]int64, n)
	for i := range cost {
		cost[i] = 1
		if costs && r.IntN(3) == 0 {
			cost[i] = 2
		}
	}
	state := lim.Init()
	for t := time.Duration(0); t <= at+time.Duration(late); t++ {
		for _, i := range order {
			if plans[i].d == t {
				var d reference.Decision
				if state, d = lim.Step(state, t, cost[i]); d.Allow {
					outcomes[i] = timeline.Allowed
					plans[i].e = max(plans[i].e, t+d.Delay)
				} else {
					outcomes[i] = timeline.Denied
				}
			}
		}
	}
	tl := &timeline.Timeline{}
	flip := r.IntN(2) == 0
	for i, p := range plans {
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: p.s, Cost: cost[i]}, Sent: p.s, FirstByte: p.e, Answered: true, Outcome: outcomes[i]}
		if flip && r.IntN(4) == 0 {
			o.Outcome = 3 - o.Outcome
		}
		if r.IntN(25) == 0 {
			o.Outcome = timeline.Unknown
		}
		tl.Observations = append(tl.Observations, o)
	}
	tl.Header.Ended = tl.End()
	return tl
}

// feasible asks the oracle, over every phase where the policy leaves it open.
func feasible(t *testing.T, pol reference.Policy, tl *timeline.Timeline) bool {
	from, to := pol.PhaseFrom, pol.PhaseTo
	if pol.Align == reference.AlignUnknown {
		from, to = 0, pol.Rate.Per-1
	}
	for phase := from; phase <= to; phase++ {
		p := pol
		if pol.Windowed() && pol.Align != reference.AlignFirst {
			p.Align, p.PhaseFrom, p.PhaseTo = reference.AlignPhase, phase, phase
		}
		lim, err := reference.New(p)
		if err != nil {
			t.Fatal(err)
		}
		if explains(lim, tl.Observations, tl.End()) {
			return true
		}
	}
	return false
}

// TestJudgeNeverAccusesWhatTheOracleExplains is the hard bar: no false alarm. It prints the share of the infeasible
// histories that are caught.
func TestJudgeNeverAccusesWhatTheOracleExplains(t *testing.T) {
	rounds := 600
	if testing.Short() {
		rounds = 100
	}
	for name, pol := range smallPolicies() {
		t.Run(name, func(t *testing.T) {
			for _, late := range []int{0, 3, 10, 30, 80} {
				share(t, pol, late, rounds, 2031, false)
				if pol.Count != reference.CountAll {
					share(t, pol, late, rounds/4, 2032, true)
				}
			}
		})
	}
}

func share(t *testing.T, pol reference.Policy, late, rounds int, seed uint64, costs bool) {
	t.Helper()
	lim, err := reference.New(pol)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, uint64(late)))
	caught, infeasible := 0, 0
	for range rounds {
		tl := randomHistory(r, lim, late, costs)
		j, err := Judge(tl, reference.Limit{pol}, Options{SkipMeasure: true})
		if err != nil {
			t.Fatal(err)
		}
		ok := j.Verdict != Fail
		if truth := feasible(t, pol, tl); truth && !ok {
			t.Fatalf("false alarm, late %d:\n%s\n%+v", late, draw(tl), j.Partitions[0].Findings)
		} else if !truth {
			infeasible++
			if !ok {
				caught++
			}
		}
	}
	if infeasible == 0 {
		t.Fatalf("late %d: no infeasible history in %d", late, rounds)
	}
	kind := "equal costs"
	if costs {
		kind = "mixed costs"
	}
	t.Logf("%s, latency up to %2d: caught %d of %d infeasible (%.1f %%) in %d histories", kind, late, caught, infeasible, 100*float64(caught)/float64(infeasible), rounds)
}

// draw prints a small history, a line a request.
func draw(tl *timeline.Timeline) string {
	var s string
	for _, o := range tl.Observations {
		s += fmt.Sprintf("#%d [%d,%d] cost %d %s\n", o.Seq, o.Sent, o.FirstByte, o.Cost, o.Outcome)
	}
	return s
}
