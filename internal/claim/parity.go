package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// parity judges that the answers of one phase have the fields and statuses of another phase, as HEAD has
// those of GET (RFC 9110 section 9.3.2). What all answers of one outcome have in the other phase is expected
// of each answer in this one. Fields about the content, or about caches on the way, are not compared.
func (r *Recording) parity(e ParityExpect) result.Claim {
	id := result.ClaimParity.ID(e.Phase)
	var findings []result.Finding
	var names []string
	judged, asked, outcomes := 0, 0, 0
	for _, outcome := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
		of := func(phase string) []*timeline.Observation {
			return Only(r.Target, func(o *timeline.Observation) bool {
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
			lacks := Only(mine, func(o *timeline.Observation) bool {
				_, ok := o.Fields.Get(name)
				return !ok
			})
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			if len(lacks) > 0 {
				findings = append(findings, Count(result.FieldMissing, lacks,
					fmt.Sprintf("%s is in all %s of phase %s to %s requests (#%d), but missing in %d "+
						"of %d of phase %s: %s",
						name, text.Plural(len(like), "answer"), text.Quote(e.Like),
						outcome, like[0].Seq, len(lacks), len(mine), text.Quote(e.Phase),
						Seqs(lacks))))
			}
		}
		known := Statuses(like)
		if bad := Only(mine,
			func(o *timeline.Observation) bool { return !slices.Contains(known, o.Status) }); len(bad) > 0 {
			findings = append(findings, Count(result.AnsweredOtherwise, bad,
				fmt.Sprintf("%s requests of phase %s are answered %s, those of phase %s %s: %s", outcome,
					text.Quote(e.Like), OneOf(known), text.Quote(e.Phase),
					OneOf(Statuses(bad)), Seqs(bad))))
		}
	}
	slices.Sort(names)
	of := fmt.Sprintf("outcomes that both phase %s and phase %s have", text.Quote(e.Phase),
		text.Quote(e.Like))
	return result.Settle(id, fmt.Sprintf("%s of phase %s have what those of phase %s have: status, %s",
		text.Plural(judged, "answer"), text.Quote(e.Phase), text.Quote(e.Like),
		strings.Join(names, ", ")), result.Chances{Seen: outcomes, Demanded: asked, Of: of}, findings...)
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
