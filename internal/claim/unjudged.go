package claim

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// unjudged names the fields of answers that seem to state a quota, but whose meaning is unknown. Empty: there
// are none.
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
				out = append(out, fmt.Sprintf("%s (%s in #%d)", f.Name, Quote(f.Value), o.Seq))
			}
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; sent, but not judged: " + strings.Join(out, ", ")
}
