//go:build unix

package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// cpuTime is the processor time used by this process. On a busy machine the wall clock says little.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// live is the memory in bytes that is still reachable.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// benchSpecs are the limits of the benchmarks: 1000 a second, of every algorithm.
var benchSpecs = []string{
	"token-bucket,rate=1000/s,burst=100", "gcra,rate=1000/s,burst=100", "leaky-bucket,rate=1000/s,burst=100",
	"leaky-bucket-queue,rate=1000/s,queue=100", "sliding-window-log,rate=1000/s",
	"fixed-window,rate=1000/s,phase=300ms", "fixed-window,rate=1000/s,align=first",
	"sliding-window-counter,rate=1000/s,phase=300ms",
}

// benchSizes are numbers of observations; RLCHECK_BENCH_LARGE adds ten millions.
func benchSizes() []int {
	sizes := []int{10_000, 100_000, 1_000_000}
	if os.Getenv("RLCHECK_BENCH_LARGE") != "" {
		sizes = append(sizes, 10_000_000)
	}
	return sizes
}

// decider decides on a request at t, in nanoseconds, and remembers it.
type decider func(t int64) (allow bool, delay int64)

// deciderOf returns a right limiter of p that is quick: a benchmark must not spend its time on making
// histories.
func deciderOf(p spec.Policy) decider {
	size, quota := int64(p.Rate.Per), p.Rate.N
	switch p.Algorithm {
	case spec.SlidingWindowLog:
		times := make([]int64, quota)
		for i := range times {
			times[i] = -size
		}
		k := 0
		return func(t int64) (bool, int64) {
			if t-times[k] < size {
				return false, 0
			}
			times[k] = t
			k = (k + 1) % len(times)
			return true, 0
		}
	case spec.FixedWindow, spec.SlidingWindowCounter:
		var m memory
		var mach machine = fixedCount{quota, size, int64(p.PhaseFrom), p.Align == spec.AlignFirst, false}
		if p.Algorithm == spec.SlidingWindowCounter {
			mach = twoCounts{quota: quota, size: size, phase: int64(p.PhaseFrom)}
		}
		m = mach.newborn()
		return func(t int64) (bool, int64) {
			allow := mach.admits(m, t, 1)
			m = mach.after(m, t, 1, allow)
			return allow, 0
		}
	}
	tat, step := int64(0), size/quota
	return func(t int64) (bool, int64) {
		if max(t, tat)+step > t+p.Full()*step {
			return false, 0
		}
		var delay int64
		if p.Algorithm == spec.LeakyBucketQueue {
			delay = max(0, tat-t)
		}
		tat = max(t, tat) + step
		return true, delay
	}
}

// offered makes n requests at twice the limit. Each is answered within 4 ms, so that about four are in
// flight.
func offered(p spec.Policy, n int, seed uint64) []timeline.Observation {
	return offeredLate(p, n, seed, 4_000_000)
}

// offeredLate makes n requests half a millisecond apart on average. Each is answered within late nanoseconds.
func offeredLate(p spec.Policy, n int, seed uint64, late int64) []timeline.Observation {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	out := make([]timeline.Observation, n)
	type due struct {
		d int64
		i int
	}
	var waiting []due
	decide := deciderOf(p)
	var at int64
	settle := func(until int64) {
		for len(waiting) > 0 {
			k := 0
			for j := range waiting {
				if waiting[j].d < waiting[k].d {
					k = j
				}
			}
			w := waiting[k]
			if w.d > until {
				return
			}
			waiting[k] = waiting[len(waiting)-1]
			waiting = waiting[:len(waiting)-1]
			o := &out[w.i]
			allow, delay := decide(w.d)
			o.Outcome = timeline.Denied
			if allow {
				o.Outcome = timeline.Allowed
				o.FirstByte = max(o.FirstByte, time.Duration(w.d+delay))
			}
		}
	}
	for i := range out {
		at += 1 + r.Int64N(1_000_000)
		settle(at)
		width := r.Int64N(late)
		out[i] = timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: time.Duration(at),
			FirstByte: time.Duration(at + width), Answered: true}
		waiting = append(waiting, due{at + r.Int64N(width+1), i})
	}
	settle(1 << 62)
	return out
}

// BenchmarkBounds measures both bounds of each algorithm on a prepared history, and the preparation. Its
// x-shortest is the cost of an observation relative to that in the shortest history: 1 where the cost is
// linear.
func BenchmarkBounds(b *testing.B) {
	for _, spec := range benchSpecs {
		p := mustPolicy(b, spec)
		shortest := 0.0 // seconds of CPU for an observation
		for _, n := range benchSizes() {
			b.Run(fmt.Sprintf("%s/%d", spec, n), func(b *testing.B) {
				obs := offered(p, n, 1)
				before, began := live(), cpuTime()
				h := newHistory(obs, history.Widening{}, int64(obs[n-1].FirstByte))
				prepared := cpuTime() - began
				perObs := float64(live()-before) / float64(n)
				runtime.KeepAlive(obs)
				bd := limiter.NewBound(p, int64(p.PhaseFrom), int64(p.PhaseTo))
				began = cpuTime()
				for b.Loop() {
					if br := JudgeOne(h, bd, result.Exact); br != nil {
						b.Fatalf("a right limiter is accused: %+v", br.Kind)
					}
				}
				each := (cpuTime() - began).Seconds() / float64(n) / float64(b.N)
				if shortest == 0 {
					shortest = each
				}
				b.ReportMetric(1/each/1e6, "Mobs/cpu-s")
				b.ReportMetric(each/shortest, "x-shortest")
				b.ReportMetric(float64(n)/max(prepared.Seconds(), 1e-9)/1e6, "prepared-Mobs/cpu-s")
				b.ReportMetric(perObs, "B/obs")
			})
		}
	}
}

// BenchmarkStream measures a Stream of one partition. It reports observations a second of
// CPU, and the bytes that it holds before its end, in all and for each observation.
func BenchmarkStream(b *testing.B) {
	for _, text := range benchSpecs {
		p := mustPolicy(b, text)
		for _, n := range benchSizes() {
			b.Run(fmt.Sprintf("%s/%d", text, n), func(b *testing.B) {
				obs := offered(p, n, 1)
				var took time.Duration
				var held int64
				for b.Loop() {
					before, began := live(), cpuTime()
					s := newStream(spec.Limit{p}, timeline.Header{}, Options{}, inTurnCaps)
					for i := range obs {
						if err := s.Observe(&obs[i]); err != nil {
							b.Fatal(err)
						}
					}
					took += cpuTime() - began
					held = live() - before
					began = cpuTime()
					if j, err := s.Finish(); err != nil || j.Verdict != result.Pass {
						b.Fatal(err, j)
					}
					took += cpuTime() - began
				}
				b.ReportMetric(float64(n)*float64(b.N)/took.Seconds()/1e6, "Mobs/cpu-s")
				b.ReportMetric(float64(max(held, 0)), "B-held")
				b.ReportMetric(float64(max(held, 0))/float64(n), "B/obs")
			})
		}
	}
}

// BenchmarkJudge measures the bounds and the exact search of Judge, without and with measuring the policy.
func BenchmarkJudge(b *testing.B) {
	for _, text := range benchSpecs {
		p := mustPolicy(b, text)
		for _, n := range []int{10_000, 100_000} {
			for _, skip := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/%d/measure=%v", text, n, !skip), func(b *testing.B) {
					tl := &timeline.Timeline{Observations: offered(p, n, 1)}
					began := cpuTime()
					for b.Loop() {
						if j, err := Judge(tl, spec.Limit{p}, Options{SkipMeasure: skip}); err != nil ||
							j.Verdict == result.Fail {
							b.Fatal(err, j)
						}
					}
					b.ReportMetric(float64(n)*float64(b.N)/(cpuTime()-began).Seconds()/1e6, "Mobs/cpu-s")
				})
			}
		}
	}
}

// BenchmarkExact measures the exact search alone, and how many decisions it tries for each observation.
func BenchmarkExact(b *testing.B) {
	for _, spec := range benchSpecs {
		p := mustPolicy(b, spec)
		if limiter.NewModel(p, 0, 0, []int64{1}) == nil {
			continue
		}
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", spec, n), func(b *testing.B) {
				h := newHistory(offered(p, n, 1), history.Widening{}, 0)
				began, limited, visited := cpuTime(), 0, 0
				for b.Loop() {
					x := search.New(h, p, int64(p.PhaseFrom))
					if x.Search() != nil {
						b.Fatal("a right limiter is accused")
					}
					visited = x.Visited
					if x.Limited {
						limited = 1
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/(cpuTime()-began).Seconds()/1e6, "Mobs/cpu-s")
				b.ReportMetric(float64(visited)/float64(n), "tried/obs")
				b.ReportMetric(float64(limited), "gave-up")
			})
		}
	}
}

// BenchmarkExactDense measures the exact search with 8, 40 and 80 requests in flight, with lost answers and
// with two policies together.
func BenchmarkExactDense(b *testing.B) {
	const n = 2000
	for _, text := range []string{"token-bucket,rate=1000/s,burst=100",
		"fixed-window,rate=1000/s,phase=300ms", "sliding-window-counter,rate=1000/s,phase=300ms",
		"sliding-window-log,rate=8/8ms",
		"token-bucket,rate=1000/s,burst=100 + fixed-window,rate=1000/s,phase=300ms"} {
		limit, err := spec.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		at := make([]int64, len(limit))
		for i := range limit {
			at[i] = int64(limit[i].PhaseFrom)
		}
		for _, late := range []int64{4_000_000, 20_000_000, 40_000_000} {
			for _, lost := range []int{0, 50} {
				b.Run(fmt.Sprintf("%s/late=%dms/lost=%d", text, late/1_000_000, lost), func(b *testing.B) {
					obs := offeredLate(limit[0], n, 1, late)
					for i := range obs {
						if lost > 0 && i%lost == 0 {
							obs[i].Outcome = timeline.Unknown
						}
					}
					end := int64((&timeline.Timeline{Observations: obs}).End())
					began, visited, gave := cpuTime(), 0, 0
					for b.Loop() {
						x := search.NewBy(newHistory(obs, history.Widening{}, end), limit, at)
						if dead := x.Search(); dead != nil && len(limit) == 1 {
							b.Fatal("a right limiter is accused")
						}
						if visited = x.Visited; x.Limited {
							gave = 1
						}
					}
					b.ReportMetric((cpuTime()-began).Seconds()*1e6/float64(n)/float64(b.N), "cpu-us/obs")
					b.ReportMetric(float64(visited)/n, "tried/obs")
					b.ReportMetric(float64(gave), "gave-up")
				})
			}
		}
	}
}

// porcupineBucket is a token bucket for porcupine, which knows orders but not times. Each step therefore
// reads the clock at the call of its request, or at its return.
func porcupineBucket(p spec.Policy, atReturn bool) porcupine.Model {
	type state struct{ tat, last int64 }
	step := int64(p.Rate.Per) / p.Rate.N
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, in, out any) (bool, any) {
			st, times := s.(state), in.([2]int64)
			st.last = max(st.last, times[0])
			if atReturn {
				st.last = max(st.last, times[1])
			}
			tat := max(st.tat, st.last)
			allow := tat+step <= st.last+p.Burst*step
			if allow {
				st.tat = tat + step
			}
			return allow == out.(bool), st
		},
	}
}

// porcupinePatience is how long porcupine may take for one history.
const porcupinePatience = 2 * time.Second

// BenchmarkAgainstPorcupine judges the same right histories with the bounds, with all of Judge and with
// porcupine. It reports their times for an observation and how many times faster the bounds are. It also
// reports in how many of ten histories porcupine calls a right limiter wrong, or gives no answer.
func BenchmarkAgainstPorcupine(b *testing.B) {
	p := mustPolicy(b, "token-bucket,rate=1000/s,burst=10")
	for _, late := range []time.Duration{50 * time.Microsecond, 4 * time.Millisecond} {
		for _, clock := range []string{"call", "return"} {
			for _, n := range []int{10, 30, 100, 1_000, 10_000, 100_000} {
				b.Run(fmt.Sprintf("late=%s/clock-at-%s/%d", late, clock, n), func(b *testing.B) {
					againstPorcupine(b, p, n, late, clock == "return")
				})
			}
		}
	}
}

func againstPorcupine(b *testing.B, p spec.Policy, n int, late time.Duration, atReturn bool) {
	var bounds, jdg, theirs time.Duration
	illegal, unknown, rounds := 0, 0, 0
	for b.Loop() {
		if rounds == 10 { // ten histories are enough
			continue
		}
		obs := offeredLate(p, n, uint64(rounds), int64(late))
		rounds++
		ops := operations(obs)
		began := cpuTime()
		if JudgeOne(newHistory(obs, history.Widening{}, int64(obs[n-1].FirstByte)),
			limiter.NewBound(p, 0, 0), result.Exact) != nil {
			b.Fatal("the bounds accuse a right limiter")
		}
		bounds += cpuTime() - began
		began = cpuTime()
		j, err := Judge(&timeline.Timeline{Observations: obs}, spec.Limit{p}, Options{SkipMeasure: true})
		if err != nil || j.Verdict != result.Pass {
			b.Fatal(err, j)
		}
		jdg += cpuTime() - began
		began = cpuTime()
		switch porcupine.CheckOperationsTimeout(porcupineBucket(p, atReturn), ops, porcupinePatience) {
		case porcupine.Illegal:
			illegal++
		case porcupine.Unknown:
			unknown++
		}
		theirs += cpuTime() - began
	}
	per := float64(rounds * n)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(bounds)/per, "bounds-ns/obs")
	b.ReportMetric(float64(jdg)/per, "judge-ns/obs")
	b.ReportMetric(float64(theirs)/per, "porcupine-ns/obs")
	b.ReportMetric(float64(theirs)/float64(max(bounds, 1)), "times-the-bounds")
	b.ReportMetric(10*float64(illegal)/float64(rounds), "illegal/10")
	b.ReportMetric(10*float64(unknown)/float64(rounds), "no-answer/10")
}

func operations(obs []timeline.Observation) []porcupine.Operation {
	out := make([]porcupine.Operation, len(obs))
	for i, o := range obs {
		out[i] = porcupine.Operation{ClientId: i, Call: int64(o.Sent), Return: int64(o.FirstByte),
			Input: [2]int64{int64(o.Sent), int64(o.FirstByte)}, Output: o.Outcome == timeline.Allowed}
	}
	return out
}

func mustPolicy(b testing.TB, text string) spec.Policy {
	b.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	return limit[0]
}

// TestOfferedIsExplained: the histories of the benchmarks are feasible, and have both outcomes.
func TestOfferedIsExplained(t *testing.T) {
	for _, text := range benchSpecs {
		p := mustPolicy(t, text)
		obs := offered(p, 3000, 1)
		j, err := Judge(&timeline.Timeline{Observations: obs}, spec.Limit{p}, Options{SkipMeasure: true})
		if err != nil || j.Verdict != result.Pass {
			t.Errorf("%s: got %+v, %v", text, j, err)
		}
		denied := slices.ContainsFunc(obs,
			func(o timeline.Observation) bool { return o.Outcome == timeline.Denied })
		if !denied {
			t.Errorf("%s: nothing was denied", text)
		}
	}
}
