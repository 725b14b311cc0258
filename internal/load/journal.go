package load

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/cause"
	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// keepEvery is how often the journal is written: so much of a recording is lost at most when the
	// program is killed.
	keepEvery = 250 * time.Millisecond
	// keepStep is how many events are written before the goroutines that read answers get their turn.
	keepStep = 64
	// keepMost is how many events are gathered at most before the journal is written.
	keepMost = 4096
	// keepRoom is how many there are at most: whoever sends or reads waits then. A journal that is behind
	// would take all memory.
	keepRoom = 8 * keepMost
)

// journal passes on what is sent and what is over to Options.Journal, from a goroutine of its own. A nil
// one does nothing. Whoever sends only copies one event under a lock that nobody holds for longer than
// that, unless the journal is far behind:
//
//	sent   before the write that lets the target decide, so that nothing decided before a mark is missing
//	ended  when the request is over
type journal struct {
	// to is nil where nobody wants it, kept where the recording is not too long for memory.
	to   *ndjson.JournalWriter
	kept *timeline.Sorter

	mu     sync.Mutex
	events []entry
	broken bool
	// room is told when events were taken away.
	room *sync.Cond
	// full wakes the goroutine where many events have been gathered.
	full chan struct{}

	// The rest is the goroutine's. fresh are the requests in flight whose event is among the current ones,
	// by its place; waiting are those that were in flight at a mark, by their number.
	spare                  []entry
	fresh                  map[*shot]int
	waiting                map[*shot]pending
	numbers                int
	spreads, stalls, notes int // so many were written
}

// pending is the number of a request that was in flight at a mark, and when it was sent.
type pending struct {
	number int
	sent   time.Duration
}

// entry is that a request was sent, or is over.
type entry struct {
	shot *shot
	over bool
	obs  timeline.Observation
}

func newJournal(o *Options, long bool) *journal {
	if o.Journal == nil && !long {
		return nil
	}
	j := &journal{to: o.Journal, full: make(chan struct{}, 1)}
	j.room = sync.NewCond(&j.mu)
	j.fresh, j.waiting = map[*shot]int{}, map[*shot]pending{}
	if long {
		j.kept = timeline.NewSorter(o.Spill)
	}
	return j
}

// sent notes that s is about to be sent at a time. The caller is the one who sends it.
func (j *journal) sent(s *shot, at time.Duration) {
	if j == nil {
		return
	}
	e := entry{shot: s}
	e.obs.Arrival, e.obs.Sent, e.obs.Error = s.obs.Arrival, at, timeline.Interrupted
	if s.gated {
		e.obs.At = at // when its gate opens is not known yet
	}
	j.add(&e)
}

// ended notes that s is over. The caller is the one who ended it.
func (j *journal) ended(s *shot) {
	if j == nil {
		return
	}
	e := entry{shot: s, over: true}
	o := s.obs
	if s.gated && s.state.Load() != sent {
		// Its gate may set At in this moment: all but that is copied.
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

func (j *journal) add(e *entry) {
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

// free tells whether s is numbered at the end, by the time of its send.
func (s *shot) free() bool {
	p, planned := s.owner.(*phase)
	return !planned || p.plan.Shape == timeline.Boundary
}

// keepJournal writes it now and then, and once more at the end.
func (r *recorder) keepJournal(ctx context.Context) {
	h := timeline.Header{Started: r.clock.Start.Round(0), WallError: r.o.WallError, Tick: r.o.Tick}
	j := r.journal
	j.drop(r, j.to.Begin(h, firstFree(r.s)))
	for more := true; more && !j.broken; {
		pacing.Rest(ctx, keepEvery, j.full)
		more = ctx.Err() == nil
		j.drop(r, j.flush(r))
	}
}

// drop writes no more, for an error: what is kept besides goes on.
func (j *journal) drop(r *recorder, err error) {
	if err == nil {
		return
	}
	r.note("the recording could not be kept while it was made: %s", cause.Plain(err))
	if j.to = nil; j.kept == nil {
		j.mu.Lock()
		j.broken, j.events = true, nil
		j.room.Broadcast()
		j.mu.Unlock()
	}
}

// flush writes what happened since the last time.
func (j *journal) flush(r *recorder) error {
	j.mu.Lock()
	events := j.events
	j.events = j.spare[:0]
	m := ndjson.Mark{At: r.clock.Now()} // what is not among the events is sent later
	j.room.Broadcast()
	j.mu.Unlock()
	for i := range events {
		j.take(events, i)
		if i%keepStep == keepStep-1 {
			runtime.Gosched()
		}
	}
	for s, i := range j.fresh {
		j.numbers++
		j.waiting[s] = pending{j.numbers, events[i].obs.Sent}
		j.to.Entry(&ndjson.Entry{Observation: events[i].obs, Free: s.free(), Open: j.numbers})
	}
	clear(j.fresh)
	j.await(m.At)
	clear(events) // their texts are not kept alive
	j.spare = events
	r.mu.Lock()
	m.Spreads, j.spreads = r.spreads[j.spreads:], len(r.spreads)
	m.Notes, j.notes = r.notes[j.notes:], len(r.notes)
	r.mu.Unlock()
	stalls := r.stalls.All()
	m.Stalls, j.stalls = stalls[j.stalls:], len(stalls)
	return j.to.Mark(m)
}

// unnoted is how long it takes at most, nearly always, until a request is noted that was sent.
const unnoted = 50 * time.Millisecond

// await tells the sorter from when on those were sent that are not over at a mark.
func (j *journal) await(mark time.Duration) {
	if j.kept == nil {
		return
	}
	floor := mark - unnoted
	for _, o := range j.waiting {
		floor = min(floor, o.sent)
	}
	j.kept.Await(floor)
}

// take takes in one event.
func (j *journal) take(events []entry, i int) {
	e := &events[i]
	if !e.over {
		j.fresh[e.shot] = i
		return
	}
	n, free := j.waiting[e.shot].number, e.shot.free()
	delete(j.waiting, e.shot)
	delete(j.fresh, e.shot)
	j.to.Entry(&ndjson.Entry{Observation: e.obs, Free: free, Open: n})
	if j.kept != nil {
		if free {
			e.obs.Seq = -1
		}
		j.kept.Add(&e.obs)
	}
}
