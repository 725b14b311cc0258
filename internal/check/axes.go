package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// sided is a policy with one bound for each question: `loose` for what cannot have been admitted, the embedded one for what
// cannot have been denied.
type sided struct {
	bound
	loose bound
}

func (s sided) over(h *history) *breach { return s.loose.over(h) }

// newOwning bounds a policy that also counts what another policy denies. What was admitted was counted; what was denied may
// have been.
func newOwning(p reference.Policy, from, to int64) bound {
	loose, tight := p, p
	loose.Count, tight.Count = reference.CountAdmitted, reference.CountAll
	if p.Refreshes() { // as may what it admitted and another policy denied
		tight.Refresh = reference.RefreshAll
	}
	return sided{openedByAll(newBound(tight, from, to)), openedByAll(newBound(loose, from, to))}
}

// openedByAll returns a bound under which a request that another policy denied may have opened a window.
func openedByAll(b bound) bound {
	switch b := b.(type) {
	case first:
		b.others = true
		return b
	case expiring:
		b.bound = openedByAll(b.bound)
		return b
	case banned:
		b.bound = openedByAll(b.bound)
		return b
	case sided:
		return sided{openedByAll(b.bound), openedByAll(b.loose)}
	}
	return b
}

// lasting returns a limit without the times to live that change nothing: after so long a silence the policy is as good as new.
func lasting(limit reference.Limit) reference.Limit {
	out := limit
	for i, p := range limit {
		if p.TTL <= p.Recovery() || p.Ban > 0 || startsLow(p) || p.Refill == reference.RefillInterval {
			continue
		}
		if &out[0] == &limit[0] {
			out = slices.Clone(limit)
		}
		out[i].TTL, out[i].TTLTo = 0, 0
	}
	return out
}

// expiring is the bound of a policy that forgets a partition after a silence of ttl: a history is bounded in the stretches
// in which it cannot have been forgotten. Forgetting only lowers what is in use, so denials are bounded as without.
// Where the first request places the windows or finds an empty bucket, only what comes before the first such stretch ends is
// bounded, and what comes after a silence in which it was surely forgotten, until the same; and denials prove nothing: whether a later
// one was the first again is not known. Nor do they where it may find an empty bucket.
type expiring struct {
	bound
	// ttl is the least time to live, longest the most.
	ttl, longest int64
	placed       bool
	// low: the first request may find less than a full bucket.
	low bool
	// banned: a denied request may not have been seen.
	banned bool
	// once: the phase of the windows is that of the first life alone.
	once bool
}

func newExpiring(p reference.Policy, from, to int64) bound {
	ttl, longest := int64(p.TTL), int64(max(p.TTL, p.TTLTo))
	p.TTL, p.TTLTo = 0, 0
	placed := p.Align == reference.AlignFirst || remembersStart(p)
	return expiring{bound: newBound(p, from, to), ttl: ttl, longest: longest, placed: placed, low: placed || startsLow(p), banned: p.Ban > 0, once: anchored(p)}
}

func (x expiring) over(h *history) *breach {
	if _, late := x.bound.(charged); !late {
		if br := tooDear(h, x.full()); br != nil {
			return br
		}
	}
	if !x.placed || x.once {
		return x.overBetween(h)
	}
	for k := 0; k < len(h.all); {
		n := x.life(h.all[k:])
		one := h
		if n < len(h.all) {
			one = &history{all: h.all[k : k+n : k+n]}
			if one.split(); k == 0 {
				one.placed = h.placed
			}
		}
		if br := x.overBetween(one); br != nil {
			return br
		}
		k += n
	}
	return nil
}

// life returns the number of events before the first silence in which the partition was surely forgotten, and none is missing.
func (x expiring) life(events []event) int {
	w := lull{minTime, x.longest}
	for i := range events {
		if w.ends(&events[i]) && i > 0 {
			return i
		}
		w.until = max(w.until, events[i].e, events[i].from)
	}
	return len(events)
}

// overBetween bounds a history in the stretches in which the partition was surely not forgotten, or in the first of them.
func (x expiring) overBetween(h *history) *breach {
	from, begin, latest := minTime, 0, minTime
	for _, f := range append(silences(h.all, x.ttl, x.sure), phases{maxTime, maxTime}) {
		for ; begin < len(h.all) && max(latest, h.all[begin].e) < from; begin++ {
			latest = max(latest, h.all[begin].e)
		}
		lively := &history{placed: h.placed}
		for _, ev := range h.all[begin:] {
			if ev.s >= f.from {
				break
			}
			if ev.e < from {
				continue
			}
			if ev.s < from || ev.e >= f.from {
				ev.outcome, ev.mute = timeline.Unknown, false // it may belong to another stretch
			}
			lively.all = append(lively.all, ev)
		}
		lively.split()
		if br := x.bound.over(lively); br != nil {
			return br
		}
		if from = f.to; x.placed {
			return nil
		}
	}
	return nil
}

// sure tells whether a request was surely seen, and remembered anew what is known of its partition.
func (x expiring) sure(ev event) bool {
	return ev.outcome == timeline.Allowed || ev.outcome == timeline.Denied && !x.banned
}

func (x expiring) usage(h *history) meter {
	if x.low {
		return boundless{}
	}
	return x.bound.usage(h)
}

// boundless is the meter of what is not known: everything may be in use.
type boundless struct{}

func (boundless) excess(int64) int64 { return 1 << 40 }
func (boundless) unit() int64        { return 1 }
