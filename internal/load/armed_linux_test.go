package load

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// segmentsSent returns how many segments the kernel sent on a connection: tcpi_segs_out of tcp(7).
func segmentsSent(t *testing.T, c net.Conn) (n uint32) {
	t.Helper()
	err := must(c.(syscall.Conn).SyscallConn()).Control(func(fd uintptr) {
		info, size := make([]byte, 256), uint32(256)
		_, _, failed := syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, syscall.IPPROTO_TCP, syscall.TCP_INFO,
			uintptr(unsafe.Pointer(&info[0])), uintptr(unsafe.Pointer(&size)), 0)
		if failed == 0 && size >= 140 { // another kernel than Linux may return less
			n = binary.NativeEndian.Uint32(info[136:])
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestATargetOwesNothingWhenTheGateOpens: when the last bytes of a request arrive, no acknowledgement for
// earlier bytes is pending. One may be pending if the machine stands still between two writes, so one good
// try of several is enough.
func TestATargetOwesNothingWhenTheGateOpens(t *testing.T) {
	var gated, free atomic.Int64
	u := loopback(t, func(c net.Conn) {
		for br, n := bufio.NewReader(c), 0; ; n++ {
			var head []byte
			for !strings.HasSuffix(string(head), "\r\n\r\n") {
				before := segmentsSent(t, c)
				b := make([]byte, 4096)
				k, err := br.Read(b)
				if err != nil {
					return
				}
				if head = append(head, b[:k]...); n > 0 && k == 2 {
					gated.Add(1)
					if segmentsSent(t, c) == before {
						free.Add(1)
					}
				}
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	const n = 8
	tl := mustRecord(t, schedule(
		timeline.Phase{Name: "warm", Shape: timeline.AtOnce, Arrivals: each(n, 0, "k", 0)},
		timeline.Phase{Name: "b", Shape: timeline.AtOnce, Arrivals: each(n, 0, "k", n)},
	), Options{URL: u})
	if got := tl.Counts(); got.Allowed != 2*n || gated.Load() != n || free.Load() == 0 {
		t.Errorf("got %+v, %d gates, %d without an acknowledgement, want %d, %d and at least one", got,
			gated.Load(), free.Load(), 2*n, n)
	}
}
