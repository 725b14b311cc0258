package transport

import "time"

// LoopHandler gets what arrives on a connection. The loop calls it from its thread and reads nothing
// meanwhile, so it must not wait.
type LoopHandler interface {
	// Ready is called with the bytes of one read, 1 to Most of them. came is a time by which all of them had
	// arrived: the kernel's stamp if it can be used, or else read, the clock after that read. b is valid only
	// during the call.
	Ready(b []byte, came, read time.Duration)
	// Gone is called once, unless the connection leaves the loop. The connection has ended, and its
	// descriptor is closed. err is io.EOF, net.ErrClosed after Close, or a *net.OpError.
	Gone(err error)
}

// MostLoops is the most bytes of one read.
const MostLoops = 4096
