// Package quota judges what answers tell of a quota: its limit, what remains of it, when it comes back, and
// whether the header fields and the body of an answer tell the same.
package quota

import (
	"sync"

	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/recorded"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Expect are the claims on what answers tell of the quota. What an answer leaves out is no failure. The zero
// value expects nothing.
type Expect struct {
	// Conventions: no rule is broken, not even one that only convention makes.
	Conventions bool
	// Agree: the dialects of one answer tell the same limit and the same remaining units.
	Agree bool
	// Stable: a partition is told one limit.
	Stable bool
	// Counts: the remaining units fall by the cost of each request, and do not rise faster than the limit
	// gives back.
	Counts bool
	// Limit: the limit that is told is the declared one. Reset: quota comes back when an answer tells, as
	// soon as one more unit does and no later than all of it.
	Limit, Reset bool
	// Body: the numbers in the body of a denial are those of its header fields.
	Body bool
	// Fresh tells that a partition is new at its first request, so that the remaining units then are known.
	Fresh bool
}

// question is how one claim is judged, where it is wanted.
type question struct {
	kind   verdict.ClaimKind
	wanted func(*Expect) bool
	ask    func(j *judge, id string) verdict.Claim
}

// questions are all that can be asked, in the order of the claims.
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

// Judge returns a claim for each that e has, in the order of questions; nil for none. It reads r.Target.
// Where no answer tells what a claim is about, that is Inconclusive: needs-failed with Unpromised set where
// the target did not promise it, too-few where it did. The first claim on the fields names those that nothing
// explains.
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

// judge is a recording with what several of these claims need of it.
type judge struct {
	*recorded.Recording
	// tellers are the answers that tell of a quota, computed when first asked for.
	tellers func() []teller
	// again are the denials that followed a denial, see deniedAgain, computed when first asked for.
	again func() map[int]*timeline.Observation
	// fresh tells that a partition is new at its first request.
	fresh bool
	// noted tells that a claim has said which fields tell something that nothing explains.
	noted bool
}

// reading judges what tellers tell, of which there is at least one.
type reading func(j *judge, id string, tellers []teller) verdict.Claim

// told asks where answers tell of a quota. The first such claim says what is told and not judged.
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

// alone is a judge of what answers tell that others on the same partitions may make wrong.
func alone(ask reading) reading {
	return func(j *judge, id string, t []teller) verdict.Claim { return j.Alone(ask(j, id, t)) }
}
