// Package claim judges what a scenario expects beyond conformance: header fields, Retry-After, latency, the schedule,
// and what a proxy may not change.
package claim

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Expect is what a scenario expects of a recording beyond conformance to its limit. The zero value expects nothing.
type Expect struct {
	// Fields are the groups of header fields that answers must carry.
	Fields []FieldGroup
	// RetryAfter are the claims on what clients were told to wait.
	RetryAfter RetryAfterExpect
	// DeniedStatus lists the statuses a denial should have; empty: any.
	DeniedStatus []int
	// Denials bounds the denials of phases; empty: no bound.
	Denials []DenialBound
	// Latency bounds service times; empty: no bound.
	Latency []LatencyBound
	// LateP99 is how late against the plan the 99th percentile of open-loop requests may be sent, 0 for no bound. A
	// schedule that was not kept is Inconclusive (schedule-missed), never Fail.
	LateP99 time.Duration
	// Intact compares the answers of the origin with those through the target; nil: not compared.
	Intact *IntactExpect
}

// FieldGroup names a group of header fields.
type FieldGroup string

// The groups. RetryAfterField: every denial has a valid Retry-After. RateLimitFields: every answer, allowed or denied,
// tells its quota in some dialect. DateField: every answer has a Date. ProblemBody: every denial has an
// application/problem+json body.
const (
	RetryAfterField FieldGroup = "retry-after"
	RateLimitFields FieldGroup = "ratelimit"
	DateField       FieldGroup = "date"
	ProblemBody     FieldGroup = "problem"
)

// RetryAfterExpect are the claims on Retry-After.
type RetryAfterExpect struct {
	// Honored: a client that waited as told, and had no rival on its partition meanwhile, is admitted.
	Honored bool
	// NotLonger: nobody is told to wait longer than the limit needs, rounded up to the unit of the field.
	NotLonger bool
}

// DenialBound is the most denials a phase may have.
type DenialBound struct {
	Phase string
	Max   int
}

// LatencyBound is the largest service time (FirstByte - Sent) that a quantile of the answers with an outcome may have.
type LatencyBound struct {
	Outcome timeline.Outcome
	// Quantile is in (0, 1].
	Quantile float64
	Max      time.Duration
}

// IntactExpect says what must arrive through a proxy as the origin sent it.
type IntactExpect struct {
	// Fields are canonical names of header fields; a name ending in * stands for all that begin so.
	Fields []string
	// Status and Body: the status, and the media type and beginning of a denial's body.
	Status, Body bool
}
