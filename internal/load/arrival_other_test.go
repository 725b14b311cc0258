//go:build !linux

package load

import (
	"net"
	"time"
)

// arrival reads from a connection. at is when the last read returned.
type arrival struct {
	net.Conn
	at time.Time
}

func newArrival(c net.Conn) *arrival { return &arrival{Conn: c} }

func (a *arrival) Read(p []byte) (int, error) {
	n, err := a.Conn.Read(p)
	a.at = time.Now()
	return n, err
}
