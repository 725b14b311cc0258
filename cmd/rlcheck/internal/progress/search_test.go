package progress

import (
	"bytes"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/load"
)

// TestSearchAddsUpItsRecordings: each begins at nothing, whatever the one before has sent.
func TestSearchAddsUpItsRecordings(t *testing.T) {
	var out bytes.Buffer
	now := time.Now()
	s := &Search{beat: &Heartbeat{&cli.Speaker{Err: &out}, now}, most: 400, within: 5 * time.Minute,
		began: now}
	for _, p := range []load.Progress{
		{Phase: "first", Sent: 1, Allowed: 1}, // the only one of its phase
		{Phase: "fill", Sent: 1}, {Phase: "fill", Sent: 30, Allowed: 28, Denied: 2},
		{Phase: "fill", Sent: 2, Allowed: 2}, // again
	} {
		s.Update(p)
	}
	s.beat.said = now.Add(-time.Hour)
	s.Update(load.Progress{Phase: "fill", Sent: 9, Allowed: 9})
	const want = "rlcheck: 40 of at most 400 requests sent, 1s of at most 5m\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
