package transport

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// keepEvery is how often the journal is written. A program that is killed loses at most this much of the
	// recording.
	keepEvery = 250 * time.Millisecond
	// keepStep is how many events are written before goroutines that read answers get a turn.
	keepStep = 64
	// keepMost is how many events are gathered before the journal is written early.
	keepMost = 4096
	// keepRoom is the most events that are held. Then senders and readers wait: a journal that falls behind
	// would otherwise take all memory.
	keepRoom = 8 * keepMost
)

// Journal takes in what is sent and what is over, and writes it from a goroutine of its own (Keep). A nil
// Journal does nothing. A sender only copies one event under a lock that nobody holds for longer. It waits
// only if the journal is far behind.
//
//	Sent   before the write that lets the target decide, so that nothing decided before a mark is missing
//	Ended  when the request is over
type Journal struct {
	// to is nil if there is no file. kept is nil if the recording fits into memory.
	to   *timeline.JournalWriter
	kept *timeline.Sorter

	mu     sync.Mutex
	events []entry
	broken bool
	// room is signalled when events were taken away.
	room *sync.Cond
	// full wakes the goroutine of Keep when many events were gathered.
	full chan struct{}

	// The rest belongs to the goroutine of Keep. fresh has the requests in flight whose event is in the
	// current batch, with its index. waiting has the requests that were in flight at a mark, with their
	// numbers.
	spare                  []entry
	fresh                  map[*JournalRequest]int
	waiting                map[*JournalRequest]int
	numbers                int
	spreads, stalls, notes int // how many of each were written
}

// JournalRequest identifies a request in flight by its address, which may be used again when the request is
// over.
type JournalRequest struct {
	// Free tells that the request gets its number at the end, by the time of its send.
	Free bool
}

// Recorder is what a journal asks of the recorder.
type Recorder interface {
	// News returns the spreads, stalls and notes so far, each in order of arrival. Earlier elements never
	// change.
	News() (spreads []timeline.Spread, stalls []timeline.Stall, notes []string)
	// Halt ends the sending, and adds a sentence to the header of the recording.
	Halt(why string)
}

// entry says that a request was sent, or that it is over.
type entry struct {
	request *JournalRequest
	over    bool
	obs     timeline.Observation
}

// NewJournal returns a journal that writes to a file and keeps all observations. Each argument may be nil;
// with both nil the journal is nil.
func NewJournal(to *timeline.JournalWriter, kept *timeline.Sorter) *Journal {
	if to == nil && kept == nil {
		return nil
	}
	j := &Journal{to: to, kept: kept, full: make(chan struct{}, 1)}
	j.room = sync.NewCond(&j.mu)
	j.fresh, j.waiting = map[*JournalRequest]int{}, map[*JournalRequest]int{}
	return j
}

// Sent notes that request r for arrival a is about to be sent. gated tells that its gate is still closed. The
// goroutine that sends the request calls it.
func (j *Journal) Sent(r *JournalRequest, a *timeline.Arrival, gated bool, at time.Duration) {
	if j == nil {
		return
	}
	e := entry{request: r}
	e.obs.Arrival, e.obs.Sent, e.obs.Error = *a, at, timeline.Interrupted
	if gated {
		e.obs.At = at // when its gate opens is not known yet
	}
	j.add(&e)
}

// Ended notes that r is over, with observation o. early tells that it ended before its gate opened. The
// goroutine that ended the request calls it.
func (j *Journal) Ended(r *JournalRequest, o *timeline.Observation, early bool) {
	if j == nil {
		return
	}
	e := entry{request: r, over: true}
	if early {
		// The gate may write At at the same time, so everything but At is copied.
		e.obs = timeline.Observation{
			Arrival: timeline.Arrival{
				Seq: o.Seq, Partition: o.Partition, Phase: o.Phase, At: o.Sent, Cost: o.Cost,
				Origin: o.Origin,
			},
			Sent: o.Sent, FirstByte: o.FirstByte, Done: o.Done, Answered: o.Answered, Status: o.Status,
			Outcome: o.Outcome, Error: o.Error, Fields: o.Fields, Body: o.Body,
		}
	} else {
		e.obs = *o
	}
	j.add(&e)
}

func (j *Journal) add(e *entry) {
	j.mu.Lock()
	for len(j.events) >= keepRoom {
		j.room.Wait()
	}
	if !j.broken {
		j.events = append(j.events, *e)
	}
	full := len(j.events) == keepMost
	j.mu.Unlock()
	if full {
		select {
		case j.full <- struct{}{}:
		default:
		}
	}
}

// Keep writes the journal every keepEvery until ctx ends, and once more then. h is the header of the
// recording. free is the first number for requests that are numbered at the end.
func (j *Journal) Keep(ctx context.Context, clock Clock, h timeline.Header, free int, r Recorder) {
	j.drop(r, j.to.Begin(h, free))
	for more := true; more && !j.broken; {
		Rest(ctx, keepEvery, j.full)
		more = ctx.Err() == nil
		j.drop(r, j.flush(clock, r))
	}
}

// Finish returns the kept observations, ascending by their sends. It is called after Keep has returned.
func (j *Journal) Finish() *timeline.Spool { return j.kept.Finish() }

// drop stops the file after an error, and the sending: what cannot be kept is no evidence. The sorter, if
// there is one, takes in what is in flight.
func (j *Journal) drop(r Recorder, err error) {
	if err == nil {
		return
	}
	r.Halt("stopped: the recording cannot be kept: " + CausePlain(err))
	if j.to = nil; j.kept == nil {
		j.mu.Lock()
		j.broken, j.events = true, nil
		j.room.Broadcast()
		j.mu.Unlock()
	}
}

// flush writes the events since the last flush, and a mark.
func (j *Journal) flush(clock Clock, r Recorder) error {
	j.mu.Lock()
	events := j.events
	j.events = j.spare[:0]
	m := timeline.JournalMark{At: clock.Now()} // a request that is not among the events is sent later
	j.room.Broadcast()
	j.mu.Unlock()
	for i := range events {
		j.take(events, i)
		if i%keepStep == keepStep-1 {
			runtime.Gosched()
		}
	}
	for q, i := range j.fresh {
		j.numbers++
		j.waiting[q] = j.numbers
		j.to.Entry(&timeline.JournalEntry{Observation: events[i].obs, Free: q.Free, Open: j.numbers})
	}
	clear(j.fresh)
	if err := j.kept.Err(); err != nil {
		r.Halt("stopped: the recording cannot be kept: " + CausePlain(err))
	}
	clear(events) // so that the spare slice keeps no texts in memory
	j.spare = events
	spreads, stalls, notes := r.News()
	m.Spreads, j.spreads = spreads[j.spreads:], len(spreads)
	m.Stalls, j.stalls = stalls[j.stalls:], len(stalls)
	m.Notes, j.notes = notes[j.notes:], len(notes)
	return j.to.Mark(m)
}

// take takes in one event.
func (j *Journal) take(events []entry, i int) {
	e := &events[i]
	if !e.over {
		j.fresh[e.request] = i
		return
	}
	n, free := j.waiting[e.request], e.request.Free
	delete(j.waiting, e.request)
	delete(j.fresh, e.request)
	j.to.Entry(&timeline.JournalEntry{Observation: e.obs, Free: free, Open: n})
	if j.kept != nil {
		if free {
			e.obs.Seq = -1
		}
		j.kept.Add(&e.obs)
	}
}
