package check

import (
	"cmp"
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// historyOf returns a history of the events, in any order and some perhaps twice.
func historyOf(events []event) *history {
	all := slices.Clone(events)
	slices.SortStableFunc(all,
		func(a, b event) int { return cmp.Or(cmp.Compare(a.s, b.s), cmp.Compare(a.seq, b.seq)) })
	h := &history{all: slices.CompactFunc(all, func(a, b event) bool { return a.seq == b.seq })}
	h.split()
	return h
}

// startingBefore returns how many of the events, ascending by start, start before t.
func startingBefore(events []event, t int64) int {
	return sort.Search(len(events), func(i int) bool { return events[i].s >= t })
}

// cut divides h into the events that start before t and the others.
func (h *history) cut(t int64) (before, after *history) {
	i := startingBefore(h.all, t)
	before, after = &history{all: h.all[:i], lag: h.lag, lags: h.lags},
		&history{all: h.all[i:], lag: h.lag, lags: h.lags}
	before.split()
	after.split()
	return before, after
}

// ignoreDenials makes nothing depend on some denials: those that may have been decided in what follows, and
// those that what came before may explain. Where denied requests are counted, or ban, they may still explain
// others, and are kept.
func (h *history) ignoreDenials(kept bool, ignored func(event) bool) {
	unproven := func(ev event) bool { return ev.outcome == timeline.Denied && ignored(ev) }
	if !slices.ContainsFunc(h.denied, unproven) {
		return
	}
	if h.all = slices.Clone(h.all); kept {
		for i := range h.all {
			if unproven(h.all[i]) {
				h.all[i].outcome, h.all[i].mute = timeline.Unknown, true
			}
		}
	} else {
		h.all = slices.DeleteFunc(h.all, unproven)
	}
	h.split()
}

// shift makes every event begin so much later.
func (h *history) shift(by int64) {
	for i := range h.all {
		h.all[i].s += by
	}
	h.split()
}

// under returns the joint history h as policy i sees it, which may be told of completions.
func (h *history) under(i int, told bool) *history {
	if h.lags == nil {
		return h
	}
	out := &history{all: slices.Clone(h.all), lag: h.lags[i]}
	for k := range out.all {
		if !told { // a queue may let it through as late as that
			out.all[k].e = out.all[k].answer
		}
	}
	out.shift(-out.lag)
	return out
}

// these returns the events of h with the numbers of some others, ascending by start.
func (h *history) these(events []event) []event {
	named := map[int]bool{}
	for _, ev := range events {
		named[ev.seq] = true
	}
	var out []event
	for _, ev := range h.all {
		if named[ev.seq] {
			out = append(out, ev)
		}
	}
	return out
}

// earlier returns h with all intervals beginning earlier.
func (h *history) earlier(by int64) *history {
	out := h.first(len(h.all))
	for i := range out.all {
		out.all[i].s -= by
	}
	out.split()
	return out
}

// from returns the events from number k on.
func (h *history) from(k int) *history {
	out := &history{all: slices.Clone(h.all[k:]), lag: h.lag}
	out.split()
	return out
}

// amid returns h with nothing known of the answers but those to some events. Denials that change nothing are
// left out.
func (h *history) amid(events []event, counted bool) *history {
	out := &history{all: make([]event, 0, len(h.all)), lag: h.lag}
	next := 0
	for _, ev := range h.all {
		for next < len(events) && events[next].s < ev.s {
			next++
		}
		known := false
		for k := next; k < len(events) && events[k].s == ev.s && !known; k++ {
			if known = events[k].seq == ev.seq; known {
				ev = events[k]
			}
		}
		if !known && ev.outcome == timeline.Denied {
			if !counted {
				continue
			}
			ev.outcome, ev.mute = timeline.Unknown, true
		}
		if !known {
			ev.outcome = timeline.Unknown
		}
		out.all = append(out.all, ev)
	}
	out.split()
	return out
}

// denial returns the index in h.denied of the denial with a number.
func (h *history) denial(seq int) int32 {
	return int32(slices.IndexFunc(h.denied, func(d event) bool { return d.seq == seq }))
}

// punctual returns h with its events beginning when they were sent, though the limiter may take them to be up
// to h.lag older.
func (h *history) punctual() *history {
	if h.lag == 0 {
		return h
	}
	out := &history{all: slices.Clone(h.all)}
	for i := range out.all {
		out.all[i].s += h.lag
	}
	out.split()
	return out
}

// first returns a copy of the first n events.
func (h *history) first(n int) *history {
	out := &history{all: slices.Clone(h.all[:n]), lag: h.lag, lags: h.lags}
	out.split()
	return out
}

// before returns the events that begin at or before t.
func (h *history) before(t int64) *history {
	out, _ := h.cut(t + 1)
	return out
}

// since drops the events from before a silence after which nothing of them is remembered, as long as what is
// left fails: it tries the last silence, then one twice as far back, and so on.
func (h *history) since(memory int64, fails func(*history) bool) *history {
	var begins []int
	until := minTime
	for i, ev := range h.all {
		if i > 0 && ev.s > until+memory {
			begins = append(begins, i)
		}
		until = max(until, ev.e)
	}
	for back := 1; back <= len(begins); back *= 2 {
		rest := &history{all: slices.Clone(h.all[begins[len(begins)-back]:]), lag: h.lag, lags: h.lags}
		rest.split()
		if fails(rest) {
			return rest
		}
	}
	return h
}

// beginning returns what is known for certain of the first n events: those, but for the denials that a later
// request may explain. Where all requests count, these may still explain others.
func (h *history) beginning(n int, all bool) *history {
	if len(h.all) <= n {
		return h
	}
	until := h.all[n].s
	out, _ := h.cut(until)
	out.ignoreDenials(all, func(ev event) bool { return ev.e >= until })
	k := 0 // another policy may explain those that are not in h.denied, which has the same order
	out.denied = slices.DeleteFunc(out.denied, func(d event) bool {
		for k < len(h.denied) && h.denied[k].s < d.s {
			k++
		}
		for i := k; i < len(h.denied) && h.denied[i].s == d.s; i++ {
			if h.denied[i].seq == d.seq {
				return false
			}
		}
		return true
	})
	return out
}
