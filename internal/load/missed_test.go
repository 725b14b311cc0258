package load

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// If the plan was not kept, the mend fits the cause.
func TestWhatKeepsThePlanIsMended(t *testing.T) {
	wait := func(d time.Duration) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) { time.Sleep(d) }
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		set    func(*Options)
		want   string
	}{
		"a ceiling of requests": {wait(0), func(o *Options) { o.MaxRequests = 10 },
			"max_requests, which is 10"},
		"a ceiling of time": {wait(0), func(o *Options) { o.MaxDuration = 300 * time.Millisecond },
			"max_duration, which is 300ms"},
		"slow answers": {wait(time.Second), func(o *Options) { o.MaxConnections = 4 },
			"max_connections"},
		"slow answers, no limit": {wait(time.Second), func(*Options) {}, ""},
		"nothing":                {wait(0), func(o *Options) { o.MaxConnections = 4 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, tt.answer, func(t *testing.T, o Options) {
				tt.set(&o)
				s := schedule(timeline.Phase{Name: "p", Shape: timeline.Constant, Duration: 2 * time.Second,
					Arrivals: each(100, 20*time.Millisecond, "k", 0)})
				tl := mustRecord(t, s, o)
				c := tl.Counts()
				if got := transport.CauseMissedRemedy(tl); !strings.Contains(got, tt.want) ||
					(got == "") != (tt.want == "") {
					t.Errorf("got %q, want %q; %+v", got, tt.want, c)
				}
				if c.Planned != 100 || (c.Unsent > 0) != (tt.want != "") {
					t.Errorf("got %+v", c)
				}
			})
		})
	}
}

// Whatever a target does, the planned requests are the sent ones plus the unsent ones.
func TestNumbersAddUpUnderEveryFault(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"resets each stream": func(c net.Conn) {
			p := speak(c)
			for id := uint32(1); id != 0; id = p.next() {
				p.WriteRSTStream(id, http2.ErrCodeInternal)
			}
		},
		"goes away after each answer": func(c net.Conn) {
			p := speak(c)
			p.answer(1, true)
			p.WriteGoAway(1, http2.ErrCodeNo, nil)
			p.listen()
		},
		"goes away before each": func(c net.Conn) {
			p := speak(c)
			p.WriteGoAway(0, http2.ErrCodeNo, nil)
			p.listen()
		},
		"hangs up": func(c net.Conn) { speak(c) },
		"answers each third": func(c net.Conn) {
			p := speak(c)
			for id, n := uint32(1), 0; id != 0; id, n = p.next(), n+1 {
				if n%3 == 0 {
					p.answer(id, true)
				}
			}
		},
		"takes two at a time": func(c net.Conn) {
			p := speak(c, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
			for id := uint32(1); id != 0; id = p.next() {
				p.answer(id, true)
			}
		},
		"takes none after the first": func(c net.Conn) {
			p := speak(c)
			p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams})
			p.answer(1, true)
			p.listen()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := mustRecord(t, schedule(
				timeline.Phase{Name: "a", Shape: timeline.AtOnce, Arrivals: each(20, 0, "k", 0)},
				timeline.Phase{Name: "b", Shape: timeline.Constant,
					Arrivals: each(20, 10*time.Millisecond, "k", 20)},
				timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 4, Partitions: []string{"k"},
					Requests: 20},
			), Options{URL: loopback(t, serve), HTTP2: true, Timeout: 200 * time.Millisecond})
			c := tl.Counts()
			if c.Planned != 60 || c.Sent != c.Allowed+c.Denied+c.Unknown || tl.Header.Ended > 10*time.Second {
				t.Errorf("got %+v in %v, notes %q", c, tl.Header.Ended, tl.Header.Notes)
			}
		})
	}
}
