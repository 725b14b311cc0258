package check

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// smallPolicies are the policies for small histories. Their unit of time is a nanosecond.
func smallPolicies() map[string]spec.Policy {
	out := map[string]spec.Policy{}
	for name, limit := range smallLimits() {
		if len(limit) == 1 && limit[0].Start != spec.StartUnknown &&
			limit[0].LevelTo+int64(limit[0].BanTo+limit[0].TTLTo) == 0 {
			out[name] = limit[0]
		}
	}
	return out
}

// refillTime is the time in which a unit of a bucket comes back, or the window. Latencies are given relative
// to it.
func refillTime(limit spec.Limit) int {
	var longest int
	for _, p := range limit {
		d := p.Rate.Per
		if !p.Windowed() && p.Algorithm != spec.SlidingWindowLog {
			d = (d + time.Duration(p.Rate.N) - 1) / time.Duration(p.Rate.N)
		}
		longest = max(longest, int(d))
	}
	return longest
}

// smallLimits are the limits for small histories: every algorithm, every axis, and two policies at once.
func smallLimits() map[string]spec.Limit {
	out := map[string]spec.Limit{}
	add := func(name string, p spec.Policy, edit func(*spec.Policy)) spec.Policy {
		if edit != nil {
			edit(&p)
		}
		out[name] = spec.Limit{p}
		return p
	}
	smallBuckets(add)
	smallLogs(add)
	smallWindows(add)
	out["bucket + log"] = append(out["token bucket"], out["sliding log, quota 3"]...)
	out["bucket + window"] = append(out["token bucket"], out["fixed window"]...)
	smallProducts(out)
	out["window + window, one phase unknown"] = append(out["fixed window"],
		out["fixed window, quota 3, unknown phase"]...)
	return out
}

// smallProducts adds limits of two policies whose time scales differ, or that count what the other one
// denies.
func smallProducts(out map[string]spec.Limit) {
	own := func(p spec.Policy) spec.Policy { p.Count = spec.CountOwn; return p }
	bucket, window, log := out["token bucket"][0], out["fixed window"][0], out["sliding log, quota 3"][0]
	out["bucket, 3 per 25 + bucket, 2 per 9"] = append(out["token bucket, 3 per 25"], bucket)
	out["bucket, 3 per 25 + bucket, 2 per 9"][1].Rate = spec.Rate{N: 2, Per: 9}
	out["bucket, 3 per 25 + log"] = append(out["token bucket, 3 per 25"], log)
	out["bucket + window in order"] = spec.Limit{own(bucket), window}
	out["log + window, each its own"] = spec.Limit{own(log), own(window)}
	queue := out["queue"][0]
	queue.Queue = 2
	out["queue + window"] = spec.Limit{queue, window}
	out["bucket + window counts all"] = append(out["token bucket"], out["fixed window, counts all"]...)
	short := window
	short.Align, short.PhaseFrom, short.PhaseTo, short.Rate.Per, short.Rate.N = spec.AlignUnknown, 0, 0, 8, 1
	long := short
	long.Rate = spec.Rate{N: 2, Per: 14}
	out["window + window, phases unknown"] = spec.Limit{short, long}
	out["first window + window"] = append(out["fixed window, first request"], window)
	out["refreshed window + window"] = spec.Limit{out["window refreshed by all"][0], window}
	out["refreshed window + window"][0].Rate = spec.Rate{N: 3, Per: 30}
	out["window refreshed by admissions, its own + "+
		"bucket"] = spec.Limit{own(out["window refreshed by admissions"][0]), bucket}
	out["first window + window"][0].Rate = spec.Rate{N: 3, Per: 30}
}

// adder adds a policy under a name, after one edit, and returns it.
type adder func(name string, p spec.Policy, edit func(*spec.Policy)) spec.Policy

func smallPolicy(a spec.Algorithm, n int64, per time.Duration) spec.Policy {
	return spec.Policy{Algorithm: a, Rate: spec.Rate{N: n, Per: per}, Start: spec.StartFull,
		Count: spec.CountAdmitted, Refill: spec.RefillContinuous, Rounding: spec.RoundNone,
		Boundary: spec.HalfOpen}
}

func countsAll(p *spec.Policy) { p.Count = spec.CountAll }
func ticks(p *spec.Policy)     { p.Tick, p.TickSet = 5, true }
func outlives(p *spec.Policy)  { p.TTL = p.Recovery() + 1 } // long enough to change nothing

func smallBuckets(add adder) {
	bucket := smallPolicy(spec.TokenBucket, 1, 12)
	bucket.Burst = 2
	add("token bucket", bucket, nil)
	add("gcra", bucket, func(p *spec.Policy) { p.Algorithm = spec.GCRA })
	add("leaky bucket", bucket, func(p *spec.Policy) { p.Algorithm = spec.LeakyBucket })
	add("token bucket, 3 per 25", bucket, func(p *spec.Policy) { p.Rate = spec.Rate{N: 3, Per: 25} })
	add("gcra, 5 per 33, burst 4", bucket, func(p *spec.Policy) {
		p.Algorithm, p.Rate, p.Burst = spec.GCRA, spec.Rate{N: 5, Per: 33}, 4
	})
	add("token bucket, burst 1", bucket, func(p *spec.Policy) { p.Burst = 1 })
	add("token bucket, burst 5", bucket, func(p *spec.Policy) { p.Burst = 5 })
	add("token bucket, starts empty", bucket, func(p *spec.Policy) { p.Start = spec.StartEmpty })
	add("token bucket, start unknown", bucket, func(p *spec.Policy) { p.Start = spec.StartUnknown })
	level := func(from, to int64) func(*spec.Policy) {
		return func(p *spec.Policy) { p.Start, p.Level, p.LevelTo = spec.StartLevel, from, to }
	}
	add("token bucket, starts at 1", bucket, level(1, 0))
	add("token bucket, starts at 0 to 1", bucket, level(0, 1))
	add("token bucket, 3 per 25, starts at 1 to 2, counts all", bucket, func(p *spec.Policy) {
		p.Rate, p.Burst, p.Count = spec.Rate{N: 3, Per: 25}, 3, spec.CountAll
		level(1, 2)(p)
	})
	add("token bucket, batches, starts at 2", bucket, func(p *spec.Policy) {
		p.Refill, p.Fill, p.Rate.N, p.Rate.Per, p.Burst = spec.RefillInterval, 2, 3, 25, 3
		level(2, 0)(p)
	})
	add("token bucket, ban of 9 to 17", bucket, func(p *spec.Policy) { p.Ban, p.BanTo = 9, 17 })
	add("token bucket, ttl of 5 to 9", bucket, func(p *spec.Policy) { p.TTL, p.TTLTo, p.Burst = 5, 9, 3 })
	add("token bucket, batches", bucket, func(p *spec.Policy) {
		p.Refill, p.Fill, p.Rate.N, p.Rate.Per, p.Burst = spec.RefillInterval, 2, 2, 20, 3
	})
	add("token bucket, batches, starts empty", bucket, func(p *spec.Policy) {
		p.Refill, p.Fill, p.Rate.N, p.Rate.Per, p.Burst, p.Start = spec.RefillInterval, 2, 3, 25, 3,
			spec.StartEmpty
	})
	add("token bucket, batches, counts all", bucket, func(p *spec.Policy) {
		p.Refill, p.Fill, p.Rate.N, p.Rate.Per, p.Burst, p.Count = spec.RefillInterval, 1, 1, 10, 3,
			spec.CountAll
	})
	add("token bucket, counts all", bucket, countsAll)
	add("token bucket, ttl", bucket, func(p *spec.Policy) { p.TTL, p.Burst = 9, 3 })
	add("token bucket, lasts", bucket, outlives)
	add("token bucket, tick, lasts, counts all", bucket,
		func(p *spec.Policy) { ticks(p); countsAll(p); outlives(p) })
	add("token bucket, starts empty, ttl", bucket,
		func(p *spec.Policy) { p.TTL, p.Start = 9, spec.StartEmpty })
	add("token bucket, ban, counts all", bucket, func(p *spec.Policy) { countsAll(p); p.Ban = 17 })
	add("token bucket, ban", bucket, func(p *spec.Policy) { p.Ban = 17 })
	add("token bucket, tick", bucket, ticks)
	queue := smallPolicy(spec.LeakyBucketQueue, 1, 12)
	queue.Queue = 1
	add("queue", queue, nil)
	add("queue, start unknown", queue, func(p *spec.Policy) { p.Start = spec.StartUnknown })
	add("queue, tick", queue, ticks)
	add("queue of 2, starts at 1", queue, func(p *spec.Policy) { p.Queue = 2; level(1, 0)(p) })
	add("queue of 3, one undelayed, starts at 2 to 3", queue,
		func(p *spec.Policy) { p.Queue, p.Undelayed = 3, 1; level(2, 3)(p) })
	add("queue of 2, ttl", queue, func(p *spec.Policy) { p.Queue, p.TTL = 2, 7 })
	add("queue of 2, lasts", queue, func(p *spec.Policy) { p.Queue = 2; outlives(p) })
	add("queue of 3, one undelayed, ttl of 3 to 9", queue,
		func(p *spec.Policy) { p.Queue, p.Undelayed, p.TTL, p.TTLTo = 3, 1, 3, 9 })
	add("queue of 3, one undelayed", queue, func(p *spec.Policy) { p.Queue, p.Undelayed = 3, 1 })
}

func smallLogs(add adder) {
	log := smallPolicy(spec.SlidingWindowLog, 2, 16)
	add("sliding log", log, nil)
	add("sliding log, quota 1", log, func(p *spec.Policy) { p.Rate.N = 1 })
	add("sliding log, quota 3", log, func(p *spec.Policy) { p.Rate.N = 3 })
	add("sliding log, quota 4", log, func(p *spec.Policy) { p.Rate.N = 4 })
	add("sliding log, closed", log, func(p *spec.Policy) { p.Boundary = spec.Closed })
	add("sliding log, counts all", log, countsAll)
	add("sliding log, tick", log, ticks)
	add("sliding log, ttl", log, func(p *spec.Policy) { p.TTL = 9 })
	add("sliding log, closed, lasts", log, func(p *spec.Policy) { p.Boundary = spec.Closed; outlives(p) })
	add("sliding log, ban", log, func(p *spec.Policy) { p.Ban = 11 })
}

func smallWindows(add adder) {
	fixed := smallPolicy(spec.FixedWindow, 2, 20)
	fixed.Align, fixed.PhaseFrom, fixed.PhaseTo = spec.AlignPhase, 7, 7
	unknown := func(p *spec.Policy) { p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignUnknown, 0, 0 }
	first := func(p *spec.Policy) { p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignFirst, 0, 0 }
	add("fixed window", fixed, nil)
	add("fixed window, quota 5", fixed, func(p *spec.Policy) { p.Rate.N = 5 })
	add("fixed window, counts all", fixed, countsAll)
	add("fixed window, unknown phase", fixed, unknown)
	add("fixed window, quota 3, unknown phase", fixed, func(p *spec.Policy) { unknown(p); p.Rate.N = 3 })
	add("fixed window, phase in a range", fixed, func(p *spec.Policy) { p.PhaseFrom, p.PhaseTo = 3, 9 })
	add("fixed window, phase in a range, ban", fixed,
		func(p *spec.Policy) { p.PhaseFrom, p.PhaseTo, p.Ban = 9, 14, 5 })
	add("fixed window, unknown phase, ttl", fixed, func(p *spec.Policy) { unknown(p); p.TTL = 9 })
	add("fixed window, first request", fixed, first)
	add("fixed window, first request, counts all", fixed, func(p *spec.Policy) { first(p); countsAll(p) })
	add("fixed window, first request, ttl", fixed, func(p *spec.Policy) { first(p); p.TTL = 9 })
	add("fixed window, first request, lasts", fixed, func(p *spec.Policy) { first(p); outlives(p) })
	add("fixed window, first request, counts all, lasts", fixed,
		func(p *spec.Policy) { first(p); countsAll(p); outlives(p) })
	smallRefreshes(add, fixed)
	add("fixed window, ttl", fixed, func(p *spec.Policy) { p.TTL = 9 })
	add("fixed window, counts all, ttl", fixed, func(p *spec.Policy) { countsAll(p); p.TTL = 9 })
	add("fixed window, tick", fixed, ticks)
	add("fixed window, unknown phase, tick", fixed, func(p *spec.Policy) { unknown(p); ticks(p) })
	counter := fixed
	counter.Algorithm = spec.SlidingWindowCounter
	add("sliding counter", counter, nil)
	add("sliding counter, quota 4", counter, func(p *spec.Policy) { p.Rate.N = 4 })
	add("sliding counter, rounds down", counter, func(p *spec.Policy) { p.Rounding = spec.RoundDown })
	add("sliding counter, rounds up", counter, func(p *spec.Policy) { p.Rounding = spec.RoundUp })
	add("sliding counter, nearest", counter, func(p *spec.Policy) { p.Rounding = spec.RoundNearest })
	add("sliding counter, counts all", counter, countsAll)
	add("sliding counter, unknown phase", counter, unknown)
	add("sliding counter, first", counter, first)
	add("sliding counter, first, lasts", counter, func(p *spec.Policy) { first(p); outlives(p) })
	add("sliding counter, first, tick, counts all", counter,
		func(p *spec.Policy) { first(p); ticks(p); countsAll(p) })
	add("sliding counter, first, rounds up, quota 3", counter,
		func(p *spec.Policy) { first(p); p.Rounding, p.Rate.N = spec.RoundUp, 3 })
}

// smallRefreshes adds windows that requests start anew.
func smallRefreshes(add adder, fixed spec.Policy) {
	renews := func(which spec.Refresh, edit func(*spec.Policy)) func(*spec.Policy) {
		return func(p *spec.Policy) {
			p.Align, p.PhaseFrom, p.PhaseTo, p.Refresh = spec.AlignFirst, 0, 0, which
			if edit != nil {
				edit(p)
			}
		}
	}
	add("window refreshed by all", fixed, renews(spec.RefreshAll, nil))
	add("window refreshed by admissions", fixed, renews(spec.RefreshAdmitted, nil))
	add("window refreshed by all, quota 1", fixed,
		renews(spec.RefreshAll, func(p *spec.Policy) { p.Rate.N = 1 }))
	add("window refreshed by all, counts all", fixed, renews(spec.RefreshAll, countsAll))
	add("window refreshed by admissions, counts all, quota 4", fixed,
		renews(spec.RefreshAdmitted, func(p *spec.Policy) { countsAll(p); p.Rate.N = 4 }))
	add("window refreshed by all, tick", fixed, renews(spec.RefreshAll, ticks))
	add("window refreshed by admissions, tick", fixed, renews(spec.RefreshAdmitted, ticks))
	add("window refreshed by all, ban", fixed, renews(spec.RefreshAll, func(p *spec.Policy) { p.Ban = 17 }))
	add("window refreshed by admissions, ttl", fixed,
		renews(spec.RefreshAdmitted, func(p *spec.Policy) { p.TTL = 9 }))
}

// shape says what random histories are like.
type shape struct {
	requests int
	// gap is the longest time between two sends, late the longest latency.
	gap, late int
	// costs makes a third of the requests cost 2.
	costs bool
}

// smallShape is a shape of 3 to 6 requests.
func smallShape(r *rand.Rand, late int, costs bool) shape {
	return shape{requests: 3 + r.IntN(4), gap: 30, late: late, costs: costs}
}

// randomHistory records what the limiter answers at random decision times. Some outcomes are then turned, and
// a few answers lost. The clock of the limiter may show anything at the start.
func randomHistory(r *rand.Rand, lim reference.Limiter, sh shape) *timeline.Timeline {
	type plan struct{ s, d, e time.Duration }
	plans := make([]plan, sh.requests)
	var at, last time.Duration
	for i := range plans {
		if r.IntN(3) > 0 {
			at += time.Duration(r.IntN(sh.gap))
		}
		width := 0
		if sh.late > 0 {
			width = r.IntN(sh.late + 1)
		}
		plans[i] = plan{at, at + time.Duration(r.IntN(width+1)), at + time.Duration(width)}
		last = max(last, plans[i].d)
	}
	order := r.Perm(sh.requests)
	outcomes, cost := make([]timeline.Outcome, sh.requests), make([]int64, sh.requests)
	for i := range cost {
		cost[i] = 1
		if sh.costs && r.IntN(3) == 0 {
			cost[i] = 2
		}
	}
	state := lim.Init()
	for t := time.Duration(0); t <= last; t++ {
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
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: p.s, Cost: cost[i]}, Sent: p.s,
			FirstByte: p.e, Answered: true, Outcome: outcomes[i]}
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

// draw prints a small history, a line a request.
func draw(tl *timeline.Timeline) string {
	s := ""
	if h := tl.Header; !h.Started.IsZero() || h.ClockError > 0 {
		s = fmt.Sprintf("started %d, wall error %d, clock error %d\n", h.Started.UnixNano(), h.WallError,
			h.ClockError)
	}
	for _, o := range tl.Observations {
		s += fmt.Sprintf("#%d %s[%d,%d] cost %d %s\n", o.Seq, o.Partition, o.Sent, o.FirstByte, o.Cost,
			o.Outcome)
	}
	return s
}

// newHistory returns the history of the observations of one partition.
func newHistory(obs []timeline.Observation, w history.Widening, end int64,
	stays ...history.Stay) *history.History {
	return history.New(history.Observations(obs), w, end, stays...)
}
