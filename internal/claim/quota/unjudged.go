package quota

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
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
	return "; sent, but not judged: " + strings.Join(out, ", ")
}
