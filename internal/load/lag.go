package load

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// listen measures how late this process reads what has come: now and then a byte is written to a pipe that is
// read as connections are: by each event loop, and by a goroutine that sleeps in the network poller.
//
//	write            wake-up            read
//	|--------------- lag ---------------|
//
// Note: the kernel stamps what comes (SO_TIMESTAMPNS), but by the wall clock, which may step between the
// stamp and the read. An interval must not end before the decision, so its right end is the time of the
// read.
func (r *recorder) listen(ctx context.Context) {
	if !pacing.Real(r.o.Pacer) {
		return // in virtual time nothing is late
	}
	from, to, err := os.Pipe()
	if err != nil {
		return // no descriptors are left: the connections will say so
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
			r.heard()
		}
	}()
	for pacing.Rest(ctx, looks, nil) {
		r.called.Store(int64(r.clock.Now()))
		r.knock()
		if _, err := to.Write([]byte{0}); err != nil {
			return
		}
	}
}

// heard keeps the largest lag of the phase that runs.
func (r *recorder) heard() {
	lag := r.clock.Now() - time.Duration(r.called.Load())
	name := r.name.Load()
	if name == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lags[*name] = max(r.lags[*name], lag)
}

// lateness is how late the requests of a phase were sent.
type lateness struct {
	n     int
	span  timeline.Stall
	worst largest
}

// kept returns how well the plan of each phase that sends was kept; tl has what was sent.
func (r *recorder) kept(tl *timeline.Timeline, missing map[string]int) (out []timeline.Kept) {
	late, most := map[string]*lateness{}, tl.Sent()/100+1
	var l *lateness
	last := ""
	for o := range tl.All() {
		if l == nil || o.Phase != last { // a long recording has millions of one phase
			if l, last = late[o.Phase], o.Phase; l == nil {
				l = &lateness{span: timeline.Stall{From: o.At, To: o.Sent}}
				late[o.Phase] = l
			}
		}
		l.n++
		l.worst.add(max(0, o.Sent-o.At), most)
		l.span = timeline.Stall{From: min(l.span.From, o.At), To: max(l.span.To, o.Sent, o.FirstByte)}
	}
	for i := range r.s.Phases {
		p := &r.s.Phases[i]
		l := late[p.Name]
		if l == nil {
			l = &lateness{}
		}
		if l.n+missing[p.Name] == 0 {
			continue
		}
		k := timeline.Kept{Phase: p.Name, Sent: l.n, Unsent: missing[p.Name], ReadLag: r.lags[p.Name]}
		if l.n > 0 {
			slices.SortFunc(l.worst, func(a, b time.Duration) int { return cmp.Compare(b, a) })
			k.LateP99, k.LateMax = l.worst[l.n/100], l.worst[0]
		}
		for _, s := range tl.Header.Stalls {
			k.Stalled += max(0, min(s.To, l.span.To)-max(s.From, l.span.From))
		}
		out = append(out, k)
	}
	return out
}

const (
	// looks is how often the recorder sees whether it runs at all, and stalledFrom how long it must have been
	// away to be told: a timer may be some 10 ms late beside a sender that spins.
	looks       = 5 * time.Millisecond
	stalledFrom = 30 * time.Millisecond
	// mostStalls is how many are told.
	mostStalls = 1000
)

// feel notes the times in which this process did not run: a machine that stood still reads late what came in
// time, also where nothing was due that would show it. look waits until it is time to look again, and returns
// false at the end.
func (r *recorder) feel(look func() bool) {
	for last := r.clock.Now(); look(); {
		now := r.clock.Now()
		if now-last >= stalledFrom && len(r.stalls) < mostStalls {
			r.mu.Lock()
			r.stalls = append(r.stalls, timeline.Stall{From: last, To: now})
			r.mu.Unlock()
		}
		last = now
	}
}
