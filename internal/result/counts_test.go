package result

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestUnequalCountsShow(t *testing.T) {
	for c, want := range map[timeline.Counts]string{
		{Planned: 3, Sent: 2, Unsent: 1,
			Allowed: 1}: "3 planned = 2 sent + 1 unsent; 2 sent != 1 allowed + 0 denied + 0 unknown",
		{Planned: 3, Sent: 2,
			Denied: 2}: "3 planned != 2 sent + 0 unsent; 2 sent = 0 allowed + 2 denied + 0 unknown",
	} {
		if got := CountsText(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
