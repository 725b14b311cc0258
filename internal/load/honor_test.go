package load

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// denying denies until the time `opens` has passed since its first request. say writes the remaining wait
// into a denial.
func denying(opens time.Duration, say func(h http.Header, rest time.Duration)) http.HandlerFunc {
	var mu sync.Mutex
	var first time.Time
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if first.IsZero() {
			first = time.Now()
		}
		rest := opens - time.Since(first)
		if rest <= 0 {
			return
		}
		say(w.Header(), rest)
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

func TestHonoringClientWaitsExactlyAsTold(t *testing.T) {
	const s = time.Second
	for name, tt := range map[string]struct {
		opens time.Duration
		say   func(h http.Header, rest time.Duration)
		want  []time.Duration
	}{
		"seconds": {2 * s, func(h http.Header, rest time.Duration) { h.Set("Retry-After", "2") },
			[]time.Duration{0, 2 * s, 2 * s}},
		"too short, then again": {2500 * ms,
			func(h http.Header, rest time.Duration) { h.Set("Retry-After", strconv.Itoa(int(rest/s))) },
			[]time.Duration{0, 2 * s, 2 * s}}, // 0 s is honoured too: at once
		"date against the Date of a clock that is off": {3 * s, func(h http.Header, rest time.Duration) {
			theirs := time.Now().Add(-1000 * time.Hour)
			h.Set("Date", theirs.UTC().Format(http.TimeFormat))
			h.Set("Retry-After", theirs.Add(rest).UTC().Format(http.TimeFormat))
		}, []time.Duration{0, 3 * s, 3 * s}},
		"date without a Date": {3 * s, func(h http.Header, rest time.Duration) {
			h["Date"] = nil
			h.Set("Retry-After", time.Now().Add(rest).UTC().Format(http.TimeFormat))
		}, []time.Duration{0, 3 * s, 3 * s}},
		"milliseconds": {700 * ms, func(h http.Header, rest time.Duration) {
			h.Set("Retry-After-Ms", strconv.Itoa(int(rest/ms)))
		}, []time.Duration{0, 700 * ms, 700 * ms}},
		"the shortest of two": {3 * s, func(h http.Header, rest time.Duration) {
			h.Set("Retry-After", "60")
			h.Set("Retry-After-Ms", strconv.Itoa(int(rest/ms)))
		}, []time.Duration{0, 3 * s, 3 * s}},
		"only a reset": {2 * s, func(h http.Header, rest time.Duration) {
			h.Set("X-RateLimit-Reset", "2")
		}, []time.Duration{0, 2 * s, 2 * s}},
		"nothing": {1500 * ms, func(http.Header, time.Duration) {}, []time.Duration{0, s, 2 * s}},
		"nothing valid": {500 * ms, func(h http.Header, _ time.Duration) { h.Set("Retry-After", "soon") },
			[]time.Duration{0, s, s}},
		"longer than it is": {s,
			func(h http.Header, _ time.Duration) { h.Set("Retry-After", "999999999999") },
			[]time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, denying(tt.opens, tt.say), func(t *testing.T, o Options) {
				tl := mustRecord(t, schedule(timeline.Phase{
					Name: "h", Shape: timeline.HonorRetryAfter, Clients: 1, Partitions: []string{"k"},
					Requests: 3, Duration: 10 * s,
				}), o)
				if d := cmp.Diff(tt.want, sends(tl, "h")); d != "" {
					t.Error(d)
				}
				if tl.Header.Ended < 10*s && len(tt.want) < 3 {
					t.Errorf("ended at %v: the phase lasts 10s", tl.Header.Ended)
				}
			})
		})
	}
}

func TestClientsOfOnePartitionComeBackTogether(t *testing.T) {
	h := denying(2*time.Second, func(h http.Header, _ time.Duration) { h.Set("Retry-After", "2") })
	virtual(t, h, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(timeline.Phase{
			Name: "h", Shape: timeline.HonorRetryAfter, Clients: 5, Partitions: []string{"k"}, Requests: 10,
		}), o)
		got := sends(tl, "h")
		for i, at := range got {
			if want := time.Duration(i/5) * 2 * time.Second; at != want || tl.Observations[i].At != want {
				t.Errorf("request %d: sent at %v, due %v, want %v", i, at, tl.Observations[i].At, want)
			}
		}
		if len(got) != 10 {
			t.Errorf("got %d requests, want 10", len(got))
		}
	})
}

func TestAClientWithoutAnAnswerPausesBeforeTheNext(t *testing.T) {
	n := 0
	drop := func(w http.ResponseWriter, r *http.Request) { n++; panic(http.ErrAbortHandler) }
	virtual(t, drop, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(timeline.Phase{
			Name: "c", Shape: timeline.Closed, Clients: 1, Partitions: []string{"k"}, Duration: time.Second,
		}), o)
		if len(tl.Observations) != 10 || n != 11 { // the last one tests whether the target speaks HTTP/2
			t.Errorf("got %d requests in a second, the target saw %d, want 10 and 11", len(tl.Observations),
				n)
		}
		for _, x := range tl.Observations {
			if x.Error != "eof" {
				t.Errorf("got error %q, want eof", x.Error)
			}
		}
	})
}
