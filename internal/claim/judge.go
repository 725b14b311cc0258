package claim

import (
	"cmp"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Judge returns one claim for each expectation of e, in a fixed order: fields, Retry-After, status, denials
// by phase, quota, answers, barred phases, parity, attributes, storms, latency, intactness, schedule. A claim
// fails only on evidence that no noise explains, and then has at least one finding. Observations without an
// answer or a known outcome accuse nobody, except in a phase in which the target stopped answering.
//
// limit is used for retry-after-not-longer, for the waits of intact and for attributes. It may be empty;
// retry-after-not-longer is then Inconclusive. The observations of tl must ascend by Sent. Those of the
// origin count for intact only. It costs one pass over tl for each claim, and sorts.
func Judge(tl *timeline.Timeline, limit spec.Limit, e Expect) []result.Claim {
	return judge(tl, limit, e, check.LongestWaits)
}

func judge(tl *timeline.Timeline, limit spec.Limit, e Expect, longest LongestWaits) []result.Claim {
	r := newRecording(tl, limit, e, longest)
	var claims []result.Claim
	for _, q := range questions {
		for _, c := range q.ask(r) {
			c.Kind = cmp.Or(c.Kind, q.kind, result.KindOf(c.ID))
			result.NameRules(c.Kind, c.Findings)
			claims = append(claims, c)
		}
	}
	return claims
}

// Lacks tells whether e does not promise p, and no answer of tl shows it, not even a broken one.
func Lacks(tl *timeline.Timeline, e Expect, p result.Promise) bool {
	return LacksFields(newRecording(tl, nil, e, nil), p)
}
