package result

import (
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestWorthShowsDeclaredRanges: a declared range is printed as it was declared, beside what was measured.
func TestWorthShowsDeclaredRanges(t *testing.T) {
	m := Measured{Burst: Interval{Lo: 19, Hi: 20, LoSet: true, HiSet: true}}
	for text, want := range map[string][]string{
		"token-bucket,rate=9..11/s,burst=18..22": {"burst 18..22 (measured 19..20)",
			"rate 9..11/s (not measured)"},
		"token-bucket,rate=10/s,burst=20": {"burst 20 (measured 19..20)",
			"rate 10/s (not measured)"},
		"leaky-bucket-queue,rate=10/1m,queue=17..19": {"at once 18..20 (measured 19..20)",
			"rate 10/1m (not measured)"},
		"fixed-window,rate=19/50s..1m10s,align=first": {"quota 19 (measured 19..20)",
			"rate 19/50s..1m10s (not measured)"},
		"concurrency,limit=18..22": {"in flight 18..22 (measured 19..20)"},
	} {
		l, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Worth(l, &Judgement{Measured: m}); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestWorthOfAQueueIsOneSided: nothing shows that a queue is as long as declared, and a pass says so.
func TestWorthOfAQueueIsOneSided(t *testing.T) {
	l, err := spec.Parse("leaky-bucket-queue,rate=10/1m,queue=17")
	if err != nil {
		t.Fatal(err)
	}
	m := Measured{Burst: Interval{Lo: 1, Hi: 18, LoSet: true, HiSet: true}}
	const want = "at once 18 (measured at most 18; a shorter queue would look the same)"
	if got := Worth(l, &Judgement{Measured: m})[0]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWorthSaysWhereASearchWasCapped: a pass says in how many partitions the exact search reached its cap.
func TestWorthSaysWhereASearchWasCapped(t *testing.T) {
	l := spec.Limit{{Algorithm: spec.SlidingWindowLog, Rate: spec.Rate{N: 2, Per: 1e9}}}
	j := &Judgement{Verdict: Pass,
		Partitions: []PartitionVerdict{{},
			{Search: Search{Visited: 9, Cap: 9, Capped: true}}}}
	if got, want := Worth(l, j), "not every order was tried in 1 of 2 partitions"; got[len(got)-1] != want {
		t.Errorf("got %q, want %q at the end", got, want)
	}
	if j.Partitions[1].Search.Capped = false; len(Worth(l, j)) != 2 {
		t.Errorf("got %q of a search that was not capped", Worth(l, j))
	}
}

// TestWorthSaysWhatWasNotJudged: of a partition that is too large for memory, only the beginning is judged.
func TestWorthSaysWhatWasNotJudged(t *testing.T) {
	l := spec.Limit{{Algorithm: spec.SlidingWindowLog, Rate: spec.Rate{N: 2, Per: 1e9}}}
	j := &Judgement{Partitions: []PartitionVerdict{{}, {Left: 1_000_000}, {Left: 234_567}}}
	want := "the last 1,234,567 requests of 2 of 3 partitions were not judged, as that takes too much memory"
	if got := Worth(l, j); got[len(got)-1] != want {
		t.Errorf("got %q, want %q at the end", got, want)
	}
	j.Partitions = j.Partitions[:1]
	if got := Worth(l, j); len(got) != 2 {
		t.Errorf("got %q of partitions that were judged whole", got)
	}
}
