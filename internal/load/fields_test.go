package load

import (
	"net/http"
	"runtime"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A recording keeps little more of a request than its observation. Equal fields of answers are kept once, and
// nothing is kept twice.
func TestARecordingIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	const n = 20_000
	for _, w := range []way{ways[0], ways[2]} {
		o, _ := w.serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("RateLimit-Policy", `"default";q=100;w=60`)
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		phase := timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 8, Partitions: []string{"k"},
			Requests: n}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		tl := mustRecord(t, schedule(phase), o)
		runtime.GC()
		runtime.ReadMemStats(&after)
		each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n
		if c := tl.Counts(); c.Denied != n || each > 240 {
			t.Errorf("%s: got %+v, %d bytes a request; want at most 240", w.name, c, each)
		}
		t.Logf("%s: %d bytes a request", w.name, each)
		if f := tl.Observations[n/2].Fields; len(f) < 4 {
			t.Errorf("got the fields %v", f)
		}
	}
}
