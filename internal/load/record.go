// Package load sends a schedule open loop and records what became of every request. It knows HTTP and no
// limit algorithm. This package has the phases: how each plays its arrivals or its clients. It also gathers
// the recording. Package transport does the rest: options, connections, pacers, the journal.
//
// The clock is the time since the recording started, monotonic. One goroutine, the pacer, waits for the due
// times and sends. A request that finds no idle connection waits for the next one. It is recorded with its
// real, late send time.
//
// Every request is recorded, also those that aim a boundary. Nothing is retried and no redirect is followed.
// Compression is not negotiated. A proxy is used only if the options name one.
//
// A recording that may become long is sorted into a file while it is made (gather.go, timeline.Spool). So
// memory does not grow with the recording; only the plan stays in memory.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// check returns every reason why the requests of the schedule cannot be sent, joined. All else of a schedule
// is as its planner made it. It also gathers the partitions of the schedule.
func (r *recorder) check() error {
	var errs []error
	if r.o.Share != nil {
		for _, name := range r.o.Share.Partitions {
			r.add(name)
		}
	}
	for i := range r.s.Phases {
		p := &r.s.Phases[i]
		err := transport.CheckOwn(&p.Request)
		for _, name := range p.Forge {
			if bad := transport.CheckName(name); bad != nil {
				err = errors.Join(err, fmt.Errorf("forge: %w", bad))
			}
		}
		for i := range p.Arrivals {
			err = cmp.Or(err, r.checkPartition(p.Arrivals[i].Partition))
		}
		for _, name := range p.Partitions {
			err = cmp.Or(err, r.checkPartition(name))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("phase %q: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

// checkPartition tells whether name can be sent, and adds it to the partitions.
func (r *recorder) checkPartition(name string) error {
	if r.known[name] {
		return nil
	}
	if r.o.Partition.Kind == transport.ByHeader {
		if err := transport.CheckValue(name); err != nil {
			return fmt.Errorf("partition %q: %w", name, err)
		}
	}
	r.add(name)
	return nil
}

// add adds a partition to those of the schedule.
func (r *recorder) add(name string) {
	if !r.known[name] {
		r.known[name] = true
		r.partitions = append(r.partitions, name)
	}
}

// firstFree returns the first number above those of the planned arrivals.
func firstFree(s *timeline.Schedule) int {
	next := 0
	for i := range s.Phases {
		if p := &s.Phases[i]; p.Shape != timeline.Boundary {
			next = max(next, p.Free())
		}
	}
	return next
}

// recorder is one run: it plays the phases of a schedule and gathers what was seen.
type recorder struct {
	o     *Options
	s     *timeline.Schedule
	clock transport.Clock
	// partitions are those of the schedule, in the order of their first appearance; known is the same as a
	// set. check fills them, and both are dropped when the recording starts.
	partitions []string
	known      map[string]bool
	requests   *transport.Requests
	net        *transport.Transport
	journal    *transport.Journal
	// long tells that the recording may be too long for memory. The journal then keeps the observations. lost
	// tells that it could not keep all of them.
	long, lost bool
	// jumped is transport.Clock.Jumped, except in tests. slept tells that this computer slept meanwhile.
	jumped func() time.Duration
	slept  bool
	// most is LongRecording, or less in tests.
	most int
	// phases are the phases that have begun. name is the name of the current one, nil before the first.
	phases []*phase
	name   atomic.Pointer[string]
	// latest is the largest lateness, in nanoseconds.
	latest atomic.Int64
	lag    *transport.Lag
	stalls transport.Stalls

	mu      sync.Mutex
	spreads []timeline.Spread
}

// Record sends s as o says and returns what was seen. It does so, too, when ctx ends (then Header.Interrupted
// is set) and when the target is broken. A request without an answer is an observation with outcome Unknown,
// and with the reason as a word:
//
//	refused, no-route, dns, forbidden, tls   no connection could be made (Options.Guard: forbidden)
//	no-proxy, no-socket                      nor here: nothing listens at the proxy, or at the socket
//	tls-certificate, no-tls                  nor here: a certificate that is not trusted, a port without TLS
//	tls-client, tls-host                     nor here: the target wants another certificate, or host name
//	wants-tls, http2, no-http2               the port speaks TLS, HTTP/2 only, or no HTTP/2
//	proxy                                    the proxy opened no tunnel
//	reset, eof, closed                       the connection or stream ended before an answer; closed: it
//	                                         had answered others, or no more streams were taken (GOAWAY)
//	timeout                                  no answer within Options.Timeout
//	malformed, header-too-large              the answer was not the HTTP asked for, or its header > 64 KiB
//	surplus                                  the target sent an answer too many: whose this was is not known
//	early                                    in a long recording: the target answers before it has the whole
//	                                         request, so the left end of the interval is not known
//	network                                  any other error of the network
//	interrupted                              ctx ended first
//
// With Options.Spill, a recording of more than LongRecording requests has a Spool, which the caller closes.
//
// Observations ascend by Sent. Arrivals of open-loop phases keep their Seq. All other requests are numbered
// in the order in which they were sent, from the first number above. Requests that aim a boundary are
// observations of the phase "NAME-aim". A run ends early if nothing was answered by the end of a phase that
// sent something.
//
// Record returns an error for options, or for requests of a schedule, that cannot be sent. Nothing was sent
// then.
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
	if r.long && planned > LongRecording { // it needs the file for certain
		f, err := o.Spill()
		if err != nil {
			return nil, fmt.Errorf("load: no room for a long recording: %w", err)
		}
		_ = f.Close() // it only showed that there is room
	}
	return r.record(ctx), nil
}

func newRecorder(s *timeline.Schedule, o *Options) *recorder {
	most := atMost(s, o)
	long := o.Spill != nil && most > LongRecording
	r := &recorder{
		o: o, s: s, long: long, most: LongRecording,
		known:    map[string]bool{},
		requests: transport.NewRequests(o),
	}
	var kept *timeline.Sorter
	if long {
		kept = timeline.NewSorter(o.Spill)
	}
	r.journal = transport.NewJournal(o.Journal, kept)
	return r
}

// record runs all phases and gathers what was seen.
func (r *recorder) record(ctx context.Context) *timeline.Timeline {
	before := transport.UsageNow()
	r.clock = transport.Clock{Start: time.Now()}
	if r.jumped == nil && transport.IsRealPacer(r.o.Pacer) {
		r.jumped = r.clock.Jumped
	}
	r.lag = transport.NewLag(r.clock, &r.name)
	r.net = transport.New(ctx, r.o, r.clock, r.partitions, r.journal, r.lag.Heard)
	r.partitions, r.known = nil, nil
	if r.o.PastCaches != "" {
		r.net.Note(timeline.OfTarget + "each request had its own query (--past-caches): a limiter that " +
			"counts by the whole URL has a quota for each")
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var watchers sync.WaitGroup
	r.watch(watching, &watchers)
	watchers.Go(func() {
		select {
		case <-ctx.Done():
			r.net.Abort()
		case <-watching.Done():
		}
	})
	var pacing sync.WaitGroup
	pacing.Go(func() {
		defer r.o.Pacer.Enter()()
		r.runAll()
	})
	pacing.Wait()
	for _, p := range r.phases {
		r.await(p)
	}
	interrupted := ctx.Err() != nil
	r.net.Abort()
	r.net.Wait()
	ended := r.clock.Now()
	spoken := r.net.Spoken(ctx)
	stopWatching()
	watchers.Wait()
	r.net.Stop() // the watchers, which knock, have ended
	tl := r.gather(spoken)
	tl.Header.Ended, tl.Header.Interrupted = ended, interrupted || r.lost || r.slept
	if stopped := transport.CauseStopped(tl); stopped != "" {
		tl.Header.Notes = append(tl.Header.Notes, stopped)
	}
	tl.Header.Audit = before.Until(transport.UsageNow(), ended)
	tl.Header.Audit.Connections = r.net.Opened()
	return tl
}

// watch starts the goroutines that observe the recording while it is made. They end with ctx.
func (r *recorder) watch(ctx context.Context, watchers *sync.WaitGroup) {
	watchers.Go(func() { r.net.Watch(ctx, &r.stalls) })
	if transport.IsRealPacer(r.o.Pacer) { // in virtual time nothing is late, and nothing stalls
		watchers.Go(func() { r.stalls.Watch(ctx, r.clock) })
		watchers.Go(func() { r.lag.Listen(ctx, r.net.Knock) })
	}
	if r.jumped != nil {
		watchers.Go(func() {
			var before time.Duration
			if before, r.slept = transport.Asleep(ctx, r.clock, r.jumped); r.slept {
				r.net.Slept(before)
			}
		})
	}
	if r.o.Progress != nil {
		watchers.Go(func() { r.tell(ctx) })
	}
	if r.journal != nil {
		h := timeline.Header{Started: r.clock.Start.Round(0), WallError: r.o.WallError, Tick: r.o.Tick}
		watchers.Go(func() { r.journal.Keep(ctx, r.clock, h, firstFree(r.s), r) })
	}
	if r.o.MaxDuration > 0 {
		watchers.Go(func() {
			if transport.Rest(ctx, r.o.MaxDuration, nil) {
				r.net.Halt(transport.CauseCeilingOfTime(r.o.MaxDuration))
			}
		})
	}
}

// await returns when all shots of p are over, or when the caller gave up.
func (r *recorder) await(p *phase) {
	for p.left.Load() > 0 {
		select {
		case <-p.quiet:
		case <-r.net.Done():
			return
		}
	}
}

// pause waits for a due time. It reports false if nothing more is to be sent.
func (r *recorder) pause(due time.Duration) bool {
	return r.o.Pacer.Wait(r.net.Sending(), r.clock, due, nil)
}

// News returns what the journal keeps beside requests.
func (r *recorder) News() (spreads []timeline.Spread, stalls []timeline.Stall, notes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spreads, r.stalls.All(), r.net.Notes()
}

func (r *recorder) Halt(why string) { r.net.Halt(why) }

// progressEvery is the time between two reports of progress.
const progressEvery = 100 * time.Millisecond

// tell calls Options.Progress every progressEvery, and once more at the end.
func (r *recorder) tell(ctx context.Context) {
	planned, _ := r.s.Planned()
	for {
		more := transport.Rest(ctx, progressEvery, nil)
		sent, over := r.net.Counts()
		p := Progress{
			Allowed: over[timeline.Allowed], Denied: over[timeline.Denied], Unknown: over[timeline.Unknown],
			Sent: sent, Planned: planned, Late: time.Duration(r.latest.Load()),
		}
		if name := r.name.Load(); name != nil {
			p.Phase = *name
		}
		r.o.Progress(p)
		if !more {
			return
		}
	}
}

// meet waits until phase i may be prepared. It reports false if nothing more is to be sent.
func (r *recorder) meet(i int) bool {
	if r.o.Share == nil || r.o.Share.Meet(r.net.Sending(), i) {
		return true
	}
	r.net.Halt(transport.Unpermitted)
	return false
}

// beginning returns when phase i begins, which was planned for due. It reports false if nothing more is to be
// sent. A single recorder that is late begins now. One of several begins together with the others, and its
// requests are recorded late.
func (r *recorder) beginning(i int, due time.Duration) (time.Duration, bool) {
	if r.o.Share == nil {
		return max(due, r.clock.Now()), true
	}
	begin, ok := r.o.Share.Begin(r.net.Sending(), i, r.clock.Start, due)
	if !ok {
		r.net.Halt(transport.Unpermitted)
	}
	return begin, ok
}

// These are the types of package transport, which describes them.
type (
	Options   = transport.Options
	Answers   = transport.Answers
	Ceilings  = transport.Ceilings
	Keeping   = transport.Keeping
	Route     = transport.Route
	Partition = transport.Partition
	Progress  = transport.Progress
	Share     = transport.Share
)
