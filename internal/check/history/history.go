// Package history has one partition of a recording as the judge sees it: a closed interval of possible
// decision times for each request. The intervals are widened by the uncertainty of the clocks (history.go).
// Denials that unrecorded requests may explain are removed or masked (edges.go). Completion times are added
// (stay.go). A recording too large for events in memory lies on tapes (tape.go, store.go).
package history

import (
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Event is one observation as the judge sees it. Start..End is the closed interval of possible decision
// times, in nanoseconds since the start of the recording, widened by the clocks. Cost is in quota units, at
// least 1: what is asked for at the decision. Seq is the number of the observation in the recording.
type Event struct {
	Start, End int64
	Cost       int64
	Seq        int
	// detail is what only some recordings know of a request; nil: nothing.
	detail  *detail
	Outcome timeline.Outcome
	// Unprovable marks a denial that proves nothing, because an unrecorded request may explain it. Its
	// outcome is then Unknown.
	Unprovable bool
}

// History is one partition as the judge sees it. Every slice may be empty.
type History struct {
	// Lag is how long the limiter's clock may stand still, in nanoseconds. Every Start is earlier by it.
	Lag int64
	// Lags are the lags of several policies with clocks of their own. In such a joint history no Start is
	// earlier.
	Lags []int64
	// All ascends by Start. Events with the same Start keep the order of the recording.
	All []Event
	// Admitted are the Allowed events, ascending by Start. AdmittedByEnd are their indices, ascending by End.
	Admitted      []Event
	AdmittedByEnd []int32
	// Possible are the events that may have been admitted (Allowed and Unknown), ascending by Start.
	// PossibleEnds are their ends, ascending, with the cost of each.
	Possible     []Event
	PossibleEnds []Ending
	// Denied are the indices in All of the denied events, ascending.
	Denied []int32
	// either is the memory of Possible, where Possible differs from Admitted. whole: Admitted is All.
	either []Event
	whole  bool
	// certain is what Certain returns; nil: it was not asked for.
	certain *Certain
}

// Ending is the end of an interval and the cost that ends there.
type Ending struct{ End, Cost int64 }

// Widening is by how much intervals grow, in nanoseconds. Left has the tick of the limiter's clock and the
// error of the recording's clock; Right has that error alone. Tick is the part of Left that is the tick.
// DriftPPM is the drift between the two clocks, in parts per million; both ends grow by it. Intervals on the
// padded clock of a calendar, unless it is zero, have the time since it showed Began.
type Widening struct {
	Left, Right, Tick, DriftPPM int64
	calendar                    spec.Calendar
	began                       time.Duration
}

// On returns w for the calendar of p, if it has one. The target's clock says when its days begin, so its
// error counts.
func (w Widening) On(p spec.Policy, h timeline.Header) Widening {
	if c := p.Calendar(); !c.IsZero() {
		w.calendar, w.began = c, time.Duration(h.Started.UnixNano())
		w.Left, w.Right = w.Left+int64(h.WallError), w.Right+int64(h.WallError)
	}
	return w
}

// at returns the instant t of the recording on the clock of the calendar.
func (w Widening) at(t int64) int64 {
	if w.calendar.IsZero() || t >= MaxTime || t <= MinTime {
		return t
	}
	return int64(w.calendar.Padded(w.began+time.Duration(t)) - w.calendar.Padded(w.began))
}

// Drift returns by how much the clocks may have come apart by the instant t, in nanoseconds.
func (w Widening) Drift(t int64) int64 {
	if w.DriftPPM == 0 {
		return 0
	}
	h := timeline.Header{DriftPPM: w.DriftPPM}
	return int64(h.Drift(time.Duration(t)))
}

// New returns the history of one partition. obs ascend by Sent. end is the end of the recording, in
// nanoseconds. stays tell when requests were complete. If it is one, Event.Cost is what its policy asks for.
func New(obs []Observation, w Widening, end int64, stays ...Stay) *History {
	return (*Edges)(nil).History(obs, w, end, stays...)
}

// History is New for a recording that was cut out of traffic: it keeps what the edges e leave. e may be nil.
func (e *Edges) History(obs []Observation, w Widening, end int64, stays ...Stay) *History {
	h := &History{All: make([]Event, len(obs)), Lag: w.Tick}
	for i := range obs {
		h.All[i] = NewEvent(&obs[i], w, end)
		for _, s := range stays {
			if s.Told {
				h.All[i].Complete(&obs[i], w, s)
			}
		}
	}
	if len(stays) == 1 {
		stays[0].ask(h.All)
	}
	if e != nil {
		h.All = e.on(w).Trim(h.All)
	}
	h.Split()
	return h
}

// NewEvent returns an observation as an event. end is the end of the recording: an observation without an
// answer, or without an outcome, may be decided until then.
func NewEvent(o *Observation, w Widening, end int64) Event {
	e := end
	if o.Answered && o.Outcome != timeline.Unknown {
		e = int64(o.FirstByte)
	}
	s := int64(o.Sent)
	e = max(e, s)
	return Event{Start: w.at(s - w.Left - w.Drift(s)), End: w.at(e + w.Right + w.Drift(e)),
		Cost: max(o.Cost, 1), Outcome: o.Outcome, Seq: o.Seq}
}

// Split fills the derived slices of h from h.All. It reuses the memory of these slices.
func (h *History) Split() {
	h.certain = nil
	var admitted, possible, denied int
	for i := range h.All {
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
	h.Denied = slices.Grow(h.Denied[:0], denied)
	if h.whole { // the memory is that of All
		h.Admitted = nil
	}
	if h.whole = admitted == len(h.All); h.whole {
		h.Admitted = h.All[:admitted:admitted]
	} else {
		h.divide(admitted)
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

// divide fills Admitted, of so many, and Denied.
func (h *History) divide(admitted int) {
	h.Admitted = slices.Grow(h.Admitted[:0], admitted)
	for i := range h.All {
		switch h.All[i].Outcome {
		case timeline.Allowed:
			h.Admitted = append(h.Admitted, h.All[i])
		case timeline.Denied:
			h.Denied = append(h.Denied, int32(i))
		}
	}
}

// Denial returns the denial with the index j in Denied.
func (h *History) Denial(j int32) *Event { return &h.All[h.Denied[j]] }

// Denials returns the denied events, ascending by Start.
func (h *History) Denials() iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		for _, i := range h.Denied {
			if !yield(&h.All[i]) {
				return
			}
		}
	}
}

// Known tells whether any request of h has an outcome.
func (h *History) Known() bool { return len(h.Admitted)+len(h.Denied) > 0 }

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

// Counted returns the events that the policy may have counted. all: the policy counts denied requests too.
func (h *History) Counted(all bool) []Event {
	if all {
		return h.All
	}
	return h.Possible
}

// Certain returns the count of the events that were surely counted by a policy which counts denied requests
// too.
func (h *History) Certain() *Certain {
	if h.certain == nil {
		lost := func(ev Event) bool { return !ev.Surely(true) }
		evs := h.All
		if slices.ContainsFunc(evs, lost) {
			evs = slices.DeleteFunc(slices.Clone(evs), lost)
		}
		h.certain = NewCertain(evs)
	}
	c := *h.certain
	return &c
}

// CountedEnds returns the ends of the events that Counted returns, ascending.
func (h *History) CountedEnds(all bool) []Ending {
	if all {
		return Endings(h.All)
	}
	return h.PossibleEnds
}

// OrderByEnd returns the indices of evs, ascending by End. Recordings are nearly in that order already, so an
// insertion sort with a bound on its work comes first. Cost: O(n) for such recordings, O(n log n) for others.
func OrderByEnd(evs []Event) []int32 { return OrderInto(nil, evs) }

// OrderInto is OrderByEnd, into the memory of order.
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

// Widen returns by how much intervals grow for a recording with the header h. A tick that the policy names
// takes the place of the recording's tick.
func Widen(h timeline.Header, tick time.Duration, tickSet bool) Widening {
	if !tickSet {
		tick = h.Tick
	}
	return Widening{Left: int64(tick + h.ClockError), Right: int64(h.ClockError), Tick: int64(tick),
		DriftPPM: h.DriftPPM}
}

// Counts tells whether the request may be counted. all: the policy counts denied requests too.
func (ev *Event) Counts(all bool) bool { return all || ev.Outcome != timeline.Denied }

// Surely tells whether the request was surely counted, given that it may be. A lost request may not have
// arrived.
func (ev *Event) Surely(all bool) bool { return ev.Outcome != timeline.Unknown || all && ev.Unprovable }

// FirstEnd returns the instant by which the first decision was made, MaxTime if h is empty.
func (h *History) FirstEnd() int64 {
	end := MaxTime
	for i := range h.All {
		end = min(end, h.All[i].End)
	}
	return end
}

// LastEnd returns the last instant at which one of the events may have been decided, MinTime if there is
// none.
func LastEnd(events []Event) int64 {
	end := MinTime
	for _, ev := range events {
		end = max(end, ev.End)
	}
	return end
}
