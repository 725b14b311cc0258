package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// recorder names what recorded s: the generator, or a recording of unknown origin.
func recorder(s *result.Scenario) string {
	if s.Target == "" {
		return "recording"
	}
	return "generator"
}

// protocolText returns the protocols of the target: HTTP/2, TLS 1.3. Empty: they are not known.
func protocolText(s *result.Scenario) string {
	return strings.Join(text.CleanAll(s.Header.Protocols), "; ")
}

// generatorText says how well the generator kept its plan. Empty: nothing was measured.
func generatorText(s *result.Scenario) string {
	var parts []string
	if l := s.Latency.Lateness; l.Count > 0 {
		parts = append(parts, fmt.Sprintf("late p99 %s, max %s", text.Brief(l.P99), text.Brief(l.Max)))
	}
	for _, k := range s.Header.Phases {
		if words := slipped(k); words != "" {
			parts = append(parts, text.Clean(k.Phase)+": "+words)
		}
	}
	for _, x := range s.Header.Spreads {
		parts = append(parts, fmt.Sprintf("%s at once in %s", text.Thousands(x.Requests),
			text.Brief(x.Width)))
	}
	a := s.Header.Audit
	if a.Connections > 0 {
		parts = append(parts, text.Plural(a.Connections, "connection"))
	}
	if a.CPUShare > 0 {
		parts = append(parts, fmt.Sprintf("%.2f CPUs", a.CPUShare))
	}
	if a.Collections > 0 {
		parts = append(parts, fmt.Sprintf("GC pause %s", text.Brief(a.LongestGC)))
	}
	for _, n := range s.Header.Notes {
		parts = append(parts, text.Clean(n))
	}
	return strings.Join(parts, "; ")
}

// slipped says how the plan of a phase was not kept. Empty: it was kept.
func slipped(k timeline.Kept) string {
	const told = time.Millisecond
	var parts []string
	if k.Unsent > 0 {
		parts = append(parts, fmt.Sprintf("%s not sent", text.Thousands(k.Unsent)))
	}
	if k.LateP99 > told {
		parts = append(parts, "late p99 "+text.Brief(k.LateP99))
	}
	if k.Stalled > 0 {
		parts = append(parts, "stood still for "+text.Brief(k.Stalled))
	}
	if k.ReadLag > told {
		parts = append(parts, "read up to "+text.Brief(k.ReadLag)+" late")
	}
	return strings.Join(parts, ", ")
}

// provenance says in one line which program recorded what, when and where, with the target if there is only
// one.
func provenance(r *result.Run) string {
	var parts []string
	if target := oneTarget(r); target != "" {
		parts = append(parts, target)
	}
	parts = append(parts, strings.TrimSpace("rlcheck "+r.Version), "run "+r.ID)
	if !r.Started.IsZero() {
		parts = append(parts, r.Started.UTC().Format(time.RFC3339))
	}
	parts = append(parts, text.Brief(r.Duration))
	if h := r.Host; h.GoVersion != "" {
		parts = append(parts,
			fmt.Sprintf("%s %s/%s, %s", h.GoVersion, h.OS, h.Arch, text.Plural(h.CPUs, "processor")))
	}
	if len(r.Command) > 0 {
		words := make([]string, len(r.Command))
		for i, w := range r.Command {
			words[i] = text.ShellWord(w)
		}
		parts = append(parts, strings.Join(words, " "))
	}
	return strings.Join(parts, " · ")
}

// oneTarget returns the target of all scenarios. Empty: they have several.
func oneTarget(r *result.Run) string {
	target := ""
	for i := range r.Scenarios {
		if i > 0 && r.Scenarios[i].Target != target {
			return ""
		}
		target = r.Scenarios[i].Target
	}
	return target
}
