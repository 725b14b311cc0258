package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// expiring is the bound of a policy that forgets a partition after a silence of ttl: a history is bounded in
// the stretches in which it cannot have been forgotten. Forgetting only lowers what is in use, so denials are
// bounded as without. Where the first request places the windows or finds an empty bucket, only what comes
// before the first such stretch ends is bounded, and what comes after a silence in which it was surely
// forgotten, until the same; and denials prove nothing: whether a later one was the first again is not known.
// Nor do they where it may find an empty bucket.
type expiring struct {
	bound
	forgetting
	// placed: the first request of each life places the windows, or finds less than a full bucket for
	// certain; low: it may find less; once: the phase of the windows is that of the first life alone.
	placed, low, once bool
}

func newExpiring(p spec.Policy, from, to int64, others bool) expiring {
	x := expiring{forgetting: forgettingOf(p), placed: p.Align == spec.AlignFirst || remembersStart(p),
		once: anchored(p)}
	x.low = x.placed || startsLow(p)
	p.TTL, p.TTLTo = 0, 0
	x.bound = boundAmong(p, from, to, others)
	return x
}

func (x expiring) over(h *history) *breach {
	if of := x.scope(); !of.late {
		if br := tooDear(h, of.full); br != nil {
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

// overBetween bounds a history in the stretches in which the partition was surely not forgotten, or in the
// first of them.
func (x expiring) overBetween(h *history) *breach {
	from, begin, latest := minTime, 0, minTime
	for _, f := range append(x.silences(h.all), phases{maxTime, maxTime}) {
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

func (x expiring) scope() scope {
	of := x.bound.scope()
	of.low = x.low
	return of
}
