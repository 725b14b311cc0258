package trial

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

const (
	// besideConnections is the ceiling on connections, summed over all scenarios that are recorded at the
	// same time.
	besideConnections = 2 * scenario.MostBeside
	// besideApart is the pause between the starts of two scenarios, so that their first bursts do not meet.
	besideApart = 60 * time.Millisecond
)

// Beside records several scenarios at the same time. The longest scenario starts first, and as many run at
// once as their connections allow. Judging takes processor time that a recording needs, so it starts when all
// recordings are done; then one scenario is judged after the other.
//
// record is called once a scenario, with its index in all and the value for its Options.Judging. When ctx
// ends, scenarios that have not begun are skipped.
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

// room hands out connections up to a fixed number.
type room struct {
	mu         sync.Mutex
	free, size int
	// freed is closed and replaced when connections are given back.
	freed chan struct{}
}

func newRoom(size int) *room { return &room{free: size, size: size, freed: make(chan struct{})} }

// take waits until n connections are free, or until nobody holds any. It returns false if ctx ended first.
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

// Stands tells whether the verdict of a scenario that was recorded beside others is final. What was late or
// lost beside them is recorded again, alone. A FAIL is final unless something shows that the others may have
// caused it: why says what (Disturbed). Load from others cannot make a limiter admit too much.
func Stands(out *result.Scenario, beside []*result.Scenario) (why string, stands bool) {
	over := func(f result.Finding) bool { return f.Kind == result.OverAdmission }
	switch {
	case out.Verdict == result.Inconclusive:
		return "", slices.Contains([]result.Reason{result.NeedsFailed, result.Unreachable,
			result.SetupFailed, result.Interrupted}, out.Reason)
	case out.Verdict == result.Pass || slices.ContainsFunc(out.Findings(), over):
		return "", true
	}
	why = Disturbed(out, beside)
	return why, why == ""
}

// Settled returns the result of a scenario that was recorded beside others, did not stand, and was recorded
// again alone. If it failed beside others and passed alone, it is Inconclusive (foreign-traffic). why says
// how the others may have caused the failure. file is the path of the first recording.
func Settled(beside, alone result.Scenario, file, why string) result.Scenario {
	if beside.Verdict != result.Fail {
		return Again(beside, alone, file)
	}
	if alone.Verdict != result.Pass {
		return alone
	}
	alone.FailedBeside = true
	return inconclusive(alone, result.ForeignTraffic, "it passed alone and failed beside other scenarios ("+
		file+"): "+why)
}
