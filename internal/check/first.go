package check

import (
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// first is the bound of the fixed window that a partition's first request opens: a window begins at the decision of the
// request that finds none open, which is admitted, and lasts for size. When it begins is known up to an interval, which
// is carried from window to window.
type first struct {
	quota int64
	// size is the least and sizeTo the greatest length of a window.
	size, sizeTo int64
	// all: denied requests count too; one that costs more than the quota opens a window.
	all bool
}

func newFirst(p reference.Policy) first {
	return first{p.Rate.N, int64(p.Rate.Per), int64(p.LongestWindow()), p.Count == reference.CountAll}
}

// openers returns the events that may open a window, ascending by start, and their ends.
func (f first) openers(h *history) ([]event, []ending) {
	dear := func(ev event) bool { return ev.cost > f.quota }
	if f.all && slices.ContainsFunc(h.denied, dear) {
		return h.all, endings(h.all)
	}
	return h.possible, h.possibleEnds
}

// opening is the closed interval in which a window begins.
type opening struct{ from, to int64 }

// openings returns the interval in which window 0, 1, ... begins, ascending at both ends. Only requests that may have
// been admitted open windows; the first of them all opens window 0. The list ends when no later window is certain.
func (f first) openings(h *history) []opening {
	openers, ends := f.openers(h)
	if len(openers) == 0 {
		return nil
	}
	var out []opening
	o := opening{openers[0].s, maxTime}
	if len(h.admittedByEnd) > 0 { // only a sure admission bounds an opening from above
		o.to = h.admitted[h.admittedByEnd[0]].e
	}
	for len(out) < len(openers) { // every window is opened by a request of its own
		out = append(out, o)
		from := o.from + f.size
		lowest := earliestDecision(openers, ends, from)
		if lowest == maxTime {
			break
		}
		highest := maxTime
		if o.to < maxTime {
			highest = earliestEnd(h.admitted, o.to+f.sizeTo)
		}
		o = opening{lowest, highest}
	}
	return out
}

// earliestDecision returns the earliest instant at or after from at which one of evs may be decided, maxTime if none may.
func earliestDecision(evs []event, ends []ending, from int64) int64 {
	begun := sort.Search(len(evs), func(i int) bool { return evs[i].s >= from })
	over := sort.Search(len(ends), func(i int) bool { return ends[i].e >= from })
	switch {
	case begun > over:
		return from // one that began before is still undecided
	case begun < len(evs):
		return evs[begun].s
	default:
		return maxTime
	}
}

// earliestEnd returns the smallest end of an event that starts at or after from, maxTime if there is none.
func earliestEnd(evs []event, from int64) int64 {
	end := maxTime
	for i := sort.Search(len(evs), func(i int) bool { return evs[i].s >= from }); i < len(evs) && evs[i].s <= end; i++ {
		end = min(end, evs[i].e)
	}
	return end
}

func (f first) over(h *history) *breach {
	open := f.openings(h)
	seats := make([]seat, len(h.admitted))
	lo := 0
	for i, ev := range h.admitted {
		// Not before window lo: the one before has ended for sure when the request is sent.
		for lo < len(open) && open[lo].to < maxTime && ev.s >= open[lo].to+f.sizeTo {
			lo++
		}
		hi := sort.Search(len(open), func(k int) bool { return open[k].from > ev.e }) - 1
		seats[i] = seat{int64(min(lo, hi)), int64(hi), int32(i)}
	}
	return overfull(h.admitted, seats, f.quota)
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
	return &firstMeter{first: f, open: f.openings(h), starts: h.counted(f.all), gone: newTally(h.countedEnds(f.all))}
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
		return minTime // no window can be open
	}
	begin := max(m.open[m.k].from, t-m.sizeTo+1)
	return m.units - m.gone.before(begin) - m.quota + 1
}

func (f first) memory() int64 { return f.sizeTo }

func (f first) full() int64 { return f.quota }

func (f first) countsAll() bool { return f.all }
