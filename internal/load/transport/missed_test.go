package transport

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A lost agent is named as the cause, whatever else was recorded.
func TestALostAgentIsMended(t *testing.T) {
	tl := &timeline.Timeline{Header: timeline.Header{Stalls: []timeline.Stall{{To: time.Second}},
		Notes: []string{timeline.OfAgent + "a: gone"}}}
	if got := CauseMissedRemedy(tl); !strings.Contains(got, "that agent") {
		t.Errorf("got %q", got)
	}
}
