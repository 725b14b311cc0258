package claim

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// unjudged names the fields of answers that seem to state a quota or a wait, but whose meaning is unknown,
// and the quotas that are not declared. It may be empty.
func (j *Recording) unjudged(obs []*timeline.Observation) []string {
	read := map[string]bool{}
	var out []string
	for _, o := range obs {
		for _, f := range o.Fields {
			if read[f.Name] {
				continue
			}
			read[f.Name] = true
			if headers.Unread(f.Name) {
				out = append(out, fmt.Sprintf("%s (%s in #%d)", f.Name, text.Quote(f.Value), o.Seq))
			}
		}
	}
	named := map[string]bool{}
	for _, t := range j.tellers() {
		for _, q := range t.quotas {
			about := strings.TrimSpace(string(q.Dialect) + " " + q.Name)
			limit := j.LimitOf(t.o)
			if len(limit) > 0 && !named[about] && t.beside(q, limit) {
				named[about] = true
				out = append(out, fmt.Sprintf("%s (%s in #%d, which is not declared)", about, limitText(q),
					t.o.Seq))
			}
		}
	}
	return out
}
