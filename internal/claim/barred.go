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
	var asked, lost int
	var admitted []*timeline.Observation
	for i := range r.Observations {
		o := &r.Observations[i]
		if o.Phase != phase || o.Origin {
			continue
		}
		asked++
		switch {
		case !o.Answered:
			lost++
		case o.Outcome == timeline.Allowed:
			admitted = append(admitted, o)
		}
	}
	s := fmt.Sprintf("%d of %s of phase %s were admitted, expected none", len(admitted),
		text.Plural(asked, "request"), Quote(phase))
	chances := result.Of(asked-lost, "answers of phase "+Quote(phase)+", whose clients have no quota")
	switch {
	case len(admitted) > 0:
		return result.Settle(id, s, chances,
			Count(result.AdmittedBarred, admitted, s+": "+Seqs(admitted)))
	case lost > 0:
		return TooFew(id, fmt.Sprintf("%s; %s not answered", s, text.Plural(lost, "request")))
	default:
		return result.Settle(id, s, chances)
	}
}
