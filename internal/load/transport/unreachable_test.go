package transport

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAStopTellsNothingOfTheTarget: requests that waited when the run was stopped do not show that the target
// is unreachable.
func TestAStopTellsNothingOfTheTarget(t *testing.T) {
	waiting, refused := timeline.Observation{Error: CauseInterrupted},
		timeline.Observation{Error: CauseRefused}
	if why, gone := CauseUnreachable(&timeline.Timeline{}); gone || why != "" {
		t.Errorf("nothing sent: got %q, %v", why, gone)
	}
	tl := &timeline.Timeline{Observations: []timeline.Observation{waiting, waiting}}
	if why, gone := CauseUnreachable(tl); gone || why != "" {
		t.Errorf("stopped: got %q, %v", why, gone)
	}
	tl.Observations = append(tl.Observations, refused)
	if why, gone := CauseUnreachable(tl); !gone ||
		!strings.HasPrefix(why, "no request was answered: 1 of 3 refused: ") {
		t.Errorf("refused, then stopped: got %q, %v", why, gone)
	}
}

// TestWhatIsMalformedIsTold: the word alone does not say what broke.
func TestWhatIsMalformedIsTold(t *testing.T) {
	tl := &timeline.Timeline{Observations: []timeline.Observation{{Error: CauseMalformed}},
		Header: timeline.Header{Notes: []string{CauseFirst(CauseReset, "no"),
			CauseFirst(CauseMalformed, "a push")}}}
	if why, _ := CauseUnreachable(tl); !strings.HasSuffix(why, "the answers are not HTTP: a push") {
		t.Errorf("got %q", why)
	}
}

// TestATargetThatStopsIsTold: only if it answered before, and no more to the end.
func TestATargetThatStopsIsTold(t *testing.T) {
	answered := timeline.Observation{Answered: true, Outcome: timeline.Allowed,
		FirstByte: 2170 * time.Millisecond}
	tl := &timeline.Timeline{Observations: []timeline.Observation{answered}}
	silent := func() {
		for range mostTrailing {
			tl.Observations = append(tl.Observations, timeline.Observation{Error: CauseRefused})
		}
	}
	silent()
	const want = "target: it stopped answering 2.17s after the start: the last 10 requests had no answer " +
		"(refused)"
	if got := CauseStopped(tl); got != want {
		t.Errorf("got %q", got)
	}
	tl.Observations = append(tl.Observations, answered)
	if got := CauseStopped(tl); got != "" {
		t.Errorf("it answered at the end: got %q", got)
	}
	tl.Observations = nil
	silent()
	if got := CauseStopped(tl); got != "" {
		t.Errorf("it never answered: got %q", got)
	}
}
