package report

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestWhatACacheAnsweredIsToldOnce: the advice is to ask past the cache. No advice to name a status is given.
func TestWhatACacheAnsweredIsToldOnce(t *testing.T) {
	s := result.Scenario{ID: "burst", Reason: result.TooFew, Detail: "answers came from a cache: 2 of 2",
		Header: timeline.Header{Notes: []string{result.FromCaches + ": 2 of 2"}},
		Claims: []result.Claim{{ID: "conformance", Reason: result.UnclassifiedStatus,
			Text: "of 2 answers"}}}
	got := Troubles(&s)
	if len(got) != 1 || !strings.HasPrefix(got[0].Mend, "get past the cache") {
		t.Errorf("got %+v, want the cache and how to ask past it", got)
	}
}
