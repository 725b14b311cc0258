// Package claim judges what a scenario expects beyond conformance: header fields and bodies of denials, what
// answers say of the quota, what a proxy must not change, waits, latency, the schedule and the counts of
// phases. expect.go has the table of its questions. It also judges how clients retry after a denial
// (JudgeClients).
//
// # Client
//
// A request arrives later than it was sent, and a denial is read later than it was written. So the server
// sees at least the time that the client waited. If that time is too short at the server, the client's wait
// was too short. A recording alone cannot tell whether a request is a retry: see Options.Same.
package claim

import (
	"cmp"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Judge returns one claim for each expectation of e, in a fixed order: fields, Retry-After, status, denials
// by phase, quota, answers, barred phases, parity, attributes, storms, latency, intactness, schedule. A claim
// fails only on evidence that no noise explains, and then has at least one finding. Observations without an
// answer or a known outcome accuse nobody, except in a phase in which the target stopped answering.
//
// limit is used for retry-after-not-longer, for the waits of intact and for attributes. It may be empty;
// retry-after-not-longer is then Inconclusive. The observations of tl must ascend by Sent. Those of the
// origin count for intact only. It costs one pass over tl for each claim, and sorts.
func Judge(tl *timeline.Timeline, limit spec.Limit, e Expect) []result.Claim {
	return judge(tl, limit, e, check.LongestWaits)
}

func judge(tl *timeline.Timeline, limit spec.Limit, e Expect, longest LongestWaits) []result.Claim {
	r := newRecording(tl, limit, e, longest)
	var claims []result.Claim
	for _, q := range questions {
		for _, c := range q.ask(r) {
			c.Kind = cmp.Or(c.Kind, q.kind, result.KindOf(c.ID))
			result.NameRules(c.Kind, c.Findings)
			claims = append(claims, c)
		}
	}
	return claims
}

// Lacks tells whether e does not promise p, and no answer of tl shows it, not even a broken one.
func Lacks(tl *timeline.Timeline, e Expect, p result.Promise) bool {
	return LacksFields(newRecording(tl, nil, e, nil), p)
}

// Expect is what a scenario expects of a recording beyond conformance to its limit. The zero value expects
// nothing.
type Expect struct {
	// Fields are the groups of header fields that answers must carry.
	Fields []Group
	// RetryAfter are the claims on the waits that clients were told.
	RetryAfter RetryAfterExpect
	// DeniedStatus are the statuses that a denial should have. Empty: any.
	DeniedStatus []int
	// Denials bounds the denials of phases. Empty: no bound.
	Denials []DenialBound
	// Latency bounds service times. Empty: no bound.
	Latency []LatencyBound
	// Errors is the most requests that may have neither an admission nor a denial for an answer. Empty: any
	// number.
	Errors []int
	// LateP99 is how late against the plan the 99th percentile of open-loop requests may be sent, 0: no
	// bound. A missed plan is Inconclusive (schedule-missed), never Fail.
	LateP99 time.Duration
	// Intact compares the answers of the origin with those through the target. nil: they are not compared.
	Intact *IntactExpect
	// Quota are the claims on what answers say of the quota.
	Quota QuotaExpect
	// Answers are the statuses that the answers of phases must have. Empty: any.
	Answers []AnswerBound
	// Barred are the phases in which nothing may be admitted. May be empty.
	Barred []string
	// Parity compares the answers of phases. Empty: none.
	Parity []ParityExpect
	// Attributes are the phases whose clients send every second request otherwise. May be empty.
	Attributes []AttributeExpect
	// Limits are the limits of phases that have their own, by the names of their requests in the recording.
	// An empty limit: no limit counts the phase. Claims that follow from a limit judge partitions that only
	// one limit counts.
	Limits map[string]spec.Limit
	// Counted are the phases between two counts of denials by the target itself, in the order of the counts.
	// May be empty.
	Counted [][]string
	// Storms are the phases whose retries are reported. May be empty.
	Storms []StormExpect
	// Bodiless are the phases with HEAD requests, whose answers have no body. May be empty.
	Bodiless []string
	// Promised are the promises of the target. A claim on something that it did not promise, and was never
	// seen to have, is Inconclusive (needs-failed) with Unpromised set. Whatever is seen must keep its rules,
	// promised or not.
	Promised []result.Promise
	// Shared: others may use the same partitions, which explains a denial. Used: an earlier run may have used
	// them.
	Shared, Used bool
	// Kept: the recording keeps the fields of answers, so an answer without fields has none that count.
	Kept bool
}

// RetryAfterExpect are the claims on Retry-After.
type RetryAfterExpect struct {
	// Honored: a client is admitted if it waited as told, and had no rival on its partition meanwhile.
	Honored bool
	// Waits is the fewest honored waits that a PASS must see; 0: 2. One wait proves little, since a wait that
	// is cut to the second may be long enough by chance.
	Waits int
	// NotLonger: nobody is told to wait longer than the limit needs, rounded up to the unit of the field.
	NotLonger bool
	// Spread is by which share of itself a wait may be too long on purpose; 0: by nothing.
	Spread float64
}

// DenialBound is the most denials that a phase may have.
type DenialBound struct {
	Phase string
	Max   int
	// Unlimited: no limit counts the phase, so no denial is explained.
	Unlimited bool
}

// AnswerBound lists the statuses that the answers of a phase may have.
type AnswerBound struct {
	Phase  string
	Status []int
}

// ParityExpect says that the answers of Phase must have the fields of those of Like.
type ParityExpect struct{ Phase, Like string }

// Sharing says whether two kinds of requests of one client draw on one quota.
type Sharing string

// The sharings. Either is reported and not judged.
const (
	OneQuota  Sharing = "shared"
	TwoQuotas Sharing = "separate"
	Either    Sharing = "either"
)

// AttributeExpect is a phase of one client with the requests of two partitions: plain ones, and those of
// timeline.OtherSide, which differ in Attribute.
type AttributeExpect struct {
	Phase     string
	Attribute timeline.Attribute
	Sharing   Sharing
	// Moot says why they do not differ. Empty: they do.
	Moot string
	// Unsure: if it is not seen which sharing holds, nothing stays open.
	Unsure bool
}

// StormExpect is a phase of Clients clients that retry until one request of each is admitted. Drained demands
// that each client is admitted.
type StormExpect struct {
	Phase   string
	Clients int
	Drained bool
}

// LatencyBound is the largest service time (FirstByte - Sent) that a quantile of the answers with one outcome
// may have.
type LatencyBound struct {
	Outcome timeline.Outcome
	// Quantile is in (0, 1].
	Quantile float64
	Max      time.Duration
	// SLO: the user stated the bound for all scenarios.
	SLO bool
}

// question says how the claims of one kind are judged. A scenario may ask for several.
type question struct {
	// kind is empty if the claims have their own.
	kind result.ClaimKind
	ask  func(*Recording) []result.Claim
}

// questions are all questions, in the order of the claims.
var questions = [...]question{
	{"", each(func(e *Expect) []Group { return e.Fields }, judgeFields)},
	where(result.ClaimRetryAfterHonored, func(e *Expect) bool { return e.RetryAfter.Honored }, judgeHonored),
	where(result.ClaimRetryAfterNotLonger, func(e *Expect) bool { return e.RetryAfter.NotLonger },
		judgeNotLonger),
	where(result.ClaimDeniedStatus, func(e *Expect) bool { return len(e.DeniedStatus) > 0 },
		judgeDeniedStatus),
	{result.ClaimDenials, each(func(e *Expect) []DenialBound { return e.Denials }, judgeDenials)},
	told(result.ClaimQuotaConventions, func(e *QuotaExpect) bool { return e.Conventions }, judgeConventions),
	told(result.ClaimQuotaAgrees, func(e *QuotaExpect) bool { return e.Agree }, judgeAgrees),
	told(result.ClaimQuotaStable, func(e *QuotaExpect) bool { return e.Stable }, judgeStable),
	told(result.ClaimQuotaCounts, func(e *QuotaExpect) bool { return e.Counts }, alone(judgeCounts)),
	told(result.ClaimQuotaLimit, func(e *QuotaExpect) bool { return e.Limit }, judgeToldLimit),
	told(result.ClaimQuotaReset, func(e *QuotaExpect) bool { return e.Reset }, alone(judgeToldReset)),
	told(result.ClaimQuotaDenials, func(e *QuotaExpect) bool { return e.Denials }, alone(judgeDeniedLimit)),
	where(result.ClaimQuotaBody, func(e *Expect) bool { return e.Quota.Body }, judgeToldBody),
	{result.ClaimAnswers, each(func(e *Expect) []AnswerBound { return e.Answers }, judgeAnswers)},
	{result.ClaimBarred, each(func(e *Expect) []string { return e.Barred }, judgeBarred)},
	{result.ClaimParity, each(func(e *Expect) []ParityExpect { return e.Parity }, judgeParity)},
	where(result.ClaimAttributes, func(e *Expect) bool { return len(e.Attributes) > 0 }, judgeAttributes),
	where(result.ClaimOwnCount, func(e *Expect) bool { return len(e.Counted) > 0 }, judgeOwnCount),
	{result.ClaimStorm, each(func(e *Expect) []StormExpect { return e.Storms }, judgeStorm)},
	{"", each(func(e *Expect) []LatencyBound { return e.Latency }, judgeLatency)},
	{result.ClaimSLO, each(func(e *Expect) []int { return e.Errors }, judgeErrors)},
	where(result.ClaimIntact, func(e *Expect) bool { return e.Intact != nil },
		func(r *Recording) result.Claim { return judgeIntact(r, *r.Intact) }),
	where(result.ClaimSchedule, func(e *Expect) bool { return e.LateP99 > 0 }, judgeSchedule),
}

// each asks the question once for each element of a list.
func each[T any](list func(*Expect) []T, judge func(*Recording, T) result.Claim,
) func(*Recording) []result.Claim {
	return func(r *Recording) (out []result.Claim) {
		for _, x := range list(&r.Expect) {
			out = append(out, judge(r, x))
		}
		return out
	}
}

// where asks the question once, if it is wanted.
func where(kind result.ClaimKind, wanted func(*Expect) bool, judge func(*Recording) result.Claim) question {
	return question{kind, func(r *Recording) []result.Claim {
		if !wanted(&r.Expect) {
			return nil
		}
		return []result.Claim{judge(r)}
	}}
}

// QuotaExpect are the claims on what answers say of the quota. An answer may leave out anything. The zero
// value expects nothing.
type QuotaExpect struct {
	// Conventions: no rule is broken, not even a rule that is only a convention.
	Conventions bool
	// Agree: the dialects of one answer state the same limit and the same remaining units.
	Agree bool
	// Stable: all answers state one limit to a partition.
	Stable bool
	// Counts: the remaining units fall by the cost of each request, and rise no faster than the limit gives
	// units back.
	Counts bool
	// Limit: the stated limit is the declared one. Reset: quota comes back at the stated time, which is that
	// of one more unit at the earliest and of all units at the latest.
	Limit, Reset bool
	// Denials: a denial states the limit that denied.
	Denials bool
	// Body: the numbers in the body of a denial are those of its header fields.
	Body bool
	// Fresh: a partition is new at its first request, so its remaining units are known then.
	Fresh bool
}

// reading judges tellers, which is not empty.
type reading func(j *Recording, id string, tellers []teller) result.Claim

// told asks a question, if it is wanted, of answers that state a quota. If no answer says anything on it,
// the claim is Inconclusive: needs-failed with Unpromised set if the target did not promise it, otherwise
// too-few. The first such claim names the fields that are not judged.
func told(kind result.ClaimKind, wanted func(*QuotaExpect) bool, ask reading) question {
	id := string(kind)
	asked := func(e *Expect) bool { return wanted(&e.Quota) }
	return where(kind, asked, func(j *Recording) (c result.Claim) {
		switch tellers := j.tellers(); {
		case len(tellers) == 0 && !j.promised() && j.KeepsFields():
			const what = "fields that state the quota"
			c = Unpromised(id, result.PromiseRateLimit, len(j.Target), "answer", what)
		case len(tellers) == 0:
			c = TooFew(id, "no answer states a quota")
		default:
			c = ask(j, id, tellers)
		}
		if !j.noted {
			j.noted = true
			if c.Unjudged = j.unjudged(j.Target); len(c.Unjudged) > 0 {
				c.Text += "; sent, but not judged: " + strings.Join(c.Unjudged, ", ")
			}
		}
		return c
	})
}

// alone asks a question whose answers others on the same partitions may change.
func alone(ask reading) reading {
	return func(j *Recording, id string, t []teller) result.Claim { return j.Alone(ask(j, id, t)) }
}
