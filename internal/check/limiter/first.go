package limiter

import (
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var firstKind = kind{
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

// Opening is the closed interval of instants at which a window may begin. To is MaxTime where no bound is
// known.
type Opening struct{ From, To int64 }

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
func (f First) Openings(h *history.History) []Opening {
	openers, ends := f.openers(h)
	if len(openers) == 0 {
		return nil
	}
	w := opener{openers: openers, ends: ends, admitted: h.Admitted}
	out := []Opening{{From: openers[0].Start, To: history.MaxTime}}
	if len(h.AdmittedByEnd) > 0 { // only a sure admission bounds an opening from above
		out[0].To = h.Admitted[h.AdmittedByEnd[0]].End
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
		out = append(out, Opening{From: lowest, To: highest})
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
	open := f.Openings(h)
	return Overfull(h.Admitted, func() func(int) Seat { return f.seats(h.Admitted, open) }, f.quota)
}

// seats returns the seats of events, ascending by Start. None ends before the first window begins.
func (f First) seats(evs []history.Event, open []Opening) func(i int) Seat {
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

// seat returns the windows lo..hi in one of which an event of [start, end] lies, and in no other one. It is
// seats for events in any order.
func (f First) seat(open []Opening, start, end int64) (lo, hi int) {
	hi = sort.Search(len(open), func(k int) bool { return open[k].From > end }) - 1
	lo = sort.Search(len(open), func(k int) bool {
		return open[k].To == history.MaxTime || start < open[k].To+f.SizeTo
	})
	return min(lo, hi), hi
}

// sureWindow returns the window that surely is the open one at all instants of [start, end] at which one is
// open. ok=false: there is none, or no window need be open.
func (f First) sureWindow(open []Opening, start, end int64) (k int, ok bool) {
	k = sort.Search(len(open), func(k int) bool { return open[k].From > start }) - 1
	return k, k >= 0 && end < open[k].From+f.size
}

// overCharged asks of each admission whether the charges that certainly came before it, in its window, leave
// room for it. open are the openings of all charges. An admission finds room if its window may have ended, or
// may not have begun.
func (f First) overCharged(h *history.History, charges []history.Event, open []Opening) *Breach {
	order, next := history.OrderByEnd(charges), 0
	in := make([][]history.Event, len(open))
	units := make([]int64, len(open))
	for _, ev := range h.Admitted {
		for ; next < len(order) && charges[order[next]].End < ev.Start; next++ {
			c := charges[order[next]]
			if lo, hi := f.seat(open, c.Start, c.End); lo == hi {
				in[lo], units[lo] = append(in[lo], c), units[lo]+c.Cost
			}
		}
		if k, ok := f.sureWindow(open, ev.Start, ev.End); ok && units[k]+ev.Cost > f.quota {
			return &Breach{Kind: result.OverAdmission, Seen: units[k] + ev.Cost, Bound: f.quota, Windows: 1,
				Span: ev.End - ev.Start, Events: append([]history.Event{ev}, in[k]...)}
		}
	}
	return nil
}

// firstMeter counts the units that may lie in an open window that contains t.
type firstMeter struct {
	First
	inUse
	open []Opening
	gone history.Tally
}

// Usage implements Bound.
func (f First) Usage(h *history.History) Meter {
	return &firstMeter{f, inUse{starts: h.Counted(f.all)}, f.Openings(h),
		history.NewTally(h.CountedEnds(f.all))}
}

func (m *firstMeter) Excess(t int64) int64 {
	m.begin(t)
	for len(m.open) > 0 && m.open[0].To < history.MaxTime && m.open[0].To+m.SizeTo <= t {
		m.open = m.open[1:]
	}
	if len(m.open) == 0 || m.open[0].From > t {
		return 1 - m.quota // no window can be open, and nothing is in use
	}
	begin := max(m.open[0].From, t-m.SizeTo+1)
	return m.used - m.gone.Before(begin) - m.quota + 1
}

// Scope implements Bound.
func (f First) Scope() Scope { return Scope{Memory: f.SizeTo, Full: f.quota, All: f.all} }

// opened is the index of the time at which the open window began. The counts are wasOpened, 1 once a window
// was opened, and inWindow, the units counted in it.
const (
	opened    = FirstVariable
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
	return State{Counts: make([]int64, 2), Zone: NewZone(begin, begin)}
}

func (f firstModel) Admit(m State, a Request) []State {
	if a.Cost > f.quota {
		return nil
	}
	var out []State
	if *m.count(wasOpened) == 1 && *m.count(inWindow)+a.Cost <= f.quota {
		in := m.Clone()
		if in.Zone.Limit(ZoneNow, opened, f.size-f.scale) {
			*in.count(inWindow) += a.Cost
			out = append(out, in)
		}
	}
	if *m.count(wasOpened) == 0 || m.Zone.Limit(opened, ZoneNow, -f.size) {
		m.Zone.Set(opened, ZoneNow, 0)
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
		!m.Zone.Limit(ZoneNow, opened, f.size-f.scale) {
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
	if in := m.Clone(); *m.count(wasOpened) == 1 && in.Zone.Limit(ZoneNow, opened, f.size-f.scale) {
		*in.count(inWindow) = f.quota
		out = append(out, in)
	}
	if *m.count(wasOpened) == 0 || m.Zone.Limit(opened, ZoneNow, -f.size) {
		m.Zone.Set(opened, ZoneNow, 0)
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
