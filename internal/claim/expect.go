// Package claim judges what a scenario expects beyond conformance. The questions that it asks are in a table
// (expect.go). What answers carry, what they tell of a quota and what a proxy changed are rooms of their own
// (fields, quota, intact); waits, latency, the schedule and the counts of phases are judged here.
package claim

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/claim/fields"
	"github.com/rlcheck/rlcheck/internal/claim/intact"
	"github.com/rlcheck/rlcheck/internal/claim/quota"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Expect is what a scenario expects of a recording beyond conformance to its limit. The zero value expects
// nothing.
type Expect struct {
	// Fields are the groups of header fields that answers must carry.
	Fields []fields.Group
	// RetryAfter are the claims on what clients were told to wait.
	RetryAfter RetryAfterExpect
	// DeniedStatus lists the statuses a denial should have; empty: any.
	DeniedStatus []int
	// Denials bounds the denials of phases; empty: no bound.
	Denials []DenialBound
	// Latency bounds service times; empty: no bound.
	Latency []LatencyBound
	// LateP99 is how late against the plan the 99th percentile of open-loop requests may be sent, 0 for no
	// bound. A schedule that was not kept is Inconclusive (schedule-missed), never Fail.
	LateP99 time.Duration
	// Intact compares the answers of the origin with those through the target; nil: not compared.
	Intact *intact.Expect
	// Quota are the claims on what answers tell of the quota.
	Quota quota.Expect
	// Answers are the statuses that the answers of phases must have; empty: any.
	Answers []AnswerBound
	// Barred are the phases of which nothing may be admitted; may be empty.
	Barred []string
	// Parity compares the answers of phases; empty: none.
	Parity []ParityExpect
	// Attributes are the phases whose clients send each second request otherwise; may be empty.
	Attributes []AttributeExpect
	// Limits are the limits of the phases that have one of their own, by the names of their requests in the
	// recording; an empty one where none counts the phase. What follows from a limit is asked of partitions
	// that only one of them counts.
	Limits map[string]spec.Limit
	// Counted are the phases between two counts of denials by the target itself, in the order of the counts;
	// may be empty.
	Counted [][]string
	// Storms are the phases whose retries are told of; may be empty.
	Storms []StormExpect
	// Bodiless are the phases whose answers have no body, since they are HEAD requests; may be empty.
	Bodiless []string
	// Promised is what the target promised to have. A claim on what it did not promise, and was never seen
	// to have, is Inconclusive (needs-failed) with Unpromised set. What is seen is held to its rules,
	// promised or not.
	Promised []verdict.Promise
	// Shared tells that others may use the same partitions: what they take explains a denial. Used tells that
	// an earlier run may have used them.
	Shared, Used bool
}

// RetryAfterExpect are the claims on Retry-After.
type RetryAfterExpect struct {
	// Honored: a client that waited as told, and had no rival on its partition meanwhile, is admitted.
	Honored bool
	// Waits is the fewest waits that must be seen honored for a PASS; 0 for 2. One wait proves little: what
	// is cut to the second holds at some phases of it.
	Waits int
	// NotLonger: nobody is told to wait longer than the limit needs, rounded up to the unit of the field.
	NotLonger bool
}

// DenialBound is the most denials a phase may have.
type DenialBound struct {
	Phase string
	Max   int
	// Unlimited tells that no limit counts the phase: then no denial is explained.
	Unlimited bool
}

// AnswerBound is which statuses the answers of a phase must have.
type AnswerBound struct {
	Phase  string
	Status []int
}

// ParityExpect says that the answers of Phase have the fields of those of Like.
type ParityExpect struct{ Phase, Like string }

// Sharing says whether two kinds of requests of one client draw on one quota.
type Sharing string

// The sharings. Either is told and not judged.
const (
	OneQuota  Sharing = "shared"
	TwoQuotas Sharing = "separate"
	Either    Sharing = "either"
)

// AttributeExpect is a phase of one client whose requests are those of two partitions: plain ones, and those
// of timeline.OtherSide, which differ in Attribute.
type AttributeExpect struct {
	Phase     string
	Attribute timeline.Attribute
	Sharing   Sharing
	// Moot says why they do not differ; empty: they do.
	Moot string
	// Unsure: not to see which it is leaves nothing open.
	Unsure bool
}

// StormExpect is a phase of Clients clients that retry, each until one request of it is admitted. Drained
// demands that each is.
type StormExpect struct {
	Phase   string
	Clients int
	Drained bool
}

// LatencyBound is the largest service time (FirstByte - Sent) that a quantile of the answers with an outcome
// may have.
type LatencyBound struct {
	Outcome timeline.Outcome
	// Quantile is in (0, 1].
	Quantile float64
	Max      time.Duration
}

// question is how the claims of one kind are judged: as many as a scenario asks for.
type question struct {
	// kind is empty where the claims say theirs.
	kind verdict.ClaimKind
	ask  func(*recording, *Expect) []verdict.Claim
}

// questions are all that can be asked, in the order of the claims.
var questions = [...]question{
	{"", func(r *recording, e *Expect) (out []verdict.Claim) {
		for _, g := range e.Fields {
			out = append(out, fields.Judge(r.Recording, g, e.Bodiless))
		}
		return out
	}},
	where(verdict.ClaimRetryAfterHonored, func(e *Expect) bool { return e.RetryAfter.Honored },
		(*recording).honored),
	where(verdict.ClaimRetryAfterNotLonger, func(e *Expect) bool { return e.RetryAfter.NotLonger },
		(*recording).notLonger),
	where(verdict.ClaimDeniedStatus, func(e *Expect) bool { return len(e.DeniedStatus) > 0 },
		(*recording).deniedStatus),
	{verdict.ClaimDenials, each(func(e *Expect) []DenialBound { return e.Denials }, (*recording).denials)},
	{"", func(r *recording, e *Expect) []verdict.Claim { return quota.Judge(r.Recording, e.Quota) }},
	{verdict.ClaimAnswers, each(func(e *Expect) []AnswerBound { return e.Answers }, (*recording).answers)},
	{verdict.ClaimBarred, each(func(e *Expect) []string { return e.Barred }, (*recording).barred)},
	{verdict.ClaimParity, each(func(e *Expect) []ParityExpect { return e.Parity }, (*recording).parity)},
	where(verdict.ClaimAttributes, func(e *Expect) bool { return len(e.Attributes) > 0 },
		(*recording).attributes),
	where(verdict.ClaimOwnCount, func(e *Expect) bool { return len(e.Counted) > 0 },
		(*recording).ownCount),
	{verdict.ClaimStorm, each(func(e *Expect) []StormExpect { return e.Storms }, (*recording).storm)},
	{verdict.ClaimLatency, each(func(e *Expect) []LatencyBound { return e.Latency }, (*recording).latency)},
	where(verdict.ClaimIntact, func(e *Expect) bool { return e.Intact != nil },
		func(r *recording, e *Expect) verdict.Claim { return intact.Judge(r.Recording, *e.Intact) }),
	where(verdict.ClaimSchedule, func(e *Expect) bool { return e.LateP99 > 0 }, (*recording).schedule),
}

// each asks once for each element of a list.
func each[T any](list func(*Expect) []T, judge func(*recording, T) verdict.Claim) func(*recording,
	*Expect) []verdict.Claim {
	return func(r *recording, e *Expect) (out []verdict.Claim) {
		for _, x := range list(e) {
			out = append(out, judge(r, x))
		}
		return out
	}
}

// where asks once, where it is wanted.
func where(kind verdict.ClaimKind, wanted func(*Expect) bool,
	judge func(*recording, *Expect) verdict.Claim) question {
	return question{kind, func(r *recording, e *Expect) []verdict.Claim {
		if !wanted(e) {
			return nil
		}
		return []verdict.Claim{judge(r, e)}
	}}
}
