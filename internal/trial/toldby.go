package trial

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// toldByField finds out whether the clients of a failing recording are told apart by a field that requests of
// some phase invent. The declared limit must explain the recording if each of these requests is a client of
// its own. Other requests must meet the limit, since a target without a limit has no clients.
func toldByField(tl *timeline.Timeline, s *scenario.Scenario, o check.Options) *result.Diagnosis {
	if k := s.Partition.Kind; k != scenario.ByNone && k != scenario.ByAddress {
		return nil
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		if len(p.Forge) != 1 {
			continue
		}
		apart := &timeline.Timeline{Header: tl.Header, Observations: slices.Clone(tl.Observations)}
		denied := false
		for k := range apart.Observations {
			if x := &apart.Observations[k]; slices.Contains(p.Observed(), x.Phase) {
				x.Partition += "#" + strconv.Itoa(k)
			} else {
				denied = denied || x.Outcome == timeline.Denied
			}
		}
		if !denied {
			continue
		}
		o := check.Options{Conformance: o.Conformance, Shared: o.Shared, SkipMeasure: true, VerdictOnly: true}
		if _, j, _, err := judged(apart, terms(s, apart).Limits, o); err != nil || j.Verdict == result.Fail {
			continue
		}
		return &result.Diagnosis{Kind: result.ToldByField,
			Text: fmt.Sprintf("clients seem to be told apart by %[1]s, which a client can invent: if "+
				"that is meant, try --partition header:%[1]s", p.Forge[0]),
			Why: fmt.Sprintf("if each %s is another client, the declared limit explains all answers; if "+
				"not, it does not", p.Forge[0])}
	}
	return nil
}
