package load

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestFreshConnectionsAreUsedOnce(t *testing.T) {
	var mu sync.Mutex
	served := map[string]int{}
	h := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		served[r.RemoteAddr]++
	}
	u := loopbackHTTP(t, h)
	phase := func(name string, fresh bool) timeline.Phase {
		return timeline.Phase{Name: name, Shape: timeline.Closed, Clients: 1, Partitions: []string{"k"},
			Requests: 5, Request: timeline.Request{Fresh: fresh}}
	}
	mustRecord(t, schedule(phase("kept", false), phase("fresh", true)), Options{URL: u,
		Pacer: transport.SleepingPacer()})
	if len(served) != 6 || !slices.Contains(slices.Sorted(func(yield func(int) bool) {
		for _, n := range served {
			if !yield(n) {
				return
			}
		}
	}), 5) {
		t.Errorf("got connections with %v requests, want one with five and five with one", served)
	}
}

// backOffSends runs clients against a handler and returns when their requests were sent.
func backOffSends(t *testing.T, clients int, h http.HandlerFunc, retry timeline.Retry) (sent []time.Duration,
	tl *timeline.Timeline) {
	t.Helper()
	virtual(t, h, func(t *testing.T, o Options) {
		tl = mustRecord(t, schedule(timeline.Phase{Name: "b", Shape: timeline.Backoff, Clients: clients,
			Partitions: []string{"k"},
			Requests:   1000, Duration: 10 * time.Second, Retry: retry}), o)
		sent = sends(tl, "b")
	})
	return sent, tl
}

func TestRetriesWaitAsTheirPolicySays(t *testing.T) {
	says := func(v string) func(http.Header, time.Duration) {
		return func(h http.Header, _ time.Duration) { h["Retry-After"] = []string{v} }
	}
	none := func(http.Header, time.Duration) {}
	const s = time.Second
	for name, tt := range map[string]struct {
		opens time.Duration
		say   func(http.Header, time.Duration)
		retry timeline.Retry
		want  []time.Duration
	}{
		"fixed": {250 * ms, none, timeline.Retry{Policy: timeline.RetryFixed, Base: 100 * ms},
			[]time.Duration{0, 100 * ms, 200 * ms, 300 * ms}},
		"exponential": {s, none, timeline.Retry{Policy: timeline.RetryExponential, Base: 100 * ms,
			Max: 400 * ms}, []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1100 * ms}},
		"as told": {1500 * ms, says("1"),
			timeline.Retry{Policy: timeline.RetryAsTold, Base: 100 * ms}, []time.Duration{0, s, 2 * s}},
		"as told nothing": {150 * ms, none, timeline.Retry{Policy: timeline.RetryAsTold, Base: 100 * ms},
			[]time.Duration{0, 100 * ms, 200 * ms}},
		"out of budget": {9 * s, none, timeline.Retry{Policy: timeline.RetryFixed, Base: 100 * ms,
			Budget: 200}, []time.Duration{0, 100 * ms, 200 * ms}},
		"an opened breaker": {650 * ms, none, timeline.Retry{Policy: timeline.RetryFixed, Base: 100 * ms,
			Breaker: 3, Open: 500 * ms}, []time.Duration{0, 100 * ms, 200 * ms, 700 * ms}},
	} {
		sent, tl := backOffSends(t, 1, denying(tt.opens, tt.say), tt.retry)
		if d := cmp.Diff(tt.want, sent); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if tl.Header.Ended >= 10*s || tl.Header.Unsent != 0 {
			t.Errorf("%s: ended at %v with %d unsent, want the end when the client was admitted or gave up",
				name, tl.Header.Ended, tl.Header.Unsent)
		}
	}
}

func TestJitterSpreadsRetriesAndRepeats(t *testing.T) {
	retry := timeline.Retry{Policy: timeline.RetryFixed, Base: 100 * ms, Jitter: true, Seed: 7}
	h := func() http.HandlerFunc { return denying(50*ms, func(http.Header, time.Duration) {}) }
	first, _ := backOffSends(t, 1, h(), retry)
	again, _ := backOffSends(t, 1, h(), retry)
	if d := cmp.Diff(first, again); d != "" || len(first) < 2 || first[1] > 100*ms {
		t.Errorf("got %v and %v, want the same waits of at most 100ms", first, again)
	}
	retry.Seed = 8
	if other, _ := backOffSends(t, 1, h(), retry); slices.Equal(first, other) {
		t.Errorf("got %v for two seeds", other)
	}
}

func TestEventsHappenBetweenPhases(t *testing.T) {
	burst := timeline.Phase{Name: "burst", Shape: timeline.AtOnce, Arrivals: each(2, 0, "k", 0)}
	again := timeline.Phase{Name: "again", Shape: timeline.AtOnce, Arrivals: each(2, 0, "k", 2)}
	hook := timeline.Phase{Name: "hook", Shape: timeline.Hook,
		Event: timeline.Event{Action: timeline.Restart}}
	var mu sync.Mutex
	var order []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	for name, tt := range map[string]struct {
		err    error
		want   string
		unsent int
	}{
		"done":   {nil, "request request restart request request", 0},
		"failed": {errors.New("no such\x1bservice"), "request request restart", 2},
	} {
		order = nil
		virtual(t, func(http.ResponseWriter, *http.Request) { note("request") },
			func(t *testing.T, o Options) {
				o.Do = func(_ context.Context, e timeline.Event) error {
					note(string(e.Action))
					return tt.err
				}
				tl := mustRecord(t, schedule(burst, hook, again), o)
				if got := strings.Join(order, " "); got != tt.want || tl.Header.Unsent != tt.unsent {
					t.Errorf("%s: got %s and %d unsent, want %s and %d", name, got, tl.Header.Unsent, tt.want,
						tt.unsent)
				}
				if notes := strings.Join(tl.Header.Notes, "\n"); tt.err != nil &&
					notes != "stopped: hook: no such service" {
					t.Errorf("%s: got notes %q, want the error", name, notes)
				}
			})
	}
}

func TestRefusedRequestsOfAPhase(t *testing.T) {
	for want, p := range map[string]timeline.Phase{
		"begins with a slash": {Shape: timeline.Constant, Request: timeline.Request{Path: "a"}},
		"printable ASCII": {Shape: timeline.Constant,
			Request: timeline.Request{Path: "/ HTTP/1.1\r\n"}},
		"a method is a token":  {Shape: timeline.Constant, Request: timeline.Request{Method: "GET /"}},
		"turns the connection": {Shape: timeline.Constant, Request: timeline.Request{Method: "CONNECT"}},
		"canonical form": {Shape: timeline.Constant,
			Request: timeline.Request{Header: map[string]string{"x-a": "1"}}},
		"no control characters": {Shape: timeline.Constant,
			Request: timeline.Request{Header: map[string]string{"X-A": "1\r\nY: 2"}}},
		"key of a partition": {Shape: timeline.Constant,
			Request: timeline.Request{Keys: map[string]string{"a": "b\n"}}},
	} {
		p.Name = "p"
		_, err := Record(context.Background(), schedule(p),
			Options{URL: must(url.Parse("http://127.0.0.1:9/"))})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}
