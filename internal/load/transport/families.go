package transport

import (
	"context"
	"net"
	"sync"
)

// Families keeps the connections to each host on one version of IP, that of the first. A name may have
// addresses of both versions, and a net.Dialer takes the other one when a connection takes long. A limiter
// that counts by address would then have two clients. The zero value is ready; any goroutine may use it.
type Families struct {
	mu sync.Mutex
	of map[string]string
}

// Dial calls dial with network, or with the network of the version of IP that addr is kept on.
func (f *Families) Dial(ctx context.Context, network, addr string,
	dial func(ctx context.Context, network, addr string) (net.Conn, error)) (net.Conn, error) {
	f.mu.Lock()
	kept := f.of[addr]
	f.mu.Unlock()
	if kept != "" {
		return dial(ctx, kept, addr)
	}
	nc, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if kept = f.keep(addr, nc.RemoteAddr()); kept == version(nc.RemoteAddr()) {
		return nc, nil
	}
	nc.Close() // another one was faster
	return dial(ctx, kept, addr)
}

// keep returns the network that addr is kept on, which is that of at unless another one is kept already.
func (f *Families) keep(addr string, at net.Addr) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]string{}
	}
	if f.of[addr] == "" {
		f.of[addr] = version(at)
	}
	return f.of[addr]
}

// version returns the network of the version of IP of an address; "" for what is no address of TCP.
func version(a net.Addr) string {
	switch tcp, ok := a.(*net.TCPAddr); {
	case !ok:
		return ""
	case tcp.IP.To4() != nil:
		return "tcp4"
	default:
		return "tcp6"
	}
}
