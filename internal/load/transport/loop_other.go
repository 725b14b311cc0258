//go:build !linux

package transport

import (
	"errors"
	"net"
	"runtime"
	"time"
)

// Loop is one thread that reads connections; it does not exist on this system.
type Loop struct{}

// LoopConn is a connection of a loop.
type LoopConn struct{ net.Conn }

// NewLoop returns nil.
func NewLoop(func() time.Duration, func(), func()) *Loop { return nil }

// Stop does nothing.
func (*Loop) Stop() {}

// Knock reports false.
func (*Loop) Knock() bool { return false }

// Hold does nothing.
func (*Loop) Hold() {}

// Release does nothing.
func (*Loop) Release() {}

// Borrow does nothing.
func (*Loop) Borrow() {}

// Return does nothing.
func (*Loop) Return() {}

// Poll does nothing.
func (*Loop) Poll(time.Duration) bool { return false }

// Join returns nil: nc is as it was.
func (*Loop) Join(net.Conn, LoopHandler) *LoopConn { return nil }

// Heard is true: what the peer has confirmed is not known on this system.
func Heard(net.Conn) bool { return true }

// Begin fails.
func (*LoopConn) Begin() error { return errors.ErrUnsupported }

// Leave fails.
func (*LoopConn) Leave() (net.Conn, error) { return nil, errors.ErrUnsupported }

func (precise) Enter() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// nap sleeps with the timers of the runtime, which are about a millisecond late.
func nap(d time.Duration) { time.Sleep(d) }

func yield() {}
