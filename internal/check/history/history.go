// Package history is one partition of a recording as the judge sees it: closed intervals of decision times,
// widened by what the clocks leave open (history.go), without what a cut out of traffic may explain
// (edges.go), and with what is known of completions (stay.go). A recording too large to hold lies on tapes
// (tape.go, store.go).
package history

import (
	"slices"
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Event is one observation as the bounds see it: a closed interval of possible decision times, in nanoseconds
// since the start of the recording, widened by the clocks.
type Event struct {
	Start, End int64
	Cost       int64
	Seq        int
	// detail is what few recordings know of a request: nil where nothing is.
	detail *detail
	// order is the index in the history's events.
	order   int32
	Outcome timeline.Outcome
	// Unprovable marks a denial that proves nothing, as a missing request may explain it; its outcome is
	// Unknown.
	Unprovable bool
}

// History is one partition as the bounds see it. Every slice may be empty.
type History struct {
	// Lag is how far the starts are brought forward for a limiter whose clock may stand still for as long.
	Lag int64
	// Lags are those of the clocks of several policies, in whose history of all together nothing is brought
	// forward.
	Lags []int64
	// All ascends by s; same instants keep the order of the recording.
	All []Event
	// Admitted are the Allowed events, ascending by s; admittedByEnd are their indices ascending by e.
	Admitted      []Event
	AdmittedByEnd []int32
	// Possible are the events that may have been admitted (Allowed and Unknown), ascending by s; possibleEnds
	// are their ends, ascending, with the cost of each.
	Possible     []Event
	PossibleEnds []Ending
	// Denied ascends by s.
	Denied []Event
	// either is the memory of possible where that is not admitted.
	either []Event
	// Crowded: it is one of very many, or large, so that a plain explanation is looked for before a search.
	Crowded bool
	// Level is what came before has left in use of a bucket; nil where that is not known.
	Level *Level
	// Placed is what came before of windows that requests place; nil where nothing did.
	Placed *Placement
}

// Ending is the end of an interval and the cost that ends there.
type Ending struct{ End, Cost int64 }

// Widening is by how much intervals grow: at the left by the tick of the limiter's clock and the error of
// ours, at the right by the error of ours, and at both by what the two clocks may have come apart since the
// start. tick is the part of left that is the tick.
type Widening struct{ Left, Right, Tick, DriftPPM int64 }

// Drift returns by how much the clocks may have come apart at t.
func (w Widening) Drift(t int64) int64 {
	if w.DriftPPM == 0 {
		return 0
	}
	h := timeline.Header{DriftPPM: w.DriftPPM}
	return int64(h.Drift(time.Duration(t)))
}

// New prepares the observations of one partition, ascending by Sent. end is the end of the recording; stays
// tell what is known of when requests were complete.
func New(obs []timeline.Observation, w Widening, end int64, stays ...Stay) *History {
	return (*Edges)(nil).History(obs, w, end, stays...)
}

// History is New of what lies inside of e, which may be nil.
func (e *Edges) History(obs []timeline.Observation, w Widening, end int64, stays ...Stay) *History {
	h := &History{All: make([]Event, len(obs)), Lag: w.Tick}
	for i := range obs {
		h.All[i] = NewEvent(&obs[i], w, end)
		for _, s := range stays {
			if s.Told {
				h.All[i].Complete(&obs[i], w, s)
			}
		}
	}
	if e != nil {
		h.All = e.Trim(h.All)
	}
	h.Split()
	return h
}

// NewEvent returns an observation as an event. end is the end of the recording, until which one without an
// answer may be decided.
func NewEvent(o *timeline.Observation, w Widening, end int64) Event {
	e := end
	if o.Answered && o.Outcome != timeline.Unknown {
		e = int64(o.FirstByte)
	}
	s := int64(o.Sent)
	e = max(e, s)
	return Event{Start: s - w.Left - w.Drift(s), End: e + w.Right + w.Drift(e), Cost: max(o.Cost, 1),
		Outcome: o.Outcome, Seq: o.Seq}
}

// Split fills the derived slices of h from h.all, in the memory of those that it had.
func (h *History) Split() {
	var admitted, possible, denied int
	for i := range h.All {
		h.All[i].order = int32(i)
		switch h.All[i].Outcome {
		case timeline.Allowed:
			admitted++
			possible++
		case timeline.Unknown:
			possible++
		default:
			denied++
		}
	}
	h.Admitted, h.Denied = slices.Grow(h.Admitted[:0], admitted), slices.Grow(h.Denied[:0], denied)
	for i := range h.All {
		switch h.All[i].Outcome {
		case timeline.Allowed:
			h.Admitted = append(h.Admitted, h.All[i])
		case timeline.Denied:
			h.Denied = append(h.Denied, h.All[i])
		}
	}
	h.Possible = h.Admitted
	if possible != admitted {
		h.either = slices.Grow(h.either[:0], possible)
		for i := range h.All {
			if h.All[i].Outcome != timeline.Denied {
				h.either = append(h.either, h.All[i])
			}
		}
		h.Possible = h.either
	}
	h.AdmittedByEnd = OrderInto(h.AdmittedByEnd, h.Admitted)
	h.endPossible()
}

// Known tells whether h has a request with an outcome that proves anything.
func (h *History) Known() bool { return len(h.Admitted)+len(h.Denied) > 0 }

// endPossible fills possibleEnds.
func (h *History) endPossible() {
	order := h.AdmittedByEnd
	if len(h.Possible) != len(h.Admitted) {
		order = OrderByEnd(h.Possible)
	}
	h.PossibleEnds = slices.Grow(h.PossibleEnds[:0], len(order))
	for _, i := range order {
		h.PossibleEnds = append(h.PossibleEnds, Ending{h.Possible[i].End, h.Possible[i].Cost})
	}
}

// Counted returns the events that a policy which counts all requests, or only admitted ones, may have
// counted.
func (h *History) Counted(all bool) []Event {
	if all {
		return h.All
	}
	return h.Possible
}

// Surely returns the events that a policy which counts all requests has surely counted.
func (h *History) Surely() []Event {
	lost := func(ev Event) bool { return !ev.Surely(true) }
	if !slices.ContainsFunc(h.All, lost) {
		return h.All
	}
	return slices.DeleteFunc(slices.Clone(h.All), lost)
}

// CountedEnds returns the ends of the counted events, ascending.
func (h *History) CountedEnds(all bool) []Ending {
	if all {
		return Endings(h.All)
	}
	return h.PossibleEnds
}

// OrderByEnd returns the indices of evs ascending by end. Recordings are nearly in that order already, so
// that an insertion sort with a bound on its work comes first.
func OrderByEnd(evs []Event) []int32 { return OrderInto(nil, evs) }

// OrderInto is OrderByEnd in the memory of order.
func OrderInto(order []int32, evs []Event) []int32 {
	order = slices.Grow(order[:0], len(evs))[:len(evs)]
	budget := 8 * len(evs)
	for i := range evs {
		j := i
		for ; j > 0 && budget > 0 && evs[order[j-1]].End > evs[i].End; j-- {
			order[j] = order[j-1]
			budget--
		}
		order[j] = int32(i)
	}
	if budget <= 0 {
		sort.SliceStable(order, func(a, b int) bool { return evs[order[a]].End < evs[order[b]].End })
	}
	return order
}

// Endings returns the ends of evs, ascending.
func Endings(evs []Event) []Ending {
	out := make([]Ending, len(evs))
	for k, i := range OrderByEnd(evs) {
		out[k] = Ending{evs[i].End, evs[i].Cost}
	}
	return out
}

// Volume returns the sum of the costs of evs.
func Volume(evs []Event) int64 {
	var v int64
	for i := range evs {
		v += evs[i].Cost
	}
	return v
}

// Widen returns how far intervals grow for a header and the tick of a policy; a tick that the policy names
// goes before the one of the recording.
func Widen(h timeline.Header, tick time.Duration, tickSet bool) Widening {
	if !tickSet {
		tick = h.Tick
	}
	return Widening{Left: int64(tick + h.ClockError), Right: int64(h.ClockError), Tick: int64(tick),
		DriftPPM: h.DriftPPM}
}

// Counts tells whether the request may be counted; all: denied ones are.
func (ev *Event) Counts(all bool) bool { return all || ev.Outcome != timeline.Denied }

// Surely tells whether a request that may be counted was: a lost one may not have been.
func (ev *Event) Surely(all bool) bool { return ev.Outcome != timeline.Unknown || all && ev.Unprovable }

// FirstEnd returns the instant by which the first request was decided.
func (h *History) FirstEnd() int64 {
	end := MaxTime
	for i := range h.All {
		end = min(end, h.All[i].End)
	}
	return end
}

// LastEnd returns the last instant at which one of the events may have been decided, MinTime where there is
// none.
func LastEnd(events []Event) int64 {
	end := MinTime
	for _, ev := range events {
		end = max(end, ev.End)
	}
	return end
}
