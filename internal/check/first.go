package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// first is the bound of the fixed window that a partition's first request opens: a window begins at the
// decision of the request that finds none open, which is admitted, and lasts for size. When it begins is
// known up to an interval, which is carried from window to window.
type first struct {
	quota int64
	// size is the least and sizeTo the greatest length of a window.
	size, sizeTo int64
	// all: denied requests count too; one that costs more than the quota opens a window. others: so does one
	// that another policy denied.
	all, others bool
}

func newFirst(p spec.Policy) first {
	return first{quota: p.Rate.N, size: int64(p.Rate.Per), sizeTo: int64(p.LongestWindow()),
		all: p.Count == spec.CountAll}
}

// openers returns the events that may open a window, ascending by start, and their ends.
func (f first) openers(h *history) ([]event, []ending) {
	dear := func(ev event) bool { return ev.cost > f.quota && (ev.outcome == timeline.Denied || ev.mute) }
	if f.others || f.all && slices.ContainsFunc(h.all, dear) {
		return h.all, endings(h.all)
	}
	if slices.ContainsFunc(h.possible, func(ev event) bool { return ev.mute }) { // they were denied
		known := slices.DeleteFunc(slices.Clone(h.possible), func(ev event) bool { return ev.mute })
		return known, endings(known)
	}
	return h.possible, h.possibleEnds
}

// opening is the closed interval in which a window begins.
type opening struct{ from, to int64 }

// openings returns the interval in which window 0, 1, ... begins, ascending at both ends. Only requests that
// may have been admitted open windows; the first of them all opens window 0. The list ends when no later
// window is certain.
func (f first) openings(h *history) []opening {
	openers, ends := f.openers(h)
	w := opener{openers: openers, ends: ends, admitted: h.admitted}
	var out []opening
	switch {
	case h.placed != nil:
		out = h.placed.openings(&w, f.sizeTo)
	case len(openers) == 0:
		return nil
	default:
		out = []opening{{openers[0].s, maxTime}}
		if len(h.admittedByEnd) > 0 { // only a sure admission bounds an opening from above
			out[0].to = h.admitted[h.admittedByEnd[0]].e
		}
	}
	for range openers { // every window is opened by a request of its own
		o := out[len(out)-1]
		lowest := w.earliestDecision(o.from + f.size)
		if lowest == maxTime {
			break
		}
		highest := maxTime
		if o.to < maxTime {
			highest = w.earliestEnd(o.to + f.sizeTo)
		}
		out = append(out, opening{lowest, highest})
	}
	return out
}

// opener finds who may open a window, and who surely has, for instants that do not decrease.
type opener struct {
	openers  []event
	ends     []ending
	admitted []event
	// begun, over and sure are the numbers of them that lie before the last instant.
	begun, over, sure int
}

// earliestDecision returns the earliest instant at or after from at which one may be decided, maxTime if none
// may.
func (w *opener) earliestDecision(from int64) int64 {
	for w.begun < len(w.openers) && w.openers[w.begun].s < from {
		w.begun++
	}
	for w.over < len(w.ends) && w.ends[w.over].e < from {
		w.over++
	}
	switch {
	case w.begun > w.over:
		return from // one that began before is still undecided
	case w.begun < len(w.openers):
		return w.openers[w.begun].s
	default:
		return maxTime
	}
}

// earliestEnd returns the smallest end of an admission that starts at or after from, maxTime if there is
// none.
func (w *opener) earliestEnd(from int64) int64 {
	for w.sure < len(w.admitted) && w.admitted[w.sure].s < from {
		w.sure++
	}
	end := maxTime
	for i := w.sure; i < len(w.admitted) && w.admitted[i].s <= end; i++ {
		end = min(end, w.admitted[i].e)
	}
	return end
}

func (f first) over(h *history) *breach {
	if br := tooDear(h, f.quota); br != nil {
		return br
	}
	open, admitted := f.openings(h), h.admitted
	if h.placed != nil { // what may have been decided before may lie in an earlier window
		admitted = admitted[startingBefore(admitted, h.placed.since):]
	}
	return overfull(admitted, func() func(int) seat { return f.seats(admitted, open) }, f.quota)
}

// seats returns the seats of events, ascending by start, of which none ends before the first window begins.
func (f first) seats(evs []event, open []opening) func(i int) seat {
	lo, hi := 0, 0
	return func(i int) seat {
		ev := &evs[i]
		// Not before window lo: the one before has ended for sure when the request is sent.
		for lo < len(open) && open[lo].to < maxTime && ev.s >= open[lo].to+f.sizeTo {
			lo++
		}
		for hi < len(open) && open[hi].from <= ev.e {
			hi++
		}
		for hi > 1 && open[hi-1].from > ev.e {
			hi--
		}
		return seat{int64(min(lo, hi-1)), int64(hi - 1), ev.cost, ev.e}
	}
}

// firstMeter counts the units that may lie in an open window that contains t.
type firstMeter struct {
	first
	open   []opening
	starts []event
	i, k   int
	units  int64
	gone   tally
}

func (f first) usage(h *history) meter {
	return &firstMeter{first: f, open: f.openings(h), starts: h.counted(f.all),
		gone: newTally(h.countedEnds(f.all))}
}

func (m *firstMeter) unit() int64 { return 1 }

func (m *firstMeter) excess(t int64) int64 {
	for ; m.i < len(m.starts) && m.starts[m.i].s <= t; m.i++ {
		m.units += m.starts[m.i].cost
	}
	for m.k < len(m.open) && m.open[m.k].to < maxTime && m.open[m.k].to+m.sizeTo <= t {
		m.k++
	}
	if m.k == len(m.open) || m.open[m.k].from > t {
		return 1 - m.quota // no window can be open, and nothing is in use
	}
	begin := max(m.open[m.k].from, t-m.sizeTo+1)
	return m.units - m.gone.before(begin) - m.quota + 1
}

func (f first) scope() scope { return scope{memory: f.sizeTo, full: f.quota, all: f.all} }
