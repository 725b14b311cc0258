package http2

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// tape is a connection to a peer that has sent everything already.
type tape struct {
	net.Conn
	said io.Reader
	mu   sync.Mutex
	// writes are the bytes of each write.
	writes [][]byte
}

func (t *tape) Read(p []byte) (int, error)       { return t.said.Read(p) }
func (t *tape) Close() error                     { return nil }
func (t *tape) SetReadDeadline(time.Time) error  { return nil }
func (t *tape) SetWriteDeadline(time.Time) error { return nil }

func (t *tape) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes = append(t.writes, bytes.Clone(p))
	return len(p), nil
}

// owner counts its calls.
type owner struct{ answers, ends, broken, body int }

func (o *owner) Answer(Answer)              { o.answers++ }
func (o *owner) Body(p []byte) bool         { o.body += len(p); return true }
func (o *owner) End([]Field, time.Duration) { o.ends++ }
func (o *owner) Broken(error)               { o.broken++ }

// settingsFrame is the beginning of a peer without settings of its own.
const settingsFrame = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

func begin(t testing.TB, said string) (*Conn, *tape) {
	w := &tape{said: bytes.NewReader([]byte(settingsFrame + said))}
	clock := time.Duration(0)
	c, err := New(w, Options{Now: func() time.Duration { clock++; return clock }, Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c, w
}

func get(path string) *Request {
	return &Request{Fields: []Field{{":method", "GET"}, {":scheme", "http"}, {":path", path},
		{":authority", "target.example"},
		{"user-agent", "rlcheck/1"}, {"accept", "*/*"}, {"x-api-key", "some-client-1"}}}
}

// A burst is one write, and fits into one packet of a usual network.
func TestABurstIsOneWrite(t *testing.T) {
	c, w := begin(t, "")
	w.writes = nil
	streams := make([]*Stream, 100)
	for i := range streams {
		streams[i] = &Stream{Owner: &owner{}, Request: get("/")}
	}
	var begun []time.Duration
	err := c.Send(streams, func(_ int, at time.Duration) bool {
		begun = append(begun, at)
		return len(w.writes) == 0
	})
	if err != nil || len(w.writes) != 1 || len(begun) != 100 || begun[0] != begun[99] {
		t.Fatalf("got %d writes, begun %d, %v", len(w.writes), len(begun), err)
	}
	if n := len(w.writes[0]); n > 1900 {
		t.Errorf("100 requests are %d bytes: the header table is not used", n)
	}
}

// TestAnAnswerBeforeItsRequestIsNone: an answer does not count if the peer guessed the next id and sent it
// while the request was being made.
func TestAnAnswerBeforeItsRequestIsNone(t *testing.T) {
	const answered = "\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88" // HEADERS, END_STREAM, stream 1, :status 200
	c, _ := begin(t, answered)
	o := &owner{}
	s := &Stream{Owner: o, Request: get("/")}
	err := c.Send([]*Stream{s}, func(int, time.Duration) bool {
		c.Serve() // until everything from the peer was read
		return true
	})
	if err != nil || *o != (owner{}) || c.stream(1) != s {
		t.Errorf("got %v, %+v; the stream is there: %v", err, *o, c.stream(1) == s)
	}
}

// A header block larger than a frame continues in further frames.
func TestLargeHeaders(t *testing.T) {
	c, w := begin(t, "")
	w.writes = nil
	r := get("/")
	for i := range 40 {
		r.Fields = append(r.Fields, Field{fmt.Sprintf("x-%d", i),
			string(bytes.Repeat([]byte{byte('!' + i)}, 1000))})
	}
	if err := c.Send([]*Stream{{Owner: &owner{}, Request: r}}, func(int, time.Duration) bool {
		return true
	}); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(nil, bytes.NewReader(w.writes[0]))
	var kinds []http2.FrameType
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			break
		}
		kinds = append(kinds, frame.Header().Type)
	}
	if len(kinds) < 3 || kinds[0] != http2.FrameHeaders || kinds[1] != http2.FrameContinuation {
		t.Errorf("got %v", kinds)
	}
}

// Whatever a peer sends, nothing panics and no stream ends twice.
func FuzzServe(f *testing.F) {
	var b bytes.Buffer
	w := http2.NewFramer(&b, nil)
	add := func(write func()) {
		b.Reset()
		write()
		f.Add(b.Bytes())
	}
	add(func() {
		w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true})
		w.WriteData(1, true, []byte("ok"))
		w.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x88},
			EndHeaders: true, EndStream: true})
	})
	add(func() { w.WriteGoAway(1, 0, nil); w.WriteRSTStream(1, 2); w.WritePing(false, [8]byte{}) })
	add(func() {
		w.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 7},
			http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 15})
		w.WriteWindowUpdate(0, 9)
		w.WriteWindowUpdate(3, 9)
		w.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x88}})
		w.WriteContinuation(3, true, nil)
	})
	f.Fuzz(func(t *testing.T, said []byte) {
		c, _ := begin(t, string(said))
		owners := make([]owner, 3)
		for i := range owners {
			r := get("/")
			r.Body = make([]byte, i*100)
			c.Send([]*Stream{{Owner: &owners[i], Request: r}}, func(int, time.Duration) bool { return true })
		}
		if err := c.Serve(); err == nil {
			t.Error("the end of the connection is no error")
		}
		for i, o := range owners {
			if o.answers > 1 || o.ends+o.broken > 1 || o.ends > o.answers {
				t.Errorf("stream %d: %+v", i, o)
			}
		}
	})
}
