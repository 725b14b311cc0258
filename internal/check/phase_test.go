package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestPhasesAreAlikeOnlyWhereNothingElseTellsTheTime: one request may have been decided before or after a
// window began, and no interval ends in between. That seems to make phases of 9 to 12 ns alike. But the ban,
// or the other policy, shows that it was decided at 10 ns or later. Windows that begin at 11 ns then explain
// what windows that begin at 9 ns do not.
func TestPhasesAreAlikeOnlyWhereNothingElseTellsTheTime(t *testing.T) {
	type asked struct {
		s, e, cost int64
		outcome    timeline.Outcome
	}
	for text, requests := range map[string][]asked{
		"fixed-window,rate=2/20ns,phase=9ns..12ns + token-bucket,rate=1/4ns,burst=1": {
			{6, 6, 1, timeline.Allowed}, {7, 14, 1, timeline.Allowed}, {16, 16, 1, timeline.Allowed},
			{20, 20, 1, timeline.Allowed},
		},
		"fixed-window,rate=2/20ns,phase=9ns..12ns,ban=4ns": {
			{1, 1, 1, timeline.Allowed}, {6, 6, 2, timeline.Denied}, {7, 14, 1, timeline.Allowed},
			{16, 16, 2, timeline.Allowed},
		},
	} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		tl := &timeline.Timeline{}
		for i, r := range requests {
			o := observed(r.s, r.e, r.outcome)
			o.Seq, o.Cost = i, r.cost
			tl.Observations = append(tl.Observations, o)
		}
		tl.Header.Ended = tl.End()
		if !feasible(t, tl, limit...) {
			t.Fatalf("%s: the oracle does not explain it", text)
		}
		if accused(t, tl, limit) {
			t.Errorf("%s: accused of what windows that begin at 11 explain:\n%s", text, draw(tl))
		}
	}
}

// observed is an observation that was answered.
func observed(s, e int64, outcome timeline.Outcome) timeline.Observation {
	return timeline.Observation{Sent: time.Duration(s), FirstByte: time.Duration(e), Answered: true,
		Outcome: outcome}
}

// TestALaterRequestMayCreateABucket: where values are open, the first few requests are first judged apart.
// That is not allowed under a bucket that starts empty. A request left out may have created it, so that the
// first one found what had come back since.
func TestALaterRequestMayCreateABucket(t *testing.T) {
	limit, err := spec.Parse("gcra,rate=12/3ms,burst=2..3,start=empty")
	if err != nil {
		t.Fatal(err)
	}
	const us = 1000
	tl := &timeline.Timeline{}
	for i, ends := range [][2]int64{{0, 2000 * us}, {us, 1000 * us}, {us, 1000 * us}, {us, 1000 * us},
		{2 * us, 3 * us}} {
		o := observed(ends[0], ends[1], timeline.Denied)
		o.Arrival = timeline.Arrival{Seq: i, Cost: 1}
		if i == 0 {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	tl.Header.Ended = tl.End()
	if accused(t, tl, limit) {
		t.Errorf("accused, though the last request may have come first:\n%s", draw(tl))
	}
}
