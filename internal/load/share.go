package load

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
)

// meet waits until phase i may be prepared. It reports false if nothing more is to be sent.
func (r *recorder) meet(i int) bool {
	if r.o.Share == nil || r.o.Share.Meet(r.net.Sending(), i) {
		return true
	}
	r.net.Halt(transport.Unpermitted)
	return false
}

// beginning returns when phase i begins, which was planned for due. It reports false if nothing more is to be
// sent. A single recorder that is late begins now. One of several begins together with the others, and its
// requests are recorded late.
func (r *recorder) beginning(i int, due time.Duration) (time.Duration, bool) {
	if r.o.Share == nil {
		return max(due, r.clock.Now()), true
	}
	begin, ok := r.o.Share.Begin(r.net.Sending(), i, r.clock.Start, due)
	if !ok {
		r.net.Halt(transport.Unpermitted)
	}
	return begin, ok
}
