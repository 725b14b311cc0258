package eventloop

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Loop is one goroutine that reads connections: its thread is that of the scheduler.
type Loop struct {
	now              func() time.Duration
	knocked, handled func()
	// poll is the descriptor of epoll, bell a pipe for the bytes knock, lend and stop.
	poll     int
	bell     [2]int
	finished chan struct{}
	// lent tells who borrows the loop that its goroutine waits for back.
	lent, back chan struct{}
	// events, of the connections ready, and what was read are those of whoever reads.
	events [64]syscall.EpollEvent
	ready  [64]*Conn
	buffer []byte
	// ending tells that whoever reads has heard the end.
	ending bool
	// turn is held by the thread while it handles what has come.
	turn sync.Mutex

	mu sync.Mutex
	// conns are those of the loop by their descriptors.
	conns []*Conn
	// stopped tells that poll and bell are closed: their numbers may be those of others.
	stopped bool
}

const knock, lend, stop = 'k', 'l', 's'

// edge is EPOLLET: an event is told when something comes, not as long as something is there.
const edge = 1 << 31

// New starts a loop whose clock is now. Its thread calls knocked soon after each Knock, and handled after
// what came together was read. It returns nil where the system has no epoll or no descriptor is left.
func New(now func() time.Duration, knocked, handled func()) *Loop {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	l := &Loop{now: now, knocked: knocked, handled: handled, poll: poll, finished: make(chan struct{}),
		lent: make(chan struct{}), back: make(chan struct{}), buffer: make([]byte, Most)}
	if syscall.Pipe2(l.bell[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK) != nil {
		syscall.Close(poll)
		return nil
	}
	bell := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(l.bell[0])}
	if syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, l.bell[0], &bell) != nil {
		l.closeAll()
		return nil
	}
	go l.run()
	return l
}

// Stop ends the loop. Its connections were closed, or have left, before. It waits for one that is lent until
// that is given back. l may be nil.
func (l *Loop) Stop() {
	if l == nil {
		return
	}
	l.ring(stop)
	<-l.finished
	l.closeAll()
}

// Knock has the loop call knocked: the time until then is how late it reads. l may be nil, or stopped.
func (l *Loop) Knock() {
	if l != nil {
		l.ring(knock)
	}
}

// ring writes to the bell, unless the loop is stopped. The pipe has room: what was rung before is read first.
func (l *Loop) ring(b byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		_, _ = syscall.Write(l.bell[1], []byte{b})
	}
}

// rung reads the bell. Whoever has borrowed the loop may hear its end, which is then seen here.
func (l *Loop) rung() {
	var b [64]byte
	n, _ := syscall.Read(l.bell[0], b[:])
	for _, x := range b[:max(n, 0)] {
		switch x {
		case knock:
			l.knocked()
		case lend:
			l.lent <- struct{}{}
			<-l.back
		case stop:
			l.ending = true
		}
	}
}

func (l *Loop) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	for _, fd := range []int{l.poll, l.bell[0], l.bell[1]} {
		syscall.Close(fd)
	}
}

// Hold keeps the loop from reading until Release: a thread that must not be disturbed calls it. l may be nil.
// A handler must not call it.
func (l *Loop) Hold() {
	if l != nil {
		l.turn.Lock()
	}
}

// Release ends a Hold.
func (l *Loop) Release() {
	if l != nil {
		l.turn.Unlock()
	}
}

// Join gives a connection to the loop, which closes nc and goes on with a descriptor of its own. It returns
// nil, and nc is as it was, for a connection that is none of the kernel's (net.Pipe, TLS). l may be nil.
func (l *Loop) Join(nc net.Conn, h Handler) *Conn {
	own, ok := nc.(syscall.Conn)
	if l == nil || !ok {
		return nil
	}
	raw, err := own.SyscallConn()
	if err != nil {
		return nil
	}
	c := &Conn{Conn: nc, loop: l, handler: h, fd: -1}
	err = raw.Control(func(fd uintptr) {
		const least = 0 // the lowest number that is free
		n, _, failed := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, least)
		if failed == 0 {
			c.fd = int(n)
		}
	})
	if err != nil || c.fd < 0 {
		return nil
	}
	nc.Close()
	return c
}

// run handles what comes until the loop is stopped.
func (l *Loop) run() {
	defer close(l.finished)
	for !l.ending {
		l.handle(l.wait())
	}
}

// handle handles the first n of events.
func (l *Loop) handle(n int) {
	l.turn.Lock()
	rings := l.find(n)
	for i := range n {
		if c := l.ready[i]; c != nil {
			c.drain(l.buffer, l.events[i].Events)
		}
	}
	l.handled()
	l.turn.Unlock()
	if rings {
		l.rung()
	}
}

// Borrow has the goroutine of the loop stand still until Return: the caller reads in its place, with Poll. It
// reports false where there is no loop. A handler must not call it, nor whoever holds what handlers wait for.
func (l *Loop) Borrow() bool {
	if l == nil {
		return false
	}
	l.ring(lend)
	<-l.lent
	return true
}

// Return ends a Borrow.
func (l *Loop) Return() { l.back <- struct{}{} }

// Poll handles what has come, or what comes first within d, on the goroutine of the caller, who has borrowed
// the loop. It tells whether something had come.
func (l *Loop) Poll(d time.Duration) bool {
	if d > 0 {
		await := struct {
			fd           int32
			events, came int16
		}{int32(l.poll), 1, 0} // struct pollfd, POLLIN
		until := syscall.NsecToTimespec(int64(d))
		_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&await)), 1,
			uintptr(unsafe.Pointer(&until)), 0, 0, 0)
	}
	n, _, err := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(l.poll),
		uintptr(unsafe.Pointer(&l.events)), uintptr(len(l.events)), 0, 0, 0)
	if err != 0 || n == 0 {
		return false
	}
	l.handle(int(n))
	return true
}

// brief is for how many milliseconds the loop waits in epoll_wait.
const brief = 1

// wait returns when something came. After a silence it waits in the network poller of the runtime: a thread
// in a system call keeps a processor of the scheduler for 10 ms, in which that polls every 20 us (sysmon). At
// 100 requests a second this took half of the processor time of a run.
func (l *Loop) wait() int {
	if n := l.look(brief); n > 0 {
		return n
	}
	const least = 0 // the lowest number that is free
	fd, _, failed := syscall.Syscall(syscall.SYS_FCNTL, uintptr(l.poll), syscall.F_DUPFD_CLOEXEC, least)
	if failed != 0 || syscall.SetNonblock(int(fd), true) != nil {
		return l.look(-1)
	}
	// The poller watches it for this wait only: otherwise all that comes would wake a thread there, too.
	f, n := os.NewFile(fd, "epoll"), 0
	defer f.Close()
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Read(func(uintptr) bool {
			n = l.look(0)
			return n > 0
		})
	}
	return n
}

// look waits in epoll_wait for so many milliseconds, -1 for ever.
func (l *Loop) look(ms int) int {
	n, err := syscall.EpollWait(l.poll, l.events[:], ms)
	if err != nil && err != syscall.EINTR {
		panic("eventloop: epoll_wait: " + err.Error()) // none of its errors is one of the connections
	}
	return max(n, 0)
}

// find looks up the connections of the first n of events, and tells whether the bell is among them.
func (l *Loop) find(n int) (rings bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		fd := int(l.events[i].Fd)
		l.ready[i] = nil
		if fd == l.bell[0] {
			rings = true
		} else if fd < len(l.conns) {
			l.ready[i] = l.conns[fd]
		}
	}
	return rings
}

// put makes c, or nil, what a descriptor stands for.
func (l *Loop) put(fd int, c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.conns) <= fd {
		l.conns = append(l.conns, nil)
	}
	l.conns[fd] = c
}

// Conn is a connection of a loop, or one that left it. Its Read must not be called.
type Conn struct {
	// Conn is the connection that joined, which is closed: what is left of it are its addresses.
	net.Conn
	loop    *Loop
	handler Handler

	mu sync.Mutex
	// fd is open until gone. It is read and closed by the loop alone, written under mu by all.
	fd int
	// begun tells that the loop reads, shut that Close was called, gone that the descriptor is no longer
	// this connection's.
	begun, shut, gone bool
	// left is what the connection is since it left.
	left net.Conn
}

// Begin lets the loop read. With an error it does not, and the connection is closed.
func (c *Conn) Begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return net.ErrClosed
	}
	c.begun = true
	c.loop.put(c.fd, c)
	e := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | edge, Fd: int32(c.fd)}
	err := syscall.EpollCtl(c.loop.poll, syscall.EPOLL_CTL_ADD, c.fd, &e)
	if err != nil {
		c.loop.put(c.fd, nil)
		c.release()
	}
	return os.NewSyscallError("epoll_ctl", err)
}

// drain reads what has come. A read that fills less than the buffer took all, unless the peer ended.
func (c *Conn) drain(buffer []byte, events uint32) {
	for !c.gone {
		n, err := raw(syscall.SYS_RECVFROM, c.fd, buffer)
		switch at := c.loop.now(); {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return
		case c.closed():
			c.finish(net.ErrClosed)
			return
		case err != nil:
			c.finish(&net.OpError{Op: "read", Net: c.LocalAddr().Network(), Source: c.LocalAddr(),
				Addr: c.RemoteAddr(), Err: os.NewSyscallError("read", err)})
			return
		case n == 0:
			c.finish(io.EOF)
			return
		default:
			c.handler.Ready(buffer[:n], at)
		}
		if n < len(buffer) && events == syscall.EPOLLIN {
			return
		}
	}
}

// closed tells whether Close was called. The lock also orders what the sender of a request wrote before its
// answer is read.
func (c *Conn) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shut
}

// finish closes the descriptor and tells the handler.
func (c *Conn) finish(err error) {
	c.loop.put(c.fd, nil)
	c.mu.Lock()
	c.release()
	c.mu.Unlock()
	c.handler.Gone(err)
}

// release gives the descriptor back. The lock is held.
func (c *Conn) release() {
	c.gone = true
	syscall.Close(c.fd)
}

// raw sends or receives b, which is not empty, on a socket that never waits: the scheduler need not hear of
// the call. send and recv take less time than write and read, which take the socket for a file.
func raw(call uintptr, fd int, b []byte) (int, error) {
	n, _, err := syscall.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)), syscall.MSG_NOSIGNAL, 0, 0)
	if err != 0 {
		return 0, err
	}
	return int(n), nil
}

// Write writes all of b without waiting. Where the kernel has no room for it the connection is closed: a
// target that reads nothing does not stop who else is to be served.
func (c *Conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	if c.left != nil {
		c.mu.Unlock()
		return c.left.Write(b)
	}
	defer c.mu.Unlock()
	if c.shut || c.gone {
		return 0, net.ErrClosed
	}
	n, err := raw(syscall.SYS_SENDTO, c.fd, b)
	for err == syscall.EINTR {
		n, err = raw(syscall.SYS_SENDTO, c.fd, b)
	}
	if n < len(b) && (err == nil || err == syscall.EAGAIN) {
		c.shutdown()
		err = net.ErrClosed
	}
	return max(n, 0), err
}

// Close ends the connection: the handler hears of it. It never waits.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.left != nil:
		return c.left.Close()
	case !c.begun && !c.gone:
		c.release()
	case !c.gone && !c.shut:
		c.shutdown()
	}
	return nil
}

// shutdown makes the loop find the end of the connection. The lock is held.
func (c *Conn) shutdown() {
	c.shut = true
	_ = syscall.Shutdown(c.fd, syscall.SHUT_RDWR) // fails where it has ended, which the loop finds, too
}

// Leave takes the connection out of the loop: from then on it is read as any other, and Write may wait. Its
// handler calls it.
func (c *Conn) Leave() (net.Conn, error) {
	_ = syscall.EpollCtl(c.loop.poll, syscall.EPOLL_CTL_DEL, c.fd, nil)
	c.loop.put(c.fd, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	f := os.NewFile(uintptr(c.fd), "connection")
	defer f.Close()
	c.gone = true
	nc, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	if c.left = nc; c.shut {
		nc.Close()
	}
	return nc, nil
}
