package identify

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestLostRequestsAreToldWhereNothingIsDenied: a target that resets the connections that it denies has a
// limit of two, not a limit above all that was asked.
func TestLostRequestsAreToldWhereNothingIsDenied(t *testing.T) {
	const ms = time.Millisecond
	ok := timeline.Observation{Outcome: timeline.Allowed, Answered: true, FirstByte: ms}
	reset := timeline.Observation{Error: transport.CauseReset}
	res := Result{Timeline: &timeline.Timeline{Observations: []timeline.Observation{ok, ok}}}
	if got := res.Undenied(); strings.Contains(got, "no answer") {
		t.Errorf("nothing was lost: got %q", got)
	}
	res.Timeline.Observations = append(res.Timeline.Observations, reset, reset, reset)
	if got := res.Undenied(); !strings.Contains(got, ", but 3 requests got no answer (reset), which may be") {
		t.Errorf("got %q", got)
	}
}

// TestRedirectsAreToldWhereNothingIsDenied: of a URL that redirects to another one 241 requests said that no
// request was denied, and not why.
func TestRedirectsAreToldWhereNothingIsDenied(t *testing.T) {
	elsewhere := timeline.Observation{Outcome: timeline.Allowed, Answered: true, Status: 302}
	here := timeline.Observation{Outcome: timeline.Allowed, Answered: true, Status: 200}
	const told = "every answer redirects (302)"
	res := Result{Timeline: &timeline.Timeline{Observations: []timeline.Observation{elsewhere, elsewhere}}}
	if got := res.Undenied(); !strings.Contains(got, told) {
		t.Errorf("got %q", got)
	}
	res.Timeline.Observations = append(res.Timeline.Observations, here)
	if got := res.Undenied(); strings.Contains(got, told) {
		t.Errorf("one is answered here: got %q", got)
	}
}
