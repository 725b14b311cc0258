package limiter

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/zone"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

var firstKind = kind{
	fits: NeedsPlacement,
	bound: func(p spec.Policy, _ history.Interval, others bool) Bound {
		f := NewFirst(p)
		f.others = others
		return f
	},
	counting: fixedCounting,
	model: func(p spec.Policy, _ history.Interval, _ []int64) Model {
		return firstModel{First: NewFirst(p), scale: 1}
	},
}

// First is the bound of the fixed window that a partition's first request opens. A window begins with the
// decision of the request that finds none open; that request is admitted. When the window begins is known up
// to an interval, an opening. Each opening follows from the one before:
//
//	window 0     [From -- To]
//	window 1           |---- size ---->[From' ---------- To']
//
// From' is the first decision possible at From+size or later. To' is the least End of an admission that
// starts at To+SizeTo or later: it opened window 1, or came after the opening of window 1.
type First struct {
	quota int64
	// size is the least and SizeTo the greatest length of a window, in nanoseconds.
	size, SizeTo int64
	// all: denied requests count too, and one that costs more than the quota opens a window. others: a
	// request that another policy denied opens one too.
	all, others bool
}

// NewFirst returns the bound of a fixed window with align=first.
func NewFirst(p spec.Policy) First {
	return First{quota: p.Rate.N, size: int64(p.Rate.Per), SizeTo: int64(p.LongestWindow()),
		all: p.Count == spec.CountAll}
}

// openers returns the events that may open a window, ascending by Start, and their ends, ascending.
func (f First) openers(h *history.History) ([]history.Event, []history.Ending) {
	dear := func(ev history.Event) bool {
		return ev.Cost > f.quota && (ev.Outcome == timeline.Denied || ev.Unprovable)
	}
	if f.others || f.all && slices.ContainsFunc(h.All, dear) {
		return h.All, history.Endings(h.All)
	}
	// an unprovable request was denied
	if slices.ContainsFunc(h.Possible, func(ev history.Event) bool { return ev.Unprovable }) {
		known := slices.DeleteFunc(slices.Clone(h.Possible),
			func(ev history.Event) bool { return ev.Unprovable })
		return known, history.Endings(known)
	}
	return h.Possible, h.PossibleEnds
}

// Openings returns the opening of window 0, 1, ..., ascending at both ends; nil: no request may open one. The
// list ends where no later window is certain.
func (f First) Openings(h *history.History) []history.Opening {
	openers, ends := f.openers(h)
	w := opener{openers: openers, ends: ends, admitted: h.Admitted}
	var out []history.Opening
	switch {
	case h.Placed != nil:
		out = w.handed(h.Placed, f.SizeTo)
	case len(openers) == 0:
		return nil
	default:
		out = []history.Opening{{From: openers[0].Start, To: history.MaxTime}}
		if len(h.AdmittedByEnd) > 0 { // only a sure admission bounds an opening from above
			out[0].To = h.Admitted[h.AdmittedByEnd[0]].End
		}
	}
	for range openers { // every window is opened by a request of its own
		o := out[len(out)-1]
		lowest := w.earliestDecision(o.From + f.size)
		if lowest == history.MaxTime {
			break
		}
		highest := history.MaxTime
		if o.To < history.MaxTime {
			highest = w.earliestEnd(o.To + f.SizeTo)
		}
		out = append(out, history.Opening{From: lowest, To: highest})
	}
	return out
}

// opener finds, for ascending instants, the requests that may open a window and the admissions that surely
// follow one.
type opener struct {
	openers  []history.Event
	ends     []history.Ending
	admitted []history.Event
	// begun, over and sure count the elements of openers, ends and admitted before the last instant.
	begun, over, sure int
}

// earliestDecision returns the earliest instant, at from or later, at which an opener may be decided.
// MaxTime: none may.
func (w *opener) earliestDecision(from int64) int64 {
	for w.begun < len(w.openers) && w.openers[w.begun].Start < from {
		w.begun++
	}
	for w.over < len(w.ends) && w.ends[w.over].End < from {
		w.over++
	}
	switch {
	case w.begun > w.over:
		return from // an opener that began before is still undecided
	case w.begun < len(w.openers):
		return w.openers[w.begun].Start
	default:
		return history.MaxTime
	}
}

// earliestEnd returns the smallest End of an admission that starts at from or later, MaxTime if there is
// none.
func (w *opener) earliestEnd(from int64) int64 {
	for w.sure < len(w.admitted) && w.admitted[w.sure].Start < from {
		w.sure++
	}
	end := history.MaxTime
	for i := w.sure; i < len(w.admitted) && w.admitted[i].Start <= end; i++ {
		end = min(end, w.admitted[i].End)
	}
	return end
}

// Over implements Bound.
func (f First) Over(h *history.History) *Breach {
	if br := tooDear(h.Admitted, f.quota); br != nil {
		return br
	}
	open, admitted := f.Openings(h), h.Admitted
	if h.Placed != nil { // earlier decisions may lie in an earlier window
		admitted = admitted[history.StartingBefore(admitted, h.Placed.Since):]
	}
	return Overfull(admitted, func() func(int) Seat { return f.seats(admitted, open) }, f.quota)
}

// seats returns the seats of events, ascending by Start. None ends before the first window begins.
func (f First) seats(evs []history.Event, open []history.Opening) func(i int) Seat {
	lo, hi := 0, 0
	return func(i int) Seat {
		ev := &evs[i]
		// Not before window lo: window lo-1 has surely ended when the request is sent.
		for lo < len(open) && open[lo].To < history.MaxTime && ev.Start >= open[lo].To+f.SizeTo {
			lo++
		}
		for hi < len(open) && open[hi].From <= ev.End {
			hi++
		}
		for hi > 1 && open[hi-1].From > ev.End {
			hi--
		}
		return Seat{int64(min(lo, hi-1)), int64(hi - 1), ev.Cost, ev.End}
	}
}

// firstMeter counts the units that may lie in an open window that contains t.
type firstMeter struct {
	First
	open   []history.Opening
	starts []history.Event
	i, k   int
	units  int64
	gone   history.Tally
}

// Usage implements Bound.
func (f First) Usage(h *history.History) Meter {
	return &firstMeter{First: f, open: f.Openings(h), starts: h.Counted(f.all),
		gone: history.NewTally(h.CountedEnds(f.all))}
}

func (m *firstMeter) Unit() int64 { return 1 }

func (m *firstMeter) Excess(t int64) int64 {
	for ; m.i < len(m.starts) && m.starts[m.i].Start <= t; m.i++ {
		m.units += m.starts[m.i].Cost
	}
	for m.k < len(m.open) && m.open[m.k].To < history.MaxTime && m.open[m.k].To+m.SizeTo <= t {
		m.k++
	}
	if m.k == len(m.open) || m.open[m.k].From > t {
		return 1 - m.quota // no window can be open, and nothing is in use
	}
	begin := max(m.open[m.k].From, t-m.SizeTo+1)
	return m.units - m.gone.Before(begin) - m.quota + 1
}

// Scope implements Bound.
func (f First) Scope() Scope { return Scope{Memory: f.SizeTo, Full: f.quota, All: f.all} }

// opened is the index of the time at which the open window began. The counts are wasOpened, 1 once a window
// was opened, and inWindow, the units counted in it.
const (
	opened    = zone.FirstVariable
	wasOpened = 0
	inWindow  = 1
)

// firstModel is a fixed window that a counted request opens.
type firstModel struct {
	base
	First
	scale int64
}

func (f firstModel) Traits() Traits { return Traits{Scale: f.scale, Counted: f.all} }

func (f firstModel) Scaled(k int64) Model {
	f.scale *= k
	f.size *= k
	return f
}

func (f firstModel) Pass(m State, a Request) []State { return Passed(f, m, a) }

func (f firstModel) Start(begin int64) State {
	return State{Counts: make([]int64, 2), Zone: zone.New(begin, begin)}
}

func (f firstModel) Admit(m State, a Request) []State {
	if a.Cost > f.quota {
		return nil
	}
	var out []State
	if *m.count(wasOpened) == 1 && *m.count(inWindow)+a.Cost <= f.quota {
		in := m.Clone()
		if in.Zone.Limit(zone.Now, opened, f.size-f.scale) {
			*in.count(inWindow) += a.Cost
			out = append(out, in)
		}
	}
	if *m.count(wasOpened) == 0 || m.Zone.Limit(opened, zone.Now, -f.size) {
		m.Zone.Set(opened, zone.Now, 0)
		*m.count(wasOpened), *m.count(inWindow) = 1, a.Cost
		out = append(out, m)
	}
	return out
}

func (f firstModel) Deny(m State, a Request) []State {
	if a.Cost > f.quota {
		return f.denyDear(m)
	}
	if *m.count(wasOpened) == 0 || *m.count(inWindow)+a.Cost <= f.quota ||
		!m.Zone.Limit(zone.Now, opened, f.size-f.scale) {
		return nil
	}
	if f.all {
		*m.count(inWindow) = f.quota
	}
	return []State{m}
}

// denyDear denies a request that costs more than the quota. Where it is counted, it fills the window.
func (f firstModel) denyDear(m State) []State {
	if !f.all {
		return []State{m}
	}
	var out []State
	if in := m.Clone(); *m.count(wasOpened) == 1 && in.Zone.Limit(zone.Now, opened, f.size-f.scale) {
		*in.count(inWindow) = f.quota
		out = append(out, in)
	}
	if *m.count(wasOpened) == 0 || m.Zone.Limit(opened, zone.Now, -f.size) {
		m.Zone.Set(opened, zone.Now, 0)
		*m.count(wasOpened), *m.count(inWindow) = 1, f.quota
		out = append(out, m)
	}
	return out
}

// Forget: a window that has ended at lo is as good as none.
func (f firstModel) Forget(m State, lo int64) {
	if m.Zone.Bound(opened, 0) <= lo-f.size {
		m.Zone.Free(opened, lo-f.size)
		*m.count(wasOpened), *m.count(inWindow) = 0, 0
	}
}

// openingSweep gives the openings of First.Openings for a history that comes block by block.
type openingSweep struct {
	First
	// open are the openings that may still matter. The first `settled` have both ends; the others have To =
	// MaxTime.
	open    []history.Opening
	settled int
	// may are the requests that may open the next window. sure are the admissions that begin at `after` or
	// later: the least End of these is the To of the first opening that is not settled.
	may, sure []history.Event
	after     int64
	// lost is the first request without an answer that may open a window. Later requests without an answer
	// are not kept.
	lost *history.Event
	// begun counts the requests that may have opened a window, made the openings. made never exceeds begun.
	begun, made int
	// chain are the admissions that gave the openings their To, at most MostChain of them.
	chain []history.Event
}

// MostChain is the most admissions of a chain that are kept.
const MostChain = 1 << 16

// extend takes the events that begin before the horizon and are new, ascending by Start.
func (w *openingSweep) extend(fresh []history.Event, horizon int64) {
	for i := range fresh {
		if fresh[i].Outcome == timeline.Denied && !w.others && !(w.all && fresh[i].Cost > w.quota) {
			continue
		}
		if w.begun++; fresh[i].End < history.MaxTime {
			w.may = append(w.may, fresh[i])
		} else if w.lost == nil {
			lost := fresh[i]
			w.lost = &lost
		}
		if fresh[i].Outcome == timeline.Allowed && fresh[i].Start >= w.after {
			w.sure = append(w.sure, fresh[i])
		}
	}
	if from := w.earliest(); w.made == 0 && from < history.MaxTime {
		w.add(from)
	}
	for w.settle(horizon); w.made > 0 && w.next(horizon); {
		w.settle(horizon)
	}
}

func (w *openingSweep) add(from int64) {
	w.open = append(w.open, history.Opening{From: from, To: history.MaxTime})
	w.made++
}

// next adds the next opening. false: its earliest instant is not known yet, or there is none.
func (w *openingSweep) next(horizon int64) bool {
	x := w.open[len(w.open)-1].From + w.size
	w.may = slices.DeleteFunc(w.may, func(ev history.Event) bool { return ev.End < x })
	if x >= horizon || w.made >= w.begun {
		return false
	}
	from := w.earliest()
	if from == history.MaxTime {
		return false
	}
	w.add(max(x, from))
	return true
}

// earliest returns the first Start of a request that may open the next window, MaxTime where there is none.
func (w *openingSweep) earliest() int64 {
	from := history.MaxTime
	if len(w.may) > 0 {
		from = w.may[0].Start
	}
	if w.lost != nil {
		from = min(from, w.lost.Start)
	}
	return from
}

// settle finds the later ends of openings, as far as the horizon allows.
func (w *openingSweep) settle(horizon int64) {
	for w.settled < len(w.open) {
		first := -1
		for i := range w.sure {
			if first < 0 || w.sure[i].End < w.sure[first].End {
				first = i
			}
		}
		if first < 0 || w.sure[first].End >= horizon {
			return
		}
		if len(w.chain) < MostChain {
			w.chain = append(w.chain, w.sure[first])
		}
		w.open[w.settled].To = w.sure[first].End
		w.after = w.sure[first].End + w.SizeTo
		w.settled++
		w.sure = slices.DeleteFunc(w.sure, func(ev history.Event) bool { return ev.Start < w.after })
	}
}

// forget drops the first k openings, which are settled, once they are many. It keeps the last opening, from
// which the next one follows. It returns how many it dropped.
func (w *openingSweep) forget(k int) int {
	k = min(k, len(w.open)-1)
	if k < 64 || 2*k < len(w.open) {
		return 0
	}
	w.open = append(w.open[:0], w.open[k:]...)
	w.settled -= k
	return k
}

// Sweep implements Sweeping.
func (f First) Sweep() Sweep {
	return &firstSweep{openingSweep: openingSweep{First: f, after: history.MinTime}}
}

// firstSweep places the admissions of a window once no further admission can lie in it.
type firstSweep struct {
	openingSweep
	// queue are the admissions; from index next on they are not placed yet. waiting are those that may lie in
	// window k or a later one, by End.
	queue   []history.Event
	next    int
	waiting seatHeap
	k       int
	// latest is the last End of the admissions that were placed or wait.
	latest int64
}

// Take implements Sweep.
func (f *firstSweep) Take(b Block) *Alarm {
	horizon := b.Horizon
	f.extend(b.Begun, horizon)
	f.queue, f.next = compact(f.queue, f.next)
	for i := range b.Begun {
		if b.Begun[i].Outcome == timeline.Allowed {
			f.queue = append(f.queue, b.Begun[i])
		}
	}
	for ; f.k < len(f.open); f.k++ {
		o, last := f.open[f.k], f.k+1 == len(f.open)
		if horizon < history.MaxTime && (f.k >= f.settled || o.To+f.SizeTo >= horizon) {
			break
		}
		end := horizon - 1 // the next window begins at the horizon or later
		if !last {
			end = f.open[f.k+1].From - 1
		} else if horizon < history.MaxTime && (f.lost != nil || slices.ContainsFunc(f.may,
			func(ev history.Event) bool { return ev.End >= o.From+f.size })) {
			break // the next window may have begun before
		}
		if !f.fill(o, last, end) {
			br := Breach{Kind: verdict.OverAdmission, Bound: f.quota, Seen: f.quota + 1, Span: f.size,
				Windows: 1}
			return &Alarm{Breach: br, From: o.From, To: min(end, f.latest), Placing: f.chain}
		}
	}
	f.k -= f.forget(f.k)
	return nil
}

// fill places the admissions that must lie in window o, before the next window begins after end. false: too
// many.
func (f *firstSweep) fill(o history.Opening, last bool, end int64) bool {
	room := f.quota
	for ; f.next < len(f.queue) && (last && end == history.MaxTime-1 || o.To == history.MaxTime ||
		f.queue[f.next].Start < o.To+f.SizeTo); f.next++ {
		ev := &f.queue[f.next]
		if f.latest = max(f.latest, ev.End); ev.End > end {
			f.waiting.push(Seat{Hi: ev.End, Cost: ev.Cost, e: ev.End})
		} else {
			room -= ev.Cost
		}
	}
	return room >= 0 && f.waiting.settle(room, end)
}

// mostHanded is the most windows that are told apart. There are more only where no admission is certain.
const mostHanded = 1 << 10

// handed returns the openings of an earlier piece, narrowed by the requests of this one.
func (in *opener) handed(w *history.Placement, sizeTo int64) []history.Opening {
	out := slices.Clone(w.Windows)
	at := w.Since
	for i := range out {
		if at < history.MaxTime {
			out[i].To = min(out[i].To, in.earliestEnd(at))
		}
		at = history.MaxTime
		if out[i].To < history.MaxTime {
			at = out[i].To + sizeTo
		}
	}
	if last := &out[len(out)-1]; last.From > w.Since { // its opener was not known yet
		if at := in.earliestDecision(last.From); at < history.MaxTime {
			last.From = at
		}
	}
	return out
}
