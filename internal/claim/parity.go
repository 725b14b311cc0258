package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/claim/answer"
	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// parity judges that the answers of one phase have the fields and statuses of another phase, as HEAD has
// those of GET (RFC 9110 section 9.3.2). What all answers of one outcome have in the other phase is expected
// of each answer in this one. Fields about the content, or about caches on the way, are not compared.
func (r *recording) parity(e ParityExpect) verdict.Claim {
	id := verdict.ClaimParity.ID(e.Phase)
	var findings []verdict.Finding
	var names []string
	judged, asked, outcomes := 0, 0, 0
	for _, outcome := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
		of := func(phase string) []*timeline.Observation {
			return answer.Only(r.Target, func(o *timeline.Observation) bool {
				return o.Phase == phase &&
					o.Outcome == outcome
			})
		}
		like, mine := of(e.Like), of(e.Phase)
		if len(like) == 0 {
			continue
		}
		if asked++; len(mine) == 0 {
			continue
		}
		judged, outcomes = judged+len(mine), outcomes+1
		for _, name := range common(like) {
			lacks := answer.Only(mine, func(o *timeline.Observation) bool {
				_, ok := o.Fields.Get(name)
				return !ok
			})
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			if len(lacks) > 0 {
				findings = append(findings, finding.Count(verdict.FieldMissing, lacks,
					fmt.Sprintf("%s is in all %s of phase %s to %s requests (#%d), but missing in %d "+
						"of %d of phase %s: %s",
						name, quantity.Plural(len(like), "answer"), phrase.Quote(e.Like),
						outcome, like[0].Seq, len(lacks), len(mine), phrase.Quote(e.Phase),
						phrase.Seqs(lacks))))
			}
		}
		known := answer.Statuses(like)
		if bad := answer.Only(mine,
			func(o *timeline.Observation) bool { return !slices.Contains(known, o.Status) }); len(bad) > 0 {
			findings = append(findings, finding.Count(verdict.AnsweredOtherwise, bad,
				fmt.Sprintf("%s requests of phase %s are answered %s, those of phase %s %s: %s", outcome,
					phrase.Quote(e.Like), phrase.OneOf(known), phrase.Quote(e.Phase),
					phrase.OneOf(answer.Statuses(bad)), phrase.Seqs(bad))))
		}
	}
	slices.Sort(names)
	of := fmt.Sprintf("outcomes that both phase %s and phase %s have", phrase.Quote(e.Phase),
		phrase.Quote(e.Like))
	return verdict.Settle(id, fmt.Sprintf("%s of phase %s have what those of phase %s have: status, %s",
		quantity.Plural(judged, "answer"), phrase.Quote(e.Phase), phrase.Quote(e.Like),
		strings.Join(names, ", ")), verdict.Chances{Seen: outcomes, Demanded: asked, Of: of}, findings...)
}

// common returns the fields that all of obs have and that are not about the content, ascending.
func common(obs []*timeline.Observation) []string {
	var names []string
	for _, f := range obs[0].Fields {
		all := !slices.ContainsFunc(obs,
			func(o *timeline.Observation) bool { _, ok := o.Fields.Get(f.Name); return !ok })
		if all && !slices.Contains([]string{"Content-Type", "Via", "Age", "Expires"}, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}
