package load

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// What a recording keeps of a request is little more than its observation: the fields of answers that are
// alike are kept once, and nothing is kept twice.
func TestARecordingIsSmall(t *testing.T) {
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

// Fields that change with each answer are all recorded, and none is taken for another.
func TestFieldsAreKeptApart(t *testing.T) {
	s := newFieldStore()
	var kept []timeline.Fields
	for i := range 5 * rows {
		f := timeline.Fields{{Name: "Date", Value: "d"}, {Name: "X", Value: fmt.Sprint(i / 2)}}
		kept = append(kept, s.keep(f))
	}
	for i, f := range kept {
		if len(f) != 2 || f[0].Value != "d" || f[1].Value != fmt.Sprint(i/2) {
			t.Fatalf("answer %d: got %v", i, f)
		}
	}
	a := s.keep(timeline.Fields{{Name: "A", Value: "bc"}})
	b := s.keep(timeline.Fields{{Name: "Ab", Value: "c"}})
	if a[0] == b[0] || s.keep(nil) != nil {
		t.Errorf("got %v and %v", a, b)
	}
}
