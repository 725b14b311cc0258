package live

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// nginx and HAProxy read their clocks once per turn of their event loops, before they look at the waiting
// requests. A process that must wait for a processor in the middle of a turn decides by a time that is too
// early by that wait.
//
// HAProxy also takes it for a jump of the clock if more than 100 ms pass beyond its intended sleep. It then
// leaves that time out of its own clock for good (src/clock.c of 2.6, clock_update_date).
//
// So on a machine that stands still, their limits differ from the declared ones, and the judge is right to
// say so. Such a FAIL says nothing about the algorithm. A test cannot see the standstills of another process.
// So it asks a process that is as idle, and the recording.
const stoodStill = 20 * time.Millisecond

// standsStill tells whether a FAIL may be the machine's fault. It may be if the machine stood still for
// stoodStill, or if a clock that is read so seldom explains everything.
func standsStill(t testing.TB, r result.Scenario, longest time.Duration) bool {
	t.Helper()
	if longest < stoodStill {
		text := fmt.Sprintf("%s,tick=%s", strings.ReplaceAll(r.Limit.String(), ",tick=2ms", ""), stoodStill)
		if r.Limit[0].Algorithm == spec.Concurrency { // it reads no clock, but may hold a place for longer
			text = strings.ReplaceAll(r.Limit.String(), "..1s", "..1m")
		}
		if j := again(t, r, text); j.Verdict == result.Fail {
			return false
		}
	}
	t.Logf("the machine stood still, for %s of an idle process: the clock of the limiter may have done so "+
		"too; the recording is kept at %s", longest, keep(t, r))
	return true
}

// watcher is a process that is as idle as a server. It reports how long it had to wait for a processor. All
// tests share one, which uses a hundredth of a processor.
var watcher struct {
	sync.Once
	cmd *exec.Cmd
	in  io.Closer // closing it ends the watcher; it closes with this process
	err error
	mu  sync.Mutex
	// stalls are its reports, ascending.
	stalls []stall
}

// stall is the longest wait between two reports of the watcher, and the wall time of the later one.
type stall struct{ at, longest int64 }

// watch returns a function that returns how long the watcher had to wait for a processor since.
func watch(t testing.TB) (longest func() time.Duration) {
	t.Helper()
	watcher.Do(func() {
		reports, out := io.Pipe()
		go listen(reports)
		watcher.cmd, watcher.in, watcher.err = aside("watch", out)
	})
	if watcher.err != nil {
		t.Fatalf("the watcher: %v", watcher.err)
	}
	heard(t, 0) // wait until it runs
	from := time.Now().UnixNano()
	return func() time.Duration { return heard(t, from) }
}

// heard waits until the watcher has reported the present moment. It returns its longest wait since a time.
func heard(t testing.TB, from int64) time.Duration {
	t.Helper()
	for to := time.Now(); time.Since(to) < time.Minute; time.Sleep(time.Millisecond) {
		if worst, reported := worstOf(from, to.UnixNano()); reported {
			return worst
		}
	}
	t.Fatal("the watcher: nothing was heard of it for a minute")
	return 0
}

// listen keeps the reports of the watcher.
func listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s stall
		if _, err := fmt.Sscan(lines.Text(), &s.at, &s.longest); err != nil {
			return // heard notices the silence
		}
		watcher.mu.Lock()
		watcher.stalls = append(watcher.stalls, s)
		watcher.mu.Unlock()
	}
}

// worstOf returns the longest wait between two times, and whether the watcher has reported the later one.
func worstOf(from, to int64) (longest time.Duration, reported bool) {
	watcher.mu.Lock()
	defer watcher.mu.Unlock()
	for _, s := range slices.Backward(watcher.stalls) {
		reported = reported || s.at >= to
		if s.at < from {
			break
		}
		longest = max(longest, time.Duration(s.longest))
	}
	return longest, reported
}

// sleep sleeps a millisecond at a time until over is closed. Some hundred times a second it prints the time
// and the longest sleep since its last print, in nanoseconds.
func sleep(over <-chan struct{}) {
	worst, last := time.Duration(0), time.Now()
	for told := last; ; {
		select {
		case <-over:
			return
		default:
			time.Sleep(time.Millisecond)
			now := time.Now()
			worst, last = max(worst, now.Sub(last)), now
			if now.Sub(told) >= 10*time.Millisecond {
				fmt.Println(now.UnixNano(), worst.Nanoseconds())
				worst, told = 0, now
			}
		}
	}
}

// A FAIL is judged again under a SPEC with a coarser clock, or with a longer hold of a place. That must work
// for every limit of a trial.
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
