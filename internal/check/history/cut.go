package history

import (
	"cmp"
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Of returns a history of the events. They come in any order; an event that comes twice is kept once.
func Of(events []Event) *History {
	all := slices.Clone(events)
	slices.SortStableFunc(all,
		func(a, b Event) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Seq, b.Seq)) })
	h := &History{All: slices.CompactFunc(all, func(a, b Event) bool { return a.Seq == b.Seq })}
	h.Split()
	return h
}

// StartingBefore returns how many of the events, ascending by Start, start before t.
func StartingBefore(events []Event, t int64) int {
	return sort.Search(len(events), func(i int) bool { return events[i].Start >= t })
}

// Cut divides h into the events that start before t and the others.
func (h *History) Cut(t int64) (before, after *History) {
	i := StartingBefore(h.All, t)
	before, after = &History{All: h.All[:i], Lag: h.Lag, Lags: h.Lags},
		&History{All: h.All[i:], Lag: h.Lag, Lags: h.Lags}
	before.Split()
	after.Split()
	return before, after
}

// IgnoreDenials makes the ignored denials prove nothing. These may have been decided after this part of the
// recording, or an earlier part may explain them. kept: they stay as requests of unknown outcome, as they
// may still explain other denials (denied requests are counted, or ban). Otherwise they are removed.
func (h *History) IgnoreDenials(kept bool, ignored func(Event) bool) {
	unproven := func(ev Event) bool { return ev.Outcome == timeline.Denied && ignored(ev) }
	if !slices.ContainsFunc(h.Denied, func(i int32) bool { return unproven(h.All[i]) }) {
		return
	}
	if h.All = slices.Clone(h.All); kept {
		for i := range h.All {
			if unproven(h.All[i]) {
				h.All[i].Outcome, h.All[i].Unprovable = timeline.Unknown, true
			}
		}
	} else {
		h.All = slices.DeleteFunc(h.All, unproven)
	}
	h.Split()
}

// Shift makes every event start later by `by` nanoseconds.
func (h *History) Shift(by int64) {
	for i := range h.All {
		h.All[i].Start += by
	}
	h.Split()
}

// Under returns the joint history h as policy i sees it. stay is that of the policy.
func (h *History) Under(i int, stay Stay) *History {
	if h.Lags == nil {
		return h
	}
	out := &History{All: slices.Clone(h.All), Lag: h.Lags[i]}
	for k := range out.All {
		if !stay.Told { // a queue may release the request as late as its answer
			out.All[k].End = out.All[k].Answer()
		}
	}
	stay.ask(out.All)
	out.Shift(-out.Lag)
	return out
}

// These returns the events of h that have the Seq of one of events, ascending by Start.
func (h *History) These(events []Event) []Event {
	named := map[int]bool{}
	for _, ev := range events {
		named[ev.Seq] = true
	}
	var out []Event
	for _, ev := range h.All {
		if named[ev.Seq] {
			out = append(out, ev)
		}
	}
	return out
}

// Earlier returns h with every Start earlier by `by` nanoseconds.
func (h *History) Earlier(by int64) *History {
	out := h.First(len(h.All))
	for i := range out.All {
		out.All[i].Start -= by
	}
	out.Split()
	return out
}

// From returns the history of the events from index k on.
func (h *History) From(k int) *History {
	out := &History{All: slices.Clone(h.All[k:]), Lag: h.Lag}
	out.Split()
	return out
}

// MaskOutcomes returns h with the outcome of all events but the given ones unknown. Masked denials are
// removed unless denied requests are counted. events ascend by Start.
func (h *History) MaskOutcomes(events []Event, counted bool) *History {
	out := &History{All: make([]Event, 0, len(h.All)), Lag: h.Lag}
	next := 0
	for _, ev := range h.All {
		for next < len(events) && events[next].Start < ev.Start {
			next++
		}
		known := false
		for k := next; k < len(events) && events[k].Start == ev.Start && !known; k++ {
			if known = events[k].Seq == ev.Seq; known {
				ev = events[k]
			}
		}
		if !known && ev.Outcome == timeline.Denied {
			if !counted {
				continue
			}
			ev.Outcome, ev.Unprovable = timeline.Unknown, true
		}
		if !known {
			ev.Outcome = timeline.Unknown
		}
		out.All = append(out.All, ev)
	}
	out.Split()
	return out
}

// Numbered returns the index in h.Denied of the denial with the number seq, -1 if there is none.
func (h *History) Numbered(seq int) int32 {
	return int32(slices.IndexFunc(h.Denied, func(i int32) bool { return h.All[i].Seq == seq }))
}

// Punctual returns h with every event starting when it was sent. The limiter may take an event to be up to
// h.Lag older.
func (h *History) Punctual() *History {
	if h.Lag == 0 {
		return h
	}
	out := &History{All: slices.Clone(h.All)}
	for i := range out.All {
		out.All[i].Start += h.Lag
	}
	out.Split()
	return out
}

// First returns a copy of h with its first n events.
func (h *History) First(n int) *History {
	out := &History{All: slices.Clone(h.All[:n]), Lag: h.Lag, Lags: h.Lags}
	out.Split()
	return out
}

// Before returns the history of the events that begin at or before t.
func (h *History) Before(t int64) *History {
	out, _ := h.Cut(t + 1)
	return out
}

// Since shortens h, as long as fails holds for the rest. It drops the events before a silence longer than
// memory, in nanoseconds: nothing of them is remembered. It tries the last silence, then silences twice as
// far back each. It returns h if no rest fails.
func (h *History) Since(memory int64, fails func(*History) bool) *History {
	var begins []int
	until := MinTime
	for i, ev := range h.All {
		if i > 0 && ev.Start > until+memory {
			begins = append(begins, i)
		}
		until = max(until, ev.End)
	}
	for back := 1; back <= len(begins); back *= 2 {
		rest := &History{All: slices.Clone(h.All[begins[len(begins)-back]:]), Lag: h.Lag, Lags: h.Lags}
		rest.Split()
		if fails(rest) {
			return rest
		}
	}
	return h
}

// Beginning returns what is certain of the first n events. It drops the denials that a later request may
// explain, or masks them where denied requests count (all).
func (h *History) Beginning(n int, all bool) *History {
	if len(h.All) <= n {
		return h
	}
	until := h.All[n].Start
	out, _ := h.Cut(until)
	out.IgnoreDenials(all, func(ev Event) bool { return ev.End >= until })
	k := int32(0) // h.Denied lacks the denials that another policy may explain; both ascend alike
	out.Denied = slices.DeleteFunc(out.Denied, func(at int32) bool {
		d := &out.All[at]
		for int(k) < len(h.Denied) && h.Denial(k).Start < d.Start {
			k++
		}
		for j := k; int(j) < len(h.Denied) && h.Denial(j).Start == d.Start; j++ {
			if h.Denial(j).Seq == d.Seq {
				return false
			}
		}
		return true
	})
	return out
}
