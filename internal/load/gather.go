package load

import (
	"math"
	"slices"
	"sync"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// gather makes the timeline of all observations, after every goroutine has ended. spoken is the argument of
// transport.CauseReword.
func (r *recorder) gather(spoken string) *timeline.Timeline {
	tl := &timeline.Timeline{Header: timeline.Header{
		Started: r.clock.Start.Round(0), WallError: r.o.WallError, Tick: r.o.Tick,
		Spreads: r.spreads, Stalls: r.stalls.All(), Protocols: r.net.Protocols(),
	}}
	missing := map[string]int{}
	for i := range r.s.Phases {
		p := &r.s.Phases[i]
		if i < len(r.phases) {
			missing[p.Name] = r.phases[i].missing()
		} else {
			missing[p.Name] = unsent(p, 0, 0, p.Clients, true)
		}
		tl.Header.Unsent += missing[p.Name]
	}
	if r.long {
		r.unroll(tl, spoken)
	} else {
		tl.Observations = r.all()
		for i := range tl.Observations {
			transport.CauseReword(&tl.Observations[i], spoken)
			r.net.Doubt(&tl.Observations[i])
			r.untold(&tl.Observations[i])
		}
	}
	tl.Header.Notes = r.net.Notes()
	tl.Header.Phases = transport.KeptPlan(r.s, tl, missing, r.lag)
	return tl
}

// untold notes that a request without an outcome did not tell its cost, if answers do.
func (r *recorder) untold(o *timeline.Observation) {
	if r.o.Told != nil && o.Outcome == timeline.Unknown {
		o.Cost = timeline.CostUnknown
	}
}

// missing returns how many planned requests of a phase were not sent.
func (p *phase) missing() int {
	own := 0
	for i := range p.clients {
		own += p.clients[i].sent
	}
	return unsent(p.plan, int(p.over.Load()), own, int(p.cut.Load()), p.r.net.Halted())
}

// all returns the observations, each with its number, ascending by Sent. It gathers them in one slice: a long
// recording leaves no memory for a second copy. If one phase has them all, they stay where they are.
// Observations that are numbered by their sends come after the others, until the final sort.
func (r *recorder) all() []timeline.Observation {
	var all []timeline.Observation
	most := 0
	for _, p := range r.phases {
		most += p.most()
	}
	if !slices.ContainsFunc(r.phases, func(p *phase) bool { return p.ledger.n == most }) {
		all = make([]timeline.Observation, 0, most)
	}
	for _, p := range r.phases {
		if p.plan.Shape != timeline.Boundary {
			all = p.takeFixed(all)
		}
	}
	numbered := len(all)
	for _, p := range r.phases {
		all = p.takeFree(all)
	}
	free := all[numbered:]
	timeline.SortBySent(free)
	next := firstFree(r.s)
	for i := range free {
		free[i].Seq = next + i
	}
	timeline.SortBySent(all)
	return all
}

// most is how many observations a phase may have.
func (p *phase) most() int { return len(p.fixed) + len(p.loose) + p.ledger.n }

// takeFixed appends the observations of planned arrivals to out. If the target answered any gated request
// early, the interval of each answered gated request begins when it was armed.
func (p *phase) takeFixed(out []timeline.Observation) []timeline.Observation {
	for i := range p.fixed {
		if !p.fixed[i].Over() {
			continue
		}
		if at, ok := p.fixed[i].Armed(); ok && p.r.net.Hasty() {
			p.obs[i].Sent = at
		}
		out = append(out, p.obs[i])
	}
	p.fixed, p.obs = nil, nil
	return out
}

// takeFree appends to out the observations that are numbered by their sends.
func (p *phase) takeFree(out []timeline.Observation) []timeline.Observation {
	out = p.ledger.takeTo(out)
	for _, s := range p.loose {
		if s.Over() {
			out = append(out, *s.Obs)
		}
	}
	if p.plan.Shape == timeline.Boundary {
		out = p.takeFixed(out)
	}
	return out
}

// Unsent returns how many requests of a plan are missing, at least, from a recording that was cut short.
func Unsent(s *timeline.Schedule, tl *timeline.Timeline) (n int) {
	sent := map[string]int{}
	for o := range tl.All() {
		sent[o.Phase]++
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		n += max(0, unsent(p, sent[p.Name], sent[p.Name], 0, true))
	}
	return n
}

// unsent returns how many requests of a phase were planned and not sent. A phase whose clients send until its
// duration is over has no planned number. If it was cut short, each client that would have gone on counts as
// one unsent request.
func unsent(p *timeline.Phase, planned, own, cut int, halted bool) int {
	switch {
	case p.Shape != timeline.Closed && p.Shape != timeline.HonorRetryAfter && p.Shape != timeline.Backoff:
		return p.Count() - planned
	case halted && p.Duration == 0:
		return max(0, p.Requests-own)
	default:
		return cut
	}
}

// ledger has the observations of the clients of a phase, in chunks that never move. They stand in the order
// in which their requests began. A single event loop sends requests in that order, so its observations need
// no sorting.
//
// If the largest possible number is known, one chunk holds all of them, and they are not copied.
type ledger struct {
	mu     sync.Mutex
	chunks [][]timeline.Observation
	// most is how many observations there may be, 0 for unknown. n is how many there are, void how many of
	// those were dropped.
	most, n, void int
}

// leastChunk and mostChunk bound how many observations are allocated at once while their number is unknown:
// as many as there are already.
const leastChunk, mostChunk = 64, 1024

// next returns the place of a new observation.
func (l *ledger) next() *timeline.Observation {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := len(l.chunks) - 1
	if k < 0 || len(l.chunks[k]) == cap(l.chunks[k]) {
		room := min(max(l.n, leastChunk), mostChunk)
		if l.n == 0 && l.most > 0 {
			room = l.most
		}
		l.chunks = append(l.chunks, make([]timeline.Observation, 0, room))
		k++
	}
	last := len(l.chunks[k])
	l.chunks[k] = l.chunks[k][:last+1]
	l.n++
	return &l.chunks[k][last]
}

// drop takes back an observation. Its place stays empty.
func (l *ledger) drop(o *timeline.Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*o = timeline.Observation{}
	l.void++
}

// takeTo appends the observations to out, and forgets them. If out is nil, a single chunk is not copied.
func (l *ledger) takeTo(out []timeline.Observation) []timeline.Observation {
	for i, c := range l.chunks {
		if l.void > 0 { // a dropped place has cost 0, an observation at least 1
			c = slices.DeleteFunc(c, func(o timeline.Observation) bool { return o.Cost == 0 })
		}
		if out == nil && len(l.chunks) == 1 {
			out = c
		} else {
			out = append(out, c...)
		}
		l.chunks[i] = nil
	}
	l.chunks, l.n, l.void = nil, 0, 0
	return out
}

// LongRecording is the number of requests up to which a recording stays in memory. A longer one goes to a
// timeline.Spool, if there is Options.Spill. A quarter of LongRecording then stands for its beginning.
const LongRecording = 200_000

// PackedRecording is the most requests of a recording that is kept as text: about a gigabyte. A recording
// that may have more is compressed while it is made.
const PackedRecording = 2_000_000

// atMost returns the most requests that a schedule may send. A phase that ends by its duration alone counts
// as math.MaxInt32 requests.
func atMost(s *timeline.Schedule, o *Options) int {
	most := 0
	for i := range s.Phases {
		switch p := &s.Phases[i]; p.Shape {
		case timeline.Closed, timeline.HonorRetryAfter, timeline.Backoff:
			if most += p.Requests; p.Requests == 0 {
				most += math.MaxInt32
			}
		default:
			most += p.Count()
		}
	}
	if o.MaxRequests > 0 {
		most = min(most, o.MaxRequests)
	}
	return most
}

// gated returns the names of the phases in which a gated request was answered. A long recording is sorted
// while it is made, so the left ends of intervals cannot be moved here.
func (r *recorder) gated() map[string]bool {
	names := map[string]bool{}
	for _, p := range r.phases {
		for i := range p.fixed {
			if _, ok := p.fixed[i].Armed(); ok {
				names[p.plan.Name] = true
			}
		}
	}
	return names
}

// unroll takes the observations from the journal: all of them if they are few, or their beginning.
func (r *recorder) unroll(tl *timeline.Timeline, spoken string) {
	s := r.journal.Finish().From(firstFree(r.s))
	if spoken != "" || r.o.Told != nil || r.net.Doubtful() || r.net.Hasty() {
		gated := r.gated()
		s = s.With(func(o *timeline.Observation) {
			transport.CauseReword(o, spoken)
			r.net.Doubt(o)
			r.untold(o)
			if r.net.Hasty() && gated[o.Phase] && o.Answered {
				transport.Forget(o, transport.CauseEarly)
			}
		})
	}
	tl.Unroll(s, r.most)
	if err := s.Err(); err != nil {
		r.lost = true
		r.net.Note("requests of the recording are lost: %s", transport.CausePlain(err))
	}
}
