package transport

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// nobody is a Recorder without news.
type nobody struct{}

func (nobody) News() ([]timeline.Spread, []timeline.Stall, []string) { return nil, nil, nil }
func (nobody) Halt(string)                                           {}

// TestAJournalThatIsBehindIsWaitedFor: senders wait for a journal that is behind, so its events do not grow
// without bound.
func TestAJournalThatIsBehindIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, clock := NewJournal(timeline.NewJournal(io.Discard, nil), nil), Clock{Start: time.Now()}
		q := new(JournalRequest)
		var noted atomic.Int64
		go func() {
			for range 2*keepRoom + 1 {
				j.Sent(q, &timeline.Arrival{Cost: 1}, false, 0)
				noted.Add(1)
			}
		}()
		for _, want := range []int64{keepRoom, 2 * keepRoom, 2*keepRoom + 1} {
			synctest.Wait()
			if got := noted.Load(); got != want {
				t.Errorf("got %d notes, want %d", got, want)
			}
			if err := j.flush(clock, nobody{}); err != nil {
				t.Error(err)
			}
		}
	})
}

// A journal is written as soon as many events were gathered, also before its next turn.
func TestTheJournalIsWrittenWhenItIsFull(t *testing.T) {
	j := NewJournal(timeline.NewJournal(io.Discard, nil), nil)
	for range keepMost {
		j.add(&entry{request: &JournalRequest{}, over: true})
	}
	select {
	case <-j.full:
	default:
		t.Error("nobody was woken")
	}
}
