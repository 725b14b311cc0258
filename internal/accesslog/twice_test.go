package accesslog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestTheHourThatComesTwice sends five requests before the clocks are set back and five after. They lie 105
// minutes apart, though by their local times it is 45 minutes.
func TestTheHourThatComesTwice(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 10, 25, 0, 5, 0, 0, time.UTC).In(berlin) // 02:05 in summer
	var b strings.Builder
	for i := range 10 {
		at := first.Add(time.Duration(i)*time.Second + time.Duration(i/5)*105*time.Minute)
		fmt.Fprintf(&b, "10.0.1.2:%d [%s] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 "+
			"0/0 \"GET / HTTP/1.1\"\n",
			33000+i, at.Format("02/Jan/2006:15:04:05.000"))
	}
	for _, text := range []string{"sliding-window-log,rate=5/1h", "fixed-window,rate=5/1h"} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Read(strings.NewReader(b.String()), "log", Options{Format: HAProxy, Zone: berlin})
		if err != nil {
			t.Fatal(err)
		}
		j, err := check.Judge(l.Timeline(), limit, check.Options{SkipMeasure: true})
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict == result.Fail {
			t.Errorf("%s: accused: %+v", text, j.Partitions)
		}
	}
}
