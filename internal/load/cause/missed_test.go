package cause

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// An agent that was lost is the cause, whatever else was seen.
func TestALostAgentIsMended(t *testing.T) {
	tl := &timeline.Timeline{Header: timeline.Header{Stalls: []timeline.Stall{{To: time.Second}},
		Notes: []string{timeline.OfAgent + "a: gone"}}}
	if got := MissedRemedy(tl); !strings.Contains(got, "that agent") {
		t.Errorf("got %q", got)
	}
}
