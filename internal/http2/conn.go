package http2

import (
	"bufio"
	"bytes"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// maxHeader is the largest header block that is read, measured as in RFC 9113 section 6.5.2.
	maxHeader = 64 << 10
	// maxBody is the most bytes of a body that are read. The window of a stream is one byte more and never
	// grows.
	maxBody = 1 << 20
	// refill is how many bytes of bodies are read before the window of the connection is filled up again.
	refill = 1 << 28
	// frameSize is the smallest frame limit that a peer may have, and it is ours.
	frameSize = 1 << 14
	// firstStreams is how many streams are assumed for a peer that sets no limit.
	firstStreams = 1 << 10
	// lastStream is the last possible stream id. A connection close to it takes no more streams.
	lastStream = 1<<31 - 1
	largest    = 1<<31 - 1
)

// Options are what a connection needs from its owner.
type Options struct {
	// Now is the clock of the recording.
	Now func() time.Duration
	// Patience is how long a write, and the exchange of settings, may take.
	Patience time.Duration
	// Woken is called after Wake, by the goroutine that runs Serve. It may be nil.
	Woken func()
	// Drained is called by that goroutine once the peer takes no more streams. Streams that it has taken go
	// on. It may be nil.
	Drained func()
}

// Conn is one connection. Several goroutines may call Send, Cancel and Wake at the same time; one runs Serve.
type Conn struct {
	o  Options
	nc net.Conn

	// writing guards what is sent. Stream ids and header table must follow the order of the writes.
	writing sync.Mutex
	out     bytes.Buffer
	framer  *http2.Framer // writes to out
	block   bytes.Buffer
	encoder *hpack.Encoder // writes to block
	next    uint32
	window  int64
	initial int64
	frame   int
	// pending are the streams whose body waits for a window. bodies tells that there ever was a body.
	pending []*Stream
	bodies  bool

	mu       sync.Mutex
	streams  map[uint32]*Stream
	limit    int
	draining bool

	reader
}

// New begins a connection: it writes the preface and waits for the settings of the peer. The error is a
// *NotSpoken if the peer does not begin with settings.
func New(nc net.Conn, o Options) (*Conn, error) {
	c := &Conn{o: o, nc: nc, next: 1, window: 65535, initial: 65535, frame: frameSize,
		streams: map[uint32]*Stream{}, limit: firstStreams}
	c.framer = http2.NewFramer(&c.out, nil)
	c.encoder = hpack.NewEncoder(&c.block)
	c.br = bufio.NewReaderSize(intake{c}, frameSize)
	c.frames = http2.NewFramer(nil, c.br)
	c.frames.SetReuseFrames()
	c.frames.SetMaxReadFrameSize(frameSize)
	c.frames.MaxHeaderListSize = maxHeader
	c.frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := c.begin(); err != nil {
		return nil, err
	}
	return c, nil
}

// begin exchanges the settings.
func (c *Conn) begin() error {
	c.writing.Lock()
	c.out.WriteString(http2.ClientPreface)
	_ = c.framer.WriteSettings( // frames are written to memory: there is no error
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: maxBody + 1},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHeader})
	_ = c.framer.WriteWindowUpdate(0, 1<<30)
	err := c.flush()
	c.writing.Unlock()
	if err != nil {
		return &NotSpoken{Err: err}
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(c.o.Patience))
	head, err := c.br.Peek(4) // the length of a frame, and its type
	if err == nil && http2.FrameType(head[3]) != http2.FrameSettings {
		err = malformed("it does not begin with SETTINGS")
	}
	if err != nil {
		first, _ := c.br.Peek(min(c.br.Buffered(), 1024))
		return &NotSpoken{First: bytes.Clone(first), Err: err}
	}
	f, err := c.frames.ReadFrame()
	settings, is := f.(*http2.SettingsFrame)
	if err != nil || !is || settings.IsAck() {
		return malformed("it does not begin with SETTINGS: %v", err)
	}
	_ = c.nc.SetReadDeadline(time.Time{})
	return c.settings(settings)
}

// Room returns how many streams the peer allows at once on the connection; 0 if it takes no more.
func (c *Conn) Room() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return 0
	}
	return c.limit
}

// Send sends the requests of streams in one write. Before that write it calls begun for each stream with the
// clock. If begun returns false, nothing is written and the connection is closed. ErrFull means that nothing
// was written and begun was not called. Any other error of the write also ends Serve.
func (c *Conn) Send(streams []*Stream, begun func(i int, at time.Duration) bool) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if !c.open(streams) {
		return ErrFull
	}
	for _, s := range streams {
		c.headers(s)
	}
	at := c.o.Now()
	for i := range streams {
		if !begun(i, at) {
			c.nc.Close() // the peer's header table will lack what was encoded
			return net.ErrClosed
		}
	}
	c.mu.Lock()
	for _, s := range streams {
		s.begun = true
	}
	c.mu.Unlock()
	return c.flush()
}

// open gives the streams their ids. It reports false if there is no room for all of them.
func (c *Conn) open(streams []*Stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	used := int64(c.next) + 2*int64(len(streams))
	if c.draining || len(c.streams)+len(streams) > c.limit || used > lastStream {
		return false
	}
	for _, s := range streams {
		s.id, c.next = c.next, c.next+2
		s.interim, s.got, s.final, s.begun = 0, 0, false, false
		s.window, s.rest = c.initial, s.Request.Body
		c.streams[s.id] = s
	}
	return true
}

// headers writes to out the header block of s, and as much of its body as the windows allow.
func (c *Conn) headers(s *Stream) {
	c.block.Reset()
	for _, f := range s.Request.Fields {
		_ = c.encoder.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value}) // to memory
	}
	block := c.block.Bytes()
	first := min(len(block), c.frame)
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: block[:first],
		EndStream: len(s.rest) == 0, EndHeaders: first == len(block)})
	for block = block[first:]; len(block) > 0; block = block[first:] {
		first = min(len(block), c.frame)
		_ = c.framer.WriteContinuation(s.id, first == len(block), block[:first])
	}
	if len(s.rest) > 0 {
		c.bodies = true
		if c.body(s); len(s.rest) > 0 {
			c.pending = append(c.pending, s)
		}
	}
}

// body writes to out as much of the body of s as the windows allow.
func (c *Conn) body(s *Stream) {
	for len(s.rest) > 0 {
		n := int(min(int64(len(s.rest)), int64(c.frame), c.window, s.window))
		if n <= 0 {
			return
		}
		_ = c.framer.WriteData(s.id, n == len(s.rest), s.rest[:n])
		s.rest = s.rest[n:]
		c.window -= int64(n)
		s.window -= int64(n)
	}
}

// pump writes to out what the windows now allow of the pending bodies.
func (c *Conn) pump() {
	kept := c.pending[:0]
	for _, s := range c.pending {
		if c.body(s); len(s.rest) > 0 {
			kept = append(kept, s)
		}
	}
	clear(c.pending[len(kept):])
	c.pending = kept
}

// flush writes out to the connection. The lock is held.
func (c *Conn) flush() error {
	if c.out.Len() == 0 {
		return nil
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(c.o.Patience))
	_, err := c.nc.Write(c.out.Bytes())
	c.out.Reset()
	if err != nil {
		c.nc.Close() // the peer would read later bytes as the rest of a cut frame
	}
	return err
}

// write sends the frames that put writes.
func (c *Conn) write(put func(*http2.Framer) error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = put(c.framer) // to memory
	return c.flush()
}

// Cancel gives up a stream that has not ended. Its owner is told nothing more.
func (c *Conn) Cancel(s *Stream) { c.drop(s, http2.ErrCodeCancel) }

// drop gives up a stream and tells the peer why. If the write fails, the reader notices.
func (c *Conn) drop(s *Stream, code http2.ErrCode) {
	id := s.id
	if !c.forget(s) {
		return
	}
	_ = c.write(func(f *http2.Framer) error { return f.WriteRSTStream(id, code) })
}

// forget removes a stream, and reports whether it was there.
func (c *Conn) forget(s *Stream) bool {
	c.mu.Lock()
	_, there := c.streams[s.id]
	delete(c.streams, s.id)
	c.mu.Unlock()
	if !there || len(s.Request.Body) == 0 {
		return there
	}
	c.writing.Lock()
	for i, p := range c.pending {
		if p == s {
			c.pending = append(c.pending[:i], c.pending[i+1:]...)
			break
		}
	}
	c.writing.Unlock()
	return true
}

// Wake makes the goroutine that runs Serve call Options.Woken soon. It never blocks.
func (c *Conn) Wake() { _ = c.nc.SetReadDeadline(time.Unix(1, 0)) }
