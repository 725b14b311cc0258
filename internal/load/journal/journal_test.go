package journal

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// nobody records nothing.
type nobody struct{}

func (nobody) News() ([]timeline.Spread, []timeline.Stall, []string) { return nil, nil, nil }
func (nobody) Note(string, ...any)                                   {}

// TestAJournalThatIsBehindIsWaitedFor: what it still has to write does not grow without an end.
func TestAJournalThatIsBehindIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, clock := New(ndjson.NewJournal(io.Discard, nil), nil), pacing.Clock{Start: time.Now()}
		q := new(Request)
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

// A journal is written before much has been gathered, also where its turn has not come.
func TestTheJournalIsWrittenWhenItIsFull(t *testing.T) {
	j := New(ndjson.NewJournal(io.Discard, nil), nil)
	for range keepMost {
		j.add(&entry{request: &Request{}, over: true})
	}
	select {
	case <-j.full:
	default:
		t.Error("nobody was woken")
	}
}
