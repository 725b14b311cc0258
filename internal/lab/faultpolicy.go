package lab

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// policyFaults enforce another policy than the declared one.
var policyFaults = []Fault{
	{Name: "burst-off-by-one", Class: "A8", Sentence: "admits one unit more than the quota",
		Citation: "https://github.com/GrahamCampbell/Laravel-Throttle/issues/88",
		policy:   func(p spec.Policy) spec.Policy { return p.WithFull(p.Full() + 1) }},
	{Name: "burst-one-less", Class: "A8", Sentence: "admits one unit less than the quota",
		Citation: "https://github.com/upstash/ratelimit-js/pull/157", fits: quotaTwo,
		policy: func(p spec.Policy) spec.Policy { return p.WithFull(p.Full() - 1) }},
	{Name: "refill-too-fast", Class: "A7", Sentence: "gives units back 10 % faster than declared; windows " +
		"are as much shorter", Citation: "https://github.com/zeromicro/go-zero/issues/4072", fits: timed,
		policy: func(p spec.Policy) spec.Policy { return paced(p, 10, 11) }},
	{Name: "refill-too-slow", Class: "B4", Sentence: "gives units back 10 % slower than declared; windows " +
		"are as much longer", Citation: "https://github.com/envoyproxy/envoy/issues/16407", fits: timed,
		policy: func(p spec.Policy) spec.Policy { return paced(p, 10, 9) }},
	{Name: "fixed-window-as-sliding", Class: "A3", Sentence: "counts in fixed windows aligned to the " +
		"clock, whatever algorithm it declares",
		Citation: "https://github.com/SatyamPandey-07/WorkSphere/issues/2122", fits: notFixedWindow,
		policy: asFixedWindow},
	{Name: "bucket-as-window", Class: "A4",
		Sentence: "uses a bucket that refills all the time where a window is declared",
		Citation: "https://github.com/mailgun/gubernator/issues/118",
		// A bucket of one unit admits what a log of one does.
		fits:   func(l spec.Limit) string { return firstOf(oneWindow(l), quotaTwo(l)) },
		policy: func(p spec.Policy) spec.Policy { return bucketOf(p, p.Rate.N) }},
	{Name: "burst-ignored", Class: "A4", Sentence: "spreads the quota evenly: one unit at a time, " +
		"whatever the burst", Citation: "https://github.com/traefik/traefik/issues/8330",
		fits:   func(l spec.Limit) string { return firstOf(onePolicy(l), quotaTwo(l)) },
		policy: func(p spec.Policy) spec.Policy { return bucketOf(p, 1) }},
	{Name: "refused-still-pays", Class: "B8",
		Sentence: "charges a request to all limits, even if one of them denies it",
		Citation: "https://github.com/envoyproxy/ratelimit/issues/190",
		fits:     severalPolicies,
		policy: func(p spec.Policy) spec.Policy {
			p.Count = spec.CountOwn
			return p
		}},
	{Name: "long-window-overflow", Class: "A19",
		Sentence: "sets a timer of more than 2^31 milliseconds, which ends at once: windows over 24.8 days " +
			"last a millisecond",
		Citation: "https://github.com/express-rate-limit/express-rate-limit/issues/546",
		fits:     longWindow,
		policy: func(p spec.Policy) spec.Policy {
			if p.Rate.Per > maxTimer {
				p.Rate.Per, p.Slots = time.Millisecond, 0
			}
			return p
		}},
	{Name: "windows-end-together", Class: "A22",
		Sentence: "ends the windows of all clients with one timer, whenever they began: the first " +
			"window of a client is short",
		Citation: "https://github.com/express-rate-limit/express-rate-limit/issues/194",
		fits:     ownWindows,
		policy: func(p spec.Policy) spec.Policy {
			if p.Fixed() && p.Align == spec.AlignFirst {
				p.Align = spec.AlignShared
			}
			return p
		}},
	{Name: "starts-empty", Class: "A22",
		Sentence: "starts a new partition with no quota",
		Citation: "https://github.com/bbeck/token-bucket/issues/6",
		fits:     func(l spec.Limit) string { return firstOf(onePolicy(l), startsWithSome(l)) },
		limiter: func(l reference.Limiter, limit spec.Limit) reference.Limiter {
			return Drained{Inner: l, Units: limit[0].Full()}
		}},
}

// paced returns p with its time stretched by num/den.
func paced(p spec.Policy, num, den int64) spec.Policy {
	p.Rate.Per = time.Duration(int64(p.Rate.Per) / den * num)
	p.Rate.Per -= p.Rate.Per % time.Duration(max(p.Slots, 1)) // slots are whole nanoseconds
	return p
}

// timed demands policies that count in time.
func timed(l spec.Limit) string {
	if slices.ContainsFunc(l, spec.Policy.InFlight) {
		return "it needs a limit with a rate"
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

// oneWindow demands one window.
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
