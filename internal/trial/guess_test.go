package trial

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// A limit is offered once, whatever its name: queues first, windows that begin anywhere late, and clocks that
// tick last.
func TestGuessesAreInOrder(t *testing.T) {
	var all []spec.Limit
	for _, text := range []string{"token-bucket,rate=5/2s,burst=5,tick=1s", "token-bucket,rate=5/2s,burst=5",
		"gcra,rate=150/1m,burst=5", "sliding-window-counter,rate=5/2s",
		"sliding-window-counter,rate=5/2s,rounding=down", "sliding-window-counter,rate=5/2s,rounding=up",
		"leaky-bucket-queue,rate=5/2s,queue=4", "fixed-window,rate=5/2s,align=unknown",
		"fixed-window,rate=5/2s"} {
		l, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	g := List{of: []*result.Scenario{{Limit: all[5]}}}
	var got []int
	for _, l := range g.Ordered(all) {
		got = append(got, slices.IndexFunc(all, func(o spec.Limit) bool { return o.String() == l.String() }))
	}
	if want := []int{6, 1, 3, 5, 8, 7, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Nothing is looked for beyond the declared limit with other numbers; of all others something may be nearer.
func TestNearbyLimits(t *testing.T) {
	parse := func(text string) spec.Limit {
		l, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, x := range []struct {
		declared, limit string
		want            bool
	}{
		{"token-bucket,rate=10/s,burst=20", "token-bucket,rate=10/s,burst=21", true},
		{"token-bucket,rate=10/s,burst=20", "token-bucket,rate=9/s,burst=20", true},
		{"token-bucket,rate=10/s,burst=20", "gcra,rate=10/s,burst=21", false},
		{"token-bucket,rate=10/s,burst=20", "token-bucket,rate=10/s,burst=21,tick=20ms", false},
		{"token-bucket,rate=10/s,burst=20", "token-bucket,rate=10/s,burst=20,ban=1s", false},
		{"token-bucket,rate=10/s,burst=20", "token-bucket,rate=10/s,burst=21 + gcra,rate=9/s,burst=1", false},
		{"fixed-window,rate=10/s", "fixed-window,rate=11/s", true},
		{"fixed-window,rate=10/s", "fixed-window,rate=10/s,align=first", false},
	} {
		g := List{of: []*result.Scenario{{Limit: parse(x.declared)}}}
		if got := g.Nearby(parse(x.limit)); got != x.want {
			t.Errorf("%s for %s: got %v, want %v", x.limit, x.declared, got, x.want)
		}
	}
}

// TestBatchesOfAnyQuota: the parts of a quota are few, and a large one is not counted down.
func TestBatchesOfAnyQuota(t *testing.T) {
	for text, want := range map[string][]int64{
		"token-bucket,rate=4/s,burst=10":    {4, 10, 5, 2, 1},
		"fixed-window,rate=999999999989/1d": nil, // no SPEC has so many at a time
		"sliding-window-log,rate=1/s":       {1},
	} {
		l, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, e := range batches(l) {
			got = append(got, e.Limit[0].Fill)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
