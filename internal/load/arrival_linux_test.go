package load

import (
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"
)

// arrival reads from a connection. at is when the kernel received what was read last.
type arrival struct {
	raw     syscall.RawConn
	control []byte
	at      time.Time
}

func newArrival(c net.Conn) *arrival {
	raw := must(c.(*net.TCPConn).SyscallConn())
	raw.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	})
	return &arrival{raw: raw, control: make([]byte, 64)}
}

func (a *arrival) Read(p []byte) (n int, err error) {
	var control int
	failed := a.raw.Read(func(fd uintptr) bool {
		n, control, _, _, err = syscall.Recvmsg(int(fd), p, a.control, 0)
		return err != syscall.EAGAIN
	})
	if failed != nil || err != nil || n == 0 {
		return 0, io.EOF
	}
	a.at = time.Now()
	messages, _ := syscall.ParseSocketControlMessage(a.control[:control])
	for _, m := range messages {
		if m.Header.Type == syscall.SCM_TIMESTAMPNS {
			at := (*syscall.Timespec)(unsafe.Pointer(&m.Data[0]))
			a.at = time.Unix(at.Unix())
		}
	}
	return n, nil
}
