package transport

import (
	"context"
	"sync"
	"sync/atomic"
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
	// open. alone tells that each request of the phase has its own connection.
	frugal, released, alone atomic.Bool
	// opens wakes relieve when released is set.
	opens chan struct{}
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
		fields:  newFieldStore(), opens: make(chan struct{}, 1),
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

// Halted tells whether nothing more is to be sent.
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
	for _, l := range t.loops.all {
		l.loop.Stop()
	}
}
