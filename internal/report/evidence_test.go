package report

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestMendOfARecordingCutOutOfTraffic: where an earlier run may explain what was seen, more requests would
// not help.
func TestMendOfARecordingCutOutOfTraffic(t *testing.T) {
	s := passing(t)
	s.Verdict, s.Reason, s.Detail = verdict.Inconclusive, verdict.TooFew,
		"the burst is known to be at least 20"
	told := func() string { return troubles(&s)[0].mend }
	if !strings.Contains(told(), "send more requests") {
		t.Errorf("got %q", told())
	}
	if s.Timeline.Header.CompleteFrom = 1; !strings.Contains(told(), "begin with a silence") {
		t.Errorf("of a recording that is cut out of traffic: got %q", told())
	}
}
