package lab

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// keeping returns a memory for a limit.
func keeping(t testing.TB, text string) (*Memory, spec.Limit) {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	return NewMemory(Setup{Limiter: limiter, Limit: limit, Clock: NewClock(time.Now), Replicas: 1}), limit
}

// partitions returns how many states are kept.
func (m *Memory) partitions() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += len(s.cells)
		s.mu.Unlock()
	}
	return n
}

// TestMemoryFollowsPartitionsInUse asks for many partitions once, over a time in which they recover: few are
// kept. Others are used up again and again just before they have recovered. Forgetting the former never
// changes a decision about the latter.
func TestMemoryFollowsPartitionsInUse(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for _, spec := range []string{bucket, "fixed-window,rate=10/1s", "sliding-window-counter,rate=10/1s",
		"gcra,rate=10/s,burst=3,ban=1s"} {
		synctest.Test(t, func(t *testing.T) {
			m, limit := keeping(t, spec)
			limiter := m.Limiter
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
					useUp(t, m, states, int(limit[0].Full())+1)
				}
				if _, err := m.Decide(t.Context(), fmt.Sprint(i), 1); err != nil {
					t.Fatal(err)
				}
			}
			// 5,000 come a second. Each is kept for at least its recovery, and at most until its shard has
			// doubled.
			kept, most := m.partitions(), 2*5000*8
			if kept < 5000 || kept > most {
				t.Errorf("%s: got %d partitions kept, want 5000 to %d", spec, kept, most)
			}
		})
	}
}

// useUp asks n times for each of the partitions whose states the reference has. It compares the decisions.
func useUp(t *testing.T, m *Memory, states []reference.State, n int) {
	t.Helper()
	for k := range states {
		for range n {
			r, err := m.Decide(t.Context(), fmt.Sprint("kept", k), 1)
			if err != nil {
				t.Fatal(err)
			}
			var want reference.Decision
			states[k], want = m.Limiter.Step(states[k], r.At, 1)
			if r.Decision != want {
				t.Errorf("partition %d at %v: got %+v, want %+v", k, r.At, r.Decision, want)
				return
			}
		}
	}
}

// TestMemoryKeepsRequestsInFlight: a partition with a request in flight is not forgotten, however long that
// takes. It is once the request is complete.
func TestMemoryKeepsRequestsInFlight(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	synctest.Test(t, func(t *testing.T) {
		m, _ := keeping(t, "concurrency,limit=1,hold=1s..2s")
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
					r.Complete(1)
				}
			}
			time.Sleep(time.Hour)
		}
		crowd()
		crowd()
		if r, _ := m.Decide(t.Context(), "slow", 1); r.Allow {
			t.Error("while a request is in flight: got a second one admitted, want 1 place")
		}
		slow.Complete(1)
		// How full its shard is depends on the seed. A shard is swept when it holds twice what the last sweep
		// left.
		for range 8 {
			if crowd(); !m.Knows("slow") {
				break
			}
		}
		if m.Knows("slow") {
			t.Error("after it was complete, and hours: got its partition kept")
		}
		if r, _ := m.Decide(t.Context(), "slow", 1); !r.Allow {
			t.Error("after it was complete: got a denial")
		}
	})
}

// TestMemoryKeepsWhatIsNotAsGoodAsNew: a bucket is not evicted if a new one would be empty, or would refill
// at other times.
func TestMemoryKeepsWhatIsNotAsGoodAsNew(t *testing.T) {
	for _, spec := range []string{"token-bucket,rate=9/s,burst=9,start=empty",
		"token-bucket,rate=9/s,burst=9,refill=interval,fill=3",
		bucket + " + gcra,rate=1/s,burst=1,start=empty"} {
		if m, _ := keeping(t, spec); m.idle != 0 {
			t.Errorf("%s: got evicted after %v, want never", spec, m.idle)
		}
	}
}
