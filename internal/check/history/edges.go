package history

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Edges is the span of a recording in which no decided request is missing. The recording was cut out of
// traffic that went on before and after. Missing requests left the limiter in an unknown state, and may
// explain a denial near an edge. They explain no admission, since fewer requests leave more room. So
// over-admission needs no care, except where requests open windows.
type Edges struct {
	From, Until int64
	// Memory is how long the limiter remembers, in nanoseconds.
	Memory int64
	// Drop: a denial changes no state, so a denial that proves nothing is left out. Otherwise it stays, as a
	// request that may have been admitted or not.
	Drop bool
	// Renews: a denial keeps a partition from being forgotten. So a denial stays if it may have been decided
	// amid the events that are judged.
	Renews bool
	// Begun is the instant by which a bucket that remembers its start must be known to exist. A missing
	// request may create it only later: with less than a full bucket, or with batches that count from then.
	// MaxTime: no such bucket. Again: the bucket may be created anew after every silence.
	Begun int64
	Again bool
	// Opened: requests open windows, so a missing request displaces all later windows.
	Opened bool
}

// on returns the edges on the clock of a widening. The error of the target's clock moves both inwards.
func (e *Edges) on(w Widening) *Edges {
	if w.calendar.IsZero() {
		return e
	}
	out := *e
	if e.From > 0 {
		out.From = max(w.at(e.From+w.Right), 1)
	}
	if e.Until != MaxTime {
		out.Until = w.at(e.Until - w.Right)
	}
	return &out
}

// Trim returns the events of a partition that can be judged, ascending by Start, each with what it can prove.
// It may change all.
func (e *Edges) Trim(all []Event) []Event {
	if e.Opened {
		all = e.inside(all[e.forgotten(all):])
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

// leaveOut drops the denials that prove nothing. If one of them may have created the partition, it notes
// that.
func (e *Edges) leaveOut(all []Event) []Event {
	sent, first := MaxTime, MaxTime // the first Start of the dropped denials, and the first End of the others
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

// The reasons why a partition is not judged.
const (
	AmidTraffic = "the recording starts mid-traffic, and this partition was never idle long enough for a " +
		"new window: the start of its windows is unknown"
	UnsureEdges = "the recording was cut out of traffic, and missing requests may explain all answers " +
		"of this partition"
)

// Unjudged says why a partition is not judged of which no answer proves anything.
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

// Proves tells whether ev can prove anything. A denial that a missing request may explain proves nothing.
func (e *Edges) Proves(ev *Event) bool {
	early := !e.Opened && e.From > 0 && ev.Start-e.Memory <= e.From
	return ev.Outcome != timeline.Denied || !early && ev.End <= e.Until
}

// forgotten returns the number of events before the first certain silence after which the limiter has
// forgotten all missing requests. It is 0 if the first event follows that silence.
func (e *Edges) forgotten(all []Event) int {
	if e.From == 0 {
		return 0
	}
	w := QuietGap{e.From, e.Memory}
	for i := range all {
		if w.Ends(&all[i]) {
			return i
		}
	}
	return len(all)
}

// inside returns the events that may have been decided before Until.
func (e *Edges) inside(all []Event) []Event {
	for i, ev := range all {
		if ev.Start > e.Until {
			return all[:i]
		}
	}
	return all
}

// Joined tells whether requests missing from before the first event may still count. memory is how long the
// limiter remembers, in nanoseconds.
func (h *History) Joined(memory int64) bool {
	if len(h.All) == 0 {
		return false
	}
	from := h.All[0].From()
	return from > 0 && h.All[0].Start-memory <= from
}
