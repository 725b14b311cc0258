package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// AnchoredRefutation is what refutes a history under windows that begin at the first counted request.
type AnchoredRefutation struct {
	// Found are the breaches that together refute every phase of Box in one stretch. Empty: some phase
	// survives.
	Found   []*limiter.Breach
	Box     history.Interval
	stretch *history.History
	// Limited: the search for a phase reached its budget. Unsure: the rest after some silence was not judged.
	Limited, Unsure bool
}

// RefuteAnchored judges h in stretches. The phase is known up to the interval of the first counted request.
// After two windows without a counted request the windows begin anew, and with them a stretch. If a silence
// may have been long enough, but not surely, the rest is left unjudged. few is the most boxes of phases for
// one stretch, 0: the usual budget.
func RefuteAnchored(h *history.History, pol spec.Policy, mode result.Conformance,
	few int) AnchoredRefutation {
	var r AnchoredRefutation
	if pol.Count == spec.CountAll && pol.Ban > 0 {
		// A denial inside a ban is not counted. So it is not known which requests place the windows.
		r.Unsure = true
		return r
	}
	all := pol.Count == spec.CountAll
	banned := history.MinTime // the instant until which denials of earlier stretches may explain a denial
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
		case !sure || pol.TTL > 0: // with a time to live the windows may have begun elsewhere after a silence
			r.Unsure = true
			return r
		}
	}
}

// refute asks the bounds of one stretch. Exact searches judge all stretches at once, elsewhere.
func (r *AnchoredRefutation) refute(now *history.History, box history.Interval, pol spec.Policy,
	mode result.Conformance, few int) {
	s := &PhaseSearch{Policy: pol, Mode: mode, Group: &Group{Parts: []*history.History{now}}, Quick: true,
		Few: few}
	found, ok := s.Refute(box)
	if ok {
		for _, one := range found {
			r.Found = append(r.Found, one.Breach)
		}
		r.Box, r.stretch = box, now
		return
	}
	if mode != result.UpperBound && pol.Ban == 0 && pol.TTL == 0 {
		if br := limiter.NewCounter(pol, box.From, box.To).FirstDenied(now); br != nil {
			r.Found, r.Box, r.stretch = []*limiter.Breach{br}, box, now
			return
		}
	}
	r.Limited = r.Limited || s.Limited
}

// Deny judges denials before any counted request. Wherever windows begin, nothing in them explains a denial.
func (r *AnchoredRefutation) Deny(events []history.Event, lag int64, pol spec.Policy,
	mode result.Conformance) {
	if len(events) == 0 {
		return
	}
	now := (&history.History{All: events, Lag: lag}).First(len(events))
	s := &PhaseSearch{Policy: pol, Mode: mode, Group: &Group{Parts: []*history.History{now}}, Quick: true}
	if found, ok := s.Refute(history.Interval{}); ok {
		for _, one := range found {
			r.Found = append(r.Found, one.Breach)
		}
		r.stretch = now
	}
}

// bansUntil returns the last instant until which a denial that h may have, explains another denial by its
// ban.
func bansUntil(h *history.History, pol spec.Policy) int64 {
	until := history.MinTime
	for i := range h.All {
		if ev := &h.All[i]; ev.Outcome != timeline.Allowed {
			until = max(until, history.Later(ev.End, int64(pol.LongestBan())))
		}
	}
	return until
}

// judgeAnchored judges a sliding window counter whose windows begin at the partition's first counted request.
func (c *Case) judgeAnchored(p *Part) {
	r := RefuteAnchored(p.Histories[0], c.Limit[0], c.O.Conformance, c.Few)
	p.Limited = r.Limited
	br, judged := (*limiter.Breach)(nil), search.JudgedNone
	if len(r.Found) == 0 && !c.BoundsOnly && !limiter.Ranged(c.Limit[0]) &&
		(c.O.Conformance == "" || c.O.Conformance == result.Exact) {
		br, p.Search.Visited, judged = search.Unexplainable(p.Histories[0], c.Limit[0], 0,
			c.decisions(len(p.Obs)))
		p.Search.Cap, p.Search.Capped = search.VisitCap, judged == search.JudgedPart
	}
	switch {
	case len(r.Found) > 0:
		p.Findings = append(p.Findings, c.Finding(p, r.Found, r.Box))
	case br != nil:
		p.Findings = append(p.Findings, c.Finding(p, []*limiter.Breach{br}, history.Interval{}))
	case judged == search.JudgedAll:
		p.Limited = false // the exact search judges every stretch
	case r.Unsure:
		p.Unjudged = UnsureSilence
		if pol := c.Limit[0]; pol.Ban > 0 && pol.Count == spec.CountAll {
			p.Unjudged = UnsureBanned
		}
	}
}

// The reasons why the rest of a recording is not judged.
const (
	UnsureSilence = "after a silence of one to two windows it is unknown whether a new window began; " +
		"the rest was not judged"
	UnsureBanned = "a denial inside a ban is not counted, so it is unknown which requests open the " +
		"windows"
)
