package claim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TooFew returns a claim that lacks observations: Inconclusive (too-few).
func TooFew(id, text string) result.Claim {
	return result.Claim{ID: id, Verdict: result.Inconclusive, Reason: result.TooFew, Text: text}
}

// Unpromised returns a claim on something that none of n answers has, and nobody promised: Inconclusive
// (needs-failed). It does not count. noun names an answer, what the thing that they lack.
func Unpromised(id string, p result.Promise, n int, noun, what string) result.Claim {
	return result.Claim{ID: id, Reason: result.NeedsFailed, Unpromised: p,
		Text: fmt.Sprintf("none of %s has %s, and the target does not promise it",
			text.Plural(n, noun), what)}
}

// MostFindings is the most observations that a finding names. If a claim has a finding for each observation,
// it is also the most findings. Texts say how many there are in all.
const MostFindings = 10

// Witness returns f with the first Most of obs, their span and, if they share one, their partition.
func Witness(f result.Finding, obs ...*timeline.Observation) result.Finding {
	obs = obs[:min(len(obs), MostFindings)]
	for i, o := range obs {
		if i == 0 {
			f.Partition, f.From, f.To = o.Partition, o.Sent, max(o.Sent, o.FirstByte)
		}
		if o.Partition != f.Partition {
			f.Partition = ""
		}
		f.From, f.To = min(f.From, o.Sent), max(f.To, o.FirstByte)
		f.Observations = append(f.Observations, o.Seq)
	}
	slices.Sort(f.Observations)
	return f
}

// Count returns a finding of obs, which is not empty. Seen is their number.
func Count(kind result.Kind, obs []*timeline.Observation, text string) result.Finding {
	return Witness(result.Finding{Kind: kind, Seen: int64(len(obs)), Text: text}, obs...)
}

// Shown says, at the end of a text, how many of n findings are listed. Empty: all are.
func Shown(n int) string {
	if n <= MostFindings {
		return ""
	}
	return fmt.Sprintf("; the first %d are shown", MostFindings)
}

// listed is how many observations a sentence names one by one.
const listed = 5

// Seqs prints observations as #3, #7, #9 and 4 more.
func Seqs(obs []*timeline.Observation) string {
	var b strings.Builder
	for i, o := range obs {
		if i == listed {
			fmt.Fprintf(&b, " and %d more", len(obs)-listed)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "#%d", o.Seq)
	}
	return b.String()
}

// Seconds prints d as 0.412 s, with as many digits after the point as the unit needs: 3 for a millisecond or
// more.
func Seconds(d, unit time.Duration) string {
	digits := 3
	for u := time.Millisecond; u > unit && digits < 9; u /= 1000 {
		digits += 3
	}
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	fraction := fmt.Sprintf("%09d", d%time.Second)[:digits]
	return sign + strconv.FormatInt(int64(d/time.Second), 10) + "." + fraction + " s"
}

// Millis prints d as 31.204 ms, cut to the microsecond.
func Millis(d time.Duration) string {
	us := d / time.Microsecond
	return fmt.Sprintf("%d.%03d ms", us/1000, us%1000)
}

// OneOf prints 429, 503 or 403.
func OneOf(statuses []int) string {
	words := make([]string, len(statuses))
	for i, s := range statuses {
		words[i] = strconv.Itoa(s)
	}
	return text.OneOf(words)
}

// Broken collects the answers that break rules. The zero value is empty.
type Broken struct {
	rules []headers.Rule
	first map[headers.Rule]headers.Problem
	obs   map[headers.Rule][]*timeline.Observation
}

// Add notes that o breaks a rule. Several fields of one answer that break the same rule count once.
func (b *Broken) Add(p headers.Problem, o *timeline.Observation) {
	if b.first == nil {
		b.first, b.obs = map[headers.Rule]headers.Problem{}, map[headers.Rule][]*timeline.Observation{}
	}
	if _, ok := b.first[p.Rule]; !ok {
		b.rules = append(b.rules, p.Rule)
		b.first[p.Rule] = p
	}
	if obs := b.obs[p.Rule]; len(obs) == 0 || obs[len(obs)-1] != o {
		b.obs[p.Rule] = append(obs, o)
	}
}

// Findings returns one finding for each rule, in the order in which the rules were met, with the first bad
// value as an example. nil: no rule was broken. all is how many answers were read, noun names one of them,
// and what names the fields or the body that the rules are about.
func (b *Broken) Findings(all int, noun, what string) []result.Finding {
	var out []result.Finding
	for _, rule := range b.rules {
		obs, p := b.obs[rule], b.first[rule]
		text := fmt.Sprintf("%d of %s break %s in %s: %s; #%d has %s", len(obs), text.Plural(all, noun),
			rule, what, Seqs(obs), obs[0].Seq, p.Error())
		out = append(out, Witness(result.Finding{Kind: result.FieldInvalid, Seen: int64(len(obs)),
			Rule: string(rule), Text: text}, obs...))
	}
	return out
}

// Note lists the broken rules for the end of a text. Empty: none was broken.
func (b *Broken) Note() string {
	var s strings.Builder
	for _, rule := range b.rules {
		p := b.first[rule]
		fmt.Fprintf(&s, "; note %s %s in %d: %s", p.Rule.Level(), rule, len(b.obs[rule]), p.Error())
	}
	return s.String()
}
