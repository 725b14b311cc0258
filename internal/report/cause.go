package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Cause is one thing to act on, and all scenarios that show it. It has the clearest finding. The page and the
// JSON have the findings of each scenario.
type Cause struct {
	Verdict result.Verdict
	// Counts: a failure of one of the scenarios counts.
	Counts bool
	// IDs are the scenarios, each once, in the order of the run. Witness is the scenario of the clearest
	// finding.
	IDs     []string
	Witness string
	// File is where the scenario of the witness was read from.
	File string
	// Clearest is the finding with the fewest requests. For an inconclusive cause, it is the reason and
	// detail as a sentence.
	Clearest result.Failure
	// findings is the number of all findings. A remark is about `of` of `all` answers.
	findings, of, all int
	// Remark: the cause is about the answers as a whole. First: a reader needs it before any finding.
	Remark, First bool
	// Mend says what to do about it. May be empty.
	Mend string
	// Expected is what the scenario asserts, in the first cause of one that fails alone while others pass.
	// Empty otherwise.
	Expected string
}

// Causes gathers what needs action from the scenarios that did not pass. First come remarks on the answers of
// half of the scenarios or more. Then come failures that count, other failures, and what stayed open; the
// cause of most scenarios comes first in each group. raw is not cleaned, clean is. The texts of the result
// are clean.
//
// Two findings have one cause only in these cases, as a coarser rule would hide a second fault behind the
// first:
//
//   - One other policy explains all recordings of the limiter, or is the nearest that explains each of
//     theirs.
//   - They are of one claim and kind, and differ only in their numbers.
func Causes(raw, clean *result.Run, strict bool) []Cause {
	g := &gathering{at: map[string]int{}, stopped: len(clean.NotBegun) > 0 && !clean.Interrupted}
	if h := clean.Hint; h != nil && len(h.Limits) > 0 {
		g.explained = h.From
	}
	denials := func(s result.Scenario) bool { return s.Counts.Denied > 0 }
	g.denied = slices.ContainsFunc(clean.Scenarios, denials)
	nothing := !slices.ContainsFunc(clean.Scenarios, func(s result.Scenario) bool { return !s.Uncounted() })
	for i := range clean.Scenarios {
		if clean.Scenarios[i].Uncounted() && !nothing { // a note says so
			continue
		}
		g.scenario(&raw.Scenarios[i], &clean.Scenarios[i], strict)
	}
	for i := range g.all {
		c := &g.all[i]
		c.First = c.Clearest.Whole || c.Remark && 2*len(c.IDs) >= g.scenarios
	}
	slices.SortStableFunc(g.all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(len(b.IDs), len(a.IDs)))
	})
	expected(g.all, clean)
	return g.all
}

// expected fills in what the scenarios of single failures assert, each once. If another one passed, the limit
// itself holds, and its numbers say little.
func expected(all []Cause, r *result.Run) {
	if !slices.ContainsFunc(r.Scenarios, func(s result.Scenario) bool { return s.Verdict == result.Pass }) {
		return
	}
	titles := map[string]string{}
	for i := range r.Scenarios {
		titles[r.Scenarios[i].ID] = r.Scenarios[i].Title
	}
	for i := range all {
		c := &all[i]
		if c.Verdict != result.Fail || len(c.IDs) > 1 || titles[c.IDs[0]] == "" {
			continue
		}
		if !c.Remark { // a remark has it in its sentence
			c.Expected = "expected: " + titles[c.IDs[0]]
		}
		delete(titles, c.IDs[0])
	}
}

// rank orders causes by what a reader needs first.
func (c *Cause) rank() int {
	switch {
	case c.First:
		return 0
	case c.Verdict == result.Fail && c.Counts:
		return 1
	case c.Verdict == result.Fail:
		return 2
	default:
		return 3
	}
}

// gathering collects causes by their keys.
type gathering struct {
	// scenarios is how many scenarios did not pass.
	scenarios int
	// explained are the scenarios whose recordings one other policy explains.
	explained []string
	// denied: some scenario met a denial.
	denied bool
	// stopped: rlcheck ended the run, which the headline says.
	stopped bool
	all     []Cause
	at      map[string]int
}

func (g *gathering) scenario(raw, s *result.Scenario, strict bool) {
	if s.Verdict == result.Pass {
		return
	}
	g.scenarios++
	r, remarked := remarkOn(s, g.denied)
	if remarked {
		c := g.add("remark "+r.text, s, result.Failure{Sentence: r.text}, strict)
		c.Remark, c.Mend, c.of, c.all = true, r.mend, c.of+r.of, c.all+r.all
	}
	if s.Verdict == result.Fail {
		g.failures(raw, s, strict)
		return
	}
	var seen []string
	for _, t := range Troubles(s) {
		few := t.Reason == string(result.TooFew)
		follows := remarked && r.instead && (few || t.Reason == string(result.UnclassifiedStatus)) ||
			few && s.Reason == result.ScheduleMissed || // as where a machine stood still
			g.stopped && t.Reason == string(result.Interrupted)
		if slices.Contains(seen, t.Reason) || follows {
			continue
		}
		seen = append(seen, t.Reason)
		key := "open " + t.Reason
		// Scenarios with needs-failed lack different things, but one answer helps all.
		if t.Reason != string(result.NeedsFailed) {
			key += " " + skeleton(t.Detail)
		}
		c := g.add(key, s, result.Failure{Sentence: t.Line()}, strict)
		c.Mend = cmp.Or(c.Mend, t.Mend)
	}
}

// failures adds the failures of s, and of each failed claim at least one.
func (g *gathering) failures(raw, s *result.Scenario, strict bool) {
	found := raw.Failures()
	if len(found) == 0 {
		found = []result.Failure{{Claim: result.ConformanceID, Sentence: s.Detail}}
	}
	never := s.NeverDenied()
	whole := ""
	for _, e := range found {
		key := e.Claim + " " + e.Kind + " "
		switch {
		case e.Whole:
			whole = "whole " + e.Sentence
			key = whole
		case e.Claim == result.ConformanceID && whole != "":
			key += whole
		case e.Claim == result.ConformanceID && slices.Contains(g.explained, s.ID):
			key += "explained"
		case e.Claim == result.ConformanceID && e.Hint != "":
			key += e.Nearest
		case e.Claim == result.ConformanceID && never:
			key += "never denied"
		case e.Claim == result.ConformanceID:
			key += strings.Join(s.Worth(), " ") + skeleton(e.Sentence)
		default:
			key += skeleton(e.Sentence)
		}
		c := g.add(key, s, e, strict)
		c.Mend = cmp.Or(c.Mend, severalMend(s, &e))
	}
}

// add adds one finding of s to the cause of a key, and returns the cause. The clearest finding has the fewest
// requests, and is of a scenario that counts if there is one.
func (g *gathering) add(key string, s *result.Scenario, e result.Failure, strict bool) *Cause {
	counts := s.Verdict == result.Fail && s.Weighs(strict)
	i, known := g.at[key]
	if !known {
		i = len(g.all)
		g.at[key] = i
		g.all = append(g.all, Cause{Verdict: s.Verdict, Counts: counts, IDs: []string{s.ID}, Witness: s.ID,
			File: s.File, Clearest: e, findings: 1})
		return &g.all[i]
	}
	c := &g.all[i]
	c.findings++
	// The other explanations differ between recordings, so only the nearest stays.
	if e.Hint != c.Clearest.Hint {
		e.Hint, c.Clearest.Hint = e.Nearest, c.Clearest.Nearest
	}
	c.Verdict = result.Worst(c.Verdict, s.Verdict)
	if !slices.Contains(c.IDs, s.ID) {
		c.IDs = append(c.IDs, s.ID)
	}
	if counts && !c.Counts || counts == c.Counts && e.Requests < c.Clearest.Requests {
		c.Clearest, c.File, c.Witness = e, s.File, s.ID
	}
	c.Counts = c.Counts || counts
	return c
}

// The parts of a sentence that differ between two findings of one kind.
var (
	evidenceListed = regexp.MustCompile(`#\d+(, #\d+)*( and [\d,]+ more)?`)
	figures        = regexp.MustCompile(`\d[\d.,:]*`)
)

// skeleton returns a sentence without its numbers.
func skeleton(text string) string {
	return figures.ReplaceAllString(evidenceListed.ReplaceAllString(text, "#"), "0")
}

// Who names the scenarios of a cause: the first, and how many more.
func (c *Cause) Who() string {
	who := c.Witness
	if n := len(c.IDs) - 1; n > 0 {
		who += fmt.Sprintf(" and %d more", n)
	}
	if c.Clearest.Claim != result.ConformanceID && c.Clearest.Claim != "" {
		who += ": " + c.Clearest.Claim
	}
	return who
}

// Sentence says what was found. If it is about all requests, it says of how many.
func (c *Cause) Sentence() string {
	if c.all == 0 {
		return c.Clearest.Sentence
	}
	return fmt.Sprintf("%s (%s of %s)", c.Clearest.Sentence, text.Thousands(c.of),
		text.Plural(c.all, "answer"))
}

// Also lists the other scenarios and counts the findings that are not shown. Empty: there are none.
func (c *Cause) Also() string {
	var parts []string
	if len(c.IDs) > 1 {
		others := slices.DeleteFunc(slices.Clone(c.IDs), func(id string) bool { return id == c.Witness })
		parts = append(parts, "also: "+strings.Join(others, ", "))
	}
	if c.Verdict == result.Fail && !c.Remark && c.findings > len(c.IDs) {
		parts = append(parts, fmt.Sprintf("%d findings in all", c.findings))
	}
	return strings.Join(parts, "; ")
}

// Lines returns the lines of a cause below its title, without any markup.
func (c *Cause) Lines() []string { return append([]string{c.Sentence()}, c.below()...) }

// below returns the lines below the sentence.
func (c *Cause) below() []string {
	out := []string{c.Expected, c.Clearest.Span, c.Also()}
	if c.Clearest.Hint != "" {
		out = append(out, "perhaps: "+c.Clearest.Hint)
	}
	if c.Mend != "" {
		out = append(out, "mend: "+c.Mend)
	}
	if c.Clearest.Replay != "" {
		out = append(out, "replay: "+c.Clearest.Replay)
	}
	return slices.DeleteFunc(out, func(l string) bool { return l == "" })
}

// Several tells whether the cause has more than one scenario or finding.
func (c *Cause) Several() bool { return c.Remark || len(c.IDs) > 1 || c.findings > 1 }

// IDsOf returns the scenarios of causes, each once.
func IDsOf(all []Cause) []string {
	var out []string
	for i := range all {
		for _, id := range all[i].IDs {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}
