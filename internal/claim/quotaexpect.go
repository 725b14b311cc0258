package claim

import (
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
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
