package load

import (
	"os"
	"runtime/metrics"
	"strconv"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// drift is a line through points, by least squares.
type drift struct{ n, x, y, xx, xy float64 }

func (d *drift) add(at time.Duration, y float64) {
	x := at.Hours()
	d.n, d.x, d.y, d.xx, d.xy = d.n+1, d.x+x, d.y+y, d.xx+x*x, d.xy+x*y
}

// line is the mean, and by how much it grows in an hour.
func (d *drift) line() (mean, slope float64) {
	return d.y / d.n, (d.n*d.xy - d.x*d.y) / (d.n*d.xx - d.x*d.x)
}

// TestSoakOfDrift sends 2,000 requests a second for RLCHECK_SOAK minutes, and prints by how much the live
// memory and the lateness grow in an hour. What a run leaves behind with each request shows in the first: a
// hundred bytes each are 720 MB an hour.
func TestSoakOfDrift(t *testing.T) {
	minutes, _ := strconv.Atoi(os.Getenv("RLCHECK_SOAK"))
	if minutes == 0 {
		t.Skip("it takes minutes: RLCHECK_SOAK=2")
	}
	const rate = 2000
	length := time.Duration(min(minutes, 60)) * time.Minute
	var memory, late drift
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	begun := time.Now()
	n := int(length.Seconds() * rate)
	tl := mustRecord(t, schedule(timeline.Phase{Name: "steady", Shape: timeline.Constant,
		Arrivals: each(n, time.Second/rate, "k", 0)}), Options{URL: loopbackHTTP(t, ok),
		Spill: func() (timeline.Spill, error) { return os.CreateTemp(t.TempDir(), "spill") },
		Progress: func(Progress) {
			if at := time.Since(begun); at > length/10 { // until then its buffers grow
				metrics.Read(live)
				memory.add(at, float64(live[0].Value.Uint64())/1e6)
			}
		}})
	var slice []time.Duration
	for o := range tl.All() {
		if slice = append(slice, max(0, o.Sent-o.At)); len(slice) == 2*rate {
			p50, _ := quantiles(slice)
			late.add(o.At, p50)
			slice = slice[:0]
		}
	}
	mean, slope := memory.line()
	p50, later := late.line()
	t.Logf("%d requests in %v: live memory %.1f MB, %+.1f MB an hour; median lateness of two seconds "+
		"%.1f us, %+.1f us an hour", tl.Sent(), length, mean, slope, p50, later)
	const most = 150 // 20 bytes a request: on a busy machine connections are opened for some minutes
	if slope > most {
		t.Errorf("memory grows by %.1f MB an hour", slope)
	}
	if c := tl.Counts(); c.Allowed < n*99/100 {
		t.Errorf("got %+v", c)
	}
}
