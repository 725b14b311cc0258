package transport

import (
	"strings"
	"testing"

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
