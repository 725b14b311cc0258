package transport

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Loop is one goroutine that reads connections. The scheduler may move it between threads.
type Loop struct {
	knocked, handled func()
	// poll is the descriptor of epoll. bell is a pipe for the bytes knock, lend and stop.
	poll     int
	bell     [2]int
	finished chan struct{}
	// lent tells a borrower that the goroutine of the loop stands still until back.
	lent, back chan struct{}
	// events, the ready connections, and in belong to the current reader.
	events [64]syscall.EpollEvent
	ready  [64]*LoopConn
	in     *receiver
	// ending tells that the reader has seen stop.
	ending bool
	// turn is held by the thread while it handles what has arrived.
	turn sync.Mutex

	mu sync.Mutex
	// conns are the connections of the loop by descriptor.
	conns []*LoopConn
	// stopped tells that poll and bell are closed. Their numbers may belong to other files by then.
	stopped bool
}

const knock, lend, stop = 'k', 'l', 's'

// edge is EPOLLET: epoll reports an arrival once, not as long as data is there.
const edge = 1 << 31

// NewLoop starts a loop with the clock now. Its thread calls knocked soon after each Knock. It calls handled
// when everything that arrived together was read. It returns nil if the system has no epoll, or no descriptor
// is left.
func NewLoop(now func() time.Duration, knocked, handled func()) *Loop {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	l := &Loop{knocked: knocked, handled: handled, poll: poll, finished: make(chan struct{}),
		lent: make(chan struct{}), back: make(chan struct{}), in: newReceiver(now)}
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

// Stop ends the loop. Its connections must have been closed, or have left, before. If the loop is borrowed,
// Stop waits for Return.
func (l *Loop) Stop() {
	l.ring(stop)
	<-l.finished
	l.closeAll()
}

// Knock makes the loop call knocked. The time until that call is how late the loop reads. It reports false if
// the loop is stopped.
func (l *Loop) Knock() bool { return l.ring(knock) }

// ring writes to the bell, unless the loop is stopped. The pipe always has room, since earlier bytes are read
// first.
func (l *Loop) ring(b byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	_, err := syscall.Write(l.bell[1], []byte{b})
	return err == nil
}

// rung reads the bell. A borrower may be the one that reads stop; run then sees ending.
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

// Hold keeps the loop from reading until Release. A thread that must not be disturbed calls it; a handler
// must not.
func (l *Loop) Hold() { l.turn.Lock() }

// Release ends a Hold.
func (l *Loop) Release() { l.turn.Unlock() }

// Join gives a connection to the loop, which closes nc and uses its own descriptor. It returns nil, and
// leaves nc as it was, for a connection without a kernel socket (net.Pipe, TLS).
func (l *Loop) Join(nc net.Conn, h LoopHandler) *LoopConn {
	own, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := own.SyscallConn()
	if err != nil {
		return nil
	}
	c := &LoopConn{Conn: nc, loop: l, handler: h, fd: -1}
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
	stamped(c.fd)
	nc.Close()
	return c
}

// run handles what arrives until the loop is stopped.
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
			c.drain(l.in, l.events[i].Events)
		}
	}
	l.handled()
	l.turn.Unlock()
	if rings {
		l.rung()
	}
}

// Borrow makes the goroutine of the loop stand still until Return. The caller reads in its place, with Poll.
// A handler must not call it, nor a goroutine that holds a lock that handlers wait for.
func (l *Loop) Borrow() {
	l.ring(lend)
	<-l.lent
}

// Return ends a Borrow.
func (l *Loop) Return() { l.back <- struct{}{} }

// Poll handles what has arrived, or waits up to d for the first arrival. The caller must have borrowed the
// loop. It tells whether anything had arrived.
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

// brief is how many milliseconds the loop waits in epoll_wait before it uses the network poller.
const brief = 1

// wait returns when something arrived. After a silence it waits in the network poller of the runtime. A
// thread in a system call keeps a processor of the scheduler for 10 ms, and sysmon polls every 20 us
// meanwhile. At 100 requests a second this took half of the processor time of a run.
func (l *Loop) wait() int {
	if n := l.look(brief); n > 0 {
		return n
	}
	const least = 0 // the lowest number that is free
	fd, _, failed := syscall.Syscall(syscall.SYS_FCNTL, uintptr(l.poll), syscall.F_DUPFD_CLOEXEC, least)
	if failed != 0 || syscall.SetNonblock(int(fd), true) != nil {
		return l.look(-1)
	}
	// The poller watches it for this wait only. Otherwise each arrival would wake a thread there too.
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

// look waits in epoll_wait for ms milliseconds, -1 for ever. It returns the number of events.
func (l *Loop) look(ms int) int {
	n, err := syscall.EpollWait(l.poll, l.events[:], ms)
	if err != nil && err != syscall.EINTR {
		panic("eventloop: epoll_wait: " + err.Error()) // no error of a connection shows here
	}
	return max(n, 0)
}

// find looks up the connections of the first n events, and tells whether the bell is among them.
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

// put sets which connection a descriptor belongs to; nil for none.
func (l *Loop) put(fd int, c *LoopConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.conns) <= fd {
		l.conns = append(l.conns, nil)
	}
	l.conns[fd] = c
}

// LoopConn is a connection of a loop, or one that left it. Its Read must not be called.
type LoopConn struct {
	// Conn is the connection that joined. It is closed; only its addresses are used.
	net.Conn
	loop    *Loop
	handler LoopHandler

	mu sync.Mutex
	// fd is open until gone. Any goroutine writes to it under mu. Once begun, only the loop reads from it and
	// closes it.
	fd int
	// begun tells that the loop reads. shut tells that Close was called. gone tells that the descriptor no
	// longer belongs to this connection. heard is what Heard returns from then on.
	begun, shut, gone, heard bool
	// left is the connection after it has left the loop; nil before.
	left net.Conn
}

// Begin makes the loop read the connection. If it returns an error, the connection is closed and not read.
func (c *LoopConn) Begin() error {
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

// drain reads what has arrived. A read that does not fill the buffer took everything, unless the peer ended.
func (c *LoopConn) drain(in *receiver, events uint32) {
	for !c.gone {
		n, came, read, err := in.receive(c.fd)
		switch {
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
			c.handler.Ready(in.buffer[:n], came, read)
		}
		if n < MostLoops && events == syscall.EPOLLIN {
			return
		}
	}
}

// closed tells whether Close was called. Its lock also makes what the sender of a request wrote visible
// before the answer is handled.
func (c *LoopConn) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shut
}

// finish closes the descriptor and tells the handler.
func (c *LoopConn) finish(err error) {
	c.loop.put(c.fd, nil)
	c.mu.Lock()
	c.heard = confirmed(c.fd)
	c.release()
	c.mu.Unlock()
	c.handler.Gone(err)
}

// release closes the descriptor. The lock is held.
func (c *LoopConn) release() {
	c.gone = true
	syscall.Close(c.fd)
}

// raw sends or receives b, which is not empty, on a socket that never blocks. So the call bypasses the
// scheduler. send and recv take less time than write and read, which treat the socket as a file.
func raw(call uintptr, fd int, b []byte) (int, error) {
	n, _, err := syscall.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)), syscall.MSG_NOSIGNAL, 0, 0)
	if err != 0 {
		return 0, err
	}
	return int(n), nil
}

// Write writes all of b without waiting. If the kernel has no room for it, the connection is closed. So a
// target that does not read cannot delay other connections.
func (c *LoopConn) Write(b []byte) (int, error) {
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

// Close ends the connection, and the handler is told (Gone). It never waits.
func (c *LoopConn) Close() error {
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
func (c *LoopConn) shutdown() {
	c.shut = true
	_ = syscall.Shutdown(c.fd, syscall.SHUT_RDWR) // fails if it has ended already, which the loop finds too
}

// Leave takes the connection out of the loop. From then on it is an ordinary connection, and Write may wait.
// Its handler calls it.
func (c *LoopConn) Leave() (net.Conn, error) {
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

// Heard tells whether the kernel of the peer has confirmed all that was written to nc: bytes that come after
// the peer's close are answered by a reset, and never confirmed. nc must be open, or be a Conn that its peer
// ended. A connection without a kernel socket is heard.
func Heard(nc net.Conn) (yes bool) {
	if c, ok := nc.(*LoopConn); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.left == nil {
			return c.heard
		}
		nc = c.left
	}
	own, ok := nc.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := own.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) { yes = confirmed(int(fd)) })
	return yes && err == nil
}

// confirmed tells whether a socket has no bytes left that are unsent or not confirmed (tcp(7), SIOCOUTQ).
func confirmed(fd int) bool {
	var left int32
	_, _, err := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCOUTQ,
		uintptr(unsafe.Pointer(&left)))
	return err == 0 && left == 0
}

// receiver is what the thread of a loop receives with. It is not to be copied.
type receiver struct {
	stamps
	buffer [MostLoops]byte
	now    func() time.Duration
	// control is for one message with a syscall.Timespec, aligned.
	control [8]uint64
	bytes   syscall.Iovec
	message syscall.Msghdr
}

// newReceiver returns a receiver whose clock is now. What comes from here on can have a stamp that is used.
func newReceiver(now func() time.Duration) *receiver {
	r := &receiver{now: now}
	r.bytes.Base = &r.buffer[0]
	r.bytes.SetLen(len(r.buffer))
	r.message.Iov, r.message.Iovlen = &r.bytes, 1
	r.message.Control = (*byte)(unsafe.Pointer(&r.control))
	r.look()
	return r
}

// look samples the clocks and returns the loop's.
func (r *receiver) look() time.Duration {
	before := r.now()
	wall := time.Now().UnixNano()
	after := r.now()
	r.sample(before, wall, after)
	return after
}

// stamped has the kernel stamp what comes on a socket. Without that the time of the read is used.
func stamped(fd int) { _ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1) }

// receive reads into the buffer from a socket that never waits: the scheduler need not hear of the call. came
// is a time of the loop's clock by which all of the n bytes had come, read the time after the read; both are
// 0 with an error.
func (r *receiver) receive(fd int) (n int, came, read time.Duration, err error) {
	r.message.SetControllen(int(unsafe.Sizeof(r.control)))
	got, _, failed := syscall.RawSyscall(syscall.SYS_RECVMSG, uintptr(fd),
		uintptr(unsafe.Pointer(&r.message)), 0)
	if failed != 0 {
		return 0, 0, 0, failed
	}
	read = r.look()
	return int(got), r.arrival(r.stamp(), read), read, nil
}

// stamp is the stamp of the message that was received, in nanoseconds since 1970, or 0. Of several packets
// TCP tells that of the last.
func (r *receiver) stamp() int64 {
	h := (*syscall.Cmsghdr)(unsafe.Pointer(&r.control))
	if int(r.message.Controllen) < syscall.CmsgLen(int(unsafe.Sizeof(syscall.Timespec{}))) ||
		h.Level != syscall.SOL_SOCKET || h.Type != syscall.SCM_TIMESTAMPNS {
		return 0
	}
	at := (*syscall.Timespec)(unsafe.Add(unsafe.Pointer(h), syscall.CmsgLen(0)))
	return at.Nano()
}
