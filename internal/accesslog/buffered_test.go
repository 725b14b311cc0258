package accesslog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestLinesOfWorkersThatBufferTheirs: two workers each write their lines every ten seconds, five seconds
// apart. One wrote its first lines to the file before. The requests that it admitted there explain denials
// near the beginning.
func TestLinesOfWorkersThatBufferTheirs(t *testing.T) {
	limit, err := spec.Parse("sliding-window-log,rate=4/4s")
	if err != nil {
		t.Fatal(err)
	}
	var flushed [2][]string
	line := func(at float64, status int) string {
		return fmt.Sprintf(`10.0.0.1 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" %d 1 "-" "-" msec=%.3f request_time=0.001`+"\n", status, 1795168800+at)
	}
	var file strings.Builder
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	state := lim.Init()
	for i := range 400 { // two requests a second, to the workers in turn
		at := float64(i) / 2
		for w, every := 0, 10.0; w < 2; w++ {
			if next := at - float64(5*w); next >= 0 && next == every*float64(int(next/every)) { // it writes
				if at > 5 { // until then: the file before
					file.WriteString(strings.Join(flushed[w], ""))
				}
				flushed[w] = nil
			}
		}
		var d reference.Decision
		state, d = lim.Step(state, time.Duration(at*float64(time.Second)), 1)
		status := 200
		if !d.Allow {
			status = 429
		}
		flushed[i%2] = append(flushed[i%2], line(at+.001, status))
	}
	l, err := Read(strings.NewReader(file.String()), "log", Options{Format: Nginx})
	if err != nil {
		t.Fatal(err)
	}
	j, err := check.Judge(l.Timeline(), limit, check.Options{SkipMeasure: true})
	if err != nil || j.Verdict != result.Pass {
		t.Errorf("complete from %s: got %v, %v: %+v", l.Header.CompleteFrom, err, j.Verdict, j.Partitions)
	}
}
