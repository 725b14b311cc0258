package check

import (
	"cmp"
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// anchored tells whether the windows of pol are placed by the first counted request, and follow each other
// from there.
func anchored(pol spec.Policy) bool {
	return pol.Algorithm == spec.SlidingWindowCounter && pol.Align == spec.AlignFirst
}

// judgeAnchored judges a sliding window counter whose windows begin at the partition's first counted request.
func (c *caseFile) judgeAnchored(p *part) {
	r := refuteAnchored(p.histories[0], c.limit[0], c.o.Conformance, c.few)
	p.limited = r.limited
	br, judged := (*breach)(nil), judgedNone
	if len(r.found) == 0 && !c.boundsOnly && !ranged(c.limit[0]) &&
		(c.o.Conformance == "" || c.o.Conformance == Exact) {
		br, p.search.Visited, judged = unexplainable(p.histories[0], c.limit[0], 0, c.decisions(len(p.obs)))
		p.search.Cap, p.search.Capped = visitCap, judged == judgedPart
	}
	switch {
	case len(r.found) > 0:
		p.findings = append(p.findings, c.findingOf(p, r.found, c.limit[0], r.box))
	case br != nil:
		p.findings = append(p.findings, c.findingOf(p, []*breach{br}, c.limit[0], phases{}))
	case judged == judgedAll:
		p.limited = false // the search judges every stretch
	case r.unsure:
		p.unjudged = unsureSilence
		if pol := c.limit[0]; pol.Ban > 0 && pol.Count == spec.CountAll {
			p.unjudged = unsureBanned
		}
	}
}

// Why the rest of a recording is not judged.
const (
	unsureSilence = "after a silence of one to two windows it is not known whether the windows began " +
		"anew; the rest was not judged"
	unsureForgotten = "the partition may have been forgotten, and was not silent since for so long that it " +
		"is known when its windows began anew; the rest was not judged"
	unsureBanned = "a denial inside a ban is not counted, so that it is not known which requests place " +
		"the windows"
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
func refuteAnchored(h *history, pol spec.Policy, mode Conformance, few int) anchoredRefutation {
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
		if br := newCounter(pol, box.from, box.to).firstDenied(now); br != nil && mode != UpperBound &&
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
func (r *anchoredRefutation) deny(events []event, lag int64, pol spec.Policy, mode Conformance) {
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

// counts tells whether the request may be counted; all: denied ones are.
func (ev *event) counts(all bool) bool { return all || ev.outcome != timeline.Denied }

// surely tells whether a request that may be counted was: a lost one may not have been.
func (ev *event) surely(all bool) bool { return ev.outcome != timeline.Unknown || all && ev.mute }

// anchor is the interval in which the first request that is counted was decided; the first event may be.
// Where it is not known whether any was, that is by the last end.
func anchor(events []event, all bool) phases {
	first, last := phases{events[0].s, maxTime}, events[0].e
	for i := 0; i < len(events) && events[i].s <= first.to; i++ {
		ev := &events[i]
		if last = max(last, ev.e); ev.counts(all) && ev.surely(all) {
			first.to = min(first.to, ev.e)
		}
	}
	first.to = min(first.to, last)
	return first
}

// stretch returns the instant at which the windows begin anew for sure (maxTime if they do not), or where
// that becomes uncertain (sure=false). The first request, which may be counted, is in window 0 by definition.
// end is that of follower.
func stretch(events []event, all bool, w windows, end int64) (until int64, sure bool) {
	f := follow(events[0], all, w, end)
	for i := range events[1:] {
		if over, sure := f.next(&events[1+i]); over {
			return events[1+i].s, sure
		}
	}
	return maxTime, true
}

// follower follows the windows from the first counted request on.
type follower struct {
	windows
	all   bool
	first event
	// least and most are the last window that surely, and that perhaps, has a counted request.
	least, most int64
	// lost: one may be in any window to come. end is the last end of all requests, which is that of one whose
	// answer was lost.
	lost bool
	end  int64
}

func follow(first event, all bool, w windows, end int64) follower {
	f := follower{windows: w, all: all, first: first, end: end}
	f.reach(&first)
	return f
}

// next takes the next request, ascending by start. over tells that the windows may begin anew with it, sure
// that they do.
func (f *follower) next(ev *event) (over, sure bool) {
	switch {
	case !ev.counts(f.all):
		return false, false
	case !f.lost && ev.s >= f.latest(f.most+1):
		return true, true
	case ev.outcome == timeline.Unknown && ev.e >= f.end:
		// It may begin windows anew, after which nothing sure follows, as that would be uncertain; and
		// nothing is explained by it there that it does not explain in the windows of this stretch.
	case ev.e >= f.earliest(f.least+2) && ev.s > f.first.s:
		// Some earlier request may be in a window late enough; if the latest sure one is not, this is
		// uncertain.
		return true, false
	}
	if ev.surely(f.all) {
		f.least = max(f.least, f.windows.first(ev.s))
	}
	f.reach(ev)
	return false, false
}

func (f *follower) reach(ev *event) {
	if f.lost = f.lost || ev.e >= maxTime; !f.lost {
		f.most = max(f.most, f.last(ev.e))
	}
}

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
