package claim

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// errors judges that at most so many requests had neither an admission nor a denial for an answer: a status
// that is neither, or no answer from a target that was reached. Requests that did not reach the target accuse
// nobody. Neither do answers that a busy recorder may have missed.
func (r *Recording) errors(most int) result.Claim {
	id := result.ClaimSLO.ID("errors")
	sent, unread := 0, 0
	var bad []*timeline.Observation
	for i := range r.Observations {
		o := &r.Observations[i]
		if o.Origin {
			continue
		}
		sent++
		switch {
		case o.Outcome != timeline.Unknown:
		case o.Answered, !ours(o) && r.overloaded() == "":
			bad = append(bad, o)
		default:
			unread++
		}
	}
	s := fmt.Sprintf("%s of %s had an error, bound %s", text.Thousands(len(bad)),
		text.Plural(sent, "request"), text.Thousands(most))
	chances := result.Of(sent, "requests that were sent")
	switch {
	case len(bad) > most:
		finding := Count(result.Errors, bad, s+": "+Seqs(bad))
		finding.Bound = int64(most)
		return result.Settle(id, s, chances, finding)
	case len(bad)+unread > most:
		return TooFew(id, fmt.Sprintf("%s; %s did not reach the target, or rlcheck was too late to read the "+
			"answer", s, text.Plural(unread, "more request")))
	}
	return result.Settle(id, s, chances)
}
