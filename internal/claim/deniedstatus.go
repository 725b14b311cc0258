package claim

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const deniedStatusID = string(result.ClaimDeniedStatus)

// deniedStatus judges that every denial has one of the expected statuses. It leaves out denials without a
// status, which recordings of other tools may have.
func (r *Recording) deniedStatus() result.Claim {
	expected := r.DeniedStatus
	obs := Only(Denied(r.Target), func(o *timeline.Observation) bool { return o.Status != 0 })
	if c, ok := r.Unheard(deniedStatusID); ok {
		return c
	}
	bad := Only(obs, func(o *timeline.Observation) bool {
		return !slices.Contains(expected, o.Status)
	})
	s := fmt.Sprintf("%d of %s have status %s", len(obs)-len(bad), text.Plural(len(obs), "denial"),
		OneOf(expected))
	chances := result.Of(len(obs), "denials whose status was read")
	if len(bad) == 0 {
		return result.Settle(deniedStatusID, s, chances)
	}
	return result.Settle(deniedStatusID, s, chances, Count(result.DeniedStatus, bad,
		fmt.Sprintf("%d of %s have status %s, expected is %s: %s", len(bad),
			text.Plural(len(obs), "denial"), OneOf(Statuses(bad)), OneOf(expected),
			Seqs(bad))))
}
