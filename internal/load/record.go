package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/audit"
	"github.com/rlcheck/rlcheck/internal/load/cause"
	"github.com/rlcheck/rlcheck/internal/load/journal"
	"github.com/rlcheck/rlcheck/internal/load/message"
	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// recorder is one run.
type recorder struct {
	o     *Options
	s     *timeline.Schedule
	clock pacing.Clock
	// ctx ends when the caller gives up, and at the end: everything stops. sending ends, too, when the run is
	// halted: nothing more is sent, what is in flight is waited for.
	ctx, sending context.Context
	cancel, stop context.CancelFunc
	// shared tells that there are too many partitions for each to have connections of its own.
	shared bool
	// numbers gives each partition of the schedule a number, from first on in the order of their first
	// appearance.
	numbers  map[string]int
	first    int
	requests *message.Requests
	journal  *journal.Journal
	// long tells that the recording may be too long for memory: then the journal keeps what is over.
	// lost tells that it could not be kept.
	long, lost bool
	// most is LongRecording, or less in tests.
	most   int
	fields *fieldStore
	// phases are those that have begun.
	phases []*phase

	// loops read what need not be waited for; started with the first connection they can read.
	loops []*reading

	mu    sync.Mutex
	pools map[poolKey]*pool
	live  map[*conn]struct{}
	// open counts connections and dials, opening the dials, hungry the waiting shots, tickets the requests
	// sent or waiting. Guarded by mu.
	open, opening, hungry, tickets int
	notes                          []string
	words, protocols               map[string]bool

	// uncertified tells that the target asked for a certificate, and there is none.
	halted, aborted, answered, uncertified atomic.Bool
	// frugal tells that no connection is left idle, released that the last gate of the phase that runs is
	// open.
	frugal, released atomic.Bool
	// alone tells that each request of the phase has a connection of its own.
	alone atomic.Bool
	// opened counts the connections there ever were.
	sent, opened atomic.Int64
	counts       [3]atomic.Int64
	// name is that of the phase that runs, nil before the first.
	name   atomic.Pointer[string]
	lag    *audit.Lag
	stalls audit.Stalls
	// latest is the largest lateness, slowest the longest time that opening a connection took.
	latest, slowest atomic.Int64
	spreads         []timeline.Spread
	wg              sync.WaitGroup
}

// Record sends s as o says and returns what was seen, also when ctx ends (Header.Interrupted is set then) and
// when the target is broken: a request that got no answer is an observation with outcome Unknown and the
// reason in a word:
//
//	refused, no-route, dns, forbidden, tls   no connection could be made (Options.Guard: forbidden)
//	tls-certificate, no-tls                  nor here: a certificate that is not trusted, a port without TLS
//	wants-tls, http2, no-http2               the port speaks TLS, HTTP/2 only, or no HTTP/2
//	proxy                                    the proxy opened no tunnel
//	reset, eof, closed                       the connection or stream ended before an answer; closed: it
//	                                         had answered others, or no more streams were taken (GOAWAY)
//	timeout                                  no answer within Options.Timeout
//	malformed, header-too-large              the answer was not the HTTP asked for, or its header > 64 KiB
//	network                                  any other error of the network
//	interrupted                              ctx ended first
//
// With Options.Spill a recording of more than LongRecording requests has a Spool, which the caller closes.
//
// Observations ascend by Sent. Arrivals of open-loop phases keep their Seq; all other requests are numbered
// in the order they were sent, from the first number above. Requests used for aiming a boundary are
// observations of the phase "NAME-aim". A run in which nothing was answered by the end of a phase that sent
// something ends there.
//
// An error is returned for options or a schedule that cannot be used, and nothing was sent then.
func Record(ctx context.Context, s *timeline.Schedule, o Options) (*timeline.Timeline, error) {
	done, err := o.Complete()
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	r := newRecorder(s, done)
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	planned := 0
	for i := range s.Phases {
		planned += s.Phases[i].Count()
	}
	if r.long && planned > LongRecording { // it surely needs the file
		f, err := o.Spill()
		if err != nil {
			return nil, fmt.Errorf("load: no room for a long recording: %w", err)
		}
		_ = f.Close() // it is empty
	}
	if o.PastCaches != "" {
		r.Note(timeline.OfTarget + "each request had a query of its own (--past-caches): a limiter " +
			"that counts by the whole URL has a quota for each")
	}
	return r.record(ctx), nil
}

func newRecorder(s *timeline.Schedule, o *Options) *recorder {
	most := atMost(s, o)
	long := o.Spill != nil && most > LongRecording
	r := &recorder{
		long: long, most: LongRecording,
		o: o, s: s,
		numbers:  map[string]int{},
		requests: message.NewRequests(o),
		pools:    map[poolKey]*pool{},
		live:     map[*conn]struct{}{},
		words:    map[string]bool{}, protocols: map[string]bool{},
		fields: newFieldStore(),
	}
	var kept *timeline.Sorter
	if long {
		kept = timeline.NewSorter(o.Spill)
	}
	if long && most > PackedRecording {
		kept.Beside(ndjson.NewPacked(o.Spill, firstFree(s)))
	}
	r.journal = journal.New(o.Journal, kept)
	return r
}

// record runs all phases and gathers what was seen.
func (r *recorder) record(ctx context.Context) *timeline.Timeline {
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.sending, r.stop = context.WithCancel(r.ctx)
	defer r.cancel()
	defer r.stop()
	before := audit.Now()
	r.clock = pacing.Clock{Start: time.Now()}
	r.lag = audit.NewLag(r.clock, &r.name)
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var watchers sync.WaitGroup
	watchers.Go(func() { r.watch(watching) })
	watchers.Go(func() { r.stalls.Watch(watching, r.clock) })
	if pacing.Real(r.o.Pacer) { // in virtual time nothing is late
		watchers.Go(func() { r.lag.Listen(watching, r.knock) })
	}
	if !r.o.HTTP2 { // a stream that idles holds no thread
		watchers.Go(func() { r.relieve(watching) })
	}
	if r.o.Progress != nil {
		watchers.Go(func() { r.tell(watching) })
	}
	if r.journal != nil {
		h := timeline.Header{Started: r.clock.Start.Round(0), WallError: r.o.WallError, Tick: r.o.Tick}
		watchers.Go(func() { r.journal.Keep(watching, r.clock, h, firstFree(r.s), r) })
	}
	watchers.Go(func() {
		select {
		case <-ctx.Done():
			r.abort()
		case <-watching.Done():
		}
	})
	if r.o.MaxDuration > 0 {
		watchers.Go(func() {
			if pacing.Rest(watching, r.o.MaxDuration, nil) {
				r.halt(cause.CeilingOfTime(r.o.MaxDuration))
			}
		})
	}
	var pacing sync.WaitGroup
	pacing.Go(func() {
		defer r.o.Pacer.Enter()()
		r.runAll()
	})
	pacing.Wait()
	for _, p := range r.phases {
		r.await(p, 0)
	}
	interrupted := ctx.Err() != nil
	r.abort()
	r.wg.Wait()
	for _, l := range r.loops {
		l.loop.Stop()
	}
	ended := r.clock.Now()
	spoken := r.spoken(ctx)
	stopWatching()
	watchers.Wait()
	tl := r.gather(spoken)
	tl.Header.Ended, tl.Header.Interrupted = ended, interrupted || r.lost
	tl.Header.Audit = before.Until(audit.Now(), ended)
	tl.Header.Audit.Connections = int(r.opened.Load())
	return tl
}

// halt ends the sending; what is in flight is waited for. The note says why.
func (r *recorder) halt(note string) {
	r.mu.Lock()
	first := !r.halted.Swap(true)
	if first {
		r.notes = append(r.notes, note)
	}
	r.mu.Unlock()
	if first {
		r.stop()
		r.purge(nil)
	}
}

// haltLocked is halt where the lock is held: what needs it is done in a goroutine.
func (r *recorder) haltLocked(note string) {
	if r.halted.Swap(true) {
		return
	}
	r.notes = append(r.notes, note)
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		r.stop()
		r.purge(nil)
	}()
}

// abort closes everything; what is in flight ends as interrupted.
func (r *recorder) abort() {
	r.mu.Lock()
	r.halted.Store(true)
	r.aborted.Store(true)
	for c := range r.live {
		c.hangUp()
	}
	r.mu.Unlock()
	r.cancel()
	r.purge(nil)
}

// await returns when all shots of p are over, when the clock reaches until (0: never), or when the caller
// gave up.
func (r *recorder) await(p *phase, until time.Duration) {
	var late <-chan time.Time
	if until > 0 {
		t := time.NewTimer(until - r.clock.Now())
		defer t.Stop()
		late = t.C
	}
	for p.left.Load() > 0 {
		select {
		case <-p.quiet:
		case <-late:
			return
		case <-r.ctx.Done():
			return
		}
	}
}

// pause waits for a due time. It reports false if nothing more is to be sent.
func (r *recorder) pause(due time.Duration) bool {
	return r.o.Pacer.Wait(r.sending, r.clock, due, nil)
}

// remember keeps the first error of each word as a note.
func (r *recorder) remember(w string, err error) {
	if err == nil || w == cause.Interrupted {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.words[w] {
		r.words[w] = true
		r.notes = append(r.notes, "first "+w+": "+cause.Plain(err))
	}
}

// News returns what the journal has besides requests.
func (r *recorder) News() (spreads []timeline.Spread, stalls []timeline.Stall, notes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spreads, r.stalls.All(), r.notes
}

// Note adds a sentence to the header of the timeline.
func (r *recorder) Note(format string, args ...any) {
	r.mu.Lock()
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
	r.mu.Unlock()
}
