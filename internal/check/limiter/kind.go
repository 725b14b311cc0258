package limiter

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// kind is a row of the table of limiters: both faces of a policy without ranges, ban and time to live.
type kind struct {
	// bound returns the bound for a box of phases, which only windows read. nil: counting returns it. others:
	// a request that another policy denied may have opened a window.
	bound func(p spec.Policy, box history.Interval, others bool) Bound
	// counting returns the bound that can count requests at other instants than their decisions, for
	// charge=completion. nil: there is no such SPEC.
	counting func(p spec.Policy, box history.Interval) counting
	// model returns the model for requests of the given costs, ascending. It returns nil where there is no
	// model. nil: the kind has none.
	model func(p spec.Policy, box history.Interval, costs []int64) Model
}

// kindOf returns the kind of a policy. Each kind stands in the file of its limiter.
func kindOf(p spec.Policy) *kind {
	switch {
	case p.InFlight():
		return &placesKind
	case p.Queued():
		return &queueKind
	case p.Fixed() && p.Refreshes():
		return &refreshedKind
	case NeedsPlacement(p):
		return &firstKind
	case p.Fixed():
		return &fixedKind
	case Anchored(p):
		return &anchoredKind
	case p.Windowed():
		return &counterKind
	case p.HasWindow():
		return &logKind
	default:
		return &bucketKind
	}
}

// plainBound returns the bound of a policy without ranges, ban, time to live and charges at the completion.
func plainBound(p spec.Policy, from, to int64, others bool) Bound {
	k, box := kindOf(p), history.Interval{From: from, To: to}
	if k.bound == nil {
		return k.counting(p, box)
	}
	return k.bound(p, box, others)
}

// NewBound returns the bound of a policy. from..to is the box of phases, in nanoseconds; only windowed
// policies read it.
func NewBound(p spec.Policy, from, to int64) Bound { return boundAmong(p, from, to, false) }

// NewBoundAmong returns the bound of one of several policies. A request that another policy denied may then
// have opened a window, if this one counts denied requests.
func NewBoundAmong(p spec.Policy, from, to int64) Bound {
	return boundAmong(p, from, to, p.Count == spec.CountAll)
}

// boundAmong returns the bound of a policy. others: a request that another policy denied may have opened a
// window.
func boundAmong(p spec.Policy, from, to int64, others bool) Bound {
	if p.RateTo > 0 || p.BurstTo > 0 || p.PerTo > 0 && !p.Windowed() {
		tight, loose := p.Ends()
		if p.Queued() && p.BurstTo > 0 {
			// a longer queue that starts at a level has more requests in front of the first one
			loose.Start = spec.StartUnknown
		}
		return sided{boundAmong(tight, from, to, others), boundAmong(loose, from, to, others)}
	}
	switch {
	case p.Count == spec.CountOwn:
		return newOwning(p, from, to)
	case p.TTL > 0:
		return newExpiring(p, from, to, others)
	case p.Charge == spec.ChargeCompletion && !p.InFlight():
		return settles(p, history.Interval{From: from, To: to})
	case p.Ban > 0:
		return newBanned(p, from, to, others)
	}
	return plainBound(p, from, to, others)
}

// NewModel returns the exact model of a policy for requests of the given costs, ascending, or nil where there
// is none: it is judged by its bound. from..to is a box of phases in which no request changes its window.
func NewModel(p spec.Policy, from, to int64, costs []int64) Model {
	k := kindOf(p)
	if k.model == nil || p.Count == spec.CountOwn || p.Completes() || p.Growth > 0 ||
		p.Unit == spec.UnitRequest {
		return nil
	}
	m := k.model(p, history.Interval{From: from, To: to}, costs)
	if m == nil {
		return nil
	}
	if p.TTL > 0 {
		scale := m.Traits().Scale
		m = ttlModel{around{m}, int64(p.TTL) * scale, int64(max(p.TTL, p.TTLTo)) * scale, false}
	}
	if p.Ban > 0 {
		m = banModel{around{m}, int64(p.Ban) * m.Traits().Scale, int64(p.LongestBan()) * m.Traits().Scale}
	}
	return m
}

// Anchored tells whether the first counted request places the windows of pol, and all later windows follow
// from there.
func Anchored(pol spec.Policy) bool {
	return pol.Algorithm == spec.SlidingWindowCounter && pol.Align == spec.AlignFirst
}

// NeedsPlacement tells whether requests open the fixed windows of p.
func NeedsPlacement(p spec.Policy) bool {
	return p.Fixed() && p.Align == spec.AlignFirst
}

// ChangesNothing tells whether a request that p denies leaves the state of p as it was. It does not if the
// denial may end a silence whose place matters.
func ChangesNothing(p spec.Policy) bool {
	return (p.Count == "" || p.Count == spec.CountAdmitted) && p.Ban == 0 && p.Refresh != spec.RefreshAll &&
		(p.TTL == 0 || !Placed(p))
}

// Placed tells whether requests place what pol remembers. The first request places its windows, or creates
// its bucket with less than the burst; after each time to live another request does. Without that request in
// the witness, the windows would lie elsewhere, and a witness could fail where the recording is right.
func Placed(pol spec.Policy) bool {
	return pol.Windowed() && pol.Align == spec.AlignFirst && !pol.Refreshes() || pol.TTL > 0 &&
		RemembersStart(pol)
}

// KeepsItsBeginning tells whether p remembers for ever when it was created: it starts otherwise than full, or
// its batches count from then. That instant is not known where a recording began amid traffic.
func KeepsItsBeginning(p spec.Policy) bool {
	return RemembersStart(p) || p.Start == spec.StartUnknown || p.Refill == spec.RefillInterval
}

// RemembersStart tells whether p surely holds less than a full bucket when it is created.
func RemembersStart(p spec.Policy) bool {
	_, p = p.Ends()
	_, most := p.StartLevels()
	return most < p.Full()
}

// StartsLow tells whether p may hold less than a full bucket when it is created. Of a range of bursts it asks
// the largest.
func StartsLow(p spec.Policy) bool {
	_, p = p.Ends()
	least, _ := p.StartLevels()
	return least < p.Full()
}
