// Package verdict holds the words that the judge, the claims and the reports share: verdicts and their
// reasons, findings, what was measured, and the judgement on a recording.
package verdict

import "time"

// Verdict is the judgement in a word. The zero value is Inconclusive, so nothing passes or fails by accident.
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

// Reason is why a verdict is Inconclusive. Empty for other verdicts.
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

// The kinds of the conformance judge.
const (
	OverAdmission  Kind = "over-admission"
	UnderAdmission Kind = "under-admission"
	NoExplanation  Kind = "no-explanation"
)

// Finding is one proved contradiction: the fewest observations that prove it, what was seen, and the bound.
type Finding struct {
	Kind      Kind
	Partition string
	// Seen and Bound are the integers that Text is printed from. Over-admission: the units admitted, and the
	// most that were possible. Under-admission: the units that could have been in use, and the fewest that a
	// denial needs.
	Seen, Bound int64
	// From and To are the span of the witness, from its first Sent to its last FirstByte.
	From, To time.Duration
	// Observations are the Seq numbers of the witness, ascending.
	Observations []int
	// Text is the arithmetic in one sentence with units, without the partition.
	Text string
	// Limit is the SPEC of the limit of a partition that has its own. Empty: the limit that was judged.
	Limit string
	// Rule is the id of the rule on which the finding rests, such as RA-SYNTAX. Empty: it rests on an
	// expectation of the scenario alone.
	Rule string
}

// Members returns the Observations as a set.
func (f *Finding) Members() map[int]bool {
	in := make(map[int]bool, len(f.Observations))
	for _, seq := range f.Observations {
		in[seq] = true
	}
	return in
}

// Claim is the verdict on one expectation of a scenario: conformance, a header field, a latency.
type Claim struct {
	// ID is stable: conformance, retry-after-honored, storm-fixed, ... Kind is what the claim is about.
	ID      string
	Kind    ClaimKind
	Verdict Verdict
	Reason  Reason
	// Text says in one sentence what was seen.
	Text     string
	Findings []Finding
	// Unpromised is what the target was never seen to have and did not promise, so that the claim could not
	// be judged. The claim is then Inconclusive (needs-failed), and does not weigh on the verdict of its
	// scenario. Empty for every other claim.
	Unpromised Promise
	// Compared are the attributes that a claim of kind ClaimAttributes compared, in their order. nil for all
	// other claims.
	Compared []Comparison
}

// Comparison says whether the requests of one client that differ in one attribute draw on one quota.
type Comparison struct {
	// Attribute is what differs. Plain and Other are what the two kinds of requests send.
	Attribute, Plain, Other string
	// Expected is shared, separate or either. Observed is shared, separate, unlimited or "not shown".
	Expected, Observed string
	// Detail says why nothing is shown, or which numbers show it.
	Detail  string
	Verdict Verdict
}

// Failed tells whether the observed result is not the expected one.
func (c Comparison) Failed() bool { return c.Verdict == Fail }
