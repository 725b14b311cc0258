package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
)

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
