package load

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// peer is a server of HTTP/2 that a test controls.
type peer struct {
	*http2.Framer
	c net.Conn
	// header is the header block of an answer with status 200.
	header []byte
}

// speak exchanges settings on c and returns the peer after the first request, which it does not answer.
func speak(c net.Conn, settings ...http2.Setting) *peer {
	p := &peer{Framer: http2.NewFramer(c, c), c: c, header: block(":status", "200")}
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return p
	}
	p.WriteSettings(settings...)
	p.next()
	return p
}

// next waits for a request and returns the id of its stream, 0 at the end of the connection.
func (p *peer) next() uint32 {
	for {
		f, err := p.ReadFrame()
		if err != nil {
			return 0
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			return f.StreamID
		case *http2.SettingsFrame:
			if !f.IsAck() {
				p.WriteSettingsAck()
			}
		}
	}
}

// answer sends the header block of an answer.
func (p *peer) answer(id uint32, end bool) {
	p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.header, EndStream: end,
		EndHeaders: true})
}

// listen reads to the end of the connection.
func (p *peer) listen() { io.Copy(io.Discard, p.c) }

func block(fields ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

// Whatever a peer of HTTP/2 does wrong becomes the outcome of one request, in bounded time.
func TestBrokenTargetsOfHTTP2AreObserved(t *testing.T) {
	raw := func(text string) func(net.Conn) {
		return func(c net.Conn) { io.WriteString(c, text); io.Copy(io.Discard, c) }
	}
	status := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			p := speak(c)
			p.header = block(":status", text)
			p.answer(1, true)
			p.listen()
		}
	}
	for name, tt := range map[string]struct {
		serve  func(net.Conn)
		body   int
		status int
		word   string
		undone bool
		stalls bool // it stalls after the status
	}{
		"an answer": {serve: func(c net.Conn) { p := speak(c); p.answer(1, true); p.listen() }, status: 200},
		"an answer and a body": {status: 200, serve: func(c net.Conn) {
			p := speak(c)
			p.answer(1, false)
			p.WriteData(1, true, []byte("ok"))
			p.listen()
		}},
		"interim answers and trailers": {status: 200, serve: func(c net.Conn) {
			p := speak(c)
			last := p.header
			p.header = block(":status", "103", "link", "x")
			p.answer(1, false)
			p.header = last
			p.answer(1, false)
			p.header = block("x-checksum", "1")
			p.answer(1, true)
			p.listen()
		}},
		"a stream that is reset": {word: "reset",
			serve: func(c net.Conn) {
				p := speak(c)
				p.WriteRSTStream(1, http2.ErrCodeRefusedStream)
				p.listen()
			}},
		"a reset within the body": {status: 200, undone: true,
			serve: func(c net.Conn) {
				p := speak(c)
				p.answer(1, false)
				p.WriteRSTStream(1,
					2)
				p.listen()
			}},
		"GOAWAY before the stream": {word: "closed", serve: func(c net.Conn) {
			p := speak(c)
			p.WriteGoAway(0, http2.ErrCodeNo, nil)
			p.listen()
		}},
		"GOAWAY after the stream": {status: 200, serve: func(c net.Conn) {
			p := speak(c)
			p.WriteGoAway(1, http2.ErrCodeNo, nil)
			p.answer(1, true)
			p.listen()
		}},
		"closed after the settings": {word: "eof", serve: func(c net.Conn) { speak(c) }},
		"a window of 0 that never opens": {body: 100, word: "timeout", serve: func(c net.Conn) {
			speak(c, http2.Setting{ID: http2.SettingInitialWindowSize}).listen()
		}},
		"an answer before the window opens": {body: 100, status: 200, serve: func(c net.Conn) {
			p := speak(c, http2.Setting{ID: http2.SettingInitialWindowSize})
			p.answer(1, true)
			p.listen()
		}},
		"a window that overflows": {word: "malformed",
			serve: func(c net.Conn) { p := speak(c); p.WriteWindowUpdate(0, 1<<31-1); p.listen() }},
		"a flood of settings": {word: "malformed",
			serve: flooding(func(p *peer) error { return p.WriteSettings() })},
		"a flood of pings": {word: "malformed",
			serve: flooding(func(p *peer) error { return p.WritePing(false, [8]byte{}) })},
		"a flood of windows": {word: "malformed",
			serve: flooding(func(p *peer) error { return p.WriteWindowUpdate(1, 1) })},
		"a flood of unknown frames": {word: "malformed",
			serve: flooding(func(p *peer) error { return p.WriteRawFrame(0xbb, 0, 1, nil) })},
		"a flood of interim answers": {word: "header-too-large", serve: flooding(func(p *peer) error {
			p.header = block(":status", "103")
			p.answer(1, false)
			return p.WriteSettingsAck()
		})},
		"a header bomb": {word: "header-too-large", serve: func(c net.Conn) {
			p := speak(c)
			long := block("a", strings.Repeat("a", 3000))
			p.header = append(block(":status", "200"), long...)
			for len(p.header) < 16000 { // each byte decodes to 3,000
				p.header = append(p.header, 0xbe)
			}
			p.answer(1, true)
			p.listen()
		}},
		"a header without an end": {word: "malformed", serve: func(c net.Conn) {
			p := speak(c)
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.header})
			for p.WriteContinuation(1, false, block("a", strings.Repeat("a", 10000))) == nil {
			}
		}},
		"a stream that stalls": {word: "timeout", serve: func(c net.Conn) { speak(c).listen() }},
		"a stall within a frame": {word: "timeout", serve: func(c net.Conn) {
			p := speak(c)
			io.WriteString(c, "\x00\x00\x09\x01\x05\x00\x00\x00\x01\x88")
			p.listen()
		}},
		"a body that stalls": {stalls: true, status: 200, undone: true,
			serve: func(c net.Conn) { p := speak(c); p.answer(1, false); p.listen() }},
		"a body of 300 MB": {status: 200, undone: true,
			serve: func(c net.Conn) { p := speak(c); p.answer(1, false); p.pour(300 << 20) }},
		"a body before headers": {word: "malformed",
			serve: func(c net.Conn) { p := speak(c); p.WriteData(1, true, []byte("ok")); p.listen() }},
		"an answer to nothing": {word: "malformed", serve: func(c net.Conn) {
			p := speak(c)
			p.answer(7, true)
			p.listen()
		}},
		"a push": {word: "malformed", serve: func(c net.Conn) {
			p := speak(c)
			p.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: p.header,
				EndHeaders: true})
			p.listen()
		}},
		"a frame of 16 MB": {word: "malformed",
			serve: func(c net.Conn) { speak(c); io.WriteString(c, "\xff\xff\xff\x00\x00\x00\x00\x00\x01") }},
		"no stream at a time": {word: "reset", serve: func(c net.Conn) {
			speak(c, http2.Setting{ID: http2.SettingMaxConcurrentStreams}).listen()
		}},
		"settings that are not": {word: "malformed", serve: func(c net.Conn) {
			speak(c, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1}).listen()
		}},
		"a status of letters": {word: "malformed", serve: status("two")},
		"a status of 0":       {word: "malformed", serve: status("0")},
		"status 101":          {word: "malformed", serve: status("101")},
		"no status": {word: "malformed",
			serve: func(c net.Conn) {
				p := speak(c)
				p.header = block("a", "b")
				p.answer(1, true)
				p.listen()
			}},
		"HTTP/1.1 only": {word: "no-http2",
			serve: raw("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")},
		"closed at the preface": {word: "no-http2", serve: func(c net.Conn) {
			c.Read(make([]byte, 4096))
		}},
		"silence at the preface":     {word: "timeout", serve: raw("")},
		"a TLS alert at the preface": {word: "wants-tls", serve: raw("\x15\x03\x01\x00\x02\x02\x46")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := time.Minute // longer than any machine needs
			switch {
			case tt.word == "timeout":
				patience = 400 * time.Millisecond
			case tt.stalls:
				patience = 4 * time.Second
			}
			o := Options{URL: loopback(t, tt.serve), HTTP2: true, Timeout: patience,
				Body: make([]byte, tt.body)}
			tl := mustRecord(t, one(), o)
			got := tl.Observations[0]
			if got.Status != tt.status || got.Error != tt.word || got.Answered != (tt.word == "") {
				t.Errorf("got status %d, error %q, answered %v, want %d, %q; notes %q",
					got.Status, got.Error, got.Answered, tt.status, tt.word, tl.Header.Notes)
			}
			if undone := got.Answered && got.Done == 0; undone != tt.undone {
				t.Errorf("done at %v, want undone %v", got.Done, tt.undone)
			}
		})
	}
}

// flooding sends the same frame without end.
func flooding(write func(*peer) error) func(net.Conn) {
	return func(c net.Conn) {
		p := speak(c)
		go p.listen()
		for write(p) == nil {
		}
	}
}

// pour sends n bytes of a body, as far as the windows allow.
func (p *peer) pour(n int) {
	part := make([]byte, 16<<10)
	for ; n > 0; n -= len(part) {
		if p.WriteData(1, false, part) != nil {
			return
		}
	}
}

// A stream without an answer, or one that is reset, does not affect the other streams of its connection.
func TestStreamsAreApart(t *testing.T) {
	u := loopback(t, func(c net.Conn) {
		p := speak(c)
		var late []uint32
		for id := uint32(1); id != 0; id = p.next() {
			switch id {
			case 3:
			case 5:
				p.WriteRSTStream(id, http2.ErrCodeInternal)
			default:
				late = append(late, id)
			}
			if len(late) >= 8 { // in reverse order
				for i := range late {
					p.answer(late[len(late)-1-i], true)
				}
				late = nil
			}
		}
	})
	s := schedule(timeline.Phase{Name: "b", Shape: timeline.AtOnce, Arrivals: each(10, 0, "k", 0)})
	tl := mustRecord(t, s, Options{URL: u, HTTP2: true, Timeout: 3 * time.Second})
	words := map[string]int{}
	for _, o := range tl.Observations {
		words[o.Error]++
	}
	if words[""] != 8 || words["timeout"] != 1 || words["reset"] != 1 || tl.Header.Audit.Connections != 1 {
		t.Errorf("got %v over %d connections, notes %q", words, tl.Header.Audit.Connections, tl.Header.Notes)
	}
}

// If a target takes few streams at a time, more connections are opened. If it ends them, new ones are opened.
func TestConnectionsOfHTTP2AreReplaced(t *testing.T) {
	var mu sync.Mutex
	open, most := 0, 0
	u := loopback(t, func(c net.Conn) {
		p := speak(c, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 4})
		mu.Lock()
		open++
		most = max(most, open)
		mu.Unlock()
		for id, n := uint32(1), 1; id != 0; id, n = p.next(), n+1 {
			if n == 10 {
				p.WriteGoAway(id, http2.ErrCodeNo, nil)
			}
			p.answer(id, true)
		}
		mu.Lock()
		open--
		mu.Unlock()
	})
	tl := mustRecord(t, schedule(
		timeline.Phase{Name: "burst", Shape: timeline.AtOnce, Arrivals: each(12, 0, "k", 0)},
		timeline.Phase{Name: "one by one", Shape: timeline.Closed, Clients: 1, Partitions: []string{"k"},
			Requests: 60},
	), Options{URL: u, HTTP2: true})
	mu.Lock()
	defer mu.Unlock()
	if c := tl.Counts(); c.Allowed < 72 || most < 3 || tl.Header.Audit.Connections < 7 {
		t.Errorf("got %+v over %d connections, %d at a time; notes %q", c, tl.Header.Audit.Connections,
			most, tl.Header.Notes)
	}
}

// A target that stops reading delays the sender by at most the time-out of one request.
func TestADeafTargetOfHTTP2HoldsUpNothingForever(t *testing.T) {
	u := loopback(t, func(c net.Conn) {
		speak(c)
		time.Sleep(2 * time.Second) // it reads nothing until the recording has ended
	})
	tl := mustRecord(t, schedule(timeline.Phase{Name: "p", Shape: timeline.Constant, Arrivals: each(3000,
		100*time.Microsecond, "k", 0)}),
		Options{URL: u, HTTP2: true, Timeout: 200 * time.Millisecond, Body: make([]byte, 8<<10),
			Method: "POST"})
	if c := tl.Counts(); c.Planned != 3000 || c.Unknown != c.Sent {
		t.Errorf("got %+v", c)
	}
	if tl.Header.Ended > time.Minute {
		t.Errorf("it took %v", tl.Header.Ended)
	}
}

// If missing answers are denials and a connection ends under several waiting requests, none of them is
// denied. The answers to admitted ones may be lost with the connection.
func TestAnEndForSeveralStreamsDeniesNone(t *testing.T) {
	answering := func(then func(p *peer, id uint32)) func(net.Conn) {
		return func(c net.Conn) {
			p := speak(c)
			for id := uint32(1); id != 0; id = p.next() {
				if id <= 5 {
					p.answer(id, true)
				} else {
					then(p, id)
				}
			}
		}
	}
	for name, tt := range map[string]struct {
		requests, denied int
		then             func(p *peer, id uint32)
	}{
		"closed":         {10, 0, func(p *peer, _ uint32) { p.c.Close() }},
		"closed for one": {4, 1, func(p *peer, _ uint32) { p.c.Close() }},
		"silent":         {10, 0, func(*peer, uint32) {}},
		"silent for one": {4, 1, func(*peer, uint32) {}},
		"gone away":      {4, 0, func(p *peer, _ uint32) { p.WriteGoAway(5, http2.ErrCodeNo, nil) }},
		"each is refused": {10, 0,
			func(p *peer, id uint32) { p.WriteRSTStream(id, http2.ErrCodeRefusedStream) }},
		"each is reset": {10, 7, func(p *peer, id uint32) { p.WriteRSTStream(id, http2.ErrCodeCancel) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{URL: loopback(t, answering(tt.then)), HTTP2: true,
				Answers: Answers{SilentDenials: true},
				Timeout: 3 * time.Second}
			tl := mustRecord(t, schedule(timeline.Phase{Name: "b", Shape: timeline.AtOnce,
				Arrivals: each(tt.requests, 0, "k", 0)}), o)
			c, noted := tl.Counts(), slices.Contains(tl.Header.Notes, transport.CauseBlurred) ||
				slices.Contains(tl.Header.Notes, transport.CauseUnheard)
			if c.Allowed != 3 || c.Denied != tt.denied || noted != (tt.denied == 0) {
				t.Errorf("got %+v, notes %q", c, tl.Header.Notes)
			}
		})
	}
}

// TestASecondStatusIsNoAnswer: an answer whose trailers have a status is malformed (RFC 9113 section 8.1), so
// nobody knows which of the two was meant.
func TestASecondStatusIsNoAnswer(t *testing.T) {
	for _, end := range []bool{true, false} {
		tl := mustRecord(t, one(), Options{HTTP2: true, URL: loopback(t, func(c net.Conn) {
			p := speak(c)
			for id := uint32(1); id != 0; id = p.next() {
				p.header = block(":status", "200")
				p.answer(id, false)
				p.header = block(":status", "429")
				p.answer(id, end)
			}
		})})
		if o := tl.Observations[0]; o.Outcome != timeline.Unknown || o.Answered || o.Error != "malformed" {
			t.Errorf("the second ends the stream %v: got %+v", end, o)
		}
	}
}
