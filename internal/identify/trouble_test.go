package identify

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/cause"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestTroubleNamesWhatIsMissing: if a target asked for a certificate and answers 400, the URL may well be
// right.
func TestTroubleNamesWhatIsMissing(t *testing.T) {
	tl := &timeline.Timeline{Observations: []timeline.Observation{{Answered: true, Status: 400}}}
	if got := trouble(tl); !strings.Contains(got, "(status 400): is it the right URL") {
		t.Errorf("got %q", got)
	}
	tl.Header.Notes = []string{cause.NoCertificate}
	if got := trouble(tl); !strings.HasSuffix(got, "(status 400): "+cause.Certify) {
		t.Errorf("asked for a certificate: got %q", got)
	}
}

// TestLostRequestsAreToldWhereNothingIsDenied: a target that resets the connections that it denies has a
// limit of two, not a limit above all that was asked.
func TestLostRequestsAreToldWhereNothingIsDenied(t *testing.T) {
	const ms = time.Millisecond
	ok := timeline.Observation{Outcome: timeline.Allowed, Answered: true, FirstByte: ms}
	reset := timeline.Observation{Error: cause.Reset}
	res := Result{Timeline: &timeline.Timeline{Observations: []timeline.Observation{ok, ok}}}
	if got := res.undenied(); strings.Contains(got, "no answer") {
		t.Errorf("nothing was lost: got %q", got)
	}
	res.Timeline.Observations = append(res.Timeline.Observations, reset, reset, reset)
	if got := res.undenied(); !strings.Contains(got, ", but 3 requests got no answer (reset), which may be") {
		t.Errorf("got %q", got)
	}
}
