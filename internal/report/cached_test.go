package report

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/report/evidence"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestWhatACacheAnsweredIsToldOnce: the advice is to ask past the cache. No advice to name a status is given.
func TestWhatACacheAnsweredIsToldOnce(t *testing.T) {
	s := result.Scenario{ID: "burst", Reason: verdict.TooFew, Detail: "answers came from a cache: 2 of 2",
		Header: timeline.Header{Notes: []string{result.FromCaches + ": 2 of 2"}},
		Claims: []verdict.Claim{{ID: "conformance", Reason: verdict.UnclassifiedStatus,
			Text: "of 2 answers"}}}
	got := evidence.Troubles(&s)
	if len(got) != 1 || !strings.HasPrefix(got[0].Mend, "get past the cache") {
		t.Errorf("got %+v, want the cache and how to ask past it", got)
	}
}
