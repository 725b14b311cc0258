package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// anchoredRefutation is what refutes a history under windows that begin at the first counted request.
type anchoredRefutation struct {
	// found are the breaches that together refute every phase of box in one stretch; empty where some phase
	// survives.
	found   []*breach
	box     phases
	stretch *history
	// limited: the search for a phase reached its budget. unsure: the rest after a silence was not judged.
	limited, unsure bool
}

// refuteAnchored judges h in stretches. The phase is known up to the interval of the first counted request;
// after two windows without a counted request the windows begin anew. Where it cannot be told whether a
// silence was long enough, the rest is left unjudged. few is how many boxes of phases are asked of a stretch,
// 0 for the usual budget.
func refuteAnchored(h *history, pol spec.Policy, mode verdict.Conformance, few int) anchoredRefutation {
	var r anchoredRefutation
	if pol.Count == spec.CountAll && pol.Ban > 0 {
		// a denial inside a ban is not counted, so that it is not known which requests place the windows
		r.unsure = true
		return r
	}
	all := pol.Count == spec.CountAll
	banned := minTime // by when what an earlier stretch denied has explained all that it can
	end := lastEnd(h.all)
	for rest := h.all; ; {
		begin := slices.IndexFunc(rest, func(ev event) bool { return ev.counts(all) })
		if begin < 0 {
			r.deny(rest, h.lag, pol, mode)
			return r
		}
		box := anchor(rest[begin:], all)
		until, sure := stretch(rest[begin:], all, newWindows(pol, box.from, box.to), end)
		n := startingBefore(rest, until)
		now := (&history{all: rest[:n], lag: h.lag}).first(n)
		rest = rest[n:]
		now.ignoreDenials(all || pol.Ban > 0, func(ev event) bool { return ev.e >= until || ev.s <= banned })
		if pol.Ban > 0 {
			banned = max(banned, bansUntil(now, pol))
		}
		// the exact search judges all stretches
		s := &search{policy: pol, mode: mode, group: &group{parts: []*history{now}}, quick: true, few: few}
		if found, ok := s.refute(box); ok {
			for _, one := range found {
				r.found = append(r.found, one.breach)
			}
			r.box, r.stretch = box, now
			return r
		}
		if br := newCounter(pol, box.from, box.to).firstDenied(now); br != nil && mode != verdict.UpperBound &&
			pol.Ban == 0 && pol.TTL == 0 {
			r.found, r.box, r.stretch = []*breach{br}, box, now
			return r
		}
		r.limited = r.limited || s.limited
		switch {
		case len(rest) == 0 && sure:
			return r
		case !sure || pol.TTL > 0: // where it was forgotten before, the windows begin elsewhere
			r.unsure = true
			return r
		}
	}
}

// deny judges events of which none is counted: whenever windows began, there is nothing in them that explains
// a denial.
func (r *anchoredRefutation) deny(events []event, lag int64, pol spec.Policy, mode verdict.Conformance) {
	if len(events) == 0 {
		return
	}
	now := (&history{all: events, lag: lag}).first(len(events))
	s := &search{policy: pol, mode: mode, group: &group{parts: []*history{now}}, quick: true}
	if found, ok := s.refute(phases{}); ok {
		for _, one := range found {
			r.found = append(r.found, one.breach)
		}
		r.stretch = now
	}
}

// bansUntil returns the last instant at which a request that h may have seen denied explains another denial.
func bansUntil(h *history, pol spec.Policy) int64 {
	until := minTime
	for i := range h.all {
		if ev := &h.all[i]; ev.outcome != timeline.Allowed {
			until = max(until, later(ev.e, int64(pol.LongestBan())))
		}
	}
	return until
}
