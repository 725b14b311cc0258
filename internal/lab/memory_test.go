package lab

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestMemoryUnderConcurrency asks for one partition, and for many, from many goroutines. Each partition
// admits exactly its quota.
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

// TestClockStepsBack runs a target on a clock that goes back. The largest time counts.
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
	// 1795168800 is ten o'clock. Time stands still there until the clock has caught up.
	if want := "200 1795168860 200 1795168920 429 1795168860 429 1795168860 429 1795168860 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestQueueHoldsRequestsBack: a full queue is let through at its rate. A request whose client leaves is given
// up at once.
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
		// A request whose client left is not answered. The recorder shows it as 200 at the time of leaving.
		want := "[0:200@0s 6:429@0s 7:429@0s 1:200@100ms 2:200@200ms 3:200@250ms 4:200@400ms 5:200@500ms]"
		if got := fmt.Sprint(done); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestKeysDoNotMeet: a key that reads like an address is another client than the address.
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

// BenchmarkServe measures an answer without a connection. Most are denials of one of 64 partitions.
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
