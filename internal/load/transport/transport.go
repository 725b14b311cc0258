package transport

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
	// ctx ends when the caller gives up, and at the end: everything stops. sending ends then too, and also
	// when the run is halted. After a halt nothing more is sent, and what is in flight is waited for.
	ctx, sending context.Context
	cancel, stop context.CancelFunc
	// shared tells that there are too many partitions for each to have its own connections.
	shared bool
	// numbers has the number of each partition, counted from first in the order of their first appearance.
	numbers map[string]int
	first   int
	fields  *fieldStore

	// loops are the event loops. They start with the first connection that they can read.
	loops []*reading

	mu    sync.Mutex
	pools map[poolKey]*Pool
	live  map[*Conn]struct{}
	// open counts connections and dials, opening the dials alone. hungry counts the waiting shots, tickets
	// the requests sent or waiting. They are guarded by mu.
	open, opening, hungry, tickets int
	notes                          []string
	words, protocols               map[string]bool
	// reached tells that a connection was opened, failed that one could not be. They are guarded by mu.
	reached, failed bool
	// places is how many connections the target had room for when more timed out beside idle ones. 0 means
	// that none did. timedOut counts the connections that timed out since the last that was opened. They are
	// guarded by mu.
	places, timedOut int
	// doubt is when answers arrived that may belong to other requests; nil for never. It is guarded by mu.
	doubt *doubt
	// awake is the last time before a sleep of this computer; nil for none. It is guarded by mu.
	awake *time.Duration

	halted, aborted, answered, hasty atomic.Bool
	// frugal tells that no connection is left idle. released tells that the last gate of the current phase is
	// open.
	frugal, released atomic.Bool
	// opens wakes relieve when released is set.
	opens chan struct{}
	// alone tells that each request of the phase has its own connection.
	alone atomic.Bool
	// opened counts the connections ever opened, linked the links ever opened.
	sent, opened, linked atomic.Int64
	counts               [3]atomic.Int64
	// astray counts answers 404 and 410 that are neither admissions nor denials.
	astray atomic.Int64
	// slowest is the longest time that opening a connection took, openings the sum of these times, in
	// nanoseconds.
	slowest, openings atomic.Int64
	wg                sync.WaitGroup
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
		words:   map[string]bool{}, protocols: map[string]bool{},
		fields: newFieldStore(), opens: make(chan struct{}, 1),
	}
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
func (t *Transport) Sending() context.Context { return t.sending }

// Done returns a channel that is closed when everything stops: aborted, or given up by the caller.
func (t *Transport) Done() <-chan struct{} { return t.ctx.Done() }

// Halted tells whether nothing more is to be sent.
func (t *Transport) Halted() bool { return t.halted.Load() }

// Halt ends the sending. Requests in flight are waited for. The note says why; only the first note is kept.
func (t *Transport) Halt(note string) {
	t.mu.Lock()
	first := !t.halted.Swap(true)
	if first {
		t.notes = append(t.notes, note)
	}
	t.mu.Unlock()
	if first {
		t.stop()
		t.Purge(nil)
	}
}

// haltLocked is Halt for a caller that holds the lock. A goroutine does the part that needs the lock.
func (t *Transport) haltLocked(note string) {
	if t.halted.Swap(true) {
		return
	}
	t.notes = append(t.notes, note)
	t.wg.Add(1)
	go func() {
		defer t.wg.Done()
		t.stop()
		t.Purge(nil)
	}()
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
	for _, l := range t.loops {
		l.loop.Stop()
	}
}

// remember keeps the first error of each word as a note.
func (t *Transport) remember(w string, err error) {
	if err != nil && w != CauseInterrupted {
		t.once(w, CauseFirst(w, CausePlain(err)))
	}
}

// once adds a note, unless one of the same word exists.
func (t *Transport) once(w, note string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.words[w] {
		t.words[w] = true
		t.notes = append(t.notes, note)
	}
}

// Note adds a sentence to the header of the timeline.
func (t *Transport) Note(format string, args ...any) {
	t.mu.Lock()
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
	t.mu.Unlock()
}

// Notes returns the notes so far, oldest first. The caller must not change the slice.
func (t *Transport) Notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.notes
}

// Counts returns how many requests were sent, and how many are over, by outcome.
func (t *Transport) Counts() (sent int, over [3]int) {
	for i := range over {
		over[i] = int(t.counts[i].Load())
	}
	return int(t.sent.Load()), over
}

// Silent tells whether requests are over and none was ever answered.
func (t *Transport) Silent() bool {
	return !t.answered.Load() && t.counts[timeline.Unknown].Load() > 0
}

// leastAstray is how many answers show that a target does not know a path. One that starts soon answers
// otherwise.
const leastAstray = 20

// Astray tells whether requests are over, and the target did not know the path of any of them.
func (t *Transport) Astray() bool {
	n := t.astray.Load()
	return n >= leastAstray && t.counts[timeline.Allowed].Load()+t.counts[timeline.Denied].Load() == 0 &&
		n == t.counts[timeline.Unknown].Load()
}

// Opened returns how many connections were ever opened.
func (t *Transport) Opened() int { return int(t.opened.Load()) }

// Protocols returns the versions of HTTP that the target answered in, with those of TLS, in ascending order.
func (t *Transport) Protocols() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.protocols))
}
