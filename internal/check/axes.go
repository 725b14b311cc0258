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
	return sided{newBound(tight, from, to), newBound(loose, from, to)}
}

// expiring is the bound of a policy that forgets a partition after a silence of ttl: a history is bounded in the stretches
// in which it cannot have been forgotten. Forgetting only lowers what is in use, so denials are bounded as without.
// Where the first request places the windows or finds an empty bucket, only what comes before the first such stretch ends is
// bounded, and denials prove nothing: whether a later one was the first again is not known.
type expiring struct {
	bound
	ttl    int64
	placed bool
	// banned: a denied request may not have been seen.
	banned bool
}

func newExpiring(p reference.Policy, from, to int64) bound {
	ttl := int64(p.TTL)
	p.TTL, p.TTLTo = 0, 0
	return expiring{newBound(p, from, to), ttl, p.Align == reference.AlignFirst || remembersStart(p), p.Ban > 0}
}

func (x expiring) over(h *history) *breach {
	from, begin, latest := minTime, 0, minTime
	for _, f := range append(x.silences(h), phases{maxTime, maxTime}) {
		for ; begin < len(h.all) && max(latest, h.all[begin].e) < from; begin++ {
			latest = max(latest, h.all[begin].e)
		}
		lively := &history{}
		for _, ev := range h.all[begin:] {
			if ev.s >= f.from {
				break
			}
			if ev.e < from {
				continue
			}
			if ev.s < from || ev.e >= f.from {
				ev.outcome = timeline.Unknown // it may belong to another stretch
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

// silences returns the closed intervals of instants at which a request may find that it was forgotten, ascending and apart.
// A silence that begins at t lasts until the first request that was sent later is answered, at the longest.
func (x expiring) silences(h *history) []phases {
	var out []phases
	next := maxTime // the first end of what was sent later
	last := minTime
	for _, ev := range h.all {
		last = max(last, ev.e)
	}
	for i := len(h.all) - 1; i >= 0; i-- {
		ev := h.all[i]
		f := phases{ev.s + x.ttl, min(next, last)}
		if n := len(out); f.from <= f.to && n > 0 && f.to >= out[n-1].from {
			out[n-1].from = min(f.from, out[n-1].from)
		} else if f.from <= f.to {
			out = append(out, f)
		}
		if ev.outcome == timeline.Allowed || ev.outcome == timeline.Denied && !x.banned {
			next = min(next, ev.e)
		}
	}
	slices.Reverse(out)
	return out
}

func (x expiring) usage(h *history) meter {
	if x.placed {
		return boundless{}
	}
	return x.bound.usage(h)
}

// boundless is the meter of what is not known: everything may be in use.
type boundless struct{}

func (boundless) excess(int64) int64 { return 1 << 40 }
func (boundless) unit() int64        { return 1 }
