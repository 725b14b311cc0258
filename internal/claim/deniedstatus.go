package claim

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/claim/answer"
	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

const deniedStatusID = string(verdict.ClaimDeniedStatus)

// deniedStatus judges that every denial has one of the expected statuses. It leaves out denials without a
// status, which recordings of other tools may have.
func (r *recording) deniedStatus(e *Expect) verdict.Claim {
	expected := e.DeniedStatus
	obs := answer.Only(answer.Denied(r.Target), func(o *timeline.Observation) bool { return o.Status != 0 })
	if c, ok := r.Unheard(deniedStatusID); ok {
		return c
	}
	bad := answer.Only(obs, func(o *timeline.Observation) bool {
		return !slices.Contains(expected, o.Status)
	})
	text := fmt.Sprintf("%d of %s have status %s", len(obs)-len(bad), quantity.Plural(len(obs), "denial"),
		phrase.OneOf(expected))
	chances := verdict.Of(len(obs), "denials whose status was read")
	if len(bad) == 0 {
		return verdict.Settle(deniedStatusID, text, chances)
	}
	return verdict.Settle(deniedStatusID, text, chances, finding.Count(verdict.DeniedStatus, bad,
		fmt.Sprintf("%d of %s have status %s, expected is %s: %s", len(bad),
			quantity.Plural(len(obs), "denial"), phrase.OneOf(answer.Statuses(bad)), phrase.OneOf(expected),
			phrase.Seqs(bad))))
}
