package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// hintLimit is the largest recording for which other policies are tried.
const hintLimit = 200_000

// hintSteps is how many decisions the exact searches of one guess may try before the last one begins, hintWide how many those of
// many phases at once. A guess that is not refuted by then is named as one that may explain it. A search of every phase would
// go on for minutes, and nothing depends on it.
const (
	hintSteps = 1 << 14
	hintWide  = 1 << 17
)

// hint names, for a recording that fails a limit of one policy, the first policy like it that would explain all of it. It
// proves nothing: it is the next thing to look at.
func hint(tl *timeline.Timeline, limit reference.Limit, j *Judgement, o Options) string {
	if j.Verdict != Fail || len(limit) != 1 || len(tl.Observations) > hintLimit {
		return ""
	}
	for _, g := range guesses(limit[0], j) {
		if a := tried(tl, reference.Limit{g.policy}, o); a.verdict == Pass {
			word := "would"
			if !a.sure {
				word = "may"
			}
			return fmt.Sprintf("%s %s explain all of this (%s)", g.text, word, reference.Limit{g.policy})
		}
	}
	return ""
}

// attempt is the verdict on a recording under another limit; sure tells that no search was cut short,
// which might refute it yet.
type attempt struct {
	verdict Verdict
	sure    bool
}

// tried judges all of a recording under another limit, on the side that o asks for. The bounds come first:
// they refute most limits, and are much faster. What cannot be judged fails.
func tried(tl *timeline.Timeline, limit reference.Limit, o Options) attempt {
	if _, err := reference.NewLimit(limit); err != nil || fits(tl, limit) != nil {
		return attempt{verdict: Fail}
	}
	var out attempt
	for _, bounds := range []bool{true, false} {
		c := newCase(tl, limit, Options{Conformance: o.Conformance, Shared: o.Shared, SkipMeasure: true})
		c.quick, c.boundsOnly = true, bounds
		c.judge()
		if out.verdict = c.judgement().Verdict; out.verdict == Fail {
			return out
		}
		out.sure = !slices.ContainsFunc(c.parts, func(p *part) bool { return p.search.Capped })
	}
	return out
}

// guess is a policy worth trying.
type guess struct {
	policy reference.Policy
	text   string
}

// guesses lists policies near p, the likeliest first: one parameter changed, then another algorithm of the same quota.
func guesses(p reference.Policy, j *Judgement) []guess {
	var out []guess
	add := func(text string, edit func(*reference.Policy)) {
		q := p
		if edit(&q); q != p {
			out = append(out, guess{q, text})
		}
	}
	if p.Algorithm == reference.SlidingWindowCounter {
		add("a weighted count that is rounded up", func(q *reference.Policy) { q.Rounding = reference.RoundUp })
		add("a weighted count that is rounded to the nearest", func(q *reference.Policy) { q.Rounding = reference.RoundNearest })
		if p.Rounding != reference.RoundNone { // that is the same
			add("a weighted count that is rounded down", func(q *reference.Policy) { q.Rounding = reference.RoundDown })
		}
	}
	for _, b := range bursts(p, j) {
		add(fmt.Sprintf("a %s of %d", burstWord(p), b), func(q *reference.Policy) { *q = withBurst(*q, b) })
	}
	if p.Completes() {
		return named(out)
	}
	add("a start of unknown level", func(q *reference.Policy) { q.Start = reference.StartUnknown })
	add("counting denied requests too", func(q *reference.Policy) { q.Count = reference.CountAll })
	for _, tick := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		if tick < p.Rate.Per {
			add(fmt.Sprintf("a clock that ticks every %s", tick), func(q *reference.Policy) { q.Tick, q.TickSet = tick, true })
		}
	}
	return named(append(out, others(p, len(j.Partitions) > 1)...))
}

// named leaves out the guesses that no SPEC writes: not every key has a meaning for every algorithm.
func named(all []guess) []guess {
	return slices.DeleteFunc(all, func(g guess) bool {
		_, err := reference.New(g.policy)
		return err != nil
	})
}

// bursts are whole numbers that the measured burst leaves open, and the neighbours of the declared one.
func bursts(p reference.Policy, j *Judgement) []int64 {
	out := []int64{p.Full() + 1, p.Full() - 1}
	if m := j.Measured.Burst; m.LoSet && m.HiSet && m.Lo <= m.Hi {
		out = append([]int64{int64(m.Lo)}, out...)
	}
	return slices.DeleteFunc(out, func(b int64) bool { return b < 1 || b == p.Full() })
}

func burstWord(p reference.Policy) string {
	if p.Algorithm == reference.Concurrency {
		return "limit"
	}
	if p.Windowed() || p.Algorithm == reference.SlidingWindowLog {
		return "quota"
	}
	return "burst"
}

// others are the other algorithms with the same quota in the same time: for a bucket the burst in the time it takes to fill.
// several tells that there are partitions that may share a timer.
func others(p reference.Policy, several bool) []guess {
	rate := p.Rate
	if !p.Windowed() && p.Algorithm != reference.SlidingWindowLog {
		rate = reference.Rate{N: p.Full(), Per: p.Recovery()}
	}
	base := reference.Policy{Rate: rate, Start: reference.StartFull, Count: reference.CountAdmitted, Refill: reference.RefillContinuous,
		Rounding: reference.RoundNone, Boundary: reference.HalfOpen, Tick: p.Tick, TickSet: p.TickSet}
	anew := func(which reference.Refresh, text string) guess {
		q := base
		q.Algorithm, q.Align, q.Refresh = reference.FixedWindow, reference.AlignFirst, which
		return guess{q, text}
	}
	make := func(a reference.Algorithm, align reference.Align, text string) guess {
		q := base
		q.Algorithm, q.Align = a, align
		return guess{q, text}
	}
	of := fmt.Sprintf("of %s ", rate)
	out := []guess{
		make(reference.FixedWindow, reference.AlignClock, "a fixed window "+of+"aligned to the clock"),
		make(reference.FixedWindow, reference.AlignFirst, "a fixed window "+of+"opened by the first request"),
		anew(reference.RefreshAdmitted, "a fixed window "+of+"that every admitted request starts anew"),
		anew(reference.RefreshAll, "a fixed window "+of+"that every request, denied or not, starts anew"),
		make(reference.FixedWindow, reference.AlignShared, "a fixed window "+of+"that one timer ends for all"),
		make(reference.FixedWindow, reference.AlignUnknown, "a fixed window "+of+"of unknown alignment"),
		make(reference.SlidingWindowLog, "", "a sliding window log "+of[:len(of)-1]),
		make(reference.SlidingWindowCounter, reference.AlignUnknown, "a sliding window counter "+of[:len(of)-1]),
	}
	for _, n := range []int64{10, 60, 5, 4, 2} {
		slotted := make(reference.FixedWindow, reference.AlignUnknown, fmt.Sprintf("a window %sin %d slots", of, n))
		slotted.policy.Slots = n
		out = append(out, slotted)
	}
	bucket := make(reference.TokenBucket, "", fmt.Sprintf("a token bucket of %s, burst %d", rate, rate.N))
	bucket.policy.Burst = rate.N
	out = append(out, bucket)
	return slices.DeleteFunc(out, func(g guess) bool {
		same := g.policy.Refresh == p.Refresh || !g.policy.Refreshes() && !p.Refreshes()
		return g.policy.Algorithm == p.Algorithm && g.policy.Align == p.Align && g.policy.Slots == p.Slots && same || g.policy.Align == reference.AlignShared && !several
	})
}
