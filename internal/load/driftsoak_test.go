package load

import (
	"math"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// drift is a line through points, by least squares.
type drift struct{ n, x, y, xx, xy, yy float64 }

func (d *drift) add(at time.Duration, y float64) {
	x := at.Hours()
	d.n, d.x, d.y, d.xx, d.xy, d.yy = d.n+1, d.x+x, d.y+y, d.xx+x*x, d.xy+x*y, d.yy+y*y
}

// line returns the mean, the growth per hour, and the error of that growth: two standard errors, for
// independent points.
func (d *drift) line() (mean, slope, off float64) {
	xx, xy, yy := d.xx-d.x*d.x/d.n, d.xy-d.x*d.y/d.n, d.yy-d.y*d.y/d.n
	slope = xy / xx
	return d.y / d.n, slope, 2 * math.Sqrt(max(0, yy-slope*xy)/(d.n-2)/xx)
}

// blocks are the means of the points in each twentieth of a soak. Points close to each other are alike: taken
// singly, they would suggest a smaller error of the slope than it has.
type blocks struct {
	each   time.Duration
	at     time.Duration
	n, sum float64
	drift
}

func (b *blocks) point(at time.Duration, y float64) {
	if at >= b.at+b.each {
		if b.n > 0 {
			b.add(b.at+b.each/2, b.sum/b.n)
		}
		b.at, b.n, b.sum = at.Truncate(b.each), 0, 0
	}
	b.n, b.sum = b.n+1, b.sum+y
}

// TestSoakOfDrift sends 2,000 requests a second for RLCHECK_SOAK minutes. It prints the growth per hour of
// the live memory, of the process's memory (Linux) and of the lateness, with their errors. Memory that each
// request leaves behind shows in the first: a hundred bytes a request are 720 MB an hour.
func TestSoakOfDrift(t *testing.T) {
	minutes, _ := strconv.Atoi(os.Getenv("RLCHECK_SOAK"))
	if minutes == 0 {
		t.Skip("it takes minutes: RLCHECK_SOAK=2")
	}
	// On a busy machine connections are opened for minutes, up to the maximum. They are not drift.
	const rate, connections = 2000, 16
	length := time.Duration(min(minutes, 60)) * time.Minute
	memory, resident, late := blocks{each: length / 20}, blocks{each: length / 20}, blocks{each: length / 20}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	begun := time.Now()
	n := int(length.Seconds() * rate)
	tl := mustRecord(t, schedule(timeline.Phase{Name: "steady", Shape: timeline.Constant,
		Arrivals: each(n, time.Second/rate, "k", 0)}), Options{
		URL: loopbackHTTP(t, ok), MaxConnections: connections,
		Keeping: Keeping{Spill: func() (timeline.Spill, error) {
			return os.CreateTemp(t.TempDir(), "spill")
		}, Progress: func(Progress) {
			if at := time.Since(begun); at > length/10 { // its buffers grow until then
				metrics.Read(live)
				memory.point(at, float64(live[0].Value.Uint64())/1e6)
				resident.point(at, residentMB())
			}
		}}})
	var slice []time.Duration
	for o := range tl.All() {
		if slice = append(slice, max(0, o.Sent-o.At)); len(slice) == 2*rate {
			p50, _ := quantiles(slice)
			late.point(o.At, p50)
			slice = slice[:0]
		}
	}
	t.Logf("%d requests in %v", tl.Sent(), length)
	for _, x := range []struct {
		what, unit string
		of         *blocks
		most       float64 // largest growth in an hour; 0 for what a busy machine decides
	}{
		{"live memory", "MB", &memory, 36}, // 5 bytes a request
		{"memory of the process", "MB", &resident, 72},
		{"median lateness of two seconds", "us", &late, 0},
	} {
		mean, slope, off := x.of.line()
		t.Logf("%s %.1f %s, %+.1f +- %.1f %s an hour", x.what, mean, x.unit, slope, off, x.unit)
		if x.most > 0 && slope-off > x.most {
			t.Errorf("%s grows by %.1f +- %.1f %s an hour, want at most %.0f", x.what, slope, off, x.unit,
				x.most)
		}
	}
	if c := tl.Counts(); c.Allowed < n*99/100 {
		t.Errorf("got %+v", c)
	}
}

// residentMB returns the memory of this process; 0 if the system does not tell.
func residentMB() float64 {
	text, _ := os.ReadFile("/proc/self/statm") // only Linux has it
	if f := strings.Fields(string(text)); len(f) > 1 {
		pages, _ := strconv.Atoi(f[1])
		return float64(pages*os.Getpagesize()) / 1e6
	}
	return 0
}
