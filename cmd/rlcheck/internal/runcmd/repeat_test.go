package runcmd

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestRetriesWaitForABusyMachine: a retry waits where the machine was late, except the first retry.
func TestRetriesWaitForABusyMachine(t *testing.T) {
	for _, x := range []struct {
		retried int
		reason  verdict.Reason
		want    time.Duration
	}{
		{0, verdict.ScheduleMissed, 0},
		{1, verdict.ScheduleMissed, time.Second},
		{2, verdict.ScheduleMissed, 2 * time.Second},
		{3, verdict.ScheduleMissed, longestRest},
		{maxRetries, verdict.ScheduleMissed, longestRest},
		{3, verdict.TooFew, 0},
	} {
		c := &course{retried: x.retried, out: result.Scenario{Reason: x.reason}}
		if got := rest(c); got != x.want {
			t.Errorf("after %d retries, %s: got %v, want %v", x.retried, x.reason, got, x.want)
		}
	}
}
