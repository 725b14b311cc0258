package load

import "time"

// unpermitted is the note of a recorder that had to stop.
const unpermitted = "stopped: this part of the load had no leave to go on"

// meet returns when phase i may be prepared; false: nothing more is to be sent.
func (r *recorder) meet(i int) bool {
	if r.o.Share == nil || r.o.Share.Meet(r.sending, i) {
		return true
	}
	r.halt(unpermitted)
	return false
}

// beginning returns when phase i begins, which was planned for due; false: nothing more is to be sent. A
// recorder that is alone and late begins now. One of several begins with the others, and its requests are
// recorded late.
func (r *recorder) beginning(i int, due time.Duration) (time.Duration, bool) {
	if r.o.Share == nil {
		return max(due, r.clock.Now()), true
	}
	begin, ok := r.o.Share.Begin(r.sending, i, r.clock.Start, due)
	if !ok {
		r.halt(unpermitted)
	}
	return begin, ok
}
