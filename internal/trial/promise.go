package trial

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// charged judges conformance when it is unknown whether the target charges costs. A recording that
// contradicts the limit with costs may come from a limiter that ignores costs. Costs may then be neither
// promised nor visible in the recording. In that case each request counts one unit, and costs are not judged.
// The header says so (SingleUnits), so that the recording is judged alike later.
func charged(tl *timeline.Timeline, s *scenario.Scenario) (result.Claim, *result.Judgement) {
	tl.Header.Judged.SingleUnits = false
	c, j := conformance(tl, s, recordedOptions(s, tl))
	if c.Verdict != result.Fail || s.Promised(result.PromiseCost) || !costly(tl) ||
		s.Cost != (scenario.Told{}) {
		return c, j
	}
	single := &timeline.Timeline{Header: tl.Header, Observations: slices.Clone(tl.Observations),
		Spool: tl.Spool}
	single.Header.Judged.SingleUnits = true
	for i := range single.Observations {
		single.Observations[i].Cost = 1
	}
	o := recordedOptions(s, tl)
	o.Conformance, o.Hint, o.SkipMeasure = result.LowerBound, false, true
	if early, _ := conformance(single, s, o); early.Verdict == result.Fail {
		// Denied earlier than one unit a request explains. If costs explain it, they were charged. If not,
		// that is what is known, whatever a request costs.
		o = recordedOptions(s, tl)
		o.Conformance = result.LowerBound
		if both, j := conformance(tl, s, o); s.Expect.Conformance == scenario.Exact &&
			both.Verdict == result.Fail {
			return both, j
		}
		return c, j
	}
	tl.Header.Judged.SingleUnits = true
	if c, j := conformance(single, s, recordedOptions(s, tl)); c.Verdict == result.Fail {
		return c, j
	}
	return result.Claim{ID: c.ID, Kind: c.Kind, Reason: result.NeedsFailed, Unpromised: result.PromiseCost,
		Text: "no request was seen to take more than one unit, and the target does not promise costs " +
			"in X-Cost (where its answers tell what they cost: cost: {body: usage.total_tokens})"}, nil
}

// unpriced notes that nobody knows what a denied request would have cost, if answers tell costs and the
// scenario does not say what its requests cost. Where a request must fit, that excuses its denial.
func unpriced(tl *timeline.Timeline, s *scenario.Scenario) {
	fits := func(p spec.Policy) bool { return p.Asks(0) == 0 }
	if !s.Cost.ByAnswers() || !slices.ContainsFunc(s.Limit, fits) {
		return
	}
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Denied && o.Cost == 1 {
			o.Cost = timeline.CostUnknown
		}
	}
}

func costly(tl *timeline.Timeline) bool {
	for o := range tl.All() {
		if o.Cost > 1 {
			return true
		}
	}
	return false
}

// freeCosts tells whether requests of s have costs, and nothing says that the target charges them.
func freeCosts(s *scenario.Scenario) bool {
	costs := slices.ContainsFunc(s.Phases, func(p scenario.Phase) bool { return p.Priced })
	return costs && !s.Promised(result.PromiseCost) && s.Cost == (scenario.Told{})
}

// untaken marks claims that could not be judged, because the target refuses a method, as unpromised, so that
// they do not count.
func untaken(claims []result.Claim, tl *timeline.Timeline, s *scenario.Scenario) []result.Claim {
	text := refused(tl, s)
	if text == "" || s.Promised(result.PromiseMethods) {
		return claims
	}
	for i := range claims {
		c := &claims[i]
		if c.Reason == result.TooFew || c.Reason == result.UnclassifiedStatus {
			c.Reason, c.Unpromised = result.NeedsFailed, result.PromiseMethods
		}
	}
	return append(claims, result.Claim{ID: string(result.ClaimMethodsTaken),
		Kind: result.ClaimMethodsTaken, Reason: result.NeedsFailed, Text: text,
		Unpromised: result.PromiseMethods})
}

// refused names the methods that the target does not support: each of their answers that is not a denial says
// so. It is empty if the target takes all methods. The method of the target itself is never named.
func refused(tl *timeline.Timeline, s *scenario.Scenario) string {
	methods := map[string]string{}
	for _, p := range s.Phases {
		for _, name := range p.Observed() {
			methods[name] = cmp.Or(p.Method, s.Target.Method)
		}
	}
	if !slices.ContainsFunc(s.Phases, func(p scenario.Phase) bool {
		return p.Method != "" && p.Method != s.Target.Method
	}) {
		return "" // spares reading a long recording
	}
	taken, answers := map[string]bool{}, map[string][]int{}
	for o := range tl.All() {
		m := methods[o.Phase]
		switch {
		case !o.Answered || o.Origin || o.Outcome == timeline.Denied:
		case o.Outcome == timeline.Unknown && noSuchMethod(o.Status):
			answers[m] = append(answers[m], o.Status)
		default:
			taken[m] = true
		}
	}
	var out []string
	for m, statuses := range answers {
		if !taken[m] && m != s.Target.Method {
			slices.Sort(statuses)
			out = append(out, fmt.Sprintf("%d %s requests were answered %s", len(statuses), m,
				strings.Trim(fmt.Sprint(slices.Compact(statuses)), "[]")))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// noSuchMethod tells whether a status says that a route does not take a method (RFC 9110 sections 15.5.5,
// 15.5.6, 15.6.2).
func noSuchMethod(status int) bool {
	no := []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}
	return slices.Contains(no, status)
}

// about returns the promise that s is about. It is empty for rate limit fields of which the target was seen
// to send some: then a missing part is no reason not to judge the rest.
func about(tl *timeline.Timeline, s *scenario.Scenario) result.Promise {
	if s.About == result.PromiseRateLimit && !claim.Lacks(tl.Beginning(), s.Expect.Expect, s.About) {
		return ""
	}
	return s.About
}
