package load

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestTheFirst400IsKept: the first 400 is noted, since the target may not have been able to read the request.
func TestTheFirst400IsKept(t *testing.T) {
	n := 0
	answer := func(w http.ResponseWriter, _ *http.Request) {
		if n++; n >= 3 {
			w.Header().Set("Server", "nginx")
			http.Error(w, "why", http.StatusBadRequest)
		}
	}
	virtual(t, answer, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(timeline.Phase{Name: "p", Shape: timeline.Constant,
			Arrivals: each(4, 20*time.Millisecond, "k", 0)}), o)
		const want = `first 400: to request 3 of its connection, after 0s, from "nginx": "why\n"`
		told := strings.Count(strings.Join(tl.Header.Notes, ""), "400")
		if !slices.Contains(tl.Header.Notes, want) || told != 1 {
			t.Errorf("got %q, want %q", tl.Header.Notes, want)
		}
	})
}
