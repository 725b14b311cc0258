package report

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/report/sample"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestMendOfARecordingCutOutOfTraffic: where an earlier run may explain what was seen, or nothing that should
// be denied was answered, more requests would not help.
func TestMendOfARecordingCutOutOfTraffic(t *testing.T) {
	s := sample.Passing(t)
	s.Verdict, s.Reason, s.Detail = verdict.Inconclusive, verdict.TooFew,
		"the burst is known to be at least 20"
	told := func() string { return troubles(&s)[0].mend }
	if !strings.Contains(told(), "send more requests") {
		t.Errorf("got %q", told())
	}
	if s.Timeline.Header.CompleteFrom = 1; !strings.Contains(told(), "begin with a silence") {
		t.Errorf("of a recording that is cut out of traffic: got %q", told())
	}
	s.Timeline.Header.CompleteFrom, s.Counts.Denied, s.Latency.Unanswered = 0, 0, 140
	if !strings.Contains(told(), "find out why 140 requests got no answer") {
		t.Errorf("where nothing was denied: got %q", told())
	}
	if s.Counts.Denied = 1; !strings.Contains(told(), "send more requests") {
		t.Errorf("where a denial was answered: got %q", told())
	}
	for i := range s.Timeline.Observations {
		o := &s.Timeline.Observations[i]
		o.FirstByte = o.Sent + time.Minute
	}
	if !strings.Contains(told(), "send from nearer to the target: an answer took 60.0 s, in which") {
		t.Errorf("far away: got %q", told())
	}
}
