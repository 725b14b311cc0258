package load

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// tape is a connection whose other side answers the first request with fixed bytes, in pieces, and then
// closes.
type tape struct {
	net.Conn
	mu    sync.Mutex
	asked chan struct{}
	once  sync.Once
	bytes []byte
	step  int
}

func (c *tape) RemoteAddr() net.Addr { return nil }

func (c *tape) Write(p []byte) (int, error) {
	c.once.Do(func() { close(c.asked) })
	return len(p), nil
}

func (c *tape) Read(p []byte) (int, error) {
	<-c.asked
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.bytes) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.bytes[:min(len(c.bytes), c.step)])
	c.bytes = c.bytes[n:]
	return n, nil
}

func (c *tape) Close() error {
	c.once.Do(func() { close(c.asked) })
	return nil
}

var statusLine = regexp.MustCompile(`HTTP/1\.[0-9] +([0-9]{3})`)

// FuzzResponse answers a request with arbitrary bytes. There is always one observation, and an outcome only
// if the bytes hold a status line for it.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		"", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.0 429 x\n\nbody",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n\x00\x01",
		"HTTP/1.1 429\r\nRetry-After: 1\r\nRetry-After: 2\r\nKeep-Alive: timeout=0x5, max=1\r\n\r\n",
		"HTTP/2.0 200 OK\r\n\r\n", "HTTP/0.0  000\n\n", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: \x1b[31m\r\n\r\n", "HTTP/1.1 099 x\r\n\r\n",
		"HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
	} {
		f.Add([]byte(s), uint8(3))
		f.Add([]byte(s), uint8(255))
	}
	f.Fuzz(func(t *testing.T, answer []byte, step uint8) {
		o := Options{
			URL: &url.URL{Scheme: "http", Host: "x"}, Pacer: transport.SleepingPacer(),
			Answers:        Answers{KeepBody: 10},
			Timeout:        time.Minute,
			MaxConnections: 1,
			Dial: func(context.Context, string, string) (net.Conn, error) {
				return &tape{asked: make(chan struct{}), bytes: answer, step: int(step) + 1}, nil
			},
		}
		tl := mustRecord(t, one(), o)
		if len(tl.Observations) != 1 {
			t.Fatalf("got %d observations", len(tl.Observations))
		}
		got := tl.Observations[0]
		if !got.Answered {
			return
		}
		for _, m := range statusLine.FindAllSubmatch(answer, -1) {
			if status := int(m[1][0]-'0')*100 + int(m[1][1]-'0')*10 + int(m[1][2]-'0'); status == got.Status {
				if want := timeline.StatusOutcome(status); got.Outcome != want {
					t.Errorf("status %d: got %v, want %v", status, got.Outcome, want)
				}
				return
			}
		}
		t.Errorf("got status %d, which is nowhere in %q", got.Status, answer)
	})
}

// h2tape is a tape that sends its settings at once, and the rest after the first request.
type h2tape struct {
	*tape
	settings []byte
}

func (c *h2tape) Write(p []byte) (int, error) {
	if len(p) > 3 && p[3] == byte(http2.FrameHeaders) {
		return c.tape.Write(p)
	}
	return len(p), nil
}

func (c *h2tape) Read(p []byte) (int, error) {
	if n := copy(p, c.settings); n > 0 {
		c.settings = c.settings[n:]
		return n, nil
	}
	return c.tape.Read(p)
}

func (*h2tape) SetReadDeadline(time.Time) error  { return nil }
func (*h2tape) SetWriteDeadline(time.Time) error { return nil }

// FuzzResponseOfHTTP2 answers a request over HTTP/2 with arbitrary frames, also for gRPC. There is always one
// observation, and an outcome only with a status.
func FuzzResponseOfHTTP2(f *testing.F) {
	frames := func(write func(p *peer)) []byte {
		var b bytes.Buffer
		p := &peer{Framer: http2.NewFramer(&b, nil), header: block(":status", "200", "content-type",
			"application/grpc")}
		write(p)
		return b.Bytes()
	}
	for _, s := range [][]byte{
		nil, frames(func(p *peer) { p.answer(1, true) }),
		frames(func(p *peer) {
			p.answer(1, false)
			p.WriteData(1, false, make([]byte, 5))
			p.header = block("grpc-status", "14", "grpc-status-details-bin", comeBack)
			p.answer(1, true)
		}),
		frames(func(p *peer) { p.header = block(":status", "429", "retry-after", "1"); p.answer(1, true) }),
		frames(func(p *peer) { p.header = block(":status", "103"); p.answer(1, false); p.answer(1, true) }),
		frames(func(p *peer) { p.answer(1, false); p.WriteRSTStream(1, http2.ErrCodeCancel) }),
		frames(func(p *peer) { p.WriteGoAway(1, http2.ErrCodeNo, nil); p.WriteWindowUpdate(0, 1<<31-1) }),
		frames(func(p *peer) { p.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1}) }),
		frames(func(p *peer) { p.WriteData(1, true, []byte("x")); p.WritePing(false, [8]byte{}) }),
		[]byte("\xff\xff\xff\x00\x00\x00\x00\x00\x01"), []byte("HTTP/1.1 200 OK\r\n\r\n"),
	} {
		f.Add(s, uint8(7), true)
		f.Add(s, uint8(255), false)
	}
	settings := frames(func(p *peer) { p.WriteSettings() })
	f.Fuzz(func(t *testing.T, answer []byte, step uint8, grpc bool) {
		o := Options{
			URL: &url.URL{Scheme: "http", Host: "x"}, Pacer: transport.SleepingPacer(),
			Answers:        Answers{KeepBody: 10},
			Timeout:        time.Minute,
			MaxConnections: 1, HTTP2: true,
			Dial: func(context.Context, string, string) (net.Conn, error) {
				all := &tape{asked: make(chan struct{}), bytes: answer, step: int(step) + 1}
				return &h2tape{all, settings}, nil
			},
		}
		if grpc {
			o.Header = grpcHeader()
		}
		tl := mustRecord(t, one(), o)
		if len(tl.Observations) != 1 {
			t.Fatalf("got %d observations", len(tl.Observations))
		}
		got := tl.Observations[0]
		if got.Answered == (got.Error != "") || !got.Answered && got.Outcome != timeline.Unknown {
			t.Errorf("got %+v", got)
		}
		page := grpc && got.Status == http.StatusOK && got.Outcome == timeline.Unknown // it was not gRPC
		if want := timeline.StatusOutcome(got.Status); got.Outcome != want && !page {
			t.Errorf("status %d: got %v, want %v", got.Status, got.Outcome, want)
		}
	})
}
