package transport

import (
	"cmp"
	"context"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Lag is how late this process reads what has arrived. Every few milliseconds a byte is written to a pipe.
// The pipe is read as connections are: by a goroutine that sleeps in the network poller, and by each event
// loop.
//
//	write            wake-up            read
//	|--------------- lag ---------------|
//
// The interval of an answer that an event loop reads late still ends when the answer arrived, if the kernel
// has stamped it (LoopHandler). Elsewhere an interval ends with the read.
type Lag struct {
	clock Clock
	phase *atomic.Pointer[string]

	mu sync.Mutex
	// called is when the last byte was written, in the phase during. unheard is how many readers have not
	// read it yet. It is negative while a reader is faster than the writer.
	called  time.Duration
	during  *string
	unheard int
	longest map[string]time.Duration
}

// NewLag returns a Lag. phase holds the name of the current phase, nil before the first.
func NewLag(clock Clock, phase *atomic.Pointer[string]) *Lag {
	return &Lag{clock: clock, phase: phase, longest: map[string]time.Duration{}}
}

// Listen measures until ctx ends. knock makes readers that do not read the pipe, the event loops, call Heard.
// It returns how many will.
func (l *Lag) Listen(ctx context.Context, knock func() int) {
	from, to, err := os.Pipe()
	if err != nil {
		return // no descriptors are left: the connections will fail and say so
	}
	over := make(chan struct{})
	defer func() { <-over }()
	defer to.Close()
	go func() {
		defer close(over)
		defer from.Close()
		for b := make([]byte, 8); ; {
			if _, err := from.Read(b); err != nil {
				return
			}
			l.Heard()
		}
	}()
	for Rest(ctx, looks, nil) {
		if !l.call() {
			continue
		}
		called := 1 + knock()
		if _, err := to.Write([]byte{0}); err != nil {
			return
		}
		l.await(called)
	}
}

// call begins a measurement. It reports false while a reader is still late: its lag goes on.
func (l *Lag) call() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unheard > 0 {
		return false
	}
	l.called, l.during = l.clock.Now(), l.phase.Load()
	return true
}

// await notes how many readers were called.
func (l *Lag) await(readers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unheard += readers
}

// Heard is called by each reader when it has read what Listen wrote. It keeps the longest lag of the phase in
// which that was written, and of the current one.
func (l *Lag) Heard() {
	now, name := l.clock.Now(), l.phase.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unheard--
	for _, phase := range []*string{l.during, name} {
		if phase != nil {
			l.longest[*phase] = max(l.longest[*phase], now-l.called)
		}
	}
}

// Of returns the longest lag of a phase.
func (l *Lag) Of(phase string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest[phase]
}

const (
	// looks is how often this process checks whether it runs at all. stalledFrom is the shortest gap that
	// counts as a stall: a timer may be some 10 ms late beside a sender that spins.
	looks       = 5 * time.Millisecond
	stalledFrom = 30 * time.Millisecond
	// mostStalls is the most stalls that are kept.
	mostStalls = 1000
)

// Stalls are the times in which this process did not run. Any goroutine may use it.
type Stalls struct {
	mu   sync.Mutex
	list []timeline.Stall
}

// Watch notes the stalls until ctx ends. A process that stood still reads late what arrived in time, also
// where no request was due that would show it.
func (s *Stalls) Watch(ctx context.Context, clock Clock) {
	s.feel(clock, func() bool { return Rest(ctx, looks, nil) })
}

// feel is Watch. look waits until the next check, and returns false at the end.
func (s *Stalls) feel(clock Clock, look func() bool) {
	for last := clock.Now(); look(); {
		now := clock.Now()
		if now-last >= stalledFrom {
			s.Add(timeline.Stall{From: last, To: now})
		}
		last = now
	}
}

// Add notes a stall that came after all others. It keeps the first thousand.
func (s *Stalls) Add(x timeline.Stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) < mostStalls {
		s.list = append(s.list, x)
	}
}

// All returns the stalls so far, in ascending order. The caller must not change the slice.
func (s *Stalls) All() []timeline.Stall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Now tells whether this process is stalled, or was stalled less than soLong ago. A check that was due and
// comes at least 30 ms late shows a stall in progress.
func (s *Stalls) Now(due, now, soLong time.Duration) bool {
	all := s.All()
	n := len(all)
	return now-due >= stalledFrom || n > 0 && now-all[n-1].To < soLong
}

// Jump is the least jump of the wall clock that tells of a sleep.
const Jump = 100 * time.Millisecond

// AuditSlept tells whether the wall clock has jumped. It looks twice, as a reader may be stopped between its
// readings of the two clocks. jumped is Clock.Jumped, except in tests.
func AuditSlept(jumped func() time.Duration) bool {
	first, second := jumped(), jumped()
	return min(first.Abs(), second.Abs()) >= Jump
}

// Asleep waits until this computer has slept, or its clock was set, and returns the last time that is known
// to be before. It reports false if ctx ends first.
func Asleep(ctx context.Context, clock Clock, jumped func() time.Duration) (time.Duration, bool) {
	for before, more := clock.Now(), true; more; {
		more = Rest(ctx, looks, nil)
		now := clock.Now()
		if AuditSlept(jumped) {
			return before, true
		}
		before = now
	}
	return 0, false
}

// Usage is what the process had used up to one moment.
type Usage struct {
	cpu time.Duration
	gc  debug.GCStats
}

// UsageNow returns what the process has used up to now.
func UsageNow() Usage {
	u := Usage{cpu: CPUTime()}
	debug.ReadGCStats(&u.gc)
	return u
}

// Until returns what was used between two moments that are wall apart. The longest pause is taken from the
// last 256 collections only.
func (u Usage) Until(later Usage, wall time.Duration) timeline.Audit {
	out := timeline.Audit{Collections: int(later.gc.NumGC - u.gc.NumGC)}
	if wall > 0 {
		out.CPUShare = float64(later.cpu-u.cpu) / float64(wall)
	}
	for i := 0; i < min(out.Collections, len(later.gc.Pause)); i++ {
		out.LongestGC = max(out.LongestGC, later.gc.Pause[i])
	}
	return out
}

// lateness is how late the requests of a phase were sent.
type lateness struct {
	n    int
	span timeline.Stall
	// worst are the largest, and some more that are not yet left out.
	worst []time.Duration
}

// add notes a request. It keeps the largest, at least as many as most.
func (l *lateness) add(d time.Duration, most int) {
	l.n++
	if l.worst = append(l.worst, d); len(l.worst) >= 4*most {
		l.cut(most)
	}
}

// cut leaves the largest, the largest first.
func (l *lateness) cut(most int) {
	slices.SortFunc(l.worst, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	l.worst = l.worst[:min(most, len(l.worst))]
}

// KeptPlan returns how well the plan of each phase was kept, in the order of s. Phases without requests are
// left out. tl has the requests that were sent. missing has, by the name of a phase, how many requests were
// not sent.
func KeptPlan(s *timeline.Schedule, tl *timeline.Timeline, missing map[string]int, lag *Lag) []timeline.Kept {
	var out []timeline.Kept
	late, most := map[string]*lateness{}, tl.Sent()/100+1
	var l *lateness
	last := ""
	for o := range tl.All() {
		if l == nil || o.Phase != last { // saves a look-up: a long recording has millions of one phase
			if l, last = late[o.Phase], o.Phase; l == nil {
				l = &lateness{span: timeline.Stall{From: o.At, To: o.Sent}}
				late[o.Phase] = l
			}
		}
		l.add(max(0, o.Sent-o.At), most)
		l.span = timeline.Stall{From: min(l.span.From, o.At), To: max(l.span.To, o.Sent, o.FirstByte)}
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		l := late[p.Name]
		if l == nil {
			l = &lateness{}
		}
		if l.n+missing[p.Name] == 0 {
			continue
		}
		k := timeline.Kept{Phase: p.Name, Sent: l.n, Unsent: missing[p.Name], ReadLag: lag.Of(p.Name)}
		if l.n > 0 {
			l.cut(most)
			k.LateP99, k.LateMax = l.worst[l.n/100], l.worst[0]
		}
		for _, x := range tl.Header.Stalls {
			k.Stalled += max(0, min(x.To, l.span.To)-max(x.From, l.span.From))
		}
		out = append(out, k)
	}
	return out
}
