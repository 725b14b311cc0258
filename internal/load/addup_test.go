package load

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// faultyNow tells whether a test server answers the current request wrongly: every third one.
func faultyNow(n *atomic.Int64) bool { return n.Add(1)%3 == 0 }

// faultsOfHTTP1 are what a target does to a connection instead of answering.
func faultsOfHTTP1() map[string]func(net.Conn) {
	say := func(text string) func(net.Conn) { return func(c net.Conn) { io.WriteString(c, text) } }
	return map[string]func(net.Conn){
		"drops":         func(net.Conn) {},
		"resets":        reset,
		"hangs":         func(c net.Conn) { io.Copy(io.Discard, c) },
		"half a header": say("HTTP/1.1 200 OK\r\nDa"),
		"half a body":   say("HTTP/1.1 429 No\r\nContent-Length: 100\r\n\r\nhalf"),
		"garbage":       say("\x00\x01\x02 hello\n\n"),
		"a header bomb": func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("a", 1<<17)+"\r\n\r\n")
		},
		"two answers": say(strings.Repeat("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 2)),
		"interim answers without an end": func(c net.Conn) {
			io.WriteString(c, strings.Repeat("HTTP/1.1 103 x\r\n\r\n", 1<<13))
		},
	}
}

// faultsOfHTTP2 are what a target does to a connection instead of answering on a stream.
func faultsOfHTTP2() map[string]func(p *peer, id uint32) {
	return map[string]func(p *peer, id uint32){
		"drops":  func(p *peer, _ uint32) { p.c.Close() },
		"resets": func(p *peer, id uint32) { p.WriteRSTStream(id, http2.ErrCodeRefusedStream) },
		"hangs":  func(*peer, uint32) {},
		"half a body": func(p *peer, id uint32) {
			p.answer(id, false)
			p.WriteRSTStream(id, http2.ErrCodeInternal)
		},
		"goes away": func(p *peer, id uint32) { p.WriteGoAway(id-1, http2.ErrCodeNo, nil) },
		"goes and ends": func(p *peer, _ uint32) {
			p.WriteGoAway(0, http2.ErrCodeInternal, nil)
			p.c.Close()
		},
		"a flood of settings": func(p *peer, _ uint32) {
			for range 20_000 {
				if p.WriteSettings() != nil {
					return
				}
			}
		},
		"a header bomb": func(p *peer, id uint32) {
			bomb := append(block(":status", "200"), block("a", strings.Repeat("a", 3000))...)
			for len(bomb) < 16_000 { // each byte decodes to 3,000
				bomb = append(bomb, 0xbe)
			}
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, EndStream: true,
				BlockFragment: bomb})
		},
		"a window of 0": func(p *peer, _ uint32) {
			p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize})
		},
		"no room": func(p *peer, id uint32) {
			p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
			p.answer(id, true)
		},
		"an answer to nothing": func(p *peer, id uint32) { p.answer(id+100, true) },
	}
}

// TestNumbersAddUpWhereEveryThirdAnswerIsWrong: a target does something wrong with every third request. Each
// planned request is sent or not sent, and each sent one has one outcome. The numbers agree in the recording,
// in its phases and in the last progress.
func TestNumbersAddUpWhereEveryThirdAnswerIsWrong(t *testing.T) {
	try := func(name string, o Options) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addsUp(t, o)
		})
	}
	for name, fault := range faultsOfHTTP1() {
		var n atomic.Int64
		try("HTTP1 "+name, Options{Timeout: 300 * time.Millisecond, URL: loopback(t, func(c net.Conn) {
			br := bufio.NewReader(c)
			for {
				if _, err := http.ReadRequest(br); err != nil {
					return
				}
				if faultyNow(&n) {
					fault(c)
					return
				}
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
		})})
	}
	for name, fault := range faultsOfHTTP2() {
		var n atomic.Int64
		try("HTTP2 "+name, Options{HTTP2: true, Timeout: 300 * time.Millisecond, Method: "POST",
			Body: make([]byte, 100), URL: loopback(t, func(c net.Conn) {
				p := speak(c)
				for id := uint32(1); id != 0; id = p.next() {
					if faultyNow(&n) {
						fault(p, id)
					} else {
						p.answer(id, true)
					}
				}
			})})
	}
}

// addsUp records a burst, an even flow and clients, and compares their numbers.
func addsUp(t *testing.T, o Options) {
	plan := map[string]int{"burst": 6, "flow": 12, "clients": 12}
	s := schedule(
		timeline.Phase{Name: "burst", Shape: timeline.AtOnce, Arrivals: each(plan["burst"], 0, "k", 0)},
		timeline.Phase{Name: "flow", Shape: timeline.Constant,
			Arrivals: each(plan["flow"], 5*time.Millisecond, "k", plan["burst"])},
		timeline.Phase{Name: "clients", Shape: timeline.Closed, Clients: 3, Partitions: []string{"k"},
			Requests: plan["clients"]},
	)
	var mu sync.Mutex
	var last Progress
	o.Progress = func(p Progress) { mu.Lock(); last = p; mu.Unlock() }
	tl := mustRecord(t, s, o)
	c := tl.Counts()
	if c.Planned != 30 || c.Sent+c.Unsent != 30 || c.Allowed+c.Denied+c.Unknown != c.Sent {
		t.Errorf("got %+v, want 30 planned; notes %q", c, tl.Header.Notes)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, o := range tl.Observations { // surplus answers are only known at the end
		if o.Error == transport.CauseSurplus {
			c.Unknown, c.Allowed = c.Unknown-1, c.Allowed+1
		}
	}
	if last.Allowed != c.Allowed || last.Denied != c.Denied || last.Unknown != c.Unknown ||
		last.Sent != c.Sent {
		t.Errorf("the last progress is %+v, the recording has %+v", last, c)
	}
	if c.Allowed == 0 {
		t.Errorf("got %+v, want some answered", c)
	}
	for _, k := range tl.Header.Phases {
		if k.Sent+k.Unsent != plan[k.Phase] {
			t.Errorf("phase %s: %d sent and %d not, want %d in all", k.Phase, k.Sent, k.Unsent, plan[k.Phase])
		}
	}
	if len(tl.Header.Phases) != len(plan) {
		t.Errorf("got %d phases: %+v", len(tl.Header.Phases), tl.Header.Phases)
	}
}

// TestThePhaseKnowsHowLateAnswersWereRead: an answer that comes only after a lag was measured is of a phase
// that has one.
func TestThePhaseKnowsHowLateAnswersWereRead(t *testing.T) {
	measured := make(chan struct{})
	u := loopbackHTTP(t, func(http.ResponseWriter, *http.Request) { <-measured })
	var r *recorder
	once := sync.OnceFunc(func() { close(measured) })
	t.Cleanup(once)
	r = newRecorder(one(), must((&Options{URL: u, Timeout: time.Minute,
		Keeping: Keeping{Progress: func(Progress) {
			if r.lag.Of("one") > 0 {
				once()
			}
		}}}).Complete()))
	if tl := r.record(t.Context()); len(tl.Header.Phases) != 1 || tl.Header.Phases[0].ReadLag <= 0 ||
		tl.Counts().Allowed != 1 {
		t.Errorf("got %d answers and %+v, want one, with a lag", tl.Counts().Allowed, tl.Header.Phases)
	}
}
