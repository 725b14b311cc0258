package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The most memory in bytes that a judgement may take, however many observations there are: of many
// partitions, and of one.
const (
	memoryBar    = 150 << 20
	memoryBarOne = 400 << 20
)

// TestMemoryDoesNotGrowWithTheRecording judges right limiters with every key of a SPEC. It gives them
// 10,000,000 observations of one partition, and 100 of each of 100,000 partitions. It takes an hour;
// RLCHECK_SOAK=0.1 judges a tenth.
func TestMemoryDoesNotGrowWithTheRecording(t *testing.T) {
	soak := os.Getenv("RLCHECK_SOAK")
	if soak == "" {
		t.Skip("a soak: RLCHECK_SOAK=1")
	}
	share := 1.0
	_, _ = fmt.Sscan(soak, &share)
	for _, text := range append(pairs(benchSpecs), heldSpecs...) {
		for _, partitions := range []int{1, 100_000} {
			declared := cmp.Or(text[1], text[0])
			t.Run(fmt.Sprintf("%s/%d", declared, partitions), func(t *testing.T) {
				n := int(min(share, 1) * 10_000_000)
				began := cpuTime()
				peak, j := peakOf(t, text[0], declared, n, max(1, int(min(share, 1)*float64(partitions))))
				t.Logf("%d observations: %d MB, %s of CPU, %s", n, peak>>20,
					(cpuTime() - began).Round(time.Millisecond), j.Verdict)
				if j.Verdict == result.Fail {
					t.Error(kindsOf(j))
				}
				bar := uint64(memoryBar)
				if partitions == 1 {
					bar = memoryBarOne
				}
				if peak > bar {
					t.Errorf("%d MB, want at most %d MB", peak>>20, bar>>20)
				}
			})
		}
	}
}

// pairs returns the SPECs without another declaration: each is declared as it is.
func pairs(specs []string) (out [][2]string) {
	for _, s := range specs {
		out = append(out, [2]string{s, ""})
	}
	return out
}

// peakOf judges what a right limiter answers, as it comes, and returns the most memory in bytes that this
// took. The memory of the limiter itself is left out: the log of 100,000 clients has 190 MB.
func peakOf(t *testing.T, served, declared string, n, partitions int) (peak uint64, j *result.Judgement) {
	t.Helper()
	limit, err := spec.Parse(declared)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(t.TempDir(), "tape")
	if err != nil {
		t.Fatal(err)
	}
	open := func() (timeline.Spill, error) { return file, nil }
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // as the command sets it
	debug.FreeOSMemory()
	before, stop := inUse(), make(chan struct{})
	var most atomic.Uint64
	go func() {
		for {
			most.Store(max(most.Load(), inUse()))
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	defer close(stop)
	peakOf := func(do func()) uint64 {
		debug.FreeOSMemory()
		most.Store(before)
		do()
		return max(most.Load(), before) - before
	}
	answer := func(take func(*timeline.Observation)) {
		answerAll(t, served, n, partitions, time.Millisecond, take)
	}
	alone := peakOf(func() { answer(func(*timeline.Observation) {}) })
	s := NewStream(limit, timeline.Header{},
		Options{Spill: open, Shared: strings.Contains(declared, "shared")})
	taken := peakOf(func() {
		answer(func(o *timeline.Observation) {
			if err := s.Observe(o); err != nil {
				t.Fatal(err)
			}
		})
	})
	judged := peakOf(func() { j, err = s.Finish() })
	if err != nil {
		t.Fatal(err)
	}
	return max(taken-min(alone, taken), judged), j
}

// inUse is how many bytes of the machine's memory the process has.
func inUse() uint64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64() - all[1].Value.Uint64()
}

// answerAll hands take what a right limiter answers to n requests, spread over the partitions in turn. Each
// is sent up to `apart` after the last one of its partition and answered within about 4 ms.
func answerAll(t testing.TB, text string, n, partitions int, apart time.Duration,
	take func(*timeline.Observation)) {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	names, states := make([]string, partitions), make([]reference.State, partitions)
	held := make([][]stayed, partitions)
	for i := range names {
		names[i], states[i] = fmt.Sprint("client-", i), lim.Init()
	}
	r := rand.New(rand.NewPCG(7, uint64(n)))
	var at, decided time.Duration
	for i := range n {
		k := i % partitions
		at += time.Duration(1 + r.IntN(1+int(apart)/partitions))
		decided = max(decided, at) + time.Duration(r.IntN(1000/min(partitions, 500)))
		states[k], held[k] = completeUntil(lim, states[k], held[k], decided)
		var d reference.Decision
		states[k], d = lim.Step(states[k], decided, 1)
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: at, Cost: 1, Partition: names[k]},
			Sent: at, FirstByte: decided + time.Duration(r.IntN(4_000_000)), Answered: true,
			Outcome: timeline.Denied}
		if d.Allow {
			o.Outcome, o.FirstByte = timeline.Allowed, o.FirstByte+d.Delay
		}
		if d.Allow && limit.Completes() {
			done := completed(r, limit, decided, 1)
			held[k] = append(held[k], done)
			o.Done = max(o.FirstByte, done.seen)
		}
		take(&o)
	}
}

// BenchmarkTenfold judges 100,000 observations of a right limiter under ten times its limit, in one partition
// and in a thousand. It reports seconds of CPU in all.
func BenchmarkTenfold(b *testing.B) {
	for _, text := range append(pairs(benchSpecs), heldSpecs...) {
		declared := cmp.Or(text[1], text[0])
		limit, err := spec.Parse(declared)
		if err != nil {
			b.Fatal(err)
		}
		for _, partitions := range []int{1, 1000} {
			b.Run(fmt.Sprintf("%s/%d", declared, partitions), func(b *testing.B) {
				tl := &timeline.Timeline{}
				answerAll(b, text[0], 100_000, partitions, 200*time.Microsecond,
					func(o *timeline.Observation) {
						tl.Observations = append(tl.Observations, *o)
					})
				began := cpuTime()
				for b.Loop() {
					if j, err := Judge(tl, limit, Options{}); err != nil || j.Verdict == result.Fail {
						b.Fatal(err, kindsOf(j))
					}
				}
				b.ReportMetric((cpuTime()-began).Seconds()/float64(b.N), "cpu-s/op")
			})
		}
	}
}

// heldSpecs are limits of every key. Each has the SPEC of the limiter, and the SPEC that is declared, "" if
// it is the same.
var heldSpecs = [][2]string{
	{"token-bucket,rate=1000/s,burst=100", "token-bucket,rate=900..1100/s,burst=90..110"},
	{"token-bucket,rate=1000/s,burst=100,ban=20ms", ""},
	{"token-bucket,rate=1000/s,burst=100,ttl=50ms", ""},
	{"token-bucket,rate=1000/s,burst=100,count=all", ""},
	{"sliding-window-log,rate=1000/s,count=all", ""},
	{"fixed-window,rate=1000/s,phase=300ms", "fixed-window,rate=1000/s,align=unknown"},
	{"sliding-window-counter,rate=1000/s,phase=300ms", "sliding-window-counter,rate=1000/s,align=unknown"},
	{"fixed-window,rate=1000/s,phase=300ms", "fixed-window,rate=1000/s,phase=250ms..350ms"},
	{"token-bucket,rate=1000/s,burst=100 + fixed-window,rate=900/s,phase=300ms", ""},
	{"token-bucket,rate=1000/s,burst=100 + fixed-window,rate=900/s,phase=300ms",
		"token-bucket,rate=1000/s,burst=100 + fixed-window,rate=900/s,align=unknown"},
	{"concurrency,limit=10,hold=2ms..50ms", ""},
	{"sliding-window-log,rate=1000/s,charge=completion,hold=2ms..50ms", ""},
	{"fixed-window,rate=500/300ms,align=first,count=all", ""},
	{"fixed-window,rate=250/300ms,align=first", "fixed-window,rate=200..300/300ms,align=first"},
	{"fixed-window,rate=250/300ms,align=first,ban=20ms", ""},
	{"fixed-window,rate=250/300ms,align=first,ttl=100ms", ""},
	{"fixed-window,rate=250/300ms,align=first,ttl=400ms", ""}, // a time to live that changes nothing
	{"fixed-window,rate=250/300ms,align=first + token-bucket,rate=900/s,burst=100", ""},
	{"fixed-window,rate=150/200ms,align=first,count=own + token-bucket,rate=600/s,burst=50", ""},
	{"fixed-window,rate=250/100ms,align=first,refresh=admitted", ""},
	{"sliding-window-counter,rate=250/300ms,align=first", ""},
	{"sliding-window-counter,rate=500/300ms,align=first,count=all", ""},
	{"sliding-window-counter,rate=250/300ms,align=first,ban=20ms", ""},
	{"fixed-window,rate=250/100ms,align=first,refresh=all", ""},
	{"fixed-window,rate=250/100ms,align=first,refresh=admitted,count=all", ""},
	{"token-bucket,rate=1000/s,burst=100,start=empty", ""},
}

// servedLong records what a right limiter answers to n requests, half a millisecond apart on average. Each is
// answered within 4 ms, later only if it must wait. After each `quiet` requests there is a silence.
func servedLong(t testing.TB, r *rand.Rand, text string, n, quiet int) []timeline.Observation {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	out, decided := make([]timeline.Observation, n), make([]time.Duration, n)
	order := make([]int, n)
	var at time.Duration
	for i := range out {
		if at += time.Duration(1 + r.IntN(1_000_000)); i%quiet == quiet-1 {
			at += 1500 * time.Millisecond
		}
		took := time.Duration(r.IntN(4_000_000))
		out[i] = timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: at, Cost: 1}, Sent: at,
			FirstByte: at + took, Answered: true}
		decided[i], order[i] = at+time.Duration(r.Int64N(int64(took)+1)), i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(decided[a], decided[b]) })
	state, held := lim.Init(), []stayed{}
	for _, i := range order {
		state, held = completeUntil(lim, state, held, decided[i])
		var d reference.Decision
		state, d = lim.Step(state, decided[i], 1)
		o := &out[i]
		if o.Outcome = timeline.Denied; d.Allow {
			o.Outcome, o.FirstByte = timeline.Allowed, max(o.FirstByte, decided[i]+d.Delay)
		}
		if d.Allow && limit.Completes() {
			done := completed(r, limit, decided[i], 1)
			held = append(held, done)
			o.Done = max(o.FirstByte, done.seen)
		}
	}
	return out
}
