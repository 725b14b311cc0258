package search

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// PlainLimit is the work of one decision on each event from which on a plain explanation is looked for
// before a search, which is short below; and the number of events of which it is looked for first.
const PlainLimit = 1 << 10

// Dear tells whether the search of h is so long, or one of so many, that a plain explanation is looked for
// first. That of a limit on requests in flight is.
func (x *Exact) Dear(h *history.History) bool {
	return x.flights != nil || h.Crowded || len(h.All)*x.Weight >= PlainLimit
}

// Simply tells whether an explanation of h is found without a search: the limiter answers as h says where
// every request is decided at the same part of its interval, in the middle, at the beginning, or at the end;
// or where admissions are kept back (keepBack). One explanation is enough: no search can refute h then. False
// says nothing. It costs O(n log n). Requests without an outcome are taken never to have arrived.
func Simply(h *history.History, limit spec.Limit, at []int64) bool {
	if h.Level != nil || h.Placed != nil {
		return false
	}
	if onlyPlaces(limit) {
		x := places{limit: limit[0].Rate.N}
		return plainly(h, x.explains)
	}
	lim := plainLimiter(limit, at)
	if lim == nil {
		return false
	}
	answer := func(h *history.History, decisions []decision) bool { return answers(lim, h, decisions) }
	return plainly(h, answer) || keptBack(h, lim, limit, at)
}

// plainly tells whether h is explained where every request is decided at the same part of its interval.
func plainly(h *history.History, explained func(h *history.History, decisions []decision) bool) bool {
	decisions := make([]decision, 0, len(h.All))
	for _, part := range [][2]int64{{1, 1}, {1, 0}, {0, 1}} {
		// The beginning tells most of the time that there is no such explanation, before all is sorted.
		for n := min(len(h.All), PlainLimit); ; n = len(h.All) {
			decisions = decide(decisions[:0], h, n, part[0], part[1])
			if !explained(h, decisions) {
				break
			}
			if n == len(h.All) {
				return true
			}
		}
	}
	return false
}

// decide appends the instants at which the first n events of h are decided, ascending: each the mean of its
// beginning and its end, weighted.
func decide(decisions []decision, h *history.History, n int, begins, ends int64) []decision {
	for i := range h.All[:n] {
		if ev := &h.All[i]; ev.Outcome != timeline.Unknown {
			begin := ev.Start + h.Lag
			at := (begin*begins + ev.End*ends) / (begins + ends)
			decisions = append(decisions, decision{max(at, begin), int32(i)})
		}
	}
	slices.SortStableFunc(decisions, func(a, b decision) int { return cmp.Compare(a.at, b.at) })
	return decisions
}

// decision is the instant at which the event of an index is decided.
type decision struct {
	at int64
	of int32
}

// plainLimiter returns the limiter of a limit with one phase for each policy; nil where more than phases is
// not known, and where completions count.
func plainLimiter(limit spec.Limit, at []int64) reference.Limiter {
	known := slices.Clone(limit)
	for i := range known {
		p := &known[i]
		if limiter.Ranged(*p) || p.Completes() || p.BanTo > 0 || p.TTLTo > 0 || p.LevelTo > 0 {
			return nil
		}
		if p.Start == spec.StartUnknown {
			p.Start = spec.StartFull
		}
		p.Tick, p.TickSet = 0, false // of what a clock may show, the instant itself
		if p.Windowed() && p.Align != spec.AlignFirst {
			phase := time.Duration(at[i] - history.FloorDiv(at[i], int64(p.Slot()))*int64(p.Slot()))
			p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignPhase, phase, phase
		}
	}
	lim, err := reference.NewLimit(known)
	if err != nil {
		return nil
	}
	return lim
}

// answers tells whether lim gives the outcomes of h at the instants of decisions, which ascend.
func answers(lim reference.Limiter, h *history.History, decisions []decision) bool {
	if len(decisions) == 0 || decisions[0].at < 0 {
		return false
	}
	state := lim.Init()
	for _, x := range decisions {
		ev := &h.All[x.of]
		var d reference.Decision
		state, d = lim.Step(state, time.Duration(x.at), ev.Cost)
		if d.Allow != (ev.Outcome == timeline.Allowed) {
			return false
		}
		if d.Allow && x.at+int64(d.Delay) > ev.Answer() {
			return false
		}
	}
	return true
}
