package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// cause is one thing to act on, and all scenarios that show it. What each of them found stays in the page and
// the JSON: here is the clearest.
type cause struct {
	verdict verdict.Verdict
	// counts tells that a failure of one of them counts.
	counts bool
	// ids are the scenarios, each once, in the order of the run; witness is that of the clearest finding.
	ids     []string
	witness string
	// file is where the scenario of the witness was read from.
	file string
	// e is the finding with the fewest requests; of an inconclusive cause, its reason and detail as a
	// sentence.
	e evidence
	// findings is how many findings there are in all; of all answers, of are those that a remark is about.
	findings, of, all int
	// remark tells that it is about the answers as a whole, first that it is to be read before any finding.
	remark, first bool
	// mend says what to do about it; may be empty.
	mend string
}

// causesOf gathers what needs action from the scenarios that did not pass: what is said of the answers of
// half of them or more first, then failures that count, others, and what stayed open; within these the cause
// of most scenarios first. raw is not cleaned, clean is; the texts of the result are clean.
//
// Note: two findings have one cause only if one other policy was found to be the nearest that explains each
// of their recordings, or if they are of one claim and kind and say the same but for their numbers. A coarser
// rule would hide a second fault behind the first.
func causesOf(raw, clean *result.Run, strict bool) []cause {
	g := &gathering{at: map[string]int{}}
	nothing := !slices.ContainsFunc(clean.Scenarios, func(s result.Scenario) bool { return !s.Uncounted() })
	for i := range clean.Scenarios {
		if clean.Scenarios[i].Uncounted() && !nothing { // a note tells of it
			continue
		}
		g.scenario(&raw.Scenarios[i], &clean.Scenarios[i], strict)
	}
	for i := range g.all {
		c := &g.all[i]
		c.first = c.e.whole || c.remark && 2*len(c.ids) >= g.scenarios
	}
	slices.SortStableFunc(g.all, func(a, b cause) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(len(b.ids), len(a.ids)))
	})
	return g.all
}

// rank orders causes by what a reader needs first.
func (c *cause) rank() int {
	switch {
	case c.first:
		return 0
	case c.verdict == verdict.Fail && c.counts:
		return 1
	case c.verdict == verdict.Fail:
		return 2
	default:
		return 3
	}
}

// gathering collects causes by their keys.
type gathering struct {
	// scenarios counts those that did not pass.
	scenarios int
	all       []cause
	at        map[string]int
}

func (g *gathering) scenario(raw, s *result.Scenario, strict bool) {
	if s.Verdict == verdict.Pass {
		return
	}
	g.scenarios++
	r, remarked := remarkOn(s)
	if remarked {
		c := g.add("remark "+r.text, s, evidence{sentence: r.text}, strict)
		c.remark, c.mend, c.of, c.all = true, r.mend, c.of+r.of, c.all+r.all
	}
	if s.Verdict == verdict.Fail {
		g.failures(raw, s, strict)
		return
	}
	var seen []string
	for _, t := range troubles(s) {
		follows := t.reason == string(verdict.UnclassifiedStatus) || t.reason == string(verdict.TooFew)
		if slices.Contains(seen, t.reason) || remarked && r.instead && follows {
			continue
		}
		seen = append(seen, t.reason)
		key := "open " + t.reason
		if t.reason != string(verdict.NeedsFailed) { // each needs something else, and one answer
			key += " " + skeleton(t.detail)
		}
		c := g.add(key, s, evidence{sentence: t.line()}, strict)
		c.mend = cmp.Or(c.mend, t.mend)
	}
}

// failures adds the failures of s, each claim of it at least once.
func (g *gathering) failures(raw, s *result.Scenario, strict bool) {
	found := failures(raw)
	if len(found) == 0 {
		found = []evidence{{claim: conformance, sentence: s.Detail}}
	}
	never := neverDenied(s)
	whole := ""
	for _, e := range found {
		key := e.claim + " " + e.kind + " "
		switch {
		case e.whole:
			whole = "whole " + e.sentence
			key = whole
		case e.claim == conformance && whole != "":
			key += whole
		case e.claim == conformance && e.hint != "":
			key += e.nearest
		case e.claim == conformance && never:
			key += "never denied"
		case e.claim == conformance:
			key += strings.Join(s.Worth(), " ") + skeleton(e.sentence)
		default:
			key += skeleton(e.sentence)
		}
		g.add(key, s, e, strict)
	}
}

// add adds one finding of s to the cause of a key, and returns the cause. The clearest finding is that of the
// fewest requests, of a scenario that counts where there is one.
func (g *gathering) add(key string, s *result.Scenario, e evidence, strict bool) *cause {
	counts := s.Verdict == verdict.Fail && s.Weighs(strict)
	i, known := g.at[key]
	if !known {
		i = len(g.all)
		g.at[key] = i
		g.all = append(g.all, cause{verdict: s.Verdict, counts: counts, ids: []string{s.ID}, witness: s.ID,
			file: s.File, e: e, findings: 1})
		return &g.all[i]
	}
	c := &g.all[i]
	c.findings++
	if e.hint != c.e.hint { // what else would explain it is another policy in each recording
		e.hint, c.e.hint = e.nearest, c.e.nearest
	}
	c.verdict = verdict.Worst(c.verdict, s.Verdict)
	if !slices.Contains(c.ids, s.ID) {
		c.ids = append(c.ids, s.ID)
	}
	if counts && !c.counts || counts == c.counts && e.requests < c.e.requests {
		c.e, c.file, c.witness = e, s.File, s.ID
	}
	c.counts = c.counts || counts
	return c
}

// The parts of a sentence that differ between two findings of one kind.
var (
	listed  = regexp.MustCompile(`#\d+(, #\d+)*( and [\d,]+ more)?`)
	figures = regexp.MustCompile(`\d[\d.,:]*`)
)

// skeleton is a sentence without its numbers.
func skeleton(text string) string {
	return figures.ReplaceAllString(listed.ReplaceAllString(text, "#"), "0")
}

// who names the scenarios of a cause: the first, and how many more.
func (c *cause) who() string {
	who := c.witness
	if n := len(c.ids) - 1; n > 0 {
		who += fmt.Sprintf(" and %d more", n)
	}
	if c.e.claim != conformance && c.e.claim != "" {
		who += ": " + c.e.claim
	}
	return who
}

// sentence is what was found, and of how many requests where it is about all of them.
func (c *cause) sentence() string {
	if c.all == 0 {
		return c.e.sentence
	}
	return fmt.Sprintf("%s (%s of %s)", c.e.sentence, quantity.Thousands(c.of),
		quantity.Plural(c.all, "answer"))
}

// also lists the other scenarios and counts the findings that are not shown; empty where there are none.
func (c *cause) also() string {
	var parts []string
	if len(c.ids) > 1 {
		parts = append(parts, "also: "+strings.Join(without(c.ids, slices.Index(c.ids, c.witness)), ", "))
	}
	if c.verdict == verdict.Fail && !c.remark && c.findings > len(c.ids) {
		parts = append(parts, fmt.Sprintf("%d findings in all", c.findings))
	}
	return strings.Join(parts, "; ")
}

// lines are what is said of a cause below its title, without any markup.
func (c *cause) lines() []string {
	out := []string{c.sentence(), c.e.span, c.also()}
	if c.e.hint != "" {
		out = append(out, "perhaps: "+c.e.hint)
	}
	if c.mend != "" {
		out = append(out, "mend: "+c.mend)
	}
	if c.e.replay != "" {
		out = append(out, "replay: "+c.e.replay)
	}
	return nonEmpty(out)
}
