package trial

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

const (
	// besideConnections is the most connections of all scenarios that are recorded beside each other.
	besideConnections = 2 * scenario.MostBeside
	// besideApart is how long after one of them the next one begins, so that their first bursts do not meet.
	besideApart = 60 * time.Millisecond
)

// Beside records scenarios while others of them are recorded: the longest first, as many at once as their
// connections allow. None is judged before all are recorded, and then one after the other: judging takes the
// processor that a recording needs. For each, record is called with its place in all and with what
// Options.Judging is to be. When ctx ends, those that have not begun are left out.
//
//	recorded   |----- retry-after -----------------|
//	             |--- sustained ----|
//	               |- burst -|  |- tiers -|
//	judged                                          |-||-||-||-|
func Beside(ctx context.Context, all []*scenario.Scenario, record func(i int, judging func() (done func()))) {
	order := make([]int, len(all))
	sums := make([]scenario.Summary, len(all))
	for i, s := range all {
		order[i], sums[i] = i, s.Summary()
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(sums[b].Duration, sums[a].Duration)
	})
	room := newRoom(besideConnections)
	var sending, judged sync.WaitGroup
	var judge sync.Mutex
	sending.Add(len(all))
	for _, i := range order {
		if !room.take(ctx, sums[i].Connections) {
			sending.Done()
			continue
		}
		over := sync.OnceFunc(func() {
			room.give(sums[i].Connections)
			sending.Done()
		})
		judged.Go(func() {
			defer over()
			record(i, func() func() {
				over()
				sending.Wait()
				judge.Lock()
				return judge.Unlock
			})
		})
		select {
		case <-ctx.Done():
		case <-time.After(besideApart):
		}
	}
	judged.Wait()
}

// room counts connections.
type room struct {
	mu         sync.Mutex
	free, size int
	// freed is closed when some are given back, and replaced.
	freed chan struct{}
}

func newRoom(size int) *room { return &room{free: size, size: size, freed: make(chan struct{})} }

// take waits until n are free, or all are. It returns false if ctx ended first.
func (r *room) take(ctx context.Context, n int) bool {
	for {
		r.mu.Lock()
		freed := r.freed
		if ctx.Err() == nil && (n <= r.free || r.free == r.size) {
			r.free -= n
			r.mu.Unlock()
			return true
		}
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return false
		case <-freed:
		}
	}
}

func (r *room) give(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += n
	close(r.freed)
	r.freed = make(chan struct{})
}

// Stands tells whether what was found beside other scenarios is what would have been found alone: others
// cannot make a limiter admit too much. A request that was denied, late, left without an answer, or answered
// by somebody in front of the limiter, may be their doing: then only a recording made alone tells.
func Stands(out *result.Scenario) bool {
	if out.Verdict == verdict.Inconclusive {
		return slices.Contains([]verdict.Reason{verdict.NeedsFailed, verdict.Unreachable, verdict.SetupFailed,
			verdict.Interrupted}, out.Reason)
	}
	over := func(f verdict.Finding) bool { return f.Kind == verdict.OverAdmission }
	has := func(p verdict.PartitionVerdict) bool { return slices.ContainsFunc(p.Findings, over) }
	return out.Verdict == verdict.Pass ||
		out.Judgement != nil && slices.ContainsFunc(out.Judgement.Partitions, has)
}

// Settled is what a scenario is worth whose recording beside others did not stand, and that was then recorded
// alone. A failure that others can have caused is none, nor is it a pass. File is where the first recording
// is kept.
func Settled(beside, alone result.Scenario, file string) result.Scenario {
	if beside.Verdict != verdict.Fail {
		return Again(beside, alone, file)
	}
	if alone.Verdict != verdict.Pass {
		return alone
	}
	alone.FailedBeside = true
	return inconclusive(alone, verdict.ForeignTraffic, "it passed alone and failed beside other scenarios ("+
		file+"): the requests of other scenarios disturb its clients")
}
