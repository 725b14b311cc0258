package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
)

// TestSearchSaysHowMuchIsUsed: the line tells how much of the requests and of the time is used.
func TestSearchSaysHowMuchIsUsed(t *testing.T) {
	var out bytes.Buffer
	now := time.Now()
	s := &SearchBar{Bar: Bar{beat: &Heartbeat{&Speaker{Err: &out}, now.Add(-time.Hour)}}, most: 400,
		within: 5 * time.Minute, began: now}
	s.Update(load.Progress{Phase: "fill", Sent: 40, Allowed: 38, Denied: 2})
	const want = "rlcheck: 40 of at most 400 requests sent, 1s of at most 5m\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
