package transport

import (
	"syscall"
	"time"
	"unsafe"
)

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
