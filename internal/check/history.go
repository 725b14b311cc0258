package check

import (
	"slices"
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// event is one observation as the bounds see it: a closed interval of possible decision times, in nanoseconds
// since the start of the recording, widened by the clocks.
type event struct {
	s, e    int64
	cost    int64
	outcome timeline.Outcome
	seq     int
	// order is the index in the history's events.
	order int32
	// mute marks a denial that proves nothing, as a missing request may explain it; its outcome is Unknown.
	mute bool
	// from is since when no request is missing, where the recording began amid traffic; else 0.
	from int64
	// answer is when its answer began to arrive: e, where nothing else says by when it was decided.
	answer int64
	// since and until are when it is complete at the earliest and at the latest, where the policy asks for
	// that: see stay.
	since, until int64
	// least and most are the least and the most time from its decision until then, by is when it must be,
	// whenever it was decided; of both the last are maxTime where they are not known.
	least, most, by int64
}

// history is one partition as the bounds see it. Every slice may be empty.
type history struct {
	// lag is how far the starts are brought forward for a limiter whose clock may stand still for as long.
	lag int64
	// lags are those of the clocks of several policies, in whose history of all together nothing is brought
	// forward.
	lags []int64
	// all ascends by s; same instants keep the order of the recording.
	all []event
	// admitted are the Allowed events, ascending by s; admittedByEnd are their indices ascending by e.
	admitted      []event
	admittedByEnd []int32
	// possible are the events that may have been admitted (Allowed and Unknown), ascending by s; possibleEnds
	// are their ends, ascending, with the cost of each.
	possible     []event
	possibleEnds []ending
	// denied ascends by s.
	denied []event
	// either is the memory of possible where that is not admitted.
	either []event
	// crowded: it is one of very many, each of which is judged alone.
	crowded bool
	// level is what came before has left in use of a bucket; nil where that is not known.
	level *level
	// placed is what came before of windows that requests place; nil where nothing did.
	placed *placement
}

// ending is the end of an interval and the cost that ends there.
type ending struct{ e, cost int64 }

// widening is by how much intervals grow: at the left by the tick of the limiter's clock and the error of
// ours, at the right by the error of ours, and at both by what the two clocks may have come apart since the
// start. tick is the part of left that is the tick.
type widening struct{ left, right, tick, driftPPM int64 }

// drift returns by how much the clocks may have come apart at t.
func (w widening) drift(t int64) int64 {
	if w.driftPPM == 0 {
		return 0
	}
	h := timeline.Header{DriftPPM: w.driftPPM}
	return int64(h.Drift(time.Duration(t)))
}

// newHistory prepares the observations of one partition, ascending by Sent. end is the end of the recording.
func newHistory(obs []timeline.Observation, w widening, end int64) *history {
	h := &history{all: make([]event, len(obs)), lag: w.tick}
	for i := range obs {
		h.all[i] = newEvent(&obs[i], w, end)
	}
	h.split()
	return h
}

func newEvent(o *timeline.Observation, w widening, end int64) event {
	e := end
	if o.Answered && o.Outcome != timeline.Unknown {
		e = int64(o.FirstByte)
	}
	s := int64(o.Sent)
	e = max(e, s)
	begin := s - w.left - w.drift(s)
	return event{s: begin, e: e + w.right + w.drift(e), cost: max(o.Cost, 1), outcome: o.Outcome, seq: o.Seq,
		answer: e + w.right + w.drift(e), since: begin, until: maxTime, most: maxTime, by: maxTime}
}

// split fills the derived slices of h from h.all, in the memory of those that it had.
func (h *history) split() {
	var admitted, possible, denied int
	for i := range h.all {
		h.all[i].order = int32(i)
		switch h.all[i].outcome {
		case timeline.Allowed:
			admitted++
			possible++
		case timeline.Unknown:
			possible++
		default:
			denied++
		}
	}
	h.admitted, h.denied = slices.Grow(h.admitted[:0], admitted), slices.Grow(h.denied[:0], denied)
	for i := range h.all {
		switch h.all[i].outcome {
		case timeline.Allowed:
			h.admitted = append(h.admitted, h.all[i])
		case timeline.Denied:
			h.denied = append(h.denied, h.all[i])
		}
	}
	h.possible = h.admitted
	if possible != admitted {
		h.either = slices.Grow(h.either[:0], possible)
		for i := range h.all {
			if h.all[i].outcome != timeline.Denied {
				h.either = append(h.either, h.all[i])
			}
		}
		h.possible = h.either
	}
	h.admittedByEnd = orderInto(h.admittedByEnd, h.admitted)
	h.endPossible()
}

// known tells whether h has a request with an outcome that proves anything.
func (h *history) known() bool { return len(h.admitted)+len(h.denied) > 0 }

// endPossible fills possibleEnds.
func (h *history) endPossible() {
	order := h.admittedByEnd
	if len(h.possible) != len(h.admitted) {
		order = orderByEnd(h.possible)
	}
	h.possibleEnds = slices.Grow(h.possibleEnds[:0], len(order))
	for _, i := range order {
		h.possibleEnds = append(h.possibleEnds, ending{h.possible[i].e, h.possible[i].cost})
	}
}

// counted returns the events that a policy which counts all requests, or only admitted ones, may have
// counted.
func (h *history) counted(all bool) []event {
	if all {
		return h.all
	}
	return h.possible
}

// surely returns the events that a policy which counts all requests has surely counted.
func (h *history) surely() []event {
	lost := func(ev event) bool { return !ev.surely(true) }
	if !slices.ContainsFunc(h.all, lost) {
		return h.all
	}
	return slices.DeleteFunc(slices.Clone(h.all), lost)
}

// countedEnds returns the ends of the counted events, ascending.
func (h *history) countedEnds(all bool) []ending {
	if all {
		return endings(h.all)
	}
	return h.possibleEnds
}

// orderByEnd returns the indices of evs ascending by end. Recordings are nearly in that order already, so
// that an insertion sort with a bound on its work comes first.
func orderByEnd(evs []event) []int32 { return orderInto(nil, evs) }

// orderInto is orderByEnd in the memory of order.
func orderInto(order []int32, evs []event) []int32 {
	order = slices.Grow(order[:0], len(evs))[:len(evs)]
	budget := 8 * len(evs)
	for i := range evs {
		j := i
		for ; j > 0 && budget > 0 && evs[order[j-1]].e > evs[i].e; j-- {
			order[j] = order[j-1]
			budget--
		}
		order[j] = int32(i)
	}
	if budget <= 0 {
		sort.SliceStable(order, func(a, b int) bool { return evs[order[a]].e < evs[order[b]].e })
	}
	return order
}

// endings returns the ends of evs, ascending.
func endings(evs []event) []ending {
	out := make([]ending, len(evs))
	for k, i := range orderByEnd(evs) {
		out[k] = ending{evs[i].e, evs[i].cost}
	}
	return out
}

// uniform tells whether all events cost the same.
func uniform(evs []event) bool {
	return !slices.ContainsFunc(evs, func(ev event) bool { return ev.cost != evs[0].cost })
}

// volume returns the sum of the costs of evs.
func volume(evs []event) int64 {
	var v int64
	for i := range evs {
		v += evs[i].cost
	}
	return v
}

// widen returns how far intervals grow for a header and the tick of a policy; a tick that the policy names
// goes before that of the recording.
func widen(h timeline.Header, tick time.Duration, tickSet bool) widening {
	if !tickSet {
		tick = h.Tick
	}
	return widening{left: int64(tick + h.ClockError), right: int64(h.ClockError), tick: int64(tick),
		driftPPM: h.DriftPPM}
}

// counts tells whether the request may be counted; all: denied ones are.
func (ev *event) counts(all bool) bool { return all || ev.outcome != timeline.Denied }

// surely tells whether a request that may be counted was: a lost one may not have been.
func (ev *event) surely(all bool) bool { return ev.outcome != timeline.Unknown || all && ev.mute }

// firstEnd returns the instant by which the first request was decided.
func (h *history) firstEnd() int64 {
	end := maxTime
	for i := range h.all {
		end = min(end, h.all[i].e)
	}
	return end
}

func lastEnd(events []event) int64 {
	end := minTime
	for _, ev := range events {
		end = max(end, ev.e)
	}
	return end
}
