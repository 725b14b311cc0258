package lab

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// policyFaults enforce another policy than the declared one.
var policyFaults = []Fault{
	{Name: "burst-off-by-one", policy: func(p spec.Policy) spec.Policy { return p.WithFull(p.Full() + 1) }},
	{Name: "burst-one-less", fits: quotaTwo,
		policy: func(p spec.Policy) spec.Policy { return p.WithFull(p.Full() - 1) }},
	{Name: "refill-too-fast", fits: timed,
		policy: func(p spec.Policy) spec.Policy { return paced(p, 10, 11) }},
	{Name: "refill-too-slow", fits: timed,
		policy: func(p spec.Policy) spec.Policy { return paced(p, 10, 9) }},
	{Name: "fixed-window-as-sliding", fits: notFixedWindow, policy: asFixedWindow},
	{Name: "bucket-as-window", // a bucket of one unit admits what a log of one does
		fits:   func(l spec.Limit) string { return firstOf(oneWindow(l), quotaTwo(l)) },
		policy: func(p spec.Policy) spec.Policy { return bucketOf(p, p.Rate.N) }},
	{Name: "burst-ignored", fits: func(l spec.Limit) string { return firstOf(onePolicy(l), quotaTwo(l)) },
		policy: func(p spec.Policy) spec.Policy { return bucketOf(p, 1) }},
	{Name: "refused-still-pays", fits: severalPolicies, policy: func(p spec.Policy) spec.Policy {
		p.Count = spec.CountOwn
		return p
	}},
	{Name: "long-window-overflow", fits: longWindow, policy: func(p spec.Policy) spec.Policy {
		if p.Rate.Per > maxTimer {
			p.Rate.Per = time.Millisecond
		}
		return p
	}},
	{Name: "windows-end-together",
		fits: func(l spec.Limit) string { return firstOf(ownWindows(l), fineClock(l)) },
		policy: func(p spec.Policy) spec.Policy {
			if p.Fixed() && p.Align == spec.AlignFirst {
				p.Align = spec.AlignShared
			}
			return p
		}},
	{Name: "starts-empty",
		fits:    func(l spec.Limit) string { return firstOf(onePolicy(l), startsWithSome(l)) },
		limiter: drained},
}

// paced returns p with its time stretched by num/den.
func paced(p spec.Policy, num, den int64) spec.Policy {
	p.Rate.Per = time.Duration(int64(p.Rate.Per) / den * num)
	return p
}

// timed demands policies that count in time.
func timed(l spec.Limit) string {
	for _, p := range l {
		switch {
		case p.InFlight():
			return "it needs a limit with a rate"
		case p.Refresh == spec.RefreshAll:
			return "under refresh=all a client that keeps asking never gets units back (declare another)"
		case p.HasWindow() && !p.Fixed() && p.LongestBan() >= p.Rate.Per:
			return "a ban of a window hides when units of a log come back"
		case p.HasWindow() && p.Align != spec.AlignClock && 10*p.Tick >= p.Rate.Per:
			return "ticks, or slots, of a tenth of a window hide when it ends"
		}
	}
	return ""
}

// notFixedWindow demands policies of which none is a fixed window.
func notFixedWindow(l spec.Limit) string {
	for _, p := range l {
		if p.Fixed() {
			return "a fixed window is not a fault of a fixed window (declare another algorithm)"
		}
	}
	return ""
}

func oneWindow(l spec.Limit) string {
	if len(l) != 1 || !l[0].HasWindow() {
		return "it needs one fixed-window, sliding-window-log or sliding-window-counter"
	}
	return ""
}

// ownWindows demands a fixed window that each partition opens for itself.
func ownWindows(l spec.Limit) string {
	for _, p := range l {
		if p.Fixed() && p.Align == spec.AlignFirst {
			return ""
		}
	}
	return "it needs a fixed-window with align=first"
}

// maxTimer is the longest time of JavaScript's setTimeout: 2^31-1 milliseconds.
const maxTimer = (1<<31 - 1) * time.Millisecond

// longWindow demands a policy with a window that is too long for setTimeout.
func longWindow(l spec.Limit) string {
	for _, p := range l {
		if p.Rate.Per > maxTimer {
			return ""
		}
	}
	return "it needs a rate per more than 24.8 days"
}

// startsWithSome demands policies that promise a new partition some units.
func startsWithSome(l spec.Limit) string {
	for _, p := range l {
		if least, _ := p.StartLevels(); least == 0 {
			return "the limit allows a partition to start with nothing (declare it with start=full)"
		}
	}
	return ""
}

// severalPolicies demands several policies that count what all of them admit.
func severalPolicies(l spec.Limit) string {
	for _, p := range l {
		if p.Count == spec.CountOwn || p.Queued() {
			return "it needs policies that deny rather than delay, and do not count requests that others deny"
		}
	}
	if len(l) < 2 {
		return "it needs several policies"
	}
	return ""
}

// fineClock demands windows of more than three ticks.
func fineClock(l spec.Limit) string {
	for _, p := range l {
		if p.HasWindow() && 3*p.Tick >= p.Rate.Per {
			return "ticks of a third of a window hide when it ends"
		}
	}
	return ""
}

// alone demands one policy: a faster one keeps a client from using up what a slower one forgets.
func alone(l spec.Limit) string {
	switch {
	case len(l) == 1 && l[0].TTL > 0:
		return "the limit declares that it forgets clients (declare it without ttl)"
	case len(l) == 1 && l[0].Tick > 0 && 3*l[0].Tick >= windowOf(l[0]):
		return "ticks of a third of the recovery hide what was forgotten half of it early"
	case len(l) == 1:
		return ""
	}
	return "it needs one policy, as a faster one keeps a client from using up the quota of a slower one"
}

// firstOf returns the first of two objections.
func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// asFixedWindow returns the fixed window with the quota of p and the window in which that quota comes back.
func asFixedWindow(p spec.Policy) spec.Policy {
	return spec.Plain(spec.FixedWindow, spec.Rate{N: p.Full(), Per: windowOf(p)}, p.Full())
}

// bucketOf returns the token bucket with the rate of p and a burst.
func bucketOf(p spec.Policy, burst int64) spec.Policy {
	return spec.Plain(spec.TokenBucket, p.Rate, burst)
}
