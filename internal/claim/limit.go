package claim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// toldLimit judges that each answer states a declared limit: what a policy admits at once, its rate as
// declared, or its rate in the unit that the field names. An answer may also state other policies.
func (j *Recording) toldLimit(id string, tellers []teller) result.Claim {
	var bad []*timeline.Observation
	var seen []string
	first, rule, judged := "", "", 0
	for _, t := range tellers {
		limit := j.LimitOf(t.o)
		if len(limit) == 0 || !slices.ContainsFunc(t.quotas, tellsLimit) {
			continue
		}
		judged++
		odd, ok := undeclared(slices.Concat(t.quotas, headers.NumericPolicies(t.o.Fields.Get)), limit)
		switch {
		case ok:
			seen = append(seen, limitsOf(t.quotas)...)
		case len(bad) == 0:
			if odd.Dialect == headers.PolicyByNumber || odd.Dialect == headers.XPolicy {
				rule = "R3-POLICY"
			}
			first = fmt.Sprintf("#%d states %s (%s), but %s", t.o.Seq, limitText(odd), odd.Dialect,
				declaredText(limit))
			if odd.HasLimit && odd.Window == 0 {
				first += unnamedUnit(odd.Limit, limit)
			}
			fallthrough
		default:
			bad = append(bad, t.o)
		}
	}
	chances := result.Of(judged, "answers that state a limit")
	switch {
	case len(bad) > 0:
		text := fmt.Sprintf("%d of %s state a limit that is not the declared one", len(bad),
			text.Plural(judged, "answer"))
		return result.Settle(id, text, chances, Witness(result.Finding{Kind: result.LimitOtherwise,
			Seen: int64(len(bad)), Rule: rule,
			Text: text + ": " + first + "; so do " + Seqs(bad)}, bad...))
	case judged > 0:
		slices.Sort(seen)
		return result.Settle(id, fmt.Sprintf("the limit that %s state is the declared one: %s",
			text.Plural(judged, "answer"), strings.Join(slices.Compact(seen), ", ")), chances)
	case len(j.Limit) == 0:
		return uncompared(id)
	default:
		return j.silent(id, tellers, "a limit", tellsLimit)
	}
}

// undeclared returns the first quota of a dialect in which no limit is a declared one. ok=true: there is
// none.
func undeclared(quotas []headers.Quota, limit spec.Limit) (odd headers.Quota, ok bool) {
	for _, q := range quotas {
		if !tellsLimit(q) || slices.ContainsFunc(quotas, func(x headers.Quota) bool {
			return x.Dialect == q.Dialect && x.HasLimit && declares(limit, x.Limit, x.Window)
		}) {
			continue
		}
		return q, false
	}
	return headers.Quota{}, true
}

func limitText(q headers.Quota) string {
	switch {
	case !tellsLimit(q):
		return "no limit"
	case q.Unlimited:
		return "that nothing limits the client (-1)"
	case q.Window > 0:
		return fmt.Sprintf("a limit of %d in %s", q.Limit, text.Brief(q.Window))
	default:
		return fmt.Sprintf("a limit of %d", q.Limit)
	}
}

func limitsOf(quotas []headers.Quota) (out []string) {
	for _, q := range quotas {
		if q.HasLimit {
			out = append(out, fmt.Sprint(q.Limit))
		}
	}
	return out
}

// declares tells whether a policy of limit has told units: at once, in its rate as declared, or in window (0:
// none).
func declares(limit spec.Limit, told int64, window time.Duration) bool {
	return slices.ContainsFunc(limit, func(p spec.Policy) bool {
		tight, loose := p.Ends()
		within := func(least, most int64) bool { return least <= told && told <= most }
		queue := p.Queued() && within(tight.Queue, loose.Queue)
		if queue || within(tight.Full(), loose.Full()) || within(tight.Rate.N, loose.Rate.N) {
			return true
		}
		return window > 0 && within(ratePer(tight.Rate.N, p.LongestWindow(), window)-1,
			ratePer(loose.Rate.N, p.Rate.Per, window)+1)
	})
}

// ratePer returns the units that a rate of n in per gives in window, cut to a whole number.
func ratePer(n int64, per, window time.Duration) int64 {
	return int64(float64(n) * (float64(window) / float64(per)))
}

// declaredText says which limits a field may state.
func declaredText(limit spec.Limit) string {
	var parts []string
	for _, p := range limit {
		part := p.FullText() + " at once"
		if p.Full() != p.Rate.N {
			part += " and " + p.RateText()
		}
		parts = append(parts, part)
	}
	return "the declared limit has " + strings.Join(parts, "; ")
}

// unnamedUnit says in which unit of time a limit is the rate, if no field names the unit. Empty: in none.
func unnamedUnit(told int64, limit spec.Limit) string {
	units := []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}
	for i, name := range []string{"a second", "a minute", "an hour", "a day"} {
		for _, p := range limit {
			if ratePer(p.Rate.N, p.Rate.Per, units[i]) == told {
				return " (it is the rate in " + name + ", which no field says)"
			}
		}
	}
	return ""
}
