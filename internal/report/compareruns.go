package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
)

// CompareOptions are what makes a comparison fail.
type CompareOptions struct {
	// MaxRegression is the share by which a latency may grow, 0.1 for 10 %. It applies only with Gate.
	// Without Gate no latency fails a comparison.
	MaxRegression float64
	Gate          bool
	// Strict lets recommended scenarios count.
	Strict bool
}

// Side is one side of a comparison.
type Side struct {
	// Name is the user's name for the side.
	Name string `json:"name"`
	// Runs has at least one element. Compare sets IDs to theirs.
	Runs []*result.Run `json:"-"`
	IDs  []string      `json:"runs"`
}

// Comparison is how two sides differ, in the form of rlcheck.compare/v1.
type Comparison struct {
	Schema string `json:"schema"`
	// Verdict is Fail if a verdict became worse or a latency grew by more than was allowed. It is
	// Inconclusive if that could not be shown either way, and Pass otherwise. Why has a sentence for each
	// reason; it is empty for a Pass.
	Verdict result.Verdict `json:"verdict"`
	Why     []string       `json:"why"`
	// MaxRegression is that of the options; nil without Gate.
	MaxRegression *float64       `json:"max_regression"`
	Options       CompareOptions `json:"-"`
	Old           Side           `json:"old"`
	New           Side           `json:"new"`
	// Notes are other reasons why the sides may differ, a sentence each; may be empty.
	Notes []string `json:"notes"`
	// OnlyOld and OnlyNew are the ids of scenarios that only one side has.
	OnlyOld []string `json:"only_old"`
	OnlyNew []string `json:"only_new"`
	// Rows counts the compared latencies. Needed is how many runs each side must have to show a difference in
	// one.
	Rows   int `json:"-"`
	Needed int `json:"runs_needed"`
	// Scenarios are those that both sides have, in the order of the old side.
	Scenarios []ComparedScenario `json:"scenarios"`
}

// ComparedScenario is one scenario of both sides.
type ComparedScenario struct {
	ID     string `json:"id"`
	Change Change `json:"change"`
	// Counts tells whether its verdict counts for the verdict of the comparison.
	Counts bool  `json:"counts"`
	Old    Tally `json:"old"`
	New    Tally `json:"new"`
	// Parameters are empty if nothing was measured on one side, or if the declared limits have different
	// forms.
	Parameters []Parameter       `json:"parameters"`
	Latencies  []ComparedLatency `json:"latencies"`
}

// Compare compares two sides and changes neither. It returns an error if they have no scenario in common.
func Compare(old, new Side, o CompareOptions) (*Comparison, error) {
	c := &Comparison{Schema: compareForm, Old: old, New: new, Options: o}
	if o.Gate {
		c.MaxRegression = &o.MaxRegression
	}
	for _, s := range []*Side{&c.Old, &c.New} {
		for _, r := range s.Runs {
			s.IDs = append(s.IDs, r.ID)
		}
	}
	a, b := gather(old.Runs), gather(new.Runs)
	for _, id := range a.ids {
		if b.of[id] == nil {
			c.OnlyOld = append(c.OnlyOld, id)
			continue
		}
		c.Scenarios = append(c.Scenarios, scenarioOf(id, a.of[id], b.of[id], o.Strict))
	}
	for _, id := range b.ids {
		if a.of[id] == nil {
			c.OnlyNew = append(c.OnlyNew, id)
		}
	}
	if len(c.Scenarios) == 0 {
		return nil, fmt.Errorf("%s, %s: they have no scenario in common", old.Name, new.Name)
	}
	c.latencies()
	c.Notes = notes(old.Runs, new.Runs)
	c.conclude()
	return c, nil
}

// gathered are the scenarios of several runs, by id.
type gathered struct {
	ids []string
	of  map[string][]*result.Scenario
}

func gather(runs []*result.Run) gathered {
	g := gathered{of: map[string][]*result.Scenario{}}
	for _, r := range runs {
		for i := range r.Scenarios {
			s := &r.Scenarios[i]
			if g.of[s.ID] == nil {
				g.ids = append(g.ids, s.ID)
			}
			g.of[s.ID] = append(g.of[s.ID], s)
		}
	}
	return g
}

func scenarioOf(id string, old, new []*result.Scenario, strict bool) ComparedScenario {
	s := ComparedScenario{ID: id, Old: compareTally(old), New: compareTally(new),
		Counts: new[0].Weighs(strict), Parameters: parameters(old, new), Latencies: latenciesOf(old, new)}
	s.Change = changeOf(s.Old, s.New)
	return s
}

// latencies judges the rows of all scenarios together. The more rows there are, the wider each interval is.
func (c *Comparison) latencies() {
	for i := range c.Scenarios {
		c.Rows += len(c.Scenarios[i].Latencies)
	}
	c.Needed = needed(c.Rows)
	for i := range c.Scenarios {
		for k := range c.Scenarios[i].Latencies {
			c.Scenarios[i].Latencies[k].judge(level / float64(c.Rows))
		}
	}
}

// conclude sets Verdict and Why.
func (c *Comparison) conclude() {
	c.Verdict = result.Pass
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		switch {
		case !s.Counts:
		case s.Change == Worse && s.New.Verdict == result.Fail:
			c.because(result.Fail, fmt.Sprintf("%s became worse: %s, was %s", s.ID, s.New, s.Old))
		case s.Change == Worse:
			c.because(result.Inconclusive, fmt.Sprintf("%s is no longer judged: %s, was %s", s.ID, s.New,
				s.Old))
		}
		for k := range s.Latencies {
			if l := &s.Latencies[k]; c.Options.Gate && l.Ratio.Bounded &&
				l.Ratio.Lo > 1+c.Options.MaxRegression {
				c.because(result.Fail, fmt.Sprintf("%s: %s became slower by at least %s", s.ID, l.Name(),
					strings.TrimPrefix(Percent(l.Ratio.Lo), "+")))
			}
		}
	}
	for _, id := range c.OnlyOld {
		c.because(result.Inconclusive, fmt.Sprintf("%s is missing in %s", id, c.New.Name))
	}
	if !c.Options.Gate {
		return
	}
	n := c.unbounded()
	switch {
	case c.Rows == 0:
		c.because(result.Inconclusive, "no latency can be compared: too few answers of one outcome on "+
			"both sides")
	case n > 0:
		c.because(result.Inconclusive, fmt.Sprintf("too few runs to show a difference in %d of %d "+
			"latencies: %d runs on each side can", n, c.Rows, c.Needed))
	}
}

// unbounded counts the latencies that have too few runs.
func (c *Comparison) unbounded() (n int) {
	for i := range c.Scenarios {
		for k := range c.Scenarios[i].Latencies {
			if !c.Scenarios[i].Latencies[k].Ratio.Bounded {
				n++
			}
		}
	}
	return n
}

// because adds a reason. The verdict never becomes better.
func (c *Comparison) because(v result.Verdict, why string) {
	c.Verdict = result.Worst(c.Verdict, v)
	c.Why = append(c.Why, why)
}

// notes returns other reasons why two sides may differ: the machine, the version, the target, the limit.
func notes(old, new []*result.Run) (out []string) {
	for _, x := range []struct {
		what string
		of   func(*result.Run) []string
		why  string
	}{
		{"machine", machine, "the latencies also compare the two machines"},
		{"version of rlcheck", func(r *result.Run) []string { return []string{r.Version} }, ""},
		{"target", targets, ""},
		{"declared limit", limits, "the verdicts are about different limits"},
	} {
		a, b := words(old, x.of), words(new, x.of)
		if a == b {
			continue
		}
		text := fmt.Sprintf("another %s: %s, was %s", x.what, b, a)
		if x.why != "" {
			text += ": " + x.why
		}
		out = append(out, text)
	}
	for _, r := range old {
		if slices.ContainsFunc(new, func(other *result.Run) bool { return other.ID == r.ID && r.ID != "" }) {
			out = append(out, "both sides have the run "+r.ID)
		}
	}
	return out
}

// words returns what the runs of a side say, sorted and each once.
func words(runs []*result.Run, of func(*result.Run) []string) string {
	var all []string
	for _, r := range runs {
		all = append(all, of(r)...)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

func machine(r *result.Run) []string {
	return []string{fmt.Sprintf("%s/%s with %d CPUs", r.Host.OS, r.Host.Arch, r.Host.CPUs)}
}

func targets(r *result.Run) (out []string) {
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		text := s.Target
		if s.Store != "" { // the embedded target, at any port
			text = strings.TrimSuffix("embedded ("+s.Store+") with the fault "+s.Fault, " with the fault ")
		}
		out = append(out, text)
	}
	return out
}

func limits(r *result.Run) (out []string) {
	for i := range r.Scenarios {
		if l := r.Scenarios[i].Limit; len(l) > 0 {
			out = append(out, l.String())
		}
	}
	return out
}
