package report

import (
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/result"
	"slices"
	"strings"
)

// mostCauses is how many causes are written: a reader mends one at a time.
const mostCauses = 12

// causes writes what needs action. A mend that the next cause has too stands below that.
func (s *screen) causes(all []cause) {
	shown := all[:min(len(all), mostCauses)]
	for i := range shown {
		c := &shown[i]
		s.line("")
		s.wrapped(0, s.paint(c.verdict, c.counts)+" "+c.who()+": "+c.sentence())
		for _, l := range nonEmpty([]string{c.e.span, c.also()}) {
			s.wrapped(2, l)
		}
		if c.e.hint != "" {
			s.wrapped(2, "perhaps: "+c.e.hint)
		}
		if c.mend != "" && (i+1 == len(shown) || shown[i+1].mend != c.mend) {
			s.wrapped(2, "mend: "+c.mend)
		}
		if c.e.replay != "" {
			s.line("  replay: %s", c.e.replay)
		}
	}
	if n := len(all) - len(shown); n > 0 {
		s.line("")
		rest := strings.Join(idsOf(all[len(shown):]), ", ")
		s.wrapped(0, quantity.Plural(n, "more cause")+" in "+rest+" (-v shows all)")
	}
}

// inBrief is what the first cause asks for, behind a semicolon; empty where it takes more than a sentence to
// say.
func inBrief(all []cause) string {
	switch {
	case len(all) == 0:
		return ""
	case all[0].first:
		return "; " + all[0].e.sentence
	case all[0].e.hint != "":
		return "; perhaps: " + all[0].e.hint
	default:
		return ""
	}
}

// notes writes what was not judged and does not count, a line for each thing that the targets never had.
func (s *screen) notes(r *result.Run) {
	for i, n := range r.Notes() {
		if i == 0 {
			s.line("")
		}
		s.wrapped(0, "note: "+n.String())
	}
}

// idsOf are the scenarios of causes, each once.
func idsOf(all []cause) []string {
	var out []string
	for i := range all {
		for _, id := range all[i].ids {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}
