package http2

import (
	"bufio"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/net/http2"
)

const (
	// mostIdle is how many frames that answer nothing a peer may send between two that do.
	mostIdle = 10_000
	// mostInterim is how many interim answers may precede the final one.
	mostInterim = 100
)

// reader is the part of a connection that belongs to the goroutine that runs Serve.
type reader struct {
	br     *bufio.Reader
	frames *http2.Framer
	// last is the clock after the last read.
	last time.Duration
	// idle counts the frames since the last one that answered something. unacked counts the bytes of bodies
	// since the window of the connection was filled up.
	idle, unacked int
	fields        []Field
	// serving tells that the settings were exchanged.
	serving bool
}

// intake reads from the connection, and remembers when.
type intake struct{ c *Conn }

func (in intake) Read(p []byte) (int, error) {
	c := in.c
	for {
		n, err := c.nc.Read(p)
		if n > 0 {
			c.last = c.o.Now()
			return n, err
		}
		if c.o.Woken == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !c.serving {
			return n, err
		}
		_ = c.nc.SetReadDeadline(time.Time{}) // before Woken, so that no later Wake is lost
		c.o.Woken()
	}
}

// Serve reads until the connection ends, and returns why. It does not tell the owners of streams that are
// still open.
func (c *Conn) Serve() error {
	c.serving = true
	for {
		// Either the buffer was empty before the read that brought this byte, or that read also ended the
		// frame before.
		if _, err := c.br.Peek(1); err != nil {
			return err
		}
		at := c.last
		f, err := c.frames.ReadFrame()
		var broken http2.StreamError
		switch {
		case errors.As(err, &broken):
			if err := c.breakStream(broken); err != nil {
				return err
			}
			continue
		case errors.As(err, new(http2.ConnectionError)), errors.Is(err, http2.ErrFrameTooLarge):
			return malformed("%v", err)
		case err != nil:
			return err
		}
		if c.idle++; c.idle > mostIdle {
			return malformed("%d frames came that answer nothing", c.idle)
		}
		if err := c.take(f, at); err != nil {
			return err
		}
	}
}

// take takes in one frame.
func (c *Conn) take(f http2.Frame, at time.Duration) error {
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		return c.takeHeaders(f, at)
	case *http2.DataFrame:
		return c.takeData(f)
	case *http2.RSTStreamFrame:
		if s := c.stream(f.StreamID); s != nil && c.forget(s) {
			s.Owner.Broken(reset(f.ErrCode))
		}
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return c.settings(f)
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			data := f.Data
			return c.write(func(w *http2.Framer) error { return w.WritePing(true, data) })
		}
	case *http2.WindowUpdateFrame:
		return c.takeWindow(f.StreamID, int64(f.Increment))
	case *http2.GoAwayFrame:
		c.goAway(f)
	case *http2.PushPromiseFrame:
		return malformed("it pushes, which the settings forbid")
	}
	return nil
}

// stream returns the stream with an id that was begun and has not ended; nil for none.
func (c *Conn) stream(id uint32) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[id]; s != nil && s.begun {
		return s
	}
	return nil
}

// begun tells whether a stream with the id was ever sent.
func (c *Conn) begun(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return id%2 == 1 && id < c.next
}

// breakStream ends a stream on which the peer broke a rule.
func (c *Conn) breakStream(e http2.StreamError) error {
	s := c.stream(e.StreamID)
	if s == nil {
		if c.idle++; c.idle > mostIdle || !c.begun(e.StreamID) {
			return malformed("%v", e)
		}
		return nil
	}
	c.drop(s, e.Code)
	s.Owner.Broken(malformed("%v", e))
	return nil
}

// takeHeaders takes in an interim or final header block, or trailers.
func (c *Conn) takeHeaders(f *http2.MetaHeadersFrame, at time.Duration) error {
	s := c.stream(f.StreamID)
	switch {
	case s == nil && !c.begun(f.StreamID):
		return malformed("an answer to stream %d, which was never begun", f.StreamID)
	case s == nil:
		return nil
	case f.Truncated:
		c.drop(s, http2.ErrCodeCancel)
		s.Owner.Broken(ErrTooLarge)
		return nil
	}
	c.fields = c.fields[:0]
	for _, h := range f.RegularFields() {
		c.fields = append(c.fields, Field{h.Name, h.Value})
	}
	if s.final && len(f.PseudoFields()) > 0 {
		c.drop(s, http2.ErrCodeProtocol)
		s.Owner.Broken(ErrTwice)
		return nil
	}
	if s.final {
		return c.trailers(s, f.StreamEnded())
	}
	status, err := strconv.ParseUint(f.PseudoValue("status"), 10, 16)
	interim := status >= 100 && status < 200
	switch {
	case err != nil || status < 100 || status > 999 || status == 101 || interim && f.StreamEnded():
		c.drop(s, http2.ErrCodeProtocol)
		s.Owner.Broken(malformed("status %q", f.PseudoValue("status")))
	case interim:
		if s.interim++; s.interim > mostInterim {
			c.drop(s, http2.ErrCodeCancel)
			s.Owner.Broken(ErrTooLarge)
		}
	default:
		c.idle, s.final = 0, true
		ended := f.StreamEnded()
		s.Owner.Answer(Answer{Status: int(status), Fields: c.fields, At: at})
		if ended {
			return c.end(s, nil)
		}
	}
	return nil
}

// trailers takes in the header block after a body, which ends the answer.
func (c *Conn) trailers(s *Stream, ended bool) error {
	if !ended {
		c.drop(s, http2.ErrCodeProtocol)
		s.Owner.Broken(malformed("a second header block does not end the stream"))
		return nil
	}
	return c.end(s, c.fields)
}

// end ends a whole answer. If part of the request's body is unsent, it is never sent.
func (c *Conn) end(s *Stream, trailers []Field) error {
	if c.unsent(s) {
		c.drop(s, http2.ErrCodeCancel)
	} else {
		c.forget(s)
	}
	s.Owner.End(trailers, c.last)
	return nil
}

// unsent tells whether part of the body of a request was not sent.
func (c *Conn) unsent(s *Stream) bool {
	if len(s.Request.Body) == 0 {
		return false
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	return len(s.rest) > 0
}

// takeData takes in a part of a body.
func (c *Conn) takeData(f *http2.DataFrame) error {
	if c.unacked += int(f.Length); c.unacked >= refill {
		n := uint32(c.unacked) //nolint:gosec // at most refill and a frame
		c.unacked = 0
		if err := c.write(func(w *http2.Framer) error { return w.WriteWindowUpdate(0, n) }); err != nil {
			return err
		}
	}
	s := c.stream(f.StreamID)
	switch {
	case s == nil && !c.begun(f.StreamID):
		return malformed("a body on stream %d, which was never begun", f.StreamID)
	case s == nil:
		return nil
	case !s.final:
		c.drop(s, http2.ErrCodeProtocol)
		s.Owner.Broken(malformed("a body came before the header block"))
		return nil
	}
	p := f.Data()
	if len(p) > 0 {
		c.idle = 0
	}
	s.got += len(p)
	if len(p) > 0 && !s.Owner.Body(p) || s.got > maxBody {
		c.drop(s, http2.ErrCodeCancel)
		s.Owner.Broken(ErrTooLarge)
		return nil
	}
	if f.StreamEnded() {
		return c.end(s, nil)
	}
	return nil
}

// settings takes in the settings of the peer and acknowledges them.
func (c *Conn) settings(f *http2.SettingsFrame) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return malformed("%v", err)
		}
		switch s.ID {
		case http2.SettingMaxConcurrentStreams:
			c.mu.Lock()
			c.limit = int(min(s.Val, largest))
			c.mu.Unlock()
		case http2.SettingInitialWindowSize:
			c.grow(int64(s.Val) - c.initial)
			c.initial = int64(s.Val)
		case http2.SettingMaxFrameSize:
			c.frame = int(s.Val)
		case http2.SettingHeaderTableSize:
			c.encoder.SetMaxDynamicTableSizeLimit(s.Val)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_ = c.framer.WriteSettingsAck()
	c.pump()
	return c.flush()
}

// grow changes the windows of the open streams. The lock for writing is held.
func (c *Conn) grow(by int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.streams {
		s.window += by
	}
}

// takeWindow enlarges the window of a stream, or of the connection for id 0.
func (c *Conn) takeWindow(id uint32, by int64) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.bodies {
		c.idle = min(c.idle, mostIdle/2)
	}
	if id == 0 {
		if c.window += by; c.window > largest {
			return malformed("the window of the connection is larger than %d", largest)
		}
	} else if s := c.stream(id); s != nil {
		s.window = min(s.window+by, largest)
	}
	c.pump()
	return c.flush()
}

// goAway ends the streams that the peer has not taken, and lets the others go on.
func (c *Conn) goAway(f *http2.GoAwayFrame) {
	var gone []*Stream
	c.mu.Lock()
	c.draining = true
	for id, s := range c.streams {
		if id > f.LastStreamID {
			gone = append(gone, s)
		}
	}
	c.mu.Unlock()
	why := f.ErrCode
	for _, s := range gone {
		if c.forget(s) {
			s.Owner.Broken(goneAway(why))
		}
	}
	if c.o.Drained != nil {
		c.o.Drained()
	}
}

// Configure makes a server of the standard library speak HTTP/2 with golang.org/x/net. It also works in a
// build without the HTTP/2 of net/http, which would bring its client along. It must be called before the
// server serves.
func Configure(s *http.Server) {
	//lint:ignore SA1019 Protocols would be that of net/http, which releases leave out (nethttpomithttp2)
	if err := http2.ConfigureServer(s, nil); err != nil {
		panic("http2: " + err.Error()) // only a TLS configuration causes errors, and s has none
	}
}
