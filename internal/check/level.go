package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
)

// level is the most that may be in use of a bucket at an instant, after all that was decided before for sure:
// the latest theoretical arrival time, scaled by n, of a bucket that gets a unit back every per/n
// nanoseconds.
type level struct{ at, tat, n, per int64 }

// of returns the latest theoretical arrival time of another bucket that never has more in use. One that was
// not known to be the same, and may have other units, has as many in use, rounded up.
func (l *level) of(b bucket) int64 {
	tat := l.tat
	if b.n != l.n || b.per != l.per {
		units := -floorDiv(l.at*l.n-l.tat, l.per)
		tat = l.at*b.n + units*b.per
	}
	return min(tat, l.at*b.n+b.burst*b.per)
}

// mostUsed returns, of the buckets that a policy may be, the one with the most in use: the slowest and
// largest; ok=false where it is no bucket, or counts requests when they are complete.
func mostUsed(p spec.Policy) (b bucket, ok bool) {
	if p.HasWindow() || p.Completes() {
		return b, false
	}
	if p.Count == spec.CountOwn {
		p.Count = spec.CountAll // as may what it admitted and another policy denied
	}
	return newBucket(slowest(p)), true
}

// levelAt returns what may be in use of a policy's bucket at an instant, of what was decided before for sure;
// nil where it has none, or one that may be created with less than it holds.
func levelAt(p spec.Policy, h *history, t int64) *level {
	b, ok := mostUsed(p)
	if !ok || b.startLeast < b.burst { // when it was created is not known
		return nil
	}
	m := b.meter(h)
	m.excess(t)
	return &level{at: t, tat: max(m.tat, t*b.n), n: b.n, per: b.per}
}
