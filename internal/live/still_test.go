package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// nginx and HAProxy read their clocks once a turn of their event loops, before they look at the requests that
// are there. A process that has to wait for a processor in the midst of a turn decides by a time that was
// that much earlier. HAProxy, moreover, takes it for a jump of the clock when more than 100 ms pass beyond
// the time it meant to sleep, and leaves them out of its own time for good (src/clock.c of 2.6,
// clock_update_date). On a machine that stands still their limits are therefore other ones than declared, and
// the judge is right to say so: such a FAIL says nothing of the algorithm. What stood still is not known of
// another process, so it is asked of one that is as idle, and of the recording.
const stoodStill = 20 * time.Millisecond

// standsStill tells whether a FAIL may be one of the machine: it stood still for stoodStill, or a clock that
// is read so seldom explains all.
func standsStill(t testing.TB, r result.Scenario, longest time.Duration) bool {
	t.Helper()
	if longest < stoodStill {
		text := fmt.Sprintf("%s,tick=%s", strings.ReplaceAll(r.Limit.String(), ",tick=2ms", ""), stoodStill)
		if r.Limit[0].Algorithm == spec.Concurrency { // it reads no clock, but a place may be held for longer
			text = strings.ReplaceAll(r.Limit.String(), "..1s", "..1m")
		}
		if j := again(t, r, text); j.Verdict == verdict.Fail {
			return false
		}
	}
	t.Logf("the machine stood still, for %s of an idle process: the clock of the limiter may have done so "+
		"too; the recording is kept at %s", longest, keep(t, r))
	return true
}

// watch returns a function that tells how long a process that is as idle as a server had to wait for a
// processor since.
func watch(t testing.TB) (longest func() time.Duration) {
	t.Helper()
	end := aside(t, "watch")
	return func() time.Duration {
		var ns int64
		if _, err := fmt.Sscan(end(), &ns); err != nil {
			t.Fatalf("the watcher: %v", err)
		}
		return time.Duration(ns)
	}
}

// sleep sleeps a millisecond at a time until over is closed, and prints how long the longest one was, in
// nanoseconds.
func sleep(over <-chan struct{}) {
	worst, last := time.Duration(0), time.Now()
	for {
		select {
		case <-over:
			fmt.Println(worst.Nanoseconds())
			return
		default:
			time.Sleep(time.Millisecond)
			now := time.Now()
			worst, last = max(worst, now.Sub(last)), now
		}
	}
}

// What a FAIL is judged under again is a SPEC: of every limit that a trial has.
func TestStandsStillKnowsEveryLimit(t *testing.T) {
	for _, text := range []string{"leaky-bucket,rate=10/s,burst=21",
		"leaky-bucket-queue,rate=50/s,queue=20,undelayed=8",
		"sliding-window-counter,align=first,rounding=down,tick=2ms,count=all,rate=10/600ms",
		"concurrency,limit=10,hold=100ms..1s"} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		one := timeline.Observation{Arrival: timeline.Arrival{Cost: 1}, Answered: true,
			Outcome: timeline.Denied}
		r := result.Scenario{ID: "still", Limit: limit,
			Timeline: &timeline.Timeline{Observations: []timeline.Observation{one}}}
		if standsStill(t, r, 0) {
			t.Errorf("%s: a first request that is denied is explained by a clock that stood still", text)
		}
	}
}
