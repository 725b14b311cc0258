package report

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestMendOfARecordingCutOutOfTraffic: more requests do not help if an earlier run may explain what was seen.
// Nor do they if no request that should be denied was answered.
func TestMendOfARecordingCutOutOfTraffic(t *testing.T) {
	s := Passing(t)
	s.Verdict, s.Reason, s.Detail = result.Inconclusive, result.TooFew,
		"the burst is known to be at least 20"
	told := func() string { return Troubles(&s)[0].Mend }
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
	if s.Counts.Denied = 1; told() != "find out why 140 requests got no answer" {
		t.Errorf("where a denial was answered: got %q", told())
	}
	s.Header.Notes = []string{transport.CauseBlurred}
	if told() != transport.CauseApart {
		t.Errorf("where answers are lost with a connection: got %q", told())
	}
	s.Header.Notes = nil
	for i := range s.Timeline.Observations {
		o := &s.Timeline.Observations[i]
		o.FirstByte = o.Sent + time.Minute
	}
	if !strings.Contains(told(), "send from nearer to the target: an answer took 60.0 s, in which") {
		t.Errorf("far away: got %q", told())
	}
}

// TestSpanTextWithoutARecording: a report that was read back has a witness without its recording. It names no
// request as the first or last, since it cannot know that.
func TestSpanTextWithoutARecording(t *testing.T) {
	s := Failing(t)
	recording := s.Timeline
	spanText := func(tl *timeline.Timeline, f *result.Finding) string {
		s.Timeline, s.Claims[0].Findings = tl, []result.Finding{*f}
		return s.Failures()[0].Span
	}
	f := &s.Claims[0].Findings[0]
	if got, want := spanText(nil, f),
		"partition k1: 21 requests (#2 .. #36), first sent 0.002021 s, last first byte "+
			"0.003247 s; rule AL-UPPER"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := spanText(recording, f),
		"partition k1: first #2 sent 0.002021 s, last #20 first byte 0.003247 s; rule AL-UPPER"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	other := *f
	other.Observations = []int{2, 99999} // request numbers of another recording
	if got, want := spanText(recording, &other),
		"partition k1: 2 requests (#2 .. #99999), first sent 0.002021 s, last first byte "+
			"0.003247 s; rule AL-UPPER"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	lost := &timeline.Timeline{Observations: []timeline.Observation{{Arrival: timeline.Arrival{Seq: 5}}}}
	if got, want := spanText(lost, &result.Finding{Observations: []int{5}}),
		"#5 sent 0.000 s, first byte never"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMendOfAttributesThatAreNotShown: more requests do not help if the declared limit does not hold.
func TestMendOfAttributesThatAreNotShown(t *testing.T) {
	s := &result.Scenario{ID: "fresh-quota", Target: "http://127.0.0.1/", Claims: []result.Claim{
		{ID: string(result.ClaimAttributes), Kind: result.ClaimAttributes, Reason: result.TooFew}}}
	if got := Mend(s, result.TooFew); !strings.HasPrefix(got, "declare the limit that the target has") {
		t.Errorf("got the mend %q, want one about the limit", got)
	}
	if s.Claims[0].Verdict = result.Pass; Mend(s, result.TooFew) != mends[result.TooFew] {
		t.Errorf("got the mend %q where attributes are shown", Mend(s, result.TooFew))
	}
}

// TestMendOfASleep: whatever a recording lacks that a sleep of this computer ended, it is repeated.
func TestMendOfASleep(t *testing.T) {
	s := &result.Scenario{Timeline: &timeline.Timeline{Header: timeline.Header{Interrupted: true,
		Notes: []string{transport.CauseSlept}}}}
	for _, r := range []result.Reason{result.Interrupted, result.TooFew} {
		if got := Mend(s, r); !strings.HasPrefix(got, "repeat the run: this computer slept") {
			t.Errorf("%s: got the mend %q", r, got)
		}
	}
}

// A status that no rule classifies is named, and what it mostly means: few 502 beside many answers are no
// denials to declare.
func TestMendOfAStrangeStatusNamesIt(t *testing.T) {
	s := result.Scenario{Target: "http://127.0.0.1:1/",
		Answers: result.Answers{Statuses: []timeline.StatusCount{
			{Status: 200, Outcome: timeline.Allowed, Answers: 90}, {Status: 404, Answers: 1},
			{Status: 502, Answers: 9}}}}
	want := "502 Bad Gateway: read its log; if it is a denial, declare it with --denied 502"
	if got := Mend(&s, result.UnclassifiedStatus); got != want {
		t.Errorf("got %q", got)
	}
}

// TestMendOfALatencyFromFarAway: to know the limit better is no mend for a bound that the round trip exceeds.
func TestMendOfALatencyFromFarAway(t *testing.T) {
	const mend = "add the round trip to the bound (--set expect.latency.denied_p99=DURATION), or send from " +
		"nearer to the target"
	for away, want := range map[time.Duration]string{80 * time.Millisecond: mend,
		time.Millisecond: mends[result.TooFew]} {
		s := &result.Scenario{Target: "http://127.0.0.1/",
			Answers: result.Answers{Counts: timeline.Counts{Denied: 1}},
			Claims: []result.Claim{{Verdict: result.Pass},
				{ID: "latency-denied-p99", Kind: result.ClaimLatency}},
			Timeline: &timeline.Timeline{Observations: []timeline.Observation{
				{Answered: true, FirstByte: away, Outcome: timeline.Denied}}}}
		if got := Mend(s, result.TooFew); got != want {
			t.Errorf("%s away: got the mend %q", away, got)
		}
	}
}
