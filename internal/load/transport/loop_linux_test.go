package transport

import (
	"errors"
	"io"
	"net"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"
)

// loopHeard is a handler that passes on its calls.
type loopHeard struct {
	read  chan string
	gone  chan error
	ready func(b []byte)
	// came and at are those of the last Ready.
	came, at time.Duration
}

func (h *loopHeard) Ready(b []byte, came, at time.Duration) {
	h.came, h.at = came, at
	if h.ready != nil {
		h.ready(b)
		return
	}
	h.read <- string(b)
}

func (h *loopHeard) Gone(err error) { h.gone <- err }

// pair returns a connection of a new loop, its handler, and the other end.
func pair(t *testing.T) (*LoopConn, *loopHeard, *net.TCPConn) {
	t.Helper()
	began := time.Now()
	l := NewLoop(func() time.Duration { return time.Since(began) }, nil, func() {})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ours, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	h := &loopHeard{read: make(chan string, 100), gone: make(chan error, 2)}
	c := l.Join(ours, h)
	if c == nil {
		t.Fatal("it did not join")
	}
	t.Cleanup(func() {
		c.Close()
		theirs.Close()
		l.Stop()
	})
	return c, h, theirs.(*net.TCPConn)
}

func begin(t *testing.T, c *LoopConn) {
	t.Helper()
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
}

// TestHeard: bytes are heard if the peer had them before it closed, and not if they crossed its close. That
// holds for a connection of a loop and for one that has left it.
func TestHeard(t *testing.T) {
	for _, crosses := range []bool{false, true} {
		write := func(c net.Conn, theirs net.Conn) {
			if crosses {
				theirs.Close()
			}
			c.Write([]byte("x"))
			if !crosses {
				io.ReadFull(theirs, make([]byte, 1))
				theirs.Close()
			}
		}
		c, h, theirs := pair(t)
		write(c, theirs)
		begin(t, c)
		<-h.gone
		c2, _, theirs := pair(t)
		left, err := c2.Leave()
		if err != nil {
			t.Fatal(err)
		}
		write(left, theirs)
		io.Copy(io.Discard, left)
		if Heard(c) == crosses || Heard(left) == crosses {
			t.Errorf("the write crosses the close: %v: heard %v, %v", crosses, Heard(c), Heard(left))
		}
	}
}

// TestALoopAtRestKeepsNoProcessor: an idle loop is in no system call, where the scheduler would check it
// every 20 us. It still notices what arrives then, and what arrived on the way there.
func TestALoopAtRestKeepsNoProcessor(t *testing.T) {
	c, h, theirs := pair(t)
	begin(t, c)
	for range 3 {
		called := []metrics.Sample{{Name: "/sched/goroutines/not-in-go:goroutines"}}
		for until := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if metrics.Read(called); called[0].Value.Uint64() == 0 {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("got %d goroutines in system calls, want 0", called[0].Value.Uint64())
			}
		}
		for range 100 {
			io.WriteString(theirs, "x")
			if got := <-h.read; got != "x" {
				t.Fatalf("got %q, want x", got)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func TestALoopTellsWhatComesAndHowItEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(c *LoopConn, theirs *net.TCPConn)
		want error
	}{
		"an end": {func(_ *LoopConn, theirs *net.TCPConn) { theirs.CloseWrite() }, io.EOF},
		"a reset": {func(_ *LoopConn, theirs *net.TCPConn) {
			theirs.SetLinger(0)
			theirs.Close()
		}, syscall.ECONNRESET},
		"a close": {func(c *LoopConn, _ *net.TCPConn) { c.Close() }, net.ErrClosed},
		"a close with bytes unread": {func(c *LoopConn, theirs *net.TCPConn) {
			c.loop.Hold()
			theirs.Write([]byte("late"))
			c.Close()
			c.loop.Release()
		}, net.ErrClosed},
		"a write that finds no room": {func(c *LoopConn, _ *net.TCPConn) {
			for b := make([]byte, 1<<20); ; {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		}, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			c, h, theirs := pair(t)
			theirs.Write([]byte("before")) // it has arrived when the loop begins
			begin(t, c)
			if got := <-h.read; got != "before" {
				t.Errorf("got %q", got)
			}
			c.Write([]byte("request"))
			b := make([]byte, 7)
			if _, err := io.ReadFull(theirs, b); err != nil || string(b) != "request" {
				t.Errorf("the peer got %q, %v", b, err)
			}
			tt.end(c, theirs)
			if err := <-h.gone; !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if _, err := c.Write(b); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a write after the end: %v", err)
			}
			if len(h.read) > 0 {
				t.Errorf("got %q after the end", <-h.read)
			}
		})
	}
}

// TestMoreThanOneReadIsRead: an event is reported once, so everything that it reports is read.
func TestMoreThanOneReadIsRead(t *testing.T) {
	c, h, theirs := pair(t)
	c.loop.Hold()
	begin(t, c)
	theirs.Write([]byte(strings.Repeat("x", 2*MostLoops+1)))
	theirs.CloseWrite()
	c.loop.Release()
	if err := <-h.gone; err != io.EOF {
		t.Errorf("got %v", err)
	}
	n := 0
	for len(h.read) > 0 {
		n += len(<-h.read)
	}
	if n != 2*MostLoops+1 {
		t.Errorf("got %d bytes", n)
	}
}

// TestAConnectionThatLeavesIsReadAndWrittenAsBefore: that also holds for writers that still have the Conn of
// the loop.
func TestAConnectionThatLeavesIsReadAndWrittenAsBefore(t *testing.T) {
	c, h, theirs := pair(t)
	left := make(chan net.Conn, 1)
	h.ready = func(b []byte) {
		nc, err := c.Leave()
		if err != nil {
			t.Error(err)
		}
		left <- nc
	}
	begin(t, c)
	theirs.Write([]byte("a"))
	nc := <-left
	theirs.Write([]byte("b"))
	b := make([]byte, 1)
	if _, err := io.ReadFull(nc, b); err != nil || b[0] != 'b' {
		t.Errorf("got %q, %v", b, err)
	}
	c.Write([]byte("c"))
	if _, err := io.ReadFull(theirs, b); err != nil || b[0] != 'c' {
		t.Errorf("the peer got %q, %v", b, err)
	}
	c.Close()
	if _, err := nc.Read(b); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v after the close", err)
	}
	if len(h.gone) > 0 {
		t.Errorf("the loop said %v", <-h.gone)
	}
}

// TestALoopThatIsBorrowedIsReadByPoll: after Return its goroutine reads again.
func TestALoopThatIsBorrowedIsReadByPoll(t *testing.T) {
	c, h, theirs := pair(t)
	knocked := 0
	c.loop.knocked = func() { knocked++ }
	begin(t, c)
	for range 3 {
		c.loop.Borrow()
		if c.loop.Poll(0) || c.loop.Poll(time.Millisecond) {
			t.Error("something came, though nothing was sent")
		}
		c.loop.Knock()
		if !c.loop.Poll(0) {
			t.Error("nobody hears a knock")
		}
		theirs.Write([]byte("polled"))
		for len(h.read) == 0 {
			c.loop.Poll(time.Second)
		}
		if got := <-h.read; got != "polled" {
			t.Errorf("got %q", got)
		}
		c.loop.Return()
		theirs.Write([]byte("read"))
		if got := <-h.read; got != "read" {
			t.Errorf("got %q", got)
		}
	}
	if knocked != 3 {
		t.Errorf("%d knocks were heard of 3", knocked)
	}
}

// TestALoopThatIsBorrowedHearsItsEnd: the borrower may read the stop first.
func TestALoopThatIsBorrowedHearsItsEnd(t *testing.T) {
	knocked, stopped := make(chan bool, 1), make(chan bool)
	l := NewLoop(func() time.Duration { return 0 }, func() { knocked <- true }, func() {})
	l.Borrow()
	go func() {
		l.Stop()
		close(stopped)
	}()
	for !l.Poll(time.Second) {
	}
	l.Return()
	l.Knock() // a running loop answers it
	select {
	case <-stopped:
	case <-knocked:
		t.Error("it goes on")
		l.ring(stop)
		<-stopped
	}
}

// TestAConnectionClosedBeforeItBeginsIsGivenBack: Close releases its descriptor, since nobody would do so
// later.
func TestAConnectionClosedBeforeItBeginsIsGivenBack(t *testing.T) {
	c, _, theirs := pair(t)
	c.Close()
	if n, err := theirs.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the peer got %d bytes, %v", n, err)
	}
	if err := c.Begin(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// TestOnlyConnectionsOfTheKernelJoin: net.Pipe and TLS stay as they are. Each Knock is answered.
func TestOnlyConnectionsOfTheKernelJoin(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	knocked := make(chan bool, 3)
	l := NewLoop(func() time.Duration { return 0 }, func() { knocked <- true }, func() {})
	defer l.Stop()
	if l.Join(ours, &loopHeard{}) != nil {
		t.Error("it joined")
	}
	l.Knock()
	<-knocked
	l.Knock()
	<-knocked
}

// TestAKnockAfterTheEndGoesNowhere: the descriptors of a stopped loop may belong to connections by then.
func TestAKnockAfterTheEndGoesNowhere(t *testing.T) {
	l := NewLoop(func() time.Duration { return 0 }, func() {}, func() {})
	l.Stop()
	var other [2]int
	if err := syscall.Pipe2(other[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(other[0])
	defer syscall.Close(other[1])
	if other[1] != l.bell[1] {
		if err := syscall.Dup3(other[1], l.bell[1], syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(l.bell[1])
	}
	l.Knock()
	var b [1]byte
	if n, err := syscall.Read(other[0], b[:]); err != syscall.EAGAIN {
		t.Errorf("%d bytes came, %q, %v", n, b, err)
	}
}

// TestTheKernelSaysWhenBytesCame: a loop that reads late tells when they came. The kernel begins to stamp
// some time after it was asked to. Where reading a clock takes too long no stamp is used, and none is
// demanded.
func TestTheKernelSaysWhenBytesCame(t *testing.T) {
	c, h, theirs := pair(t)
	begin(t, c)
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		c.loop.Hold()
		io.WriteString(theirs, "x")
		time.Sleep(5 * time.Millisecond) // loopback hands over within the write
		released := c.loop.in.now()
		c.loop.Release()
		<-h.read
		if h.at < released || h.came > h.at {
			t.Fatalf("came %v, read %v, released %v", h.came, h.at, released)
		}
		if h.came < released {
			return
		}
		if time.Now().After(until) {
			t.Skip("no stamp was used for ten seconds")
		}
	}
}
