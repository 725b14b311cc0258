package identify

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// sending calls use with an endpoint that a handler serves.
func sending(t *testing.T, h http.HandlerFunc, use func(*testing.T, *Endpoint)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: h}
		go func() { _ = server.Serve(p) }()
		use(t, &Endpoint{Load: load.Options{Dial: p.dial, Answers: load.Answers{Classify: statuses},
			Pacer:   transport.SleepingPacer(),
			Timeout: 5 * time.Second, URL: &url.URL{Scheme: "http", Host: "127.0.0.1", Path: "/"}}})
		close(p.done)
		_ = server.Close()
	})
}

// asked is what Identify finds out about a handler, by requests at least 20 ms apart.
func asked(t *testing.T, h http.HandlerFunc, within time.Duration) (res *Result) {
	t.Helper()
	sending(t, h, func(t *testing.T, l *Endpoint) {
		res = Identify(t.Context(), l, Options{Alike: true, Budget: Budget{
			MaxRequests: 400, MaxTime: within, Every: 20 * time.Millisecond}})
	})
	return res
}

// TestErrorsEndTheSearch: nothing more is sent to a target in trouble, even in the middle of a phase.
func TestErrorsEndTheSearch(t *testing.T) {
	fails := map[string]func(w http.ResponseWriter){
		"status 500": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"status 502": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"eof":        func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	}
	for name, fail := range fails {
		n := 0
		res := asked(t, func(w http.ResponseWriter, _ *http.Request) {
			if n++; n > 7 {
				fail(w)
			}
		}, time.Minute)
		if c := res.Timeline.Counts(); c.Sent != 7+MostLost || !strings.Contains(res.Stopped, name) {
			t.Errorf("%s: got %d requests and %q, want %d", name, c.Sent, res.Stopped, 7+MostLost)
		}
	}
}

// TestSlowAnswersEndWithTheTime: no request begins after the time is over, however slow answers are.
func TestSlowAnswersEndWithTheTime(t *testing.T) {
	res := asked(t, func(http.ResponseWriter, *http.Request) { time.Sleep(900 * time.Millisecond) },
		20*time.Second)
	all := res.Timeline.Observations
	if last := all[len(all)-1].Sent; last > 20*time.Second || last < 15*time.Second {
		t.Errorf("the last of %d requests was sent at %s, want within 20s, and not long before", len(all),
			last)
	}
}

// TestThePhaseEndsWithTheTime: a phase does not wait for requests that are due after the time is over.
func TestThePhaseEndsWithTheTime(t *testing.T) {
	sending(t, func(http.ResponseWriter, *http.Request) { time.Sleep(900 * time.Millisecond) },
		func(t *testing.T, l *Endpoint) {
			all, err := l.Send(t.Context(), Phase{Name: "seldom", Requests: 4,
				Every: 12 * time.Second, Until: 20 * time.Second})
			if now := l.Now(); err != nil || len(all) != 2 || now > 20*time.Second {
				t.Errorf("%d requests took %s, %v, want 2 within 20s", len(all), now, err)
			}
			turns := []Phase{{Name: "seldom", Requests: 4, Every: 12 * time.Second}}
			all, err = l.Turns(t.Context(), 0, 40*time.Second, turns)
			if now := l.Now(); err != nil || len(all) != 1 || now > 40*time.Second {
				t.Errorf("%d requests of a round took until %s, %v, want 1 within 40s", len(all), now, err)
			}
			if notes := l.Header().Notes; len(notes) > 0 {
				t.Errorf("got the notes %q, want none: the plan was not to send more", notes)
			}
		})
}

// TestProgressIsThatOfAllRounds: whatever the names of their phases, and however many a round has.
func TestProgressIsThatOfAllRounds(t *testing.T) {
	n := 0
	every := func(w http.ResponseWriter, _ *http.Request) {
		if n++; n%3 == 0 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	sending(t, every, func(t *testing.T, l *Endpoint) {
		var got load.Progress
		l.Load.Progress = func(p load.Progress) { got = p }
		for range 2 {
			_, _ = l.Send(t.Context(), Phase{Name: "fill", Requests: 4, Every: time.Second})
			_, _ = l.Turns(t.Context(), 0, time.Hour, []Phase{
				{Name: "fill", Requests: 2, Every: time.Second},
				{Name: "other", Requests: 3, Every: time.Second}})
		}
		if got.Sent != 18 || got.Allowed != 12 || got.Denied != 6 || got.Unknown != 0 {
			t.Errorf("got %+v, want 18 requests, 6 of them denied", got)
		}
	})
}

// TestRetryAfterIsHonoured: if polite, nothing is sent before the wait of a denial is over, even within a
// phase. Denials that state no wait change nothing.
func TestRetryAfterIsHonoured(t *testing.T) {
	for _, x := range []struct {
		polite bool
		wait   string
		most   int // requests of a phase that ends with its third denial
	}{{true, "3", 1}, {true, "", 3}, {false, "3", 3}} {
		sending(t, func(w http.ResponseWriter, _ *http.Request) {
			if x.wait != "" {
				w.Header().Set("Retry-After", x.wait)
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}, func(t *testing.T, l *Endpoint) {
			l.Polite = x.polite
			for range 2 { // the first phase shows whether denials state waits
				all, err := l.Send(t.Context(), Phase{Name: "denied", Requests: 5,
					Every: time.Second, Denials: 3})
				if now := l.Now(); err != nil || x.polite && x.wait != "" && all[0].Sent+time.Second < now {
					t.Errorf("%+v: sent at %s, it is %s, %v", x, all[0].Sent, now, err)
				}
				if len(all) > x.most || l.Wait() > 0 != (x.most == 1) {
					t.Errorf("%+v: got %d requests, and %s to wait", x, len(all), l.Wait())
				}
			}
		})
	}
}

// TestALimitOfRequestsInFlightHasNoOtherName: four at once for 300 ms each must not become four in 300 ms.
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
	}, func(t *testing.T, e *Endpoint) {
		res = Identify(t.Context(), e, Options{Alike: true, Fresh: true,
			Budget: Budget{MaxRequests: 60, MaxTime: time.Minute, Every: 20 * time.Millisecond}})
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
}

// TestWhatDeniesNothingSaysWhatWasNotSeen: including how many were under way at once.
func TestWhatDeniesNothingSaysWhatWasNotSeen(t *testing.T) {
	res := asked(t, func(http.ResponseWriter, *http.Request) {}, 2*time.Second)
	const want = "or of more than 1 in flight"
	if res.Verdict != Open || !strings.Contains(res.Stopped, want) {
		t.Errorf("got %s %q, want it open: %s", res.Verdict, res.Stopped, want)
	}
}

// TestASleepEndsTheSearch: a limiter gains units while this computer sleeps, and no clock here tells. What
// was learned before still counts.
func TestASleepEndsTheSearch(t *testing.T) {
	var last time.Time
	sending(t, func(http.ResponseWriter, *http.Request) { last = time.Now() },
		func(t *testing.T, l *Endpoint) {
			began := time.Now()
			l.jumped = func() time.Duration {
				if time.Since(began) < 2*time.Second {
					return 0
				}
				return time.Minute
			}
			res := Identify(t.Context(), l, Options{Alike: true, Budget: Budget{
				MaxRequests: 400, MaxTime: time.Minute, Every: 20 * time.Millisecond}})
			sent := res.Timeline.Counts().Sent
			if !strings.Contains(res.Stopped, "slept") || sent == 0 || last.Sub(began) > 6*time.Second {
				t.Errorf("stopped because %q, after %d requests, the last after %v", res.Stopped, sent,
					last.Sub(began))
			}
		})
}

// six is a connection over IP version 6.
type six struct{ net.Conn }

func (six) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv6loopback, Port: 80} }

// TestAllPhasesUseOneVersionOfIP: a limiter that counts by address sees one client.
func TestAllPhasesUseOneVersionOfIP(t *testing.T) {
	sending(t, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, l *Endpoint) {
		dial := l.Load.Dial
		var asked []string
		l.Load.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			asked = append(asked, network)
			nc, err := dial(ctx, network, addr)
			return six{nc}, err
		}
		for range 2 {
			if _, err := l.Send(t.Context(), Phase{Name: "p", Requests: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Contains(asked[1:], "tcp6") || slices.Contains(asked[1:], "tcp") {
			t.Errorf("asked for %v", asked)
		}
	})
}
