package search

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Simply tries to find an explanation of h without a search: every request is decided as soon as the limiter
// answers so, or a little later (soon).
//
// True: an explanation was found, so no search can refute h. False: not known. at are the phases of the
// policies, in nanoseconds. Cost: O(n log n).
func Simply(h *history.History, limit spec.Limit, at []int64) bool {
	lim := plainLimiter(limit, at)
	return lim != nil && soon(h, lim)
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
