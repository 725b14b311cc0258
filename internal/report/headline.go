package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Headline says the result of a run, behind its verdict: 36 scenarios: 34 PASS, 2 FAIL (burst, replicas), in
// 2m16s. It separates failures that do not count. Of an identified limit it is the SPEC.
func Headline(r *result.Run, strict bool) string {
	return headline(r, strict, " in "+text.Brief(r.Duration))
}

// headline is Headline, with how long a single scenario took.
func headline(r *result.Run, strict bool, took string) string {
	if len(r.Scenarios) == 0 {
		return strings.TrimSuffix("nothing was judged in "+text.Brief(r.Duration)+interruption(r), ", ")
	}
	if len(r.Scenarios) == 1 {
		s := &r.Scenarios[0]
		words := s.ID
		if s.Answer != "" && s.Verdict == result.Pass {
			words = s.Limit.String()
		}
		words += took
		if s.Verdict == result.Fail && !s.Weighs(strict) {
			words += ": its FAIL does not count (" + s.Kind + ")"
		}
		return words + interruption(r)
	}
	var parts []string
	add := func(word string, ids []string) {
		if len(ids) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", len(ids), word))
		}
	}
	ids := map[string][]string{}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		word := strings.ToUpper(s.Verdict.String())
		if s.Verdict == result.Fail && !s.Weighs(strict) {
			word = "uncounted"
		}
		if s.Uncounted() {
			word = "needs"
		}
		ids[word] = append(ids[word], s.ID)
	}
	add("PASS", ids["PASS"])
	add("FAIL"+few(ids["FAIL"]), ids["FAIL"])
	never := "FAIL that do not count"
	if len(ids["uncounted"]) == 1 {
		never = "FAIL that does not count"
	}
	add(never+few(ids["uncounted"]), ids["uncounted"])
	add("INCONCLUSIVE"+few(ids["INCONCLUSIVE"]), ids["INCONCLUSIVE"])
	add("not judged", ids["needs"])
	return fmt.Sprintf("%s: %s, in %s%s", text.Plural(len(r.Scenarios), "scenario"),
		strings.Join(parts, ", "), text.Brief(r.Duration), interruption(r))
}

func interruption(r *result.Run) string {
	switch n := len(r.NotBegun); {
	case r.Interrupted && n > 0:
		return fmt.Sprintf("; interrupted, %d not begun%s", n, few(r.NotBegun))
	case n > 0:
		return fmt.Sprintf("; %s: %d not begun%s", Stopped(r), n, few(r.NotBegun))
	case r.Interrupted:
		return "; interrupted"
	}
	return ""
}

// Stopped says why scenarios of r have not begun.
func Stopped(r *result.Run) string {
	answers := func(s result.Scenario) bool { return len(s.Statuses) > 0 }
	switch {
	case r.Interrupted:
		return "interrupted"
	case slices.ContainsFunc(r.Scenarios, answers):
		return "stopped, no answer is an admission or a denial"
	default:
		return "stopped, the target takes no connection"
	}
}

// few names scenarios in brackets if they are few.
func few(ids []string) string {
	if len(ids) > 3 {
		return ""
	}
	return " (" + strings.Join(ids, ", ") + ")"
}

// PolicyLines says what the scenarios of a run together measured, one line for each policy of the limit.
// Empty: nothing was measured.
func PolicyLines(r *result.Run) []string {
	p := r.Policy
	if p == nil {
		return nil
	}
	var out []string
	for i, one := range p.Limit {
		m := p.Measured.Of(i, len(p.Limit))
		line := "measured " + parameter(r, i, one.Noun(), one.FullText(), m, "")
		if !one.InFlight() {
			line += ", " + parameter(r, i, "rate", one.RateText(), m, "/s")
		}
		if len(r.Scenarios) > 1 {
			who := text.Plural(len(p.From), "scenario") + " that declare"
			if len(p.From) == 1 {
				who += "s"
			}
			line += fmt.Sprintf(" (%s %s)", who, one)
		}
		out = append(out, line)
	}
	return out
}

// parameter says what was measured of one parameter of policy i: burst 21..21 (declared 20).
func parameter(r *result.Run, i int, noun, declared string, m result.Measured, unit string) string {
	one := r.Policy.Limit[i]
	v, s := result.SeenBurst(one, m.Burst).Finite(), text.Whole
	if unit == "" {
		declared += result.OneSided(one, m.Burst)
	} else {
		v, s = m.Rate.Finite(), text.PerSecond
	}
	switch {
	case unit != "" && result.Refuted(m.Burst, one):
		return "rate not known: the declared " + one.Noun() + " does not hold"
	case v.Empty():
		return "no single " + noun + ": " + contradiction(r, i, unit)
	case !v.LoSet && !v.HiSet:
		return noun + " not measured (" + r.LimitWord() + " " + declared + ")"
	default:
		return fmt.Sprintf("%s %s (%s %s)", noun, v.Text("at least ", "at most ", unit, s), r.LimitWord(),
			declared)
	}
}

// contradiction names the two scenarios that are farthest apart on a parameter of policy i, or the scenario
// that no value fits.
func contradiction(r *result.Run, i int, unit string) string {
	type one struct {
		id string
		v  result.Interval
	}
	words := text.Whole
	if unit != "" {
		words = text.PerSecond
	}
	var low, high []one
	for k := range r.Scenarios {
		s := &r.Scenarios[k]
		if !slices.Contains(r.Policy.From, s.ID) || s.Judgement == nil {
			continue
		}
		m := s.Judgement.Measured.Of(i, len(r.Policy.Limit))
		v := m.Burst.Finite()
		if unit != "" {
			v = m.Rate.Finite()
		}
		if v.Empty() {
			return "no value fits the recording of " + s.ID
		}
		if v.LoSet {
			high = append(high, one{s.ID, v})
		}
		if v.HiSet {
			low = append(low, one{s.ID, v})
		}
	}
	if len(low) == 0 || len(high) == 0 {
		return "the scenarios contradict each other"
	}
	a := slices.MaxFunc(high, func(a, b one) int { return cmp.Compare(a.v.Lo, b.v.Lo) })
	b := slices.MinFunc(low, func(a, b one) int { return cmp.Compare(a.v.Hi, b.v.Hi) })
	return fmt.Sprintf("%s %s, %s %s", a.id, result.IntervalText(a.v, unit, words), b.id,
		b.v.Text("at least ", "at most ", unit, words))
}

// WithContradiction returns r with its contradiction as a scenario of its own, behind the others. It returns
// r itself if there is none.
func WithContradiction(r *result.Run, strict bool) *result.Run {
	if r.Policy == nil || r.Policy.Contradiction == nil {
		return r
	}
	out := *r
	s := result.Scenario{ID: string(result.ClaimOneLimiter), Kind: result.Informative,
		Title: "One limiter made all recordings of the run", Verdict: result.Fail,
		Claims: []result.Claim{{ID: string(result.ClaimOneLimiter), Kind: result.ClaimOneLimiter,
			Verdict: result.Fail, Text: r.Policy.Contradiction.Text}}}
	if r.Contradicted(strict) {
		s.Kind = result.Required
	}
	out.Scenarios = append(slices.Clone(r.Scenarios), s)
	return &out
}

// evidenceAbout returns the lines on all scenarios of a run together: what they measured, and what explains
// them.
func evidenceAbout(r *result.Run) []string {
	out := PolicyLines(r)
	if r.Hint != nil {
		out = append(out, "perhaps: "+r.Hint.Text)
	}
	return out
}
