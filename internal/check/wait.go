package check

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// LongestWaits returns, by Seq, an upper bound of the wait of every denial of tl. The wait is the time from
// the decision until limit can admit a request of the same cost, if nothing else arrives. The bound holds for
// all decision times, orders and phases. Denials whose wait has no bound are absent. shared: others may use
// the same partitions.
func LongestWaits(tl *timeline.Timeline, limit spec.Limit, shared bool) map[int]time.Duration {
	waits := map[int]time.Duration{}
	for _, p := range limit {
		if p.Completes() && p.HoldMost == 0 {
			return waits
		}
	}
	for _, part := range tl.ByPartition() {
		for _, p := range limit {
			var units counted
			if !shared {
				units = countedIn(p, part.Observations)
			}
			addWaits(waits, p, tl, part.Observations, units)
		}
	}
	return waits
}

// addWaits raises waits to those of the denials of one partition under one policy, which counted units.
func addWaits(waits map[int]time.Duration, p spec.Policy, tl *timeline.Timeline,
	obs []timeline.Observation, units counted) {
	var debts map[int]time.Duration
	if p.Charge == spec.ChargeCompletion && p.Bucketed() {
		w := history.Widen(tl.Header, p.Tick, p.TickSet)
		debts = limiter.LongestDebts(p, history.New(history.Observations(obs), w, int64(tl.End()),
			history.StayOf(p)))
	}
	for i := range obs {
		if o := &obs[i]; o.Outcome == timeline.Denied {
			waits[o.Seq] = max(waits[o.Seq], longestWait(p, tl.Header, o, units, debts))
		}
	}
}

// longestWait bounds the wait under one policy. debts has those of a bucket that may be in debt. It is the
// longest time of all where no time is surely enough.
func longestWait(p spec.Policy, h timeline.Header, o *timeline.Observation, s counted,
	debts map[int]time.Duration) time.Duration {
	w := history.Widen(h, p.Tick, p.TickSet)
	slack := time.Duration(w.Left+w.Right) + p.LongestBan() + 2*h.Drift(max(o.FirstByte, o.Sent))
	if p.Charge == spec.ChargeCompletion { // after the last charge it is as if charged at once
		slack += p.HoldMost
	}
	if p.Charge == spec.ChargeCompletion && p.HasWindow() { // in a window that begins meanwhile
		slack += p.Rate.Per
	}
	debt, known := debts[o.Seq]
	switch {
	case asks(p, o) > p.Full(): // no time is enough
		return math.MaxInt64
	case p.Fixed():
		return min(untilWindowEnds(p, h, o), s.windowLeft(p, o)) + slack
	case known:
		return debt + slack
	case p.Charge == spec.ChargeCompletion && p.Bucketed():
		return math.MaxInt64
	}
	return p.UntilRoom(p.Asks(o.Cost)) + slack
}

// untilWindowEnds returns the time from the earliest decision of o to the end of its window. It is a whole
// window where that is not known.
func untilWindowEnds(p spec.Policy, h timeline.Header, o *timeline.Observation) time.Duration {
	box, shared := PhasesOf(p, h)
	if !shared || !o.Answered || p.Align == spec.AlignCalendar {
		return p.LongestWindow()
	}
	w := limiter.NewGrid(p, box.From, box.To)
	if w.FirstOf(int64(o.Sent)) != w.LastOf(int64(o.FirstByte)) {
		return p.LongestWindow()
	}
	return time.Duration(w.Latest(w.LastOf(int64(o.FirstByte))) - int64(o.Sent))
}

// counted are the units that one partition may have counted in a fixed window, by the time of the request:
// those begun until a Sent, and those over until a FirstByte. Both ascend, and their units are sums. All is
// empty for a limit that may deny or end a window otherwise, and where others may use the partition.
type counted struct {
	sent, over   []time.Duration
	begun, ended []int64
}

// countedIn returns the units of a partition, whose observations ascend by Sent.
func countedIn(p spec.Policy, obs []timeline.Observation) (s counted) {
	if !p.Fixed() || p.Refreshes() || p.Clear > 0 || p.Charge == spec.ChargeCompletion {
		return s
	}
	var ends []timeline.Observation
	for i := range obs {
		o := &obs[i]
		if o.Outcome == timeline.Denied && p.Count != spec.CountAll && p.Count != spec.CountOwn {
			continue
		}
		s.sent, s.begun = append(s.sent, o.Sent), append(s.begun, sumAnd(s.begun, p, o))
		if o.Answered {
			ends = append(ends, *o)
		}
	}
	slices.SortFunc(ends,
		func(a, b timeline.Observation) int { return cmp.Compare(a.FirstByte, b.FirstByte) })
	for i := range ends {
		s.over, s.ended = append(s.over, ends[i].FirstByte), append(s.ended, sumAnd(s.ended, p, &ends[i]))
	}
	return s
}

// sumAnd returns the last of sums and the units that p counts for o.
func sumAnd(sums []int64, p spec.Policy, o *timeline.Observation) int64 {
	if len(sums) == 0 {
		return asks(p, o)
	}
	return sums[len(sums)-1] + asks(p, o)
}

// asks returns the units that p counts for o: the whole quota where its cost is not known.
func asks(p spec.Policy, o *timeline.Observation) int64 {
	if n := p.Asks(o.Cost); n >= 0 {
		return n
	}
	return p.Rate.N
}

// windowLeft returns the longest time from a decision of the denial d to the end of its window. The window
// counts more units than leave room for d, so it began no later than the latest instant at which so many
// were still to come before d:
//
//	begin <= max t: units in [t, decision of d] > quota - cost
//
// It is a whole window where the units do not explain d, or are not known.
func (s counted) windowLeft(p spec.Policy, d *timeline.Observation) time.Duration {
	whole := p.LongestWindow()
	need := p.Rate.N - asks(p, d) + 1
	if p.Count == spec.CountAll {
		need += asks(p, d) // d is among the units
	}
	i, _ := slices.BinarySearch(s.sent, d.FirstByte+1)
	k, _ := slices.BinarySearch(s.over, d.FirstByte+1)
	if !d.Answered || i == 0 || s.begun[i-1] < need {
		return whole
	}
	before := s.begun[i-1] - need // so many units may have been over before the window began
	at, _ := slices.BinarySearch(s.ended[:k], before+1)
	if at == k || s.over[at]+whole <= d.Sent {
		return whole
	}
	return min(whole, s.over[at]+whole-d.Sent)
}
