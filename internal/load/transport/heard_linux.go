package transport

import (
	"net"
	"syscall"
	"unsafe"
)

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
