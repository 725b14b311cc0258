package load

import (
	"bytes"
	"net"
	"net/url"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// bareConn is the descriptor of a connection, and what arrived on it.
type bareConn struct {
	fd  int
	got []byte
}

// receive reads what has arrived, if anything.
func (c *bareConn) receive(flags int) bool {
	n, _, err := syscall.Recvfrom(c.fd, c.got[len(c.got):cap(c.got)], flags)
	if err != nil || n == 0 {
		return false
	}
	c.got = c.got[:len(c.got)+n]
	return true
}

// next takes the time from the next answer.
func (c *bareConn) next() string {
	const end = "\r\n\r\nok"
	for !bytes.Contains(c.got, []byte(end)) && c.receive(0) {
	}
	head, rest, _ := bytes.Cut(c.got, []byte(end))
	c.got = rest
	_, value, _ := bytes.Cut(head, []byte("X-At-Reset: "))
	value, _, _ = bytes.Cut(value, []byte("\r\n"))
	return string(value)
}

// bareOpen is the lower bound of lateness: a locked thread spins until a request is due, writes prepared
// bytes, and reads one answer. It uses as many connections as the recorder opens. It returns how late each
// request was at the target.
func bareOpen(b testing.TB, u *url.URL, n int, gap time.Duration) []time.Duration {
	all := make([]bareConn, min(n, 2+int(ahead/gap)))
	for i := range all {
		c := must(net.Dial("tcp", u.Host))
		f := must(c.(*net.TCPConn).File())
		c.Close() // the runtime's poller does not watch this connection
		defer f.Close()
		all[i] = bareConn{int(f.Fd()), make([]byte, 0, 128*(n/len(all)+2))}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	request := []byte("GET / HTTP/1.1\r\nHost: bare\r\n\r\n")
	start := time.Now().Add(10 * time.Millisecond)
	for i := range n {
		for due := time.Duration(i) * gap; time.Since(start) < due; {
		}
		if _, err := syscall.Write(all[i%len(all)].fd, request); err != nil {
			b.Fatal(err)
		}
		all[(i+1)%len(all)].receive(syscall.MSG_DONTWAIT)
	}
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = arrived(all[i%len(all)].next(), start.Add(time.Duration(i)*gap))
	}
	return out
}
