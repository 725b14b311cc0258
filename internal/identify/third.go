package identify

import (
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Three limits or more are not looked for. Of each kind and each round window, the smallest quota that admits
// what was admitted denies most. If all these limits together leave a denial unexplained, so do any three.

// tightest are, for the usual kinds and round windows, the limits that admit what was admitted with the
// smallest quota.
func (x *search) tightest() (out spec.Limit) {
	tl := x.judged()
	most := tl.Counts().Allowed
	windows := append(roundWindows(5*x.o.Every, tl.End()), 2*tl.End()+time.Second) // the last one is not over
	for _, kind := range space.Kinds()[:6] {
		k := *kind.Each()[0]
		if k.Base.Align == spec.AlignUnknown {
			k.Base.Align = spec.AlignClock
		}
		for _, w := range windows {
			at := func(q int64) spec.Policy {
				b := space.Box{Q1: q, Q2: q, T1: w, T2: w}
				if k.Paced {
					b.T1, b.T2 = w/time.Duration(q), w/time.Duration(q)
				}
				return space.Complete(k.Policy(b))
			}
			q := 1 + sort.Search(int(most), func(i int) bool {
				return !x.asker.Refuted(tl, spec.Limit{at(int64(i + 1))}, verdict.UpperBound, false)
			})
			if q <= int(most) && !x.overdue() {
				out = append(out, at(int64(q)))
			}
		}
	}
	return out
}

// severalMore is why nothing is called unknown where several limits may explain all answers.
const severalMore = "three limits at once or more may explain all answers, and are not looked for"

// mayBeSeveral tells whether limits of round windows explain all denials together.
func (x *search) mayBeSeveral() bool {
	all := x.tightest()
	return len(all) > 0 && !x.asker.Refuted(x.judged(), all, verdict.LowerBound, false)
}
