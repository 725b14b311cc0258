package target

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestMemoryFollowsPartitionsInUse asks for many partitions once, over a time in which they recover: few are
// kept. Others are used up again and again just before they have recovered: what is forgotten meanwhile never
// changes a decision.
func TestMemoryFollowsPartitionsInUse(t *testing.T) {
	for _, spec := range []string{bucket, "fixed-window,rate=10/1s", "sliding-window-counter,rate=10/1s",
		"gcra,rate=10/s,burst=3,ban=1s"} {
		synctest.Test(t, func(t *testing.T) {
			limit := parse(t, spec)
			target := open(t, Options{Limit: limit})
			limiter, err := reference.NewLimit(limit)
			if err != nil {
				t.Fatal(err)
			}
			states := make([]reference.State, 64)
			for i := range states {
				states[i] = limiter.Init()
			}
			pause := limit[0].Recovery() + limit[0].Ban - 20*time.Millisecond
			for again, i := time.Now(), 0; i < 200_000 && !t.Failed(); i++ {
				if i%50 == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				if time.Since(again) >= pause {
					again = time.Now()
					useUp(t, target, limiter, states, int(limit[0].Full())+1)
				}
				if _, err := target.decider.Decide(t.Context(), fmt.Sprint(i), 1); err != nil {
					t.Fatal(err)
				}
			}
			// 5,000 a second, each kept for at least its recovery and at most until its shard has doubled.
			kept, most := target.decider.(*memory).partitions(), 2*5000*8
			if kept < 5000 || kept > most {
				t.Errorf("%s: got %d partitions kept, want 5000 to %d", spec, kept, most)
			}
		})
	}
}

// useUp asks n times for each of the partitions whose states the reference has, and compares the decisions.
func useUp(t *testing.T, target *Target, limiter reference.Limiter, states []reference.State, n int) {
	t.Helper()
	for k := range states {
		for range n {
			r, err := target.decider.Decide(t.Context(), fmt.Sprint("kept", k), 1)
			if err != nil {
				t.Fatal(err)
			}
			var want reference.Decision
			states[k], want = limiter.Step(states[k], r.At, 1)
			if r.Decision != want {
				t.Errorf("partition %d at %v: got %+v, want %+v", k, r.At, r.Decision, want)
				return
			}
		}
	}
}

// TestMemoryKeepsRequestsInFlight does not forget a partition with a request in flight, however long that
// takes, and does once it is complete.
func TestMemoryKeepsRequestsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := open(t, Options{Limit: parse(t, "concurrency,limit=1,hold=1s..2s")})
		m := target.decider.(*memory)
		slow, err := m.Decide(t.Context(), "slow", 1)
		if err != nil || !slow.Allow || slow.Complete == nil {
			t.Fatalf("got %+v, %v, want an admission to be completed", slow, err)
		}
		crowds := 0
		crowd := func() {
			crowds++
			for i := range 200 * shards {
				r, _ := m.Decide(t.Context(), fmt.Sprint(crowds, " ", i), 1) // it never fails
				if r.Complete != nil {
					r.Complete()
				}
			}
			time.Sleep(time.Hour)
		}
		crowd()
		crowd()
		if r, _ := m.Decide(t.Context(), "slow", 1); r.Allow {
			t.Error("while a request is in flight: got a second one admitted, want 1 place")
		}
		slow.Complete()
		// how full its shard is depends on the seed; it is swept when it has twice what the last sweep left
		for range 8 {
			if crowd(); !m.knows("slow") {
				break
			}
		}
		if m.knows("slow") {
			t.Error("after it was complete, and hours: got its partition kept")
		}
		if r, _ := m.Decide(t.Context(), "slow", 1); !r.Allow {
			t.Error("after it was complete: got a denial")
		}
	})
}

// TestMemoryKeepsWhatIsNotAsGoodAsNew does not evict buckets that would start again empty, or with another
// rhythm.
func TestMemoryKeepsWhatIsNotAsGoodAsNew(t *testing.T) {
	for _, spec := range []string{"token-bucket,rate=9/s,burst=9,start=empty",
		"token-bucket,rate=9/s,burst=9,refill=interval,fill=3",
		bucket + " + gcra,rate=1/s,burst=1,start=empty"} {
		if got := idleTime(parse(t, spec)); got != 0 {
			t.Errorf("%s: got evicted after %v, want never", spec, got)
		}
	}
}

// TestMemoryUnderConcurrency asks one partition and many from many goroutines: each admits its quota exactly.
func TestMemoryUnderConcurrency(t *testing.T) {
	target := open(t, Options{Limit: parse(t, "sliding-window-log,rate=100/1d")})
	var one, many atomic.Int64
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 400 {
				if ask(target, request{key: "one"}).StatusCode == http.StatusOK {
					one.Add(1)
				}
				if ask(target, request{key: fmt.Sprint(w, i%2)}).StatusCode == http.StatusOK {
					many.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if one.Load() != 100 || many.Load() != 32*100 {
		t.Errorf("allowed: got %d of one partition and %d of 32, want 100 and 3200", one.Load(), many.Load())
	}
}

// TestClockStepsBack runs a target on a clock that goes back: the largest time counts.
func TestClockStepsBack(t *testing.T) {
	steps := []time.Duration{0, 0, 0, -time.Hour, time.Second}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	target := open(t, Options{Limit: parse(t, "gcra,rate=1/1m,burst=2"),
		Now: func() time.Time { return now }})
	got := ""
	for _, step := range steps {
		now = now.Add(step)
		r := ask(target, request{})
		got += fmt.Sprint(r.StatusCode, " ", r.Header.Get("X-RateLimit-Reset"), " ")
	}
	// 1795168800 is ten o'clock, where time stands still until the clock has caught up.
	if want := "200 1795168860 200 1795168920 429 1795168860 429 1795168860 429 1795168860 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestQueueHoldsRequestsBack lets a full queue through at its rate, and gives up those whose clients leave,
// at once.
func TestQueueHoldsRequestsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := open(t, Options{Limit: parse(t, "leaky-bucket-queue,rate=10/s,queue=5")})
		begin := time.Now()
		ctx, leave := context.WithCancel(t.Context())
		var mu sync.Mutex
		var done []string
		var wg sync.WaitGroup
		for i := range 8 {
			q := request{}
			if i == 3 {
				q.ctx = ctx
			}
			wg.Go(func() {
				status := ask(target, q).StatusCode
				mu.Lock()
				done = append(done, fmt.Sprintf("%d:%d@%v", i, status, time.Since(begin)))
				mu.Unlock()
			})
			synctest.Wait()
		}
		time.Sleep(250 * time.Millisecond)
		leave()
		wg.Wait()
		// A request that was left is not answered; the recorder shows that as 200 at the time of leaving.
		want := "[0:200@0s 6:429@0s 7:429@0s 1:200@100ms 2:200@200ms 3:200@250ms 4:200@400ms 5:200@500ms]"
		if got := fmt.Sprint(done); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestKeysDoNotMeet keeps a key that reads like an address apart from the address.
func TestKeysDoNotMeet(t *testing.T) {
	target := open(t, Options{Limit: parse(t, "fixed-window,rate=1/1d,align=first")})
	for _, key := range []string{"", "192.0.2.1", "\t192.0.2.1"} {
		if r := ask(target, request{key: key}); r.StatusCode != http.StatusOK {
			t.Errorf("key %q: got status %d, want 200: a partition of its own", key, r.StatusCode)
		}
	}
	if r := ask(target, request{}); r.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the address again: got status %d, want 429", r.StatusCode)
	}
}

// discard is a ResponseWriter that keeps nothing.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkServe measures an answer without a connection: mostly denials of one of 64 partitions.
func BenchmarkServe(b *testing.B) {
	limit, err := spec.Parse(bucket)
	if err != nil {
		b.Fatal(err)
	}
	target, err := New(Options{Limit: limit})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		requests := make([]*http.Request, 64)
		for i := range requests {
			r, err := http.NewRequest(http.MethodGet, "/", nil)
			if err != nil {
				b.Fatal(err)
			}
			r.Header.Set("X-Api-Key", fmt.Sprint("key", i))
			requests[i] = r
		}
		w := discard{http.Header{}}
		for i := 0; pb.Next(); i++ {
			clear(w.h)
			target.ServeHTTP(w, requests[i%64])
		}
	})
}
