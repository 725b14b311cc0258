package claim

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
