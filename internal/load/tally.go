package load

import "sync/atomic"

// tally counts the shots of one phase that are not over. quiet gets a value when none is left.
type tally struct {
	left  atomic.Int64
	quiet chan struct{}
}

func newTally() *tally { return &tally{quiet: make(chan struct{}, 1)} }

func (t *tally) add(n int) { t.left.Add(int64(n)) }

func (t *tally) done() {
	if t.left.Add(-1) == 0 {
		t.wake()
	}
}

// wake makes the goroutine that waits for quiet look again.
func (t *tally) wake() {
	select {
	case t.quiet <- struct{}{}:
	default:
	}
}
