package check

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestClosedLoopsAreExplained: clients that each send again when they are answered keep a limiter busy
// throughout. The last instant at which a request may be admitted then depends on all that follow it. A right
// limiter passes, and the search for an explanation ends.
func TestClosedLoopsAreExplained(t *testing.T) {
	for _, text := range []string{"token-bucket,rate=1000/s,burst=100",
		"fixed-window,rate=100/100ms,phase=30ms", "fixed-window,rate=1000/s,slots=10,phase=3ms",
		"fixed-window,rate=100/100ms,align=first", "sliding-window-log,rate=1000/s",
		"sliding-window-log,rate=1000/s,boundary=closed"} {
		seeds := uint64(3)
		if testing.Short() {
			seeds = 1
		}
		for seed := range seeds {
			if !endsInAPass(t, closedLoop(t, text, 64, 20_000, seed), text) {
				t.Errorf("%s, seed %d: not every order was tried", text, seed)
			}
		}
	}
}

// endsInAPass judges a recording, and tells whether its search ended. It must pass.
func endsInAPass(t *testing.T, tl *timeline.Timeline, text string) (ended bool) {
	t.Helper()
	j, err := Judge(tl, mustLimit(t, text), Options{SkipMeasure: true})
	if err != nil || j.Verdict != result.Pass {
		t.Fatalf("%s: got %v, %v, want a pass", text, j.Verdict, err)
	}
	return !j.Partitions[0].Search.Capped
}

// closedLoop records n requests of clients that each send the next one 10 us after an answer. The limiter
// decides within 4 ms of the request and answers within 4 ms of the decision.
func closedLoop(t *testing.T, text string, clients, n int, seed uint64) *timeline.Timeline {
	t.Helper()
	r := rand.New(rand.NewPCG(soakSeed+61, seed))
	lim, err := reference.NewLimit(mustLimit(t, text))
	if err != nil {
		t.Fatal(err)
	}
	tl, state := &timeline.Timeline{}, lim.Init()
	var next turns
	send := func(at time.Duration) {
		o := timeline.Observation{Sent: at, Answered: true, Outcome: timeline.Denied}
		o.Seq, o.At, o.Cost = len(tl.Observations), at, 1
		heap.Push(&next, turn{at: at + time.Duration(r.IntN(4_000_000)), of: o.Seq})
		tl.Observations = append(tl.Observations, o)
	}
	for c := range clients {
		send(time.Duration(c) * time.Microsecond)
	}
	for len(next) > 0 {
		at := heap.Pop(&next).(turn)
		o := &tl.Observations[at.of]
		switch {
		case !at.decided:
			var d reference.Decision
			if state, d = lim.Step(state, at.at, 1); d.Allow {
				o.Outcome = timeline.Allowed
			}
			o.FirstByte = at.at + time.Duration(r.IntN(4_000_000))
			heap.Push(&next, turn{o.FirstByte, at.of, true})
		case len(tl.Observations) < n:
			send(at.at + 10*time.Microsecond)
		}
	}
	return tl
}

// turn is when the request of an index is decided, or answered.
type turn struct {
	at      time.Duration
	of      int
	decided bool
}

// turns is a heap, the earliest first.
type turns []turn

func (h turns) Len() int           { return len(h) }
func (h turns) Less(i, j int) bool { return h[i].at < h[j].at }
func (h turns) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *turns) Push(x any)        { *h = append(*h, x.(turn)) }
func (h *turns) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
