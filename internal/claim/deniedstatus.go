package claim

import (
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const deniedStatusID = string(result.ClaimDeniedStatus)

// deniedStatus judges that every denial has one of the expected statuses. It leaves out denials without a
// status, which recordings of other tools may have.
func (r *Recording) deniedStatus() result.Claim {
	obs := Only(Denied(r.Target), func(o *timeline.Observation) bool { return o.Status != 0 })
	if c, ok := r.Unheard(deniedStatusID); ok {
		return c
	}
	s, bad := statuses(obs, "denial", "", r.DeniedStatus, result.DeniedStatus)
	return result.Settle(deniedStatusID, s, result.Of(len(obs), "denials whose status was read"), bad...)
}
