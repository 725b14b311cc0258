package load

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// hosted is a connection to an address, which it notes in used when a request is written.
type hosted struct {
	net.Conn
	to   string
	used *sync.Map
}

func (h hosted) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(h.to)) }

func (h hosted) Write(b []byte) (int, error) {
	h.used.Store(h.to, true)
	return h.Conn.Write(b)
}

// TestAllConnectionsUseOneVersionOfIP: a name has an address of each version, and which one answers first
// changes. A limiter that counts by address must see one client, also in a second recording that belongs to
// the first.
func TestAllConnectionsUseOneVersionOfIP(t *testing.T) {
	virtual(t, ok, func(t *testing.T, o Options) {
		dial := o.Dial
		var n atomic.Int64
		var used sync.Map
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := dial(ctx, network, addr)
			to := "[2001:db8::1]:80"
			if odd := n.Add(1)%2 > 0; network == "tcp4" || network == "tcp" && odd {
				to = "192.0.2.1:80"
			}
			return hosted{nc, to, &used}, err
		}
		o.Families = &transport.Families{}
		for range 2 {
			mustRecord(t, schedule(
				timeline.Phase{Name: "burst", Shape: timeline.AtOnce, Arrivals: each(5, 0, "k", 0)},
				timeline.Phase{Name: "later", Shape: timeline.Constant,
					Arrivals: each(3, 2*time.Second, "k", 5)},
			), o)
		}
		addresses := 0
		used.Range(func(any, any) bool { addresses++; return true })
		if addresses != 1 || n.Load() < 7 {
			t.Errorf("requests went to %d addresses over %d connections", addresses, n.Load())
		}
	})
}
