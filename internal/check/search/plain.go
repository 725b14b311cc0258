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

// PlainLimit is a number of events times their weight. A search of at least that much work is preceded by the
// attempt to find a plain explanation. It is also the number of events that the attempt tries first.
const PlainLimit = 1 << 10

// Dear tells whether h deserves the attempt at a plain explanation before its search. The attempt pays where
// the search is long, or where there are very many histories.
func (x *Exact) Dear(h *history.History) bool {
	return h.Crowded || len(h.All)*x.Weight >= PlainLimit
}

// Simply tries to find an explanation of h without a search: every request is decided in the middle of its
// interval, or always at its beginning, or always at its end, or as soon as the limiter answers so.
//
// True: an explanation was found, so no search can refute h. False: not known. A request without an outcome
// is taken never to have arrived. at are the phases of the policies, in nanoseconds. Cost: O(n log n).
func Simply(h *history.History, limit spec.Limit, at []int64) bool {
	lim := plainLimiter(limit, at)
	if lim == nil {
		return false
	}
	answer := func(h *history.History, decisions []decision) bool { return answers(lim, h, decisions) }
	return plainly(h, answer) || soon(h, lim)
}

// plainly tells whether h is explained with every request decided at the same part of its interval.
func plainly(h *history.History, explained func(h *history.History, decisions []decision) bool) bool {
	decisions := make([]decision, 0, len(h.All))
	for _, part := range [][2]int64{{1, 1}, {1, 0}, {0, 1}} {
		// The first PlainLimit events mostly show that there is no such explanation, before all are sorted.
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

// decide appends the decision instants of the first n events of h, ascending. Each instant is the mean of the
// start and the end of the interval, with the weights begins and ends.
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

// decision is the instant, in nanoseconds, at which event number of is decided.
type decision struct {
	at int64
	of int32
}

// plainLimiter returns the reference limiter of a limit, with one known phase for each policy. It returns nil
// where a policy leaves more open than its phase, and where completions count.
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
		p.Tick, p.TickSet = 0, false // a ticking clock may also show the instant itself
		if p.Windowed() && p.Align != spec.AlignFirst {
			phase := time.Duration(at[i] - history.FloorDiv(at[i], int64(p.Slot()))*int64(p.Slot()))
			p.Rate.Per, p.Zone = p.LongestWindow(), ""
			p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignPhase, phase, phase
		}
	}
	lim, err := reference.NewLimit(known)
	if err != nil {
		return nil
	}
	return lim
}

// answers tells whether lim gives the outcomes of h at the instants of decisions, ascending.
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
		if d.Allow && x.at+int64(d.Delay) > ev.End {
			return false
		}
	}
	return true
}
