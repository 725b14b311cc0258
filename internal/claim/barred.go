package claim

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// barred judges that nothing of a phase was admitted, since its clients have a limit of nothing. Any other
// answer is no admission.
func (r *Recording) barred(phase string) result.Claim {
	id := result.ClaimBarred.ID(phase)
	asked := r.sent(phase)
	lost := Only(asked, func(o *timeline.Observation) bool { return !o.Answered })
	admitted := Only(asked,
		func(o *timeline.Observation) bool { return o.Answered && o.Outcome == timeline.Allowed })
	s := fmt.Sprintf("%d of %s of phase %s were admitted, expected none", len(admitted),
		text.Plural(len(asked), "request"), text.Quote(phase))
	chances := result.Of(len(asked)-len(lost),
		"answers of phase "+text.Quote(phase)+", whose clients have no quota")
	switch {
	case len(admitted) > 0:
		return result.Settle(id, s, chances,
			Count(result.AdmittedBarred, admitted, s+": "+Seqs(admitted)))
	case len(lost) > 0:
		return TooFew(id, fmt.Sprintf("%s; %s not answered", s, text.Plural(len(lost), "request")))
	default:
		return result.Settle(id, s, chances)
	}
}
