package transport

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAReaderIsAsLateAsItsFirstUnreadCall: while a reader is late no other call is made, so that a later one
// does not hide the lag. The lag is of the phase in which it began, and of that in which it ended.
func TestAReaderIsAsLateAsItsFirstUnreadCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var phase atomic.Pointer[string]
		first, second := "first", "second"
		phase.Store(&first)
		l := NewLag(Clock{Start: time.Now()}, &phase)
		if !l.call() {
			t.Fatal("the first call is not made")
		}
		l.Heard() // one of two readers is faster than the writer
		l.await(2)
		for range 8 {
			time.Sleep(looks)
			if l.call() {
				t.Fatal("a call is made though a reader has not read the one before")
			}
		}
		phase.Store(&second)
		l.Heard()
		for _, name := range []string{first, second} {
			if got := l.Of(name); got != 8*looks {
				t.Errorf("%s: got a lag of %s, want %s", name, got, 8*looks)
			}
		}
		if !l.call() {
			t.Error("no call is made though all have read the one before")
		}
	})
}
