package main

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
)

// TestRetriesWaitForABusyMachine: a retry waits where the machine was late, except the first retry.
func TestRetriesWaitForABusyMachine(t *testing.T) {
	for _, x := range []struct {
		retried int
		reason  result.Reason
		want    time.Duration
	}{
		{0, result.ScheduleMissed, 0},
		{1, result.ScheduleMissed, time.Second},
		{2, result.ScheduleMissed, 2 * time.Second},
		{3, result.ScheduleMissed, longestRest},
		{maxRetries, result.ScheduleMissed, longestRest},
		{3, result.TooFew, 0},
	} {
		c := &course{retried: x.retried, out: result.Scenario{Reason: x.reason}}
		if got := rest(c); got != x.want {
			t.Errorf("after %d retries, %s: got %v, want %v", x.retried, x.reason, got, x.want)
		}
	}
}
