// Package quota judges what answers say of a quota: its limit, the remaining units, when it comes back, and
// whether the header fields and the body of an answer agree.
package quota

import (
	"sync"

	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/recorded"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Expect are the claims on what answers say of the quota. An answer may leave out anything. The zero value
// expects nothing.
type Expect struct {
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
	// Body: the numbers in the body of a denial are those of its header fields.
	Body bool
	// Fresh: a partition is new at its first request, so its remaining units are known then.
	Fresh bool
}

// question says how one claim is judged, if it is wanted.
type question struct {
	kind   verdict.ClaimKind
	wanted func(*Expect) bool
	ask    func(j *judge, id string) verdict.Claim
}

// questions are all questions, in the order of the claims.
var questions = [...]question{
	{verdict.ClaimQuotaConventions, func(e *Expect) bool { return e.Conventions },
		told((*judge).conventions)},
	{verdict.ClaimQuotaAgrees, func(e *Expect) bool { return e.Agree }, told((*judge).agrees)},
	{verdict.ClaimQuotaStable, func(e *Expect) bool { return e.Stable }, told((*judge).stable)},
	{verdict.ClaimQuotaCounts, func(e *Expect) bool { return e.Counts }, told(alone((*judge).counts))},
	{verdict.ClaimQuotaLimit, func(e *Expect) bool { return e.Limit }, told((*judge).toldLimit)},
	{verdict.ClaimQuotaReset, func(e *Expect) bool { return e.Reset }, told(alone((*judge).toldReset))},
	{verdict.ClaimQuotaBody, func(e *Expect) bool { return e.Body }, (*judge).toldBody},
}

// Judge returns a claim for each one that e has, in the order of questions; nil: e has none. It reads
// r.Target. If no answer says anything on a claim, it is Inconclusive: needs-failed with Unpromised set if
// the target did not promise it, otherwise too-few. The first claim on fields names those whose meaning is
// unknown.
func Judge(r *recorded.Recording, e Expect) (out []verdict.Claim) {
	j := &judge{Recording: r, fresh: e.Fresh}
	j.tellers = sync.OnceValue(j.tellingAnswers)
	j.again = sync.OnceValue(j.deniedAgain)
	for _, q := range questions {
		if q.wanted(&e) {
			out = append(out, q.ask(j, string(q.kind)))
		}
	}
	return out
}

// judge is a recording with what several of these claims need.
type judge struct {
	*recorded.Recording
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
type reading func(j *judge, id string, tellers []teller) verdict.Claim

// told asks the question if answers state a quota. The first such claim names the fields that are not judged.
func told(ask reading) func(*judge, string) verdict.Claim {
	return func(j *judge, id string) (c verdict.Claim) {
		switch tellers := j.tellers(); {
		case len(tellers) == 0 && !j.promised() && j.KeepsFields():
			const what = "fields that state the quota"
			c = finding.Unpromised(id, verdict.PromiseRateLimit, len(j.Target), "answer", what)
		case len(tellers) == 0:
			c = finding.TooFew(id, "no answer states a quota")
		default:
			c = ask(j, id, tellers)
		}
		if !j.noted {
			j.noted = true
			c.Text += unjudged(j.Target)
		}
		return c
	}
}

// alone asks a question whose answers others on the same partitions may change.
func alone(ask reading) reading {
	return func(j *judge, id string, t []teller) verdict.Claim { return j.Alone(ask(j, id, t)) }
}
