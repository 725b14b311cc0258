package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// judgeAnchored judges a sliding window counter whose windows begin at the partition's first counted request: its phase
// is known up to the interval of that request. After two windows without a counted request it begins anew; the recording
// is judged in stretches between such silences. Where it cannot be told whether one was long enough, the rest is left
// unjudged.
func (c *caseFile) judgeAnchored(p *part) {
	pol, h := c.limit[0], p.histories[0]
	all := pol.Count == reference.CountAll
	rest := h
	for {
		counted := rest.counted(all)
		if len(counted) == 0 {
			return
		}
		box := anchor(counted)
		until, sure := stretch(counted, box, int64(pol.Rate.Per))
		now, later := rest.cut(until)
		now.dropDenialsAt(until)
		s := &search{policy: pol, mode: c.o.Conformance, group: &group{parts: []*history{now}}}
		if found, ok := s.refute(box); ok {
			var mine []*breach
			for _, r := range found {
				mine = append(mine, r.breach)
			}
			p.findings = append(p.findings, c.finding(p, mine, box))
			return
		}
		p.limited = p.limited || s.limited
		if !sure {
			p.unjudged = "after a silence of one to two windows it is not known whether the windows began anew; the rest was not judged"
			return
		}
		if len(later.all) == 0 {
			return
		}
		rest = later
	}
}

// anchor is the interval in which the first of the counted requests was decided.
func anchor(counted []event) phases {
	first := phases{counted[0].s, counted[0].e}
	for _, ev := range counted {
		first.to = min(first.to, ev.e)
	}
	return first
}

// stretch returns the instant at which the windows begin anew for sure (maxTime if they do not), or where that becomes
// uncertain (sure=false).
func stretch(counted []event, box phases, size int64) (until int64, sure bool) {
	w := windows{box.from, box.to, size}
	least, most := w.first(counted[0].s), w.last(counted[0].e)
	for _, ev := range counted[1:] {
		if ev.s >= w.latest(most+1) {
			return ev.s, true
		}
		if ev.e >= w.earliest(least+2) && ev.s > counted[0].s {
			// Some earlier request may be in a window late enough; if the latest sure one is not, this is uncertain.
			return ev.s, false
		}
		least, most = max(least, w.first(ev.s)), max(most, w.last(ev.e))
	}
	return maxTime, true
}

// cut divides h into the events that start before t and the others.
func (h *history) cut(t int64) (before, after *history) {
	i, _ := slices.BinarySearchFunc(h.all, t, func(ev event, t int64) int {
		if ev.s < t {
			return -1
		}
		return 1
	})
	before, after = &history{all: h.all[:i]}, &history{all: h.all[i:]}
	before.split()
	after.split()
	return before, after
}

// dropDenialsAt removes the denials that may have been decided at or after t: they may belong to what follows.
func (h *history) dropDenialsAt(t int64) {
	late := func(ev event) bool { return ev.outcome == timeline.Denied && ev.e >= t }
	if slices.ContainsFunc(h.denied, late) {
		h.all = slices.DeleteFunc(slices.Clone(h.all), late)
		h.split()
	}
}
