package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// guess is a policy worth trying.
type guess struct {
	policy spec.Policy
	text   string
}

// family is one kind of explanation.
type family struct {
	// guesses returns the policies of the family, with measured parameters, the likeliest first.
	guesses func(*inquiry, spec.Policy, *result.Judgement) []guess
	// unless tells whether an explanation says the same more exactly, so that this family is not tried. nil:
	// always try it.
	unless func(result.Explanation) bool
	// completes: it is also tried of policies that count requests when they are complete.
	completes bool
}

// families are all families, the nearest to the declared policy first.
var families = []family{
	{guesses: roundings, completes: true}, {guesses: otherParameters, completes: true},
	{guesses: starts}, {guesses: countings}, {guesses: buckets}, {guesses: queues},
	{guesses: windows(window{"a fixed window of %s aligned to the clock", fixedKind(spec.AlignClock)})},
	{guesses: windows(window{"a fixed window of %s opened by the first request",
		fixedKind(spec.AlignFirst)})},
	{guesses: windows(window{"a sliding window log of %s", logKind})},
	{guesses: windows(window{"a sliding window counter of %s",
		spec.Policy{Algorithm: spec.SlidingWindowCounter, Align: spec.AlignUnknown}})},
	{guesses: windows(window{"a fixed window of %s that every admitted request restarts",
		refreshing(spec.RefreshAdmitted)},
		window{"a fixed window of %s that every request restarts, denied or not",
			refreshing(spec.RefreshAll)})},
	{guesses: windows(window{"a fixed window of %s that one timer ends for all clients",
		fixedKind(spec.AlignShared)}), unless: placedWindow},
	{guesses: windows(window{"a fixed window of %s of unknown alignment", fixedKind(spec.AlignUnknown)}),
		unless: anything},
	{guesses: windows(slotted(10, 60, 5, 4, 2)...), unless: anything},
	{guesses: coarseClocks, unless: anything},
}

// placedWindow tells whether a fixed window explains the recording and its phase is known.
func placedWindow(e result.Explanation) bool {
	p := e.Limit[0]
	return e.Sure && p.Fixed() && p.Align != spec.AlignUnknown
}

// anything accepts any sure explanation. A coarse clock, or windows that may begin anywhere, explain nearly
// everything.
func anything(e result.Explanation) bool { return e.Sure }

// changed returns the guesses that differ from p and that a SPEC can write. Not every key has a meaning for
// every algorithm.
func changed(p spec.Policy, all ...guess) []guess {
	return slices.DeleteFunc(all, func(g guess) bool {
		_, err := reference.New(g.policy)
		return g.policy == p || err != nil
	})
}

// roundings guesses other roundings of the weighted count.
func roundings(_ *inquiry, p spec.Policy, _ *result.Judgement) []guess {
	if !p.Weighs() {
		return nil
	}
	rounded := func(r spec.Rounding, text string) guess {
		q := p
		q.Rounding = r
		return guess{q, text}
	}
	all := []guess{
		rounded(spec.RoundUp, "a weighted count that is rounded up"),
		rounded(spec.RoundNearest, "a weighted count that is rounded to the nearest"),
	}
	if p.Rounding != spec.RoundNone { // without rounding, rounding down admits the same
		all = append(all, rounded(spec.RoundDown, "a weighted count that is rounded down"))
	}
	return changed(p, all...)
}

// otherParameters guesses another burst, another rate, or both.
func otherParameters(q *inquiry, p spec.Policy, j *result.Judgement) []guess {
	var all []guess
	for _, b := range bursts(p, j) {
		all = append(all, guess{p.WithFull(b), fmt.Sprintf("a %s of %d", burstWord(p), b)})
	}
	if p.Completes() {
		return changed(p, all...)
	}
	other := p
	if !p.Refills() {
		if per, ok := roundWindow(j.Measured.Rate, p.Rate.N); ok {
			other.Rate.Per = per
			all = append(all, guess{other, fmt.Sprintf("a window of %s", per)})
		}
		for _, n := range q.quotas(p.Rate, p)[1:] {
			all = append(all, guess{p.WithFull(n), fmt.Sprintf("a quota of %d", n)})
		}
		return changed(p, all...)
	}
	if rate, ok := roundRate(j.Measured.Rate, p.Rate, p.Rate.Per); ok {
		other.Rate = rate
		all = append(all, guess{other, fmt.Sprintf("a rate of %s", rate)})
	}
	for _, x := range q.fitted(p) {
		all = append(all, guess{x, fmt.Sprintf("a burst of %d and a rate of %s", x.Full(), x.Rate)})
	}
	return changed(p, all...)
}

// bursts returns the neighbours of the declared burst, and before them the least burst that was measured.
func bursts(p spec.Policy, j *result.Judgement) []int64 {
	out := []int64{p.Full() + 1, p.Full() - 1}
	if m := j.Measured.Burst; m.LoSet && m.HiSet && m.Lo <= m.Hi {
		out = append([]int64{int64(m.Lo)}, out...)
	}
	return slices.DeleteFunc(out, func(b int64) bool { return b < 1 || b == p.Full() })
}

func burstWord(p spec.Policy) string {
	if p.InFlight() {
		return "limit"
	}
	if p.HasWindow() {
		return "quota"
	}
	return "burst"
}

// starts guesses other levels at which a partition starts.
func starts(_ *inquiry, p spec.Policy, _ *result.Judgement) []guess {
	empty, unknown := p, p
	empty.Start, unknown.Start = spec.StartEmpty, spec.StartUnknown
	return changed(p, guess{empty, "a start with no quota"}, guess{unknown,
		"a start with an unknown part of the quota"})
}

// countings guesses that denied requests count too.
func countings(_ *inquiry, p spec.Policy, _ *result.Judgement) []guess {
	all := p
	all.Count = spec.CountAll
	return changed(p, guess{all, "counting denied requests too"})
}

// coarseClocks guesses coarser clocks. A tick is at most a twentieth of the window, since a coarser one
// explains nearly everything.
func coarseClocks(_ *inquiry, p spec.Policy, _ *result.Judgement) []guess {
	var all []guess
	for tick := time.Millisecond; tick <= time.Second; tick *= 10 {
		if tick > min(p.Rate.Per, p.Recovery())/20 || tick <= p.Tick {
			continue
		}
		coarse := p
		coarse.Tick, coarse.TickSet = tick, true
		all = append(all, guess{coarse, fmt.Sprintf("a clock that ticks every %s", tick)})
	}
	return changed(p, all...)
}
