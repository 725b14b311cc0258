package transport

import (
	"context"
	"testing"
	"time"
)

// lender is a Reader that counts its calls and may end a wait.
type lender struct {
	borrowed, polled, given int
	end                     func()
}

func (l *lender) Borrow() { l.borrowed++ }

func (l *lender) Poll(time.Duration) bool {
	if l.polled++; l.polled == 3 {
		l.end()
	}
	return false
}

func (l *lender) Return() { l.given++ }

// A pacer reads all the time while it waits, and at least once. If a request is very late it gives the reader
// back. Each further time that follows soon, it does so for twice as long.
func TestAPacerReadsUntilOthersKeepTheProcessor(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	from := &lender{end: end}
	p, done := ReadingPacer(precise{margin: spin}.on(2, false), from)
	r, clk := p.(*pacerReading), Clock{Start: time.Now().Add(-time.Hour)}
	if r.Wait(ctx, clk, 2*time.Hour, nil) || from.borrowed != 1 || from.polled != 3 {
		t.Errorf("it borrowed the reader %d times, read %d times, want 1 and 3", from.borrowed, from.polled)
	}
	late := func() {
		t.Helper()
		polled := from.polled
		if !r.Wait(context.Background(), clk, 0, nil) {
			t.Error("nothing ended it")
		}
		if read := from.polled > polled; read != r.borrowed {
			t.Errorf("it reads: %v; it borrowed the reader: %v", read, r.borrowed)
		}
	}
	for n, want := range []time.Duration{leastPause, 2 * leastPause, 4 * leastPause} {
		r.borrowed = true
		late()
		if from.given != n+1 || r.borrowed || r.pause != 2*want {
			t.Errorf("late for the %d. time: it gave the reader back %d times, next for %v, want %v", n+1,
				from.given, r.pause, 2*want)
		}
		r.alone = 2 * time.Hour
		late()
	}
	r.alone = 0 // long ago
	if late(); !r.borrowed {
		t.Error("it does not read again")
	}
	if late(); r.pause != 2*leastPause {
		t.Errorf("the next pause is %v, want %v: nothing was late for long", r.pause, 2*leastPause)
	}
	r.borrowed, from.given = true, 0
	done()
	done()
	if from.given != 1 {
		t.Errorf("at the end it gave the reader back %d times, want 1", from.given)
	}
}

// A pacer waits as before if it may spin all the time, or if it only sleeps.
func TestOnlyASparingPacerReads(t *testing.T) {
	x := precise{margin: spin}
	for _, p := range []Pacer{SleepingPacer(), x.on(8, false), x.on(2, true)} {
		if got, done := ReadingPacer(p, new(lender)); got != p {
			t.Errorf("%#v reads", p)
		} else {
			done()
		}
	}
}
