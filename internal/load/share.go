package load

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/load/options"
)

// meet returns when phase i may be prepared; false: nothing more is to be sent.
func (r *recorder) meet(i int) bool {
	if r.o.Share == nil || r.o.Share.Meet(r.net.Sending(), i) {
		return true
	}
	r.net.Halt(options.Unpermitted)
	return false
}

// beginning returns when phase i begins, which was planned for due; false: nothing more is to be sent. A
// recorder that is alone and late begins now. One of several begins with the others, and its requests are
// recorded late.
func (r *recorder) beginning(i int, due time.Duration) (time.Duration, bool) {
	if r.o.Share == nil {
		return max(due, r.clock.Now()), true
	}
	begin, ok := r.o.Share.Begin(r.net.Sending(), i, r.clock.Start, due)
	if !ok {
		r.net.Halt(options.Unpermitted)
	}
	return begin, ok
}
