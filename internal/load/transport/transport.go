package transport

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Transport sends the shots of one recording over its own connections, and ends each.
type Transport struct {
	o       *Options
	clock   Clock
	journal *Journal
	heard   func()
	ending
	// shared tells that there are too many partitions for each to have its own connections.
	shared bool
	// numbers has the number of each partition, counted from first in the order of their first appearance.
	numbers map[string]int
	first   int
	fields  *fieldStore
	dialer  dialer
	loops
	*noteBook
	doubts
	tallies

	mu    sync.Mutex
	pools map[poolKey]*Pool
	live  map[*Conn]struct{}
	connections

	// frugal tells that no connection is left idle. released tells that the last gate of the current phase is
	// open. alone tells that each request of the phase has its own connection. rests: relieve waits.
	frugal, released, alone, rests atomic.Bool
	// wakes ends the waiting of relieve.
	wakes chan struct{}
	wg    sync.WaitGroup
}

// ending says how much still goes on. ctx ends when the caller gives up, and at the end: everything stops.
// sending ends then too, and also when the run is halted. After a halt nothing more is sent, and what is in
// flight is waited for.
type ending struct {
	ctx, sending    context.Context
	cancel, stop    context.CancelFunc
	halted, aborted atomic.Bool
}

// connections are how many there are, and how many the target has room for. It is guarded by
// Transport.mu.
type connections struct {
	// open counts connections and dials, opening the dials alone. hungry counts the waiting shots, tickets
	// the requests sent or waiting.
	open, opening, hungry, tickets int
	// reached tells that a connection was opened, failed that one could not be.
	reached, failed bool
	// places is how many connections the target had room for when more timed out beside idle ones. 0 means
	// that none did. timedOut counts the connections that timed out since the last that was opened.
	places, timedOut int
}

// New returns a transport for the requests that o describes. Its goroutines end with ctx or Abort. The
// partitions are those of the schedule in the order of their first appearance, which decides the source
// addresses; others may follow. j may be nil. Each event loop calls heard when it has read a Knock.
func New(ctx context.Context, o *Options, clock Clock, partitions []string, j *Journal,
	heard func()) *Transport {
	t := &Transport{
		o: o, clock: clock, journal: j, heard: heard,
		numbers: map[string]int{},
		pools:   map[poolKey]*Pool{},
		live:    map[*Conn]struct{}{},
		fields:  newFieldStore(), wakes: make(chan struct{}, 1),
		noteBook: &noteBook{words: map[string]bool{}, protocols: map[string]bool{}},
	}
	t.dialer = dialer{o, t.noteBook}
	t.ctx, t.cancel = context.WithCancel(ctx)
	t.sending, t.stop = context.WithCancel(t.ctx)
	for _, name := range partitions {
		t.number(name)
	}
	t.shared = len(t.numbers) > largestPools && o.Partition.Kind != ByAddress
	return t
}

// Sending returns a context that ends when nothing more is to be sent: halted, aborted, or given up by the
// caller.
func (e *ending) Sending() context.Context { return e.sending }

// Done returns a channel that is closed when everything stops: aborted, or given up by the caller.
func (e *ending) Done() <-chan struct{} { return e.ctx.Done() }

func (e *ending) Halted() bool { return e.halted.Load() }

// Halt ends the sending. Requests in flight are waited for. The note says why; only the first note is kept.
func (t *Transport) Halt(note string) {
	t.mu.Lock()
	first := !t.halted.Swap(true)
	t.mu.Unlock()
	if first {
		t.Note("%s", note)
		t.stop()
		t.Purge(nil)
	}
}

// haltLocked is Halt for a caller that holds the lock. A goroutine does the part that needs the lock.
func (t *Transport) haltLocked(note string) {
	if t.halted.Swap(true) {
		return
	}
	t.Note("%s", note)
	t.wg.Go(func() {
		t.stop()
		t.Purge(nil)
	})
}

// Abort closes everything. Requests in flight end as interrupted.
func (t *Transport) Abort() {
	t.mu.Lock()
	t.halted.Store(true)
	t.aborted.Store(true)
	for c := range t.live {
		c.hangUp()
	}
	t.mu.Unlock()
	t.cancel()
	t.Purge(nil)
}

// Wait returns, after Abort, when every shot has ended and nothing is read any more.
func (t *Transport) Wait() { t.wg.Wait() }

// Stop ends the event loops, after Wait. Knock must not be called afterwards.
func (t *Transport) Stop() {
	for _, l := range t.loops.all {
		l.loop.Stop()
	}
}

// Share is what a recorder needs to know if several send a schedule together, each a part of it.
type Share struct {
	Turns
	// Partitions are those of the whole schedule, in the order of their first appearance. That order decides
	// the source addresses.
	Partitions []string
	// Forged is how many addresses the recorders before this one may invent.
	Forged int
}

// Turns keeps the recorders in step. Phases are numbered from 0.
type Turns interface {
	// Meet waits until phase i may be prepared. It reports false if nothing more is to be sent.
	Meet(ctx context.Context, i int) bool
	// Begin returns when phase i, which is prepared, begins, as time since start. start is when the recording
	// began, due the planned end of the phase before. It reports false if nothing more is to be sent.
	Begin(ctx context.Context, i int, start time.Time, due time.Duration) (time.Duration, bool)
	// Permit is asked before each request and does not wait. It reports false if nothing more is to be sent.
	Permit() bool
}

// Unpermitted is the note of a recorder that had to stop.
const Unpermitted = "stopped: this part of the load was not permitted to go on"

// Permitted tells whether a request may be sent now. One of several recorders asks before each request.
func (o *Options) Permitted() bool { return o.Share == nil || o.Share.Permit() }

// tallies count requests and connections.
type tallies struct {
	// opened counts the connections ever opened, linked the links ever opened.
	sent, opened, linked atomic.Int64
	counts               [3]atomic.Int64
	// astray counts answers 404 and 410 that are neither admissions nor denials.
	astray   atomic.Int64
	answered atomic.Bool
	// slowest is the longest time that opening a connection took, openings the sum of these times, in
	// nanoseconds.
	slowest, openings atomic.Int64
}

// Counts returns how many requests were sent, and how many are over, by outcome.
func (t *tallies) Counts() (sent int, over [3]int) {
	for i := range over {
		over[i] = int(t.counts[i].Load())
	}
	return int(t.sent.Load()), over
}

// Silent tells whether requests are over and none was ever answered.
func (t *tallies) Silent() bool { return !t.answered.Load() && t.counts[timeline.Unknown].Load() > 0 }

// leastAstray is how many answers show that a target does not know a path. One that starts soon answers
// otherwise.
const leastAstray = 20

// Astray tells whether requests are over, and the target did not know the path of any of them.
func (t *tallies) Astray() bool {
	n := t.astray.Load()
	return n >= leastAstray && t.counts[timeline.Allowed].Load()+t.counts[timeline.Denied].Load() == 0 &&
		n == t.counts[timeline.Unknown].Load()
}

func (t *tallies) Opened() int { return int(t.opened.Load()) }

// MeanOpening is how long it took on average to open a connection. It is 0 if none was opened yet.
func (t *tallies) MeanOpening() time.Duration {
	return time.Duration(t.openings.Load() / max(t.opened.Load(), 1))
}

// Watch closes connections whose request in flight has timed out. It sets no timer for each request. All
// requests have the same time-out, so nothing sent after a look expires before that look + Timeout. If this
// process stood still, an answer may have arrived in time and wait to be read. Then nothing is closed until
// it could have been read.
//
//	sent        answer comes      time-out     the look is late    read       the next look
//	|----------------|== this process stands still ==|-------- unread --------------|
func (t *Transport) Watch(ctx context.Context, stalls *Stalls) {
	if !t.o.HTTP2 { // an idle stream holds no thread
		var relief sync.WaitGroup
		relief.Go(func() { t.relieve(ctx) })
		defer relief.Wait()
	}
	var lost time.Duration // when requests were first seen lost, with none answered
	due, spared := t.expire(), 0
	for Rest(ctx, due-t.clock.Now(), nil) {
		now := t.clock.Now()
		if spared < mostSpared && stalls.Now(due, now, unread) {
			due, spared = now+unread, spared+1
			continue
		}
		switch {
		case !t.Silent():
		case lost == 0:
			lost = now
		case now-lost >= unansweredFor: // else clients of a closed phase would ask for hours
			t.Halt(fmt.Sprintf("stopped: no request was answered in %v", now))
		}
		due, spared = t.expire(), 0
	}
}

const (
	// unread is how long after a stall an answer that arrived meanwhile may wait to be read.
	unread = 100 * time.Millisecond
	// mostSpared is how many looks in a row may close nothing. Without this bound, a busy machine that stalls
	// all the time would never time out.
	mostSpared = 5
)

// unansweredFor is how long a phase goes on while requests are lost and none was ever answered.
const unansweredFor = 10 * time.Second

// expire closes what has timed out and returns when to look again.
func (t *Transport) expire() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	next := now + t.o.Timeout
	for c := range t.live {
		switch at := c.expires.Load(); {
		case at <= 0:
		case time.Duration(at) > now:
			next = min(next, time.Duration(at))
		case c.expires.CompareAndSwap(at, expired):
			c.hangUp()
		}
	}
	return next
}
