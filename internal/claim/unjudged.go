package claim

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// unjudged says which fields of answers look as if they told of a quota, though nothing says what they
// mean; empty for none.
func unjudged(obs []*timeline.Observation) string {
	read := map[string]bool{}
	var out []string
	for _, o := range obs {
		for _, f := range o.Fields {
			if read[f.Name] {
				continue
			}
			read[f.Name] = true
			if headers.Unread(f.Name) {
				out = append(out, fmt.Sprintf("%s (%s in #%d)", f.Name, phrase.Quote(f.Value), o.Seq))
			}
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; sent, not judged: " + strings.Join(out, ", ")
}

// admittedToo judges the syntax of Retry-After in answers that were admitted, too, and says how many have
// one: no standard says what it means there. Some limiters send when the quota is whole again.
func (r *recording) admittedToo(c verdict.Claim) verdict.Claim {
	var bad finding.Broken
	n := 0
	for _, o := range r.Target {
		present, problems := readRetryAfter(o)
		if !present || o.Outcome != timeline.Allowed {
			continue
		}
		n++
		for _, p := range problems {
			bad.Add(p, o)
		}
	}
	if n == 0 {
		return c
	}
	noun := "admitted answer"
	text := fmt.Sprintf("%s; sent, judged for its syntax only: Retry-After in %s", c.Text,
		phrase.Plural(n, noun))
	return finding.Settle(c.ID, text, append(c.Findings, bad.Findings(n, noun, "Retry-After")...))
}
