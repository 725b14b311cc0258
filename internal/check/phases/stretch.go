package phases

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// AnchoredRefutation is what refutes a history under windows that begin at the first counted request.
type AnchoredRefutation struct {
	// Found are the breaches that together refute every phase of box in one stretch; empty where some phase
	// survives.
	Found   []*limiter.Breach
	Box     history.Interval
	stretch *history.History
	// Limited: the search for a phase reached its budget. unsure: the rest after a silence was not judged.
	Limited, Unsure bool
}

// RefuteAnchored judges h in stretches. The phase is known up to the interval of the first counted request;
// after two windows without a counted request the windows begin anew. Where it cannot be told whether a
// silence was long enough, the rest is left unjudged. few is how many boxes of phases are asked of a stretch,
// 0 for the usual budget.
func RefuteAnchored(h *history.History, pol spec.Policy, mode verdict.Conformance,
	few int) AnchoredRefutation {
	var r AnchoredRefutation
	if pol.Count == spec.CountAll && pol.Ban > 0 {
		// a denial inside a ban is not counted, so that it is not known which requests place the windows
		r.Unsure = true
		return r
	}
	all := pol.Count == spec.CountAll
	banned := history.MinTime // by when what an earlier stretch denied has explained all that it can
	end := history.LastEnd(h.All)
	for rest := h.All; ; {
		begin := slices.IndexFunc(rest, func(ev history.Event) bool { return ev.Counts(all) })
		if begin < 0 {
			r.Deny(rest, h.Lag, pol, mode)
			return r
		}
		box := limiter.Anchor(rest[begin:], all)
		until, sure := limiter.Stretch(rest[begin:], all, limiter.NewGrid(pol, box.From, box.To), end)
		n := history.StartingBefore(rest, until)
		now := (&history.History{All: rest[:n], Lag: h.Lag}).First(n)
		rest = rest[n:]
		unproven := func(ev history.Event) bool { return ev.End >= until || ev.Start <= banned }
		if now.IgnoreDenials(all || pol.Ban > 0, unproven); pol.Ban > 0 {
			banned = max(banned, bansUntil(now, pol))
		}
		if r.refute(now, box, pol, mode, few); len(r.Found) > 0 {
			return r
		}
		switch {
		case len(rest) == 0 && sure:
			return r
		case !sure || pol.TTL > 0: // where it was forgotten before, the windows begin elsewhere
			r.Unsure = true
			return r
		}
	}
}

// refute asks the bounds of one stretch. The exact search judges all stretches.
func (r *AnchoredRefutation) refute(now *history.History, box history.Interval, pol spec.Policy,
	mode verdict.Conformance, few int) {
	s := &Search{Policy: pol, Mode: mode, Group: &Group{Parts: []*history.History{now}}, Quick: true,
		Few: few}
	found, ok := s.Refute(box)
	if ok {
		for _, one := range found {
			r.Found = append(r.Found, one.Breach)
		}
		r.Box, r.stretch = box, now
		return
	}
	if mode != verdict.UpperBound && pol.Ban == 0 && pol.TTL == 0 {
		if br := limiter.NewCounter(pol, box.From, box.To).FirstDenied(now); br != nil {
			r.Found, r.Box, r.stretch = []*limiter.Breach{br}, box, now
			return
		}
	}
	r.Limited = r.Limited || s.Limited
}

// Deny judges events of which none is counted: whenever windows began, there is nothing in them that explains
// a denial.
func (r *AnchoredRefutation) Deny(events []history.Event, lag int64, pol spec.Policy,
	mode verdict.Conformance) {
	if len(events) == 0 {
		return
	}
	now := (&history.History{All: events, Lag: lag}).First(len(events))
	s := &Search{Policy: pol, Mode: mode, Group: &Group{Parts: []*history.History{now}}, Quick: true}
	if found, ok := s.Refute(history.Interval{}); ok {
		for _, one := range found {
			r.Found = append(r.Found, one.Breach)
		}
		r.stretch = now
	}
}

// bansUntil returns the last instant at which a request that h may have seen denied explains another denial.
func bansUntil(h *history.History, pol spec.Policy) int64 {
	until := history.MinTime
	for i := range h.All {
		if ev := &h.All[i]; ev.Outcome != timeline.Allowed {
			until = max(until, history.Later(ev.End, int64(pol.LongestBan())))
		}
	}
	return until
}
