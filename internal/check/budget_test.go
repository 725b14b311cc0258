package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestPartitionsShareOneBudget: many partitions that are hard to search take no longer than one. Where a
// search gives up, the verdict says so.
func TestPartitionsShareOneBudget(t *testing.T) {
	saysReplay(t)
	const text = "token-bucket,rate=100/s,burst=5,count=all"
	limit, r := mustLimit(t, text), rand.New(rand.NewPCG(soakSeed+61, 1))
	tl := &timeline.Timeline{}
	for client := range 32 {
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		one := heldTraffic(r, lim, limit, 80, 5*time.Millisecond, 200*time.Millisecond, nil)
		for _, o := range one.Observations {
			o.Partition = fmt.Sprint(client)
			tl.Observations = append(tl.Observations, o)
		}
	}
	slices.SortStableFunc(tl.Observations, func(a, b timeline.Observation) int {
		return cmp.Compare(a.Sent, b.Sent)
	})
	for i := range tl.Observations {
		tl.Observations[i].Seq = i
	}
	j, err := Judge(tl, limit, Options{})
	if err != nil {
		t.Fatal(err)
	}
	visited, capped := 0, 0
	for _, p := range j.Partitions {
		if visited += p.Search.Visited; p.Search.Capped {
			capped++
		}
	}
	if j.Verdict != result.Pass || visited > 2*StepBudget || capped == 0 {
		t.Errorf("got %s, %d decisions, %d searches capped; want a pass, at most %d decisions, some capped",
			j.Verdict, visited, capped, 2*StepBudget)
	}
}
