package history

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Edges is the span of a recording in which no decided request is missing, where it was cut out of traffic
// that went on before and after. What happened outside has left the limiter in some state, and could explain
// a denial near an edge. It can explain no admission, as fewer requests leave more room: over-admission needs
// no care, except where requests open windows.
type Edges struct {
	From, Until int64
	// Memory is how long the limiter remembers, in nanoseconds.
	Memory int64
	// Drop: a denial changes nothing, so that one that proves nothing can be left out. Otherwise it stays, as
	// a request that may have been admitted or not.
	Drop bool
	// Renews: a denial keeps a partition from being forgotten, so that one stays that may have been decided
	// amid what is judged.
	Renews bool
	// Begun is until when a request that is missing cannot have created the partition before one that is not,
	// with less than a full bucket, or one whose batches come from then on; MaxTime where there is none.
	// again: that may be so after every silence.
	Begun int64
	Again bool
	// Opened: a request opens a window, so that one that is missing displaces all that follow.
	Opened bool
	// Placed: how the windows of such a limiter lie at `from` is known.
	Placed bool
}

// Trim returns the events of a partition, ascending by start, that can be judged, each with what it can
// prove. It may change all.
func (e *Edges) Trim(all []Event) []Event {
	if e.Opened {
		if !e.Placed {
			all = all[e.forgotten(all):]
		}
		all = e.inside(all)
	}
	begun := e.Begun
	if !e.Again && slices.ContainsFunc(all, func(ev Event) bool { return ev.End <= begun }) {
		begun = MaxTime
	}
	joinedAfter(all, e.From)
	for i := range all {
		ev := &all[i]
		if !e.Proves(ev) {
			ev.Outcome, ev.Unprovable = timeline.Unknown, true
		}
		if e.Opened && ev.End > e.Until || ev.End > begun {
			ev.Outcome = timeline.Unknown
		}
	}
	if e.Drop {
		return e.leaveOut(all)
	}
	return all
}

// leaveOut drops the denials that prove nothing. One of them may have created the partition.
func (e *Edges) leaveOut(all []Event) []Event {
	sent, first := MaxTime, MaxTime // of those, and by when the first of the others was decided
	for i := range all {
		if ev := &all[i]; e.drops(*ev) {
			sent = min(sent, ev.Start)
		} else {
			first = min(first, ev.End)
		}
	}
	all = slices.DeleteFunc(all, e.drops)
	if len(all) > 0 && sent <= first {
		joinedAfter(all[:1], max(all[0].From(), 1))
	}
	return all
}

// Why a partition is not judged of whose answers none proves anything.
const (
	AmidTraffic = "the recording starts mid-traffic, and this partition was never idle long enough for a " +
		"new window: the start of its windows is unknown"
	UnsureEdges = "the recording was cut out of traffic, and missing requests may explain all answers " +
		"of this partition"
)

// Unjudged says why a partition is not judged of whose answers none proves anything.
func (e *Edges) Unjudged() string {
	if e != nil && e.Opened {
		return AmidTraffic
	}
	return UnsureEdges
}

// drops tells whether a request is left out: a denial that proves nothing.
func (e *Edges) drops(ev Event) bool {
	return ev.Unprovable &&
		!(e.Renews && ev.Start <= e.Until && (e.From == 0 || ev.End > Later(e.From, e.Memory)))
}

// Proves tells whether ev can prove anything: a denial that a missing request may explain does not.
func (e *Edges) Proves(ev *Event) bool {
	early := (!e.Opened || e.Placed) && e.From > 0 && ev.Start-e.Memory <= e.From
	return ev.Outcome != timeline.Denied || !early && ev.End <= e.Until
}

// forgotten returns the number of events before the first silence, known to be one, after which the limiter
// has forgotten all that came before: 0 if the first event follows it.
func (e *Edges) forgotten(all []Event) int {
	if e.From == 0 {
		return 0
	}
	w := e.Lull()
	for i := range all {
		if w.Ends(&all[i]) {
			return i
		}
	}
	return len(all)
}

// inside returns the events that may have been decided before one that is missing.
func (e *Edges) inside(all []Event) []Event {
	for i, ev := range all {
		if ev.Start > e.Until {
			return all[:i]
		}
	}
	return all
}

// Joined tells whether requests that are missing from before the first event may still count, for a limiter
// that remembers so long.
func (h *History) Joined(memory int64) bool {
	if len(h.All) == 0 {
		return false
	}
	from := h.All[0].From()
	return from > 0 && h.All[0].Start-memory <= from
}
