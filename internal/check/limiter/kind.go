package limiter

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// kind is a row of the table of limiters: both faces of a policy without ranges, ban and time to live.
type kind struct {
	// fits tells whether a policy is one; the first row that fits counts.
	fits func(p spec.Policy) bool
	// bound returns the bound for a box of phases, which only windows read; nil where that is counting.
	// others: a request that another policy denied may have opened a window.
	bound func(p spec.Policy, box history.Interval, others bool) Bound
	// counting returns the bound that may count other times than those of decisions, as charge=completion
	// asks; nil where that is no SPEC.
	counting func(p spec.Policy, box history.Interval) counting
	// model returns the model for requests of some costs, ascending; nil where there is none.
	model func(p spec.Policy, box history.Interval, costs []int64) Model
}

// kinds is the table of limiters. Each stands in its own file.
var kinds = []kind{
	placesKind, queueKind, ringKind, refreshedKind, firstKind, fixedKind, anchoredKind, counterKind, logKind,
	bucketKind,
}

// kindOf returns the kind of a policy: the first one that fits it, or the last.
func kindOf(p spec.Policy) *kind {
	i := slices.IndexFunc(kinds[:len(kinds)-1], func(k kind) bool { return k.fits(p) })
	if i < 0 {
		i = len(kinds) - 1
	}
	return &kinds[i]
}

// plainBound returns the bound of a policy without ranges, ban, time to live and late charges.
func plainBound(p spec.Policy, from, to int64, others bool) Bound {
	k, box := kindOf(p), history.Interval{From: from, To: to}
	if k.bound == nil {
		return k.counting(p, box)
	}
	return k.bound(p, box, others)
}

// Anchored tells whether the windows of pol are placed by the first counted request, and follow each other
// from there.
func Anchored(pol spec.Policy) bool {
	return pol.Algorithm == spec.SlidingWindowCounter && pol.Align == spec.AlignFirst
}

// NeedsPlacement tells whether what came before a piece has placed windows of a policy. Those of a counter
// among several policies are bounded wherever they begin.
func NeedsPlacement(p spec.Policy) bool {
	return p.Fixed() && p.Align == spec.AlignFirst
}

// ChangesNothing tells whether a request that p denies leaves it as it was; where a silence places what it
// remembers, there was none.
func ChangesNothing(p spec.Policy) bool {
	return (p.Count == "" || p.Count == spec.CountAdmitted) && p.Ban == 0 && p.Refresh != spec.RefreshAll &&
		(p.TTL == 0 || !Placed(p))
}

// Placed tells whether requests place what pol remembers: the first one its windows, or its bucket that is
// not full, and after each time that it was forgotten another one. Left out of a witness they would place it
// elsewhere, and the witness could fail where nothing is wrong in the recording.
func Placed(pol spec.Policy) bool {
	return pol.Windowed() && pol.Align == spec.AlignFirst && !pol.Refreshes() || pol.TTL > 0 &&
		RemembersStart(pol)
}

// KeepsItsBeginning tells whether p remembers for ever when it was created: one that starts otherwise than
// full, or is filled up in batches from then on. Where a recording began amid traffic that is not known.
func KeepsItsBeginning(p spec.Policy) bool {
	return RemembersStart(p) || p.Start == spec.StartUnknown || p.Refill == spec.RefillInterval
}

// RemembersStart tells whether p is known to hold less than a full bucket when it is created.
func RemembersStart(p spec.Policy) bool {
	_, p = p.Ends()
	_, most := p.StartLevels()
	return most < p.Full()
}

// StartsLow tells whether p may hold less than a full bucket when it is created: of a range of bursts, the
// largest.
func StartsLow(p spec.Policy) bool {
	_, p = p.Ends()
	least, _ := p.StartLevels()
	return least < p.Full()
}
