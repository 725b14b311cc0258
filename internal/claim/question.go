package claim

import (
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// question is how the claims of one kind are judged: as many as a scenario asks for.
type question struct {
	// kind is empty where the claims say theirs.
	kind verdict.ClaimKind
	ask  func(*recording, *Expect) []verdict.Claim
}

// questions are all that can be asked, in the order of the claims.
var questions = [...]question{
	{"", each(func(e *Expect) []FieldGroup { return e.Fields }, (*recording).fields)},
	where(verdict.ClaimRetryAfterHonored, func(e *Expect) bool { return e.RetryAfter.Honored },
		(*recording).honored),
	where(verdict.ClaimRetryAfterNotLonger, func(e *Expect) bool { return e.RetryAfter.NotLonger },
		(*recording).notLonger),
	where(verdict.ClaimDeniedStatus, func(e *Expect) bool { return len(e.DeniedStatus) > 0 },
		(*recording).deniedStatus),
	{verdict.ClaimDenials, each(func(e *Expect) []DenialBound { return e.Denials }, (*recording).denials)},
	ofQuota(verdict.ClaimQuotaConventions, func(e *Expect) bool { return e.Quota.Conventions },
		(*recording).conventions),
	ofQuota(verdict.ClaimQuotaAgrees, func(e *Expect) bool { return e.Quota.Agree }, (*recording).agrees),
	ofQuota(verdict.ClaimQuotaStable, func(e *Expect) bool { return e.Quota.Stable }, (*recording).stable),
	ofQuota(verdict.ClaimQuotaCounts, func(e *Expect) bool { return e.Quota.Counts },
		alone((*recording).counts)),
	ofQuota(verdict.ClaimQuotaLimit, func(e *Expect) bool { return e.Quota.Limit }, (*recording).toldLimit),
	ofQuota(verdict.ClaimQuotaReset, func(e *Expect) bool { return e.Quota.Reset },
		alone((*recording).toldReset)),
	where(verdict.ClaimQuotaBody, func(e *Expect) bool { return e.Quota.Body }, (*recording).toldBody),
	{verdict.ClaimAnswers, each(func(e *Expect) []AnswerBound { return e.Answers }, (*recording).answers)},
	{verdict.ClaimBarred, each(func(e *Expect) []string { return e.Barred }, (*recording).barred)},
	{verdict.ClaimParity, each(func(e *Expect) []ParityExpect { return e.Parity }, (*recording).parity)},
	where(verdict.ClaimAttributes, func(e *Expect) bool { return len(e.Attributes) > 0 },
		(*recording).attributes),
	where(verdict.ClaimOwnCount, func(e *Expect) bool { return len(e.Counted) > 0 },
		(*recording).ownCount),
	{verdict.ClaimStorm, each(func(e *Expect) []StormExpect { return e.Storms }, (*recording).storm)},
	{verdict.ClaimLatency, each(func(e *Expect) []LatencyBound { return e.Latency }, (*recording).latency)},
	where(verdict.ClaimIntact, func(e *Expect) bool { return e.Intact != nil }, (*recording).intact),
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

// alone is a judge of what answers tell that others on the same partitions may make wrong.
func alone(judge func(r *recording, id string, t []teller) verdict.Claim) func(*recording, string,
	[]teller) verdict.Claim {
	return func(r *recording, id string, t []teller) verdict.Claim { return r.alone(judge(r, id, t)) }
}

// ofQuota is where for what answers tell of the quota: it is judged where they tell of one. The first such
// claim says what is told and not judged.
func ofQuota(kind verdict.ClaimKind, wanted func(*Expect) bool,
	judge func(r *recording, id string, t []teller) verdict.Claim) question {
	id := string(kind)
	return where(kind, wanted, func(r *recording, _ *Expect) verdict.Claim {
		var c verdict.Claim
		switch tellers := r.tellers(); {
		case len(tellers) == 0 && r.lacks(verdict.PromiseRateLimit):
			const what = "fields that tell the quota"
			c = unpromised(id, verdict.PromiseRateLimit, len(r.target), "answer", what)
		case len(tellers) == 0:
			c = tooFew(id, "no answer tells a quota")
		default:
			c = judge(r, id, tellers)
		}
		c.Text += r.unread()
		return c
	})
}
