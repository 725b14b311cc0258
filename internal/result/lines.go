package result

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// mostShown is how many partitions with findings, and how many reasons, Lines has unless all are asked for.
const mostShown = 5

// Lines returns j as text: failures first, then each reason why partitions stayed open. worth is what a Pass
// is worth. Lines of partitions have their names as they are, which may need cleaning.
func (j *Judgement) Lines(all bool, worth string) []string {
	var out []string
	if d := j.Diagnosis; d != nil {
		out = append(out, "FAIL  "+d.Text+" (a flag of run)", "      "+d.Why)
	}
	out = append(append(out, j.failed(all)...), j.open(all)...)
	if j.Verdict == Inconclusive && (len(j.Partitions) != 1 || j.Partitions[0].Verdict == Pass) {
		out = append(out, fmt.Sprintf("INCONCLUSIVE  %s: %s", j.Reason, j.Detail))
	}
	if j.Hint != "" {
		out = append(out, "perhaps: "+j.Hint)
	}
	if j.Verdict == Pass {
		out = append(out, "PASS  "+worth)
	}
	return out
}

// failed returns the lines of the partitions that fail.
func (j *Judgement) failed(all bool) (out []string) {
	failed := j.Failed()
	shown := failed[:min(len(failed), mostShown)]
	if all {
		shown = failed
	}
	for _, p := range shown {
		for k := range p.Findings {
			out = append(out, "FAIL  "+j.nameOf(p)+p.Findings[k].Text, "      "+p.Findings[k].Witness())
		}
	}
	if more := len(failed) - len(shown); more > 0 {
		out = append(out, fmt.Sprintf("FAIL  %s of %s fail, %s more than shown (-v)",
			text.Plural(len(failed), "partition"), text.Thousands(len(j.Partitions)), text.Thousands(more)))
	}
	return out
}

// open returns the lines of why partitions stayed open: each reason once, with its first partition.
func (j *Judgement) open(all bool) (out []string) {
	var order []string
	of := map[string][]string{}
	for i := range j.Partitions {
		p := &j.Partitions[i]
		if p.Verdict != Inconclusive {
			continue
		}
		why := string(p.Reason) + ": " + p.Detail
		if all {
			out = append(out, "INCONCLUSIVE  "+j.nameOf(p)+why)
			continue
		}
		if of[why] == nil {
			order = append(order, why)
		}
		of[why] = append(of[why], p.Partition)
	}
	for i, why := range order {
		if i == mostShown {
			return append(out, "INCONCLUSIVE  "+text.Plural(len(order)-i, "other reason")+" (-v)")
		}
		name := ""
		switch n := len(of[why]); {
		case n > 1:
			name = fmt.Sprintf("%s and %s more: ", of[why][0], text.Thousands(n-1))
		case len(j.Partitions) > 1 || of[why][0] != "":
			name = of[why][0] + ": "
		}
		out = append(out, "INCONCLUSIVE  "+name+why)
	}
	return out
}

// nameOf names a partition at the beginning of a line. The only one of a recording may need no name.
func (j *Judgement) nameOf(p *PartitionVerdict) string {
	if len(j.Partitions) == 1 && p.Partition == "" {
		return ""
	}
	return p.Partition + ": "
}

// Witness names the observations of a finding, their span, and the rule.
func (f *Finding) Witness() string {
	var b strings.Builder
	b.WriteString("witness: ")
	for i, seq := range f.Observations {
		if i == 6 && len(f.Observations) > 8 {
			b.WriteString(", ..., #" + strconv.Itoa(f.Observations[len(f.Observations)-1]))
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("#" + strconv.Itoa(seq))
	}
	b.WriteString(" from " + text.Instant(f.From) + " to " + text.Instant(f.To))
	if f.Rule != "" {
		b.WriteString("; rule " + f.Rule)
	}
	return b.String()
}
