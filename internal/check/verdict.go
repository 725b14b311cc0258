package check

import "time"

// Verdict is our judgement. The zero value is Inconclusive: nothing is passed or failed by accident.
type Verdict uint8

// The verdicts.
const (
	Inconclusive Verdict = iota
	Pass
	Fail
)

// String returns the word used in JSON: pass, fail or inconclusive.
func (v Verdict) String() string {
	switch v {
	case Pass:
		return "pass"
	case Fail:
		return "fail"
	default:
		return "inconclusive"
	}
}

// Worst returns the worse of two verdicts: Fail before Inconclusive before Pass.
func Worst(a, b Verdict) Verdict {
	if a == Fail || b == Fail {
		return Fail
	}
	return min(a, b)
}

// Reason is why a verdict is Inconclusive; empty for the others.
type Reason string

// The closed list of reasons.
const (
	ScheduleMissed     Reason = "schedule-missed"
	Unreachable        Reason = "unreachable"
	SetupFailed        Reason = "setup-failed"
	NeedsFailed        Reason = "needs-failed"
	TooFew             Reason = "too-few"
	ForeignTraffic     Reason = "foreign-traffic"
	UnclassifiedStatus Reason = "unclassified-status"
	SearchLimit        Reason = "search-limit"
	Interrupted        Reason = "interrupted"
)

// Kind names what a finding found.
type Kind string

// The kinds of the conformance judge. Claims have kinds of their own.
const (
	OverAdmission  Kind = "over-admission"
	UnderAdmission Kind = "under-admission"
	NoExplanation  Kind = "no-explanation"
)

// Finding is one proved contradiction: the fewest observations that prove it, what was seen, and the bound.
type Finding struct {
	Kind      Kind
	Partition string
	// Seen and Bound are the integers that Text is printed from: units admitted and the most that were possible
	// (over-admission), units that could have been in use and the fewest a denial needs (under-admission).
	Seen, Bound int64
	// From and To are the span of the witness, from its first Sent to its last FirstByte.
	From, To time.Duration
	// Observations are the Seq numbers of the witness, ascending.
	Observations []int
	// Text is the arithmetic in one sentence with units, without the partition.
	Text string
	// Limit is the limit of a partition that has one of its own, as a SPEC; empty: the one that was judged.
	Limit string
}

// Interval is a closed interval of a measured parameter. Unbounded at an end that no observation bounds.
type Interval struct {
	Lo, Hi       float64
	LoSet, HiSet bool
}

// Measured is the measured policy: for each parameter, the values that the timeline does not refute, the others held at
// the declared value.
type Measured struct {
	// Burst is in units: the burst of a bucket, the queue+1 of a queue, the quota of a window.
	Burst Interval
	// Rate is in units per second; of a window, with the quota held: what is measured is its length.
	Rate Interval
	// Phase is when windows begin, in nanoseconds since the start of the recording, modulo the window; of limits with windows
	// whose phase is not known beforehand.
	Phase Interval
	// Policies has, for a limit of several policies, what was measured of each while the others were held; the fields above
	// are then unset. Nil for one policy, and where nothing was measured.
	Policies []Measured
}

// Of returns what was measured of policy i of a limit of n.
func (m Measured) Of(i, n int) Measured {
	switch {
	case n == 1:
		return m
	case i < len(m.Policies):
		return m.Policies[i]
	default:
		return Measured{}
	}
}

// Intersect returns what two partitions, or two recordings under one limit, together measured; not of the
// phases, which may be different ones.
func (m Measured) Intersect(other Measured) Measured {
	out := Measured{Burst: m.Burst.intersect(other.Burst), Rate: m.Rate.intersect(other.Rate)}
	for i := range max(len(m.Policies), len(other.Policies)) {
		out.Policies = append(out.Policies, m.Of(i, 0).Intersect(other.Of(i, 0)))
	}
	return out
}

// PartitionVerdict is the verdict on one partition.
type PartitionVerdict struct {
	Partition string
	Verdict   Verdict
	Reason    Reason
	// Detail says in a sentence what an Inconclusive reason means here; may be empty.
	Detail string
	// Findings has at least one element if Verdict is Fail, and none otherwise.
	Findings []Finding
	Measured Measured
	// Judged is the number of observations with a known outcome.
	Judged int
	// Search is what the exact search did for this partition; the zero value: nothing was searched.
	Search Search
}

// Search is what an exact search did: the decisions it tried (where a limiter remembers more than three times, each counts as
// several), the most it tries of all for one phase of the windows, beside those that it spends on looking for an explanation
// along few branches, and whether it reached that and proved nothing there.
type Search struct {
	Visited, Cap int
	Capped       bool
}

// Judgement is the verdict on a timeline.
type Judgement struct {
	Verdict Verdict
	Reason  Reason
	Detail  string
	// Partitions ascend by name.
	Partitions []PartitionVerdict
	// Measured is what all partitions together measured: the intersection of their intervals.
	Measured Measured
	// Hint names, for a Fail, what explains all of the recording, or says that nothing does that was
	// tried; empty where nothing was looked for.
	Hint string
	// Explanations are the limits that Hint speaks of, the nearest first: one of each kind. Nil where none
	// was found.
	Explanations []Explanation
	// Diagnosis is, for a Fail, what a reader needs to know before any finding; nil where nothing was
	// found or looked for.
	Diagnosis *Diagnosis
}

// Claim is the verdict on one expectation of a scenario: conformance, a header field, a latency.
type Claim struct {
	// ID is stable: conformance, resolution, retry-after-honored, ...
	ID      string
	Verdict Verdict
	Reason  Reason
	// Text says in one sentence what was seen.
	Text     string
	Findings []Finding
	// Unpromised is what the target was never seen to have and did not promise, so that the claim could not
	// be judged: it is Inconclusive (needs-failed), and does not weigh on the verdict of its scenario. Empty
	// for every other claim.
	Unpromised Promise
}

// Promise is what a target may have or not, and what is held against it only where it was promised.
type Promise string

// The promises. The first three are of header fields and bodies that standards leave open or that are
// conventions.
const (
	// PromiseRetryAfter: denials carry Retry-After (RFC 6585 section 4: MAY).
	PromiseRetryAfter Promise = "retry-after"
	// PromiseRateLimit: answers tell their quota, in RateLimit, RateLimit-Limit or X-RateLimit-Limit and
	// their kin (no standard).
	PromiseRateLimit Promise = "ratelimit"
	// PromiseProblem: denials have a body of type application/problem+json (RFC 9457 asks nobody to send it).
	PromiseProblem Promise = "problem"
	// PromiseCost: a request takes as many units as its field X-Cost says.
	PromiseCost Promise = "cost"
	// PromiseMethods: the route answers the methods that are sent.
	PromiseMethods Promise = "methods"
)

// Promises returns all promises, in the order of the documentation.
func Promises() []Promise {
	return append(RecommendedPromises(), PromiseCost, PromiseMethods)
}

// RecommendedPromises returns the promises of what is recommended to all limiters: a strict run takes them
// for given.
func RecommendedPromises() []Promise {
	return []Promise{PromiseRetryAfter, PromiseRateLimit, PromiseProblem}
}

// Lack says what is missing where p was never seen: sends no Retry-After (recommended).
func (p Promise) Lack() string {
	switch p {
	case PromiseRetryAfter:
		return "sends no Retry-After: recommended"
	case PromiseRateLimit:
		return "tells no quota in RateLimit or X-RateLimit fields: recommended"
	case PromiseProblem:
		return "explains no denial as application/problem+json: recommended"
	case PromiseCost:
		return "takes no costs from X-Cost"
	case PromiseMethods:
		return "does not answer every method"
	default:
		return "has no " + string(p)
	}
}
