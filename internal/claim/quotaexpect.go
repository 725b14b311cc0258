package claim

import (
	"strings"
	"sync"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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

// quotaQuestion says how one claim is judged, if it is wanted.
type quotaQuestion struct {
	kind   result.ClaimKind
	wanted func(*QuotaExpect) bool
	ask    func(j *quotaJudge, id string) result.Claim
}

// quotaQuestions are all questions, in the order of the claims.
var quotaQuestions = [...]quotaQuestion{
	{result.ClaimQuotaConventions, func(e *QuotaExpect) bool { return e.Conventions },
		told((*quotaJudge).conventions)},
	{result.ClaimQuotaAgrees, func(e *QuotaExpect) bool { return e.Agree }, told((*quotaJudge).agrees)},
	{result.ClaimQuotaStable, func(e *QuotaExpect) bool { return e.Stable }, told((*quotaJudge).stable)},
	{result.ClaimQuotaCounts, func(e *QuotaExpect) bool { return e.Counts },
		told(alone((*quotaJudge).counts))},
	{result.ClaimQuotaLimit, func(e *QuotaExpect) bool { return e.Limit }, told((*quotaJudge).toldLimit)},
	{result.ClaimQuotaReset, func(e *QuotaExpect) bool { return e.Reset },
		told(alone((*quotaJudge).toldReset))},
	{result.ClaimQuotaDenials, func(e *QuotaExpect) bool { return e.Denials },
		told(alone((*quotaJudge).denials))},
	{result.ClaimQuotaBody, func(e *QuotaExpect) bool { return e.Body }, (*quotaJudge).toldBody},
}

// judgeQuota returns a claim for each one that e has, in the order of questions; nil: e has none. It reads
// r.Target. If no answer says anything on a claim, it is Inconclusive: needs-failed with Unpromised set if
// the target did not promise it, otherwise too-few. The first claim on fields names those whose meaning is
// unknown.
func judgeQuota(r *Recording, e QuotaExpect) (out []result.Claim) {
	j := &quotaJudge{Recording: r, fresh: e.Fresh}
	j.tellers = sync.OnceValue(j.tellingAnswers)
	j.again = sync.OnceValue(j.deniedAgain)
	for _, q := range quotaQuestions {
		if q.wanted(&e) {
			out = append(out, q.ask(j, string(q.kind)))
		}
	}
	return out
}

// quotaJudge is a recording with what several of these claims need.
type quotaJudge struct {
	*Recording
	// tellers are the answers that state a quota. They are computed when they are first needed.
	tellers func() []teller
	// again are the denials that followed a denial (deniedAgain). They are computed when they are first
	// needed.
	again func() map[int]*timeline.Observation
	// fresh: a partition is new at its first request.
	fresh bool
	// noted: a claim has already named the fields whose meaning is unknown.
	noted bool
}

// reading judges tellers, which is not empty.
type reading func(j *quotaJudge, id string, tellers []teller) result.Claim

// told asks the question if answers state a quota. The first such claim names the fields that are not judged.
func told(ask reading) func(*quotaJudge, string) result.Claim {
	return func(j *quotaJudge, id string) (c result.Claim) {
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
	}
}

// alone asks a question whose answers others on the same partitions may change.
func alone(ask reading) reading {
	return func(j *quotaJudge, id string, t []teller) result.Claim { return j.Alone(ask(j, id, t)) }
}
