package claim

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// barred judges that nothing of a phase was admitted, since its clients have a limit of nothing. Any other
// answer is no admission.
func (r *recording) barred(phase string) verdict.Claim {
	id := verdict.ClaimBarred.ID(phase)
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
	text := fmt.Sprintf("%d of %s of phase %s were admitted, expected none", len(admitted),
		quantity.Plural(asked, "request"), phrase.Quote(phase))
	chances := verdict.Of(asked-lost, "answers of phase "+phrase.Quote(phase)+", whose clients have no quota")
	switch {
	case len(admitted) > 0:
		return verdict.Settle(id, text, chances,
			finding.Count(verdict.AdmittedBarred, admitted, text+": "+phrase.Seqs(admitted)))
	case lost > 0:
		return finding.TooFew(id, fmt.Sprintf("%s; %s not answered", text, quantity.Plural(lost, "request")))
	default:
		return verdict.Settle(id, text, chances)
	}
}
