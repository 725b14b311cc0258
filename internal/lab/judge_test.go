package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// judgedSpecs are limits of each algorithm and each axis that the judge knows.
var judgedSpecs = []string{
	"token-bucket,rate=400/s,burst=20",
	"gcra,rate=700/3s,burst=7",
	"leaky-bucket,rate=300/s,burst=9,refill=interval,fill=7",
	"token-bucket,rate=300/s,burst=20,start=empty",
	"gcra,rate=300/s,burst=20,start=7",
	"gcra,rate=300/s,burst=9,ban=11ms",
	"leaky-bucket-queue,rate=400/s,queue=2",
	"fixed-window,rate=20/70ms",
	"fixed-window,rate=15/70ms,align=first",
	"fixed-window,rate=40/90ms,count=all",
	"sliding-window-log,rate=15/80ms",
	"sliding-window-log,rate=15/80ms,boundary=closed",
	"sliding-window-counter,rate=20/60ms",
	"sliding-window-counter,rate=20/60ms,rounding=up",
	"sliding-window-counter,rate=20/60ms,align=first",
	"token-bucket,rate=400/s,burst=20,tick=7ms",
	"token-bucket,rate=400/s,burst=9 + sliding-window-log,rate=20/50ms + fixed-window,rate=40/200ms",
}

// record asks d from several goroutines, over two partitions, and keeps what a client could see. That is the
// clock before and after each decision; for a delayed one, after its release.
func record(t *testing.T, d Decider, workers, each int) *timeline.Timeline {
	t.Helper()
	start := time.Now()
	// The server is on this machine and reads its clock in whole microseconds. Windows are placed by wall
	// time, which may be stepped during a test. A millisecond is more than it is slewed by.
	tl := &timeline.Timeline{Header: timeline.Header{Started: start, WallError: time.Millisecond,
		Tick: time.Microsecond}}
	all := make([][]timeline.Observation, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(11, uint64(w)))
			for range each {
				o := timeline.Observation{Arrival: timeline.Arrival{Partition: fmt.Sprint("k",
					random.IntN(2)), Cost: 1}}
				o.Sent = time.Since(start)
				r, err := d.Decide(t.Context(), o.Partition, o.Cost)
				switch {
				case stoodStill(err): // nobody knows whether it was decided
					o.Outcome = timeline.Unknown
				case err != nil:
					t.Errorf("Decide: %v", err)
					return
				default:
					time.Sleep(r.Delay)
					o.FirstByte, o.Answered, o.Status, o.Outcome = time.Since(start), true, 429,
						timeline.Denied
					if r.Allow {
						o.Status, o.Outcome = 200, timeline.Allowed
					}
				}
				all[w] = append(all[w], o)
				if random.IntN(20) == 0 {
					time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	tl.Observations = slices.Concat(all...)
	tl.Header.Ended = time.Since(start)
	slices.SortStableFunc(tl.Observations,
		func(a, b timeline.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
	for i := range tl.Observations {
		tl.Observations[i].Seq = i
	}
	return tl
}

// stoodStill tells whether no answer came within redisTimeout. Then the machine was too slow, not the store.
func stoodStill(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// recordings is how often a store is recorded at most, until enough was seen. Each time it is asked for
// clients that it does not know. How much a recording shows depends on when the machine lets its requests
// run.
const recordings = 20

// passes records d until one recording with at least ten admissions and ten denials passes. No recording may
// fail.
func passes(t *testing.T, d Decider, limit spec.Limit, workers, each int) {
	t.Helper()
	said := ""
	for n := range recordings {
		tl := record(t, renamed{d, fmt.Sprint("judged", n, ":")}, workers, each)
		j, c := judge(t, tl, limit), tl.Counts()
		if said = fmt.Sprintf("%d allowed, %d denied: %s", c.Allowed, c.Denied,
			explain(j)); j.Verdict == result.Fail {
			t.Fatalf("got %s, want pass", said)
		}
		if j.Verdict == result.Pass && c.Allowed >= 10 && c.Denied >= 10 {
			return
		}
	}
	t.Errorf("got %s in the last of %d recordings, want a pass with at least 10 of each: the test says too "+
		"little", said, recordings)
}

// judge returns the judgement on a recording.
func judge(t *testing.T, tl *timeline.Timeline, limit spec.Limit) *result.Judgement {
	t.Helper()
	j, err := check.Judge(tl, limit, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// explain prints what a judgement found.
func explain(j *result.Judgement) string {
	text := fmt.Sprint(j.Verdict, " ", j.Reason, " ", j.Detail)
	for _, p := range j.Partitions {
		for _, f := range p.Findings {
			text += fmt.Sprintf("\n\t%s: %s: %s", p.Partition, f.Kind, f.Text)
		}
	}
	return text
}

// TestJudgePassesStores records decisions of a store under concurrent requests and judges them.
func TestJudgePassesStores(t *testing.T) {
	store := stores["server"](t)
	for _, spec := range judgedSpecs {
		t.Run(spec, func(t *testing.T) {
			limit := redisParse(t, spec)
			d, err := store.Decider(limit)
			if err != nil {
				t.Fatal(err)
			}
			each := 120
			if testing.Short() {
				each = 60
			}
			passes(t, d, limit, 8, each)
		})
	}
}

// TestJudgeFailsWrongStores judges stores that keep another limit than they declare. It also judges one that
// reads, decides and writes in three exchanges.
func TestJudgeFailsWrongStores(t *testing.T) {
	store := stores["server"](t)
	for kept, declared := range map[string]string{
		"token-bucket,rate=100/s,burst=21":            "token-bucket,rate=100/s,burst=20",
		"gcra,rate=250/s,burst=7":                     "gcra,rate=200/s,burst=7",
		"leaky-bucket,rate=100/s,burst=19":            "leaky-bucket,rate=100/s,burst=20",
		"token-bucket,rate=100/s,burst=20,start=full": "token-bucket,rate=100/s,burst=20,start=empty",
		"leaky-bucket-queue,rate=400/s,queue=1":       "leaky-bucket-queue,rate=400/s,queue=3",
		"fixed-window,rate=21/70ms":                   "fixed-window,rate=20/70ms",
		"fixed-window,rate=15/60ms,align=first":       "fixed-window,rate=15/70ms,align=first",
		"sliding-window-log,rate=15/70ms":             "sliding-window-log,rate=15/80ms",
		"sliding-window-counter,rate=23/60ms":         "sliding-window-counter,rate=20/60ms",
		"fixed-window,rate=40/90ms":                   "sliding-window-log,rate=40/90ms",
		"token-bucket,rate=400/s,burst=9": "token-bucket,rate=400/s,burst=9 + " +
			"fixed-window,rate=15/10s",
	} {
		t.Run(declared, func(t *testing.T) {
			d, err := store.Decider(redisParse(t, kept))
			if err != nil {
				t.Fatal(err)
			}
			failsWithin(t, redisParse(t, declared), d, 8, 120)
		})
	}
	t.Run("three exchanges", func(t *testing.T) {
		limit := redisParse(t, "fixed-window,rate=40/1d")
		failsWithin(t, limit, threeExchanges{store.client, 40}, 16, 40)
	})
}

// failsWithin records d until the judge proves that limit was broken.
func failsWithin(t *testing.T, limit spec.Limit, d Decider, workers, each int) {
	t.Helper()
	for n := range recordings {
		if judge(t, record(t, renamed{d, fmt.Sprint("wrong", n, ":")}, workers, each),
			limit).Verdict == result.Fail {
			return
		}
	}
	t.Errorf("%d recordings passed, want one that fails", recordings)
}

// renamed asks d with other client names than it is given.
type renamed struct {
	Decider
	prefix string
}

func (r renamed) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	return r.Decider.Decide(ctx, r.prefix+key, cost)
}

// threeExchanges is a fixed window that never ends. It reads, decides and writes without a lock.
type threeExchanges struct {
	client redis.UniversalClient
	quota  int
}

func (e threeExchanges) Decide(ctx context.Context, key string, _ int64) (Ruling, error) {
	used, err := e.client.Get(ctx, "three:"+key).Int()
	if err != nil && err != redis.Nil {
		return Ruling{}, err
	}
	if used >= e.quota {
		return Ruling{}, nil
	}
	err = e.client.Set(ctx, "three:"+key, strconv.Itoa(used+1), 0).Err()
	return Ruling{Decision: reference.Decision{Allow: true}}, err
}
