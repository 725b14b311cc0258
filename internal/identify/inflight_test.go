package identify

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestALimitOfRequestsInFlightHasNoOtherName: four at once, of 300 ms each, are no four in 300 ms.
func TestALimitOfRequestsInFlightHasNoOtherName(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of planning")
	}
	var busy atomic.Int64
	var res *Result
	sending(t, func(w http.ResponseWriter, _ *http.Request) {
		defer busy.Add(-1)
		if busy.Add(1) > 4 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		time.Sleep(300 * time.Millisecond)
	}, func(t *testing.T, l *Live) {
		res = Identify(t.Context(), l, Options{MaxRequests: 60, MaxTime: time.Minute,
			Every: 20 * time.Millisecond, Alike: true, Fresh: true})
	})
	text := res.Text(About{})
	t.Log(text)
	if res.Verdict != Open || !strings.Contains(text, "in flight at once") {
		t.Errorf("got %s, want it open, with the limit of requests in flight", text)
	}
	for _, c := range res.Found {
		if l := c.Limit[0]; l.Algorithm == spec.Concurrency && l.Rate.N != 4 {
			t.Errorf("got %s, want 4 in flight", l)
		}
	}
	fits(t, res)
}

// TestWhatDeniesNothingSaysWhatWasNotSeen: also how many were under way at once.
func TestWhatDeniesNothingSaysWhatWasNotSeen(t *testing.T) {
	res := asked(t, func(http.ResponseWriter, *http.Request) {}, 2*time.Second)
	if want := "or of more than 1 in flight"; res.Verdict != Open || !strings.Contains(res.Stopped, want) {
		t.Errorf("got %s %q, want it open: %s", res.Verdict, res.Stopped, want)
	}
}

// TestALostAnswerHoldsNoPlaceForLong: a denial ten seconds after a lost answer came while nothing was under
// way.
func TestALostAnswerHoldsNoPlaceForLong(t *testing.T) {
	late := timeline.Observation{Sent: 10 * time.Second, FirstByte: 11 * time.Second, Answered: true,
		Outcome: timeline.Denied}
	late.Seq = 1
	tl := &timeline.Timeline{Observations: []timeline.Observation{{Outcome: timeline.Unknown}, late}}
	if n := underWay(tl, &late); n != 0 {
		t.Errorf("got %d under way, want none", n)
	}
}
