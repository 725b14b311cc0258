package wrong

import (
	"strings"
	"time"
	"unicode"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// policies enforce another policy than the declared one.
var policies = []Defect{
	{Name: "burst-off-by-one", Policy: func(p spec.Policy) spec.Policy { return p.WithFull(p.Full() + 1) }},
	{Name: "burst-one-less", Fits: QuotaTwo,
		Policy: func(p spec.Policy) spec.Policy { return p.WithFull(p.Full() - 1) }},
	{Name: "refill-too-fast", Fits: timed,
		Policy: func(p spec.Policy) spec.Policy { return paced(p, 10, 11) }},
	{Name: "refill-too-slow", Fits: timed,
		Policy: func(p spec.Policy) spec.Policy { return paced(p, 10, 9) }},
	{Name: "fixed-window-as-sliding", Fits: notFixedWindow, Policy: asFixedWindow},
	{Name: "bucket-as-window", // a bucket of one unit admits what a log of one does
		Fits:   All(oneWindow, QuotaTwo),
		Policy: func(p spec.Policy) spec.Policy { return bucketOf(p, p.Rate.N) }},
	{Name: "burst-ignored", Fits: All(onePolicy, QuotaTwo),
		Policy: func(p spec.Policy) spec.Policy { return bucketOf(p, 1) }},
	{Name: "refused-still-pays", Fits: SeveralPolicies, Policy: func(p spec.Policy) spec.Policy {
		p.Count = spec.CountOwn
		return p
	}},
	{Name: "long-window-overflow", Fits: longWindow, Policy: func(p spec.Policy) spec.Policy {
		if p.Rate.Per > maxTimer {
			p.Rate.Per = time.Millisecond
		}
		return p
	}},
	{Name: "windows-end-together",
		Fits: All(ownWindows, fineClock),
		Policy: func(p spec.Policy) spec.Policy {
			if p.Fixed() && p.Align == spec.AlignFirst {
				p.Align = spec.AlignShared
			}
			return p
		}},
	{Name: "starts-empty",
		Fits:    All(onePolicy, StartsWithSome),
		Limiter: drained},
}

// limiters keep a partition's state wrongly.
var limiters = []Defect{
	{Name: "cap-not-applied", Fits: OneBucket, Limiter: Bucket{Uncapped: true}.Serve},
	{Name: "refill-truncated", Fits: QuickBucket(1), Limiter: Bucket{Tick: time.Second}.Serve},
	{Name: "refill-whole-units", Fits: OneBucket, Limiter: Bucket{WholeUnits: true}.Serve},
	{Name: "idle-overflow", Fits: OneBucket, Limiter: Bucket{Narrow: true}.Serve},
	{Name: "clock-skew", Fits: QuickBucket(2), Limiter: Bucket{Skew: 500 * time.Millisecond}.Serve},
	{Name: "denied-counted", Fits: countsDenials, Policy: func(p spec.Policy) spec.Policy {
		p.Count = spec.CountAll
		return p
	}},
	{Name: "coarse-clock", Fits: seesParts, Limiter: coarse},
	{Name: "never-recovers", Fits: forgivesAsking, Limiter: lockedOut},
	{Name: "ban-after-denial",
		Fits: All(otherBan, fineClock),
		Policy: func(p spec.Policy) spec.Policy {
			p.Ban = WindowOf(p)
			return p
		}},
	{Name: "log-members-collide", Limiter: colliding,
		Fits: All(onePolicy, QuotaTwo)},
	{Name: "idle-timer", Limiter: idleTimer,
		Fits: All(onePolicy, notRefreshed)},
	{Name: "slots-never-turn", Fits: oneSlotted, Limiter: stuckSlots},
	{Name: "state-expires-early", Fits: alone, Limiter: forgetful},
	{Name: "counted-twice", Fits: QuotaTwo, Limiter: charged(func(cost int64) int64 { return 2 * cost })},
	{Name: "cost-ignored", Costs: true, Promise: "cost", Fits: QuotaTwo,
		Limiter: charged(func(int64) int64 { return 1 })},
	{Name: "cost-over-limit-free", Costs: true, Limiter: generous},
	{Name: "ticks-lost", Fits: QuickBucket(10), Limiter: ticking},
	{Name: "count-outlives-window", Fits: ClockWindow, Limiter: outlived},
	{Name: "denied-cost-burns-rest", Costs: true, Limiter: burning,
		Fits: All(QuotaTwo, denialsFree)},
}

// paced returns p with its time stretched by num/den.
func paced(p spec.Policy, num, den int64) spec.Policy {
	p.Rate.Per = time.Duration(int64(p.Rate.Per) / den * num)
	return p
}

// asFixedWindow returns the fixed window with the quota of p and the window in which that quota comes back.
func asFixedWindow(p spec.Policy) spec.Policy {
	return spec.Plain(spec.FixedWindow, spec.Rate{N: p.Full(), Per: WindowOf(p)}, p.Full())
}

// bucketOf returns the token bucket with the rate of p and a burst.
func bucketOf(p spec.Policy, burst int64) spec.Policy {
	return spec.Plain(spec.TokenBucket, p.Rate, burst)
}

// WindowOf returns the time in which the used up quota of p comes back.
func WindowOf(p spec.Policy) time.Duration {
	if p.HasWindow() {
		return p.Rate.Per
	}
	return p.Recovery()
}

// mixUps take several clients for one.
var mixUps = []Defect{
	{Name: "keys-shared", Fits: StartsWithSome, Client: func(string) string { return "" }},
	{Name: "truncated-key", Client: func(name string) string { return name[:min(64, len(name))] }},
	{Name: "letters-dropped", Client: func(name string) string {
		return strings.Map(func(r rune) rune {
			if r > unicode.MaxASCII {
				return -1
			}
			return r
		}, name)
	}},
}
