package claim

import (
	"cmp"
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

// teller is an answer that states its quota.
type teller struct {
	o        *timeline.Observation
	quotas   []headers.Quota
	problems []headers.Problem
}

// tellingAnswers returns the answers that state a quota, or break a rule in trying to.
func (j *Recording) tellingAnswers() []teller {
	var out []teller
	for _, o := range j.Target {
		at, _ := Date(o)
		t := teller{o: o}
		if t.quotas, t.problems = headers.Quotas(o.Fields.Get, at); len(t.quotas)+len(t.problems) > 0 {
			out = append(out, t)
		}
	}
	if j.limitless(out) {
		for i := range out {
			out[i].problems = slices.DeleteFunc(out[i].problems, lacksLimit)
		}
	}
	return out
}

// limitless tells whether no answer states a limit, not even a broken one, and nobody promised it. Some
// limiters, such as Spring Cloud Gateway, state only the remaining units.
func (j *Recording) limitless(tellers []teller) bool {
	tells := func(t teller) bool {
		_, a := t.o.Fields.Get("X-Ratelimit-Limit")
		_, b := t.o.Fields.Get("X-Rate-Limit-Limit")
		return a || b || slices.ContainsFunc(t.quotas, tellsLimit)
	}
	return !j.promised() && !slices.ContainsFunc(tellers, tells)
}

// promised tells whether the target promised to state its quota.
func (j *Recording) promised() bool { return slices.Contains(j.Promised, result.PromiseRateLimit) }

// lacksLimit tells whether the problem is that the remaining units are stated without a limit.
func lacksLimit(p headers.Problem) bool {
	return p.Rule == headers.XRSet && strings.HasSuffix(p.Field, "-Remaining")
}

// withhold tells whether all answers leave out one part of the quota, and nobody promised it.
func (j *Recording) withhold(tellers []teller, has func(headers.Quota) bool) bool {
	tells := func(t teller) bool { return len(t.problems) > 0 || stating(has)(t) }
	return !j.promised() && !slices.ContainsFunc(tellers, tells)
}

// stating returns a function that tells whether an answer has such a quota.
func stating(has func(headers.Quota) bool) func(teller) bool {
	return func(t teller) bool { return slices.ContainsFunc(t.quotas, has) }
}

// silent returns the claim on a part that no answer states: nobody promised it, or there are too few answers.
func (j *Recording) silent(id string, tellers []teller, what string, has func(headers.Quota) bool,
) result.Claim {
	if j.withhold(tellers, has) {
		return Unpromised(id, result.PromiseRateLimit, len(tellers), "answer", what)
	}
	return TooFew(id, "no answer states "+what)
}

// moot returns the claim on something that the answers leave nothing to compare of. It does not count.
func moot(id, text string) result.Claim {
	return result.Claim{ID: id, Reason: result.NeedsFailed, Text: text, Moot: true}
}

// uncompared returns the claim on what is stated where no limit is declared.
func uncompared(id string) result.Claim {
	return result.Claim{ID: id, Reason: result.NeedsFailed, Text: "no limit is declared to compare with"}
}

// tellsLimit, tellsRemaining and tellsReset say what a quota of an answer states. A reset may count from a
// Date that is missing.
func tellsLimit(q headers.Quota) bool     { return q.HasLimit || q.Unlimited }
func tellsRemaining(q headers.Quota) bool { return q.HasRemaining }
func tellsReset(q headers.Quota) bool     { return q.Form != "" }

// judgeConventions judges that no answer breaks a rule, not even a rule that is only a convention.
func judgeConventions(j *Recording, id string, tellers []teller) result.Claim {
	var all Broken
	bad := 0
	for _, t := range tellers {
		problems := slices.DeleteFunc(slices.Clone(t.problems), func(p headers.Problem) bool {
			return p.Rule == headers.RLTLeW && j.needsLonger(t)
		})
		for _, q := range t.quotas {
			if q.Dialect == headers.XRateLimit &&
				(q.Form == headers.EpochMS || q.Form == headers.EpochUS || q.Form == headers.EpochNS) {
				problems = append(problems, headers.Problem{Rule: headers.XRReset, Field: "X-RateLimit-Reset",
					Value: string(q.Form),
					Why:   "a reset is in seconds", Mend: "divide it"})
			}
		}
		for _, p := range problems {
			all.Add(p, t.o)
		}
		if len(problems) > 0 {
			bad++
		}
	}
	return result.Settle(id, fmt.Sprintf("%d of %s that state a quota break no rule", len(tellers)-bad,
		text.Plural(len(tellers), "answer")), result.Of(len(tellers), "answers that state a quota"),
		all.Findings(len(tellers), "answer", "fields that state the quota")...)
}

// needsLonger tells whether an answer states a time beyond the window of its policy because the declared
// limit takes so long: it bans, or weighs the window before.
func (j *Recording) needsLonger(t teller) bool {
	limit := j.LimitOf(t.o)
	return len(limit) > 0 && !slices.ContainsFunc(t.quotas, func(q headers.Quota) bool {
		return q.HasReset && q.Window > 0 && q.Reset > q.Window && q.Reset > longestReset(limit, q)+q.Unit
	})
}

// single returns the quota of each dialect in which the answer states exactly one.
func (t *teller) single() []headers.Quota {
	count := map[headers.Dialect]int{}
	for _, q := range t.quotas {
		count[q.Dialect]++
	}
	return slices.DeleteFunc(slices.Clone(t.quotas),
		func(q headers.Quota) bool { return count[q.Dialect] > 1 })
}

// judgeAgrees judges that the dialects of each answer state one limit and one number of remaining units. Each
// dialect may state another one of several policies.
func judgeAgrees(j *Recording, id string, tellers []teller) result.Claim {
	var limits, left conflict
	compared := 0
	for _, t := range tellers {
		quotas := t.single()
		if len(quotas) > 1 {
			compared++
		}
		for i := 1; i < len(quotas); i++ {
			a, b := quotas[0], quotas[i]
			if len(j.LimitOf(t.o)) > 1 && a.HasLimit && b.HasLimit && a.Limit != b.Limit {
				continue
			}
			if a.HasLimit && b.HasLimit && a.Limit != b.Limit {
				limits.add(t.o, fmt.Sprintf("%s states a limit of %d and %s a limit of %d",
					a.Dialect, a.Limit,
					b.Dialect, b.Limit))
			}
			if a.HasRemaining && b.HasRemaining && a.Remaining != b.Remaining {
				left.add(t.o, fmt.Sprintf("%s says that %d remain and %s that %d do", a.Dialect, a.Remaining,
					b.Dialect, b.Remaining))
			}
		}
	}
	if compared == 0 {
		return moot(id, fmt.Sprintf("%s state their quota in only one dialect",
			text.Plural(len(tellers), "answer")))
	}
	return result.Settle(id, fmt.Sprintf("the dialects of %s were compared",
		text.Plural(compared, "answer")), result.Of(compared, "answers with two dialects"),
		append(limits.findings(), left.findings()...)...)
}

// conflict collects the answers that contradict themselves, with the first contradiction in words.
type conflict struct {
	obs   []*timeline.Observation
	first string
}

func (c *conflict) add(o *timeline.Observation, what string) {
	if len(c.obs) == 0 {
		c.first = what
	}
	if len(c.obs) == 0 || c.obs[len(c.obs)-1] != o {
		c.obs = append(c.obs, o)
	}
}

func (c *conflict) findings() []result.Finding {
	if len(c.obs) == 0 {
		return nil
	}
	return []result.Finding{Count(result.QuotaConflict, c.obs,
		fmt.Sprintf("#%d: %s; in all %s: %s", c.obs[0].Seq, c.first, text.Plural(len(c.obs), "answer"),
			Seqs(c.obs)))}
}

// judgeStable judges that all answers state one limit to each partition for each policy. Without names, they
// may state as many limits as there are policies.
func judgeStable(j *Recording, id string, tellers []teller) result.Claim {
	type policy struct {
		partition string
		dialect   headers.Dialect
		// name is that of the policy, limit that of the phase.
		name, limit string
	}
	first := map[policy]*timeline.Observation{}
	limits := map[policy][]int64{}
	var told []string
	var moved conflict
	again := 0
	for _, t := range tellers {
		for _, q := range t.quotas {
			limit := j.LimitOf(t.o)
			k := policy{t.o.Partition, q.Dialect, q.Name, limit.String()}
			most := 1
			if q.Name == "" {
				most = max(1, len(limit))
			}
			if q.HasLimit && len(limits[k]) > 0 {
				again++
			}
			switch {
			case !q.HasLimit, slices.Contains(limits[k], q.Limit):
			case len(limits[k]) < most:
				first[k] = cmp.Or(first[k], t.o)
				limits[k], told = append(limits[k], q.Limit), append(told, fmt.Sprint(q.Limit))
			default:
				moved.add(t.o, fmt.Sprintf("%s states a limit of %d, and #%d stated a limit of %d", q.Dialect,
					q.Limit, first[k].Seq, limits[k][0]))
			}
		}
	}
	if len(first) == 0 {
		return j.silent(id, tellers, "a limit", tellsLimit)
	}
	slices.SortFunc(told,
		func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return result.Settle(id, fmt.Sprintf("each partition gets one limit: %s",
		strings.Join(slices.Compact(told), ", ")), result.Of(again, "answers that state a limit again"),
		moved.findings()...)
}

// judgeToldLimit judges that each answer states a declared limit: what a policy admits at once, its rate as
// declared, or its rate in the unit that the field names. An answer may also state other policies.
func judgeToldLimit(j *Recording, id string, tellers []teller) result.Claim {
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
