package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// edges is the span of a recording in which no decided request is missing, where it was cut out of traffic
// that went on before and after. What happened outside has left the limiter in some state, and could explain
// a denial near an edge. It can explain no admission, as fewer requests leave more room: over-admission needs
// no care, except where requests open windows.
type edges struct {
	from, until int64
	// memory is how long the limiter remembers, in nanoseconds.
	memory int64
	// drop: a denial changes nothing, so that one that proves nothing can be left out. Otherwise it stays, as
	// a request that may have been admitted or not.
	drop bool
	// renews: a denial keeps a partition from being forgotten, so that one stays that may have been decided
	// amid what is judged.
	renews bool
	// begun is until when a request that is missing cannot have created the partition before one that is not,
	// with less than a full bucket, or one whose batches come from then on; maxTime where there is none.
	// again: that may be so after every silence.
	begun int64
	again bool
	// opened: a request opens a window, so that one that is missing displaces all that follow.
	opened bool
	// placed: how the windows of such a limiter lie at `from` is known.
	placed bool
}

// trim returns the events of a partition, ascending by start, that can be judged, each with what it can
// prove. It may change all.
func (e *edges) trim(all []event) []event {
	if e.opened {
		if !e.placed {
			all = all[e.forgotten(all):]
		}
		all = e.inside(all)
	}
	begun := e.begun
	if !e.again && slices.ContainsFunc(all, func(ev event) bool { return ev.e <= begun }) {
		begun = maxTime
	}
	for i := range all {
		ev := &all[i]
		if !e.proves(ev) {
			ev.outcome, ev.mute = timeline.Unknown, true
		}
		if e.opened && ev.e > e.until || ev.e > begun {
			ev.outcome = timeline.Unknown
		}
	}
	if e.drop {
		return e.leaveOut(all)
	}
	return all
}

// leaveOut drops the denials that prove nothing. One of them may have created the partition.
func (e *edges) leaveOut(all []event) []event {
	sent, first := maxTime, maxTime // of those, and by when the first of the others was decided
	for i := range all {
		if ev := &all[i]; e.drops(*ev) {
			sent = min(sent, ev.s)
		} else {
			first = min(first, ev.e)
		}
	}
	all = slices.DeleteFunc(all, e.drops)
	if len(all) > 0 && sent <= first {
		all[0].from = max(all[0].from, 1)
	}
	return all
}

// Why a partition is not judged of whose answers none proves anything.
const (
	amidTraffic = "the recording starts mid-traffic, and this partition was never idle long enough for a " +
		"new window: the start of its windows is unknown"
	unsureEdges = "requests that are missing, as the recording was cut out of traffic, may explain all " +
		"answers of this partition"
)

// unjudged says why a partition is not judged of whose answers none proves anything.
func (e *edges) unjudged() string {
	if e != nil && e.opened {
		return amidTraffic
	}
	return unsureEdges
}

// drops tells whether a request is left out: a denial that proves nothing.
func (e *edges) drops(ev event) bool {
	return ev.mute && !(e.renews && ev.s <= e.until && (e.from == 0 || ev.e > later(e.from, e.memory)))
}

// proves notes in ev since when no request is missing, and tells whether it can prove anything: a denial that
// a missing request may explain does not.
func (e *edges) proves(ev *event) bool {
	early := (!e.opened || e.placed) && e.from > 0 && ev.s-e.memory <= e.from
	ev.from = e.from
	return ev.outcome != timeline.Denied || !early && ev.e <= e.until
}

// forgotten returns the number of events before the first silence, known to be one, after which the limiter
// has forgotten all that came before: 0 if the first event follows it.
func (e *edges) forgotten(all []event) int {
	if e.from == 0 {
		return 0
	}
	w := e.lull()
	for i := range all {
		if w.ends(&all[i]) {
			return i
		}
	}
	return len(all)
}

// inside returns the events that may have been decided before one that is missing.
func (e *edges) inside(all []event) []event {
	for i, ev := range all {
		if ev.s > e.until {
			return all[:i]
		}
	}
	return all
}

// joined tells whether requests that are missing from before the first event may still count, for a limiter
// that remembers so long.
func (h *history) joined(memory int64) bool {
	return len(h.all) > 0 && h.all[0].from > 0 && h.all[0].s-memory <= h.all[0].from
}
