package identify

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// Kind is a family of policies that answers can tell apart from all other kinds.
type Kind struct {
	// Class are the algorithms of the kind, which nothing can tell apart from outside.
	Class []spec.Algorithm
	// text names the kind.
	Text string
	// Base has all settings but quota and times.
	Base spec.Policy
	// Parts are the kinds that it joins, from the one that admits most to the one that admits least; nil for
	// none.
	Parts []*Kind
	// Searched tells that the exact search refutes policies that the bounds do not.
	Searched bool
	// Paced tells that T1 and T2 are the time of one unit. Queue tells that answers wait in a queue which
	// admits like Base.
	Paced, Queue bool
}

// Each returns the parts of k, or k itself.
func (k *Kind) Each() []*Kind {
	if len(k.Parts) > 0 {
		return k.Parts
	}
	return []*Kind{k}
}

// Like tells whether two kinds are counters that differ in their rounding alone.
func (k *Kind) Like(other *Kind) bool {
	a, b := k.Base, other.Base
	return a.Weighs() && b.Weighs() && a.Align == b.Align && a.Count == b.Count
}

// Spends is how many requests, every apart, use up the quota of b and what a bucket regains meanwhile. Of one
// that regains units as fast, which no requests use up, it is the quota.
func (k *Kind) Spends(b Box, every time.Duration) int {
	n := float64(b.Q2)
	if k.Paced && every < b.T1 {
		n /= 1 - float64(every)/float64(b.T1)
	}
	return int(n)
}

// Counts tells whether denied requests count.
func (k *Kind) Counts() bool {
	return k.Base.Count == spec.CountAll || k.Base.Refresh == spec.RefreshAll
}

// mostSearched is how many exact searches may be asked for at once. With an unknown phase each takes long.
func (k *Kind) mostSearched() int {
	if k.Base.Weighs() && k.Base.Align == spec.AlignUnknown {
		return 12
	}
	return ManyAsked
}

// NameOfOne names the limiter that a kind is with a quota of one request.
func (k *Kind) NameOfOne() string {
	b := k.Base
	counter, up := b.Weighs(), b.Rounding == spec.RoundUp
	all := (b.Count == spec.CountAll && !b.Fixed()) || b.Refresh == spec.RefreshAll
	switch {
	case k.Queue || len(k.Parts) > 0 || counter && b.Rounding == spec.RoundNearest:
		return k.Text
	case b.Align == spec.AlignUnknown && !up && !all: // one in a window, from the beginning of the window
		return "one a window"
	case b.Align == spec.AlignUnknown || counter && (all || !up):
		return k.Text
	case all:
		return "one a time since the last request"
	default: // a counter that rounds up waits for the second window after that of the last admission
		return "one a time"
	}
}

// Windows is how many windows a kind with a quota of one request waits before it admits again.
func (k *Kind) Windows() time.Duration {
	if k.Base.Weighs() && k.Base.Rounding == spec.RoundUp {
		return 2
	}
	return 1
}
