package trial

import (
	"maps"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// withoutSecrets returns a schedule that may be kept: header fields of phases in which a secret stands are left out.
func withoutSecrets(s *timeline.Schedule, secrets []string) *timeline.Schedule {
	if len(secrets) == 0 {
		return s
	}
	out := &timeline.Schedule{Phases: slices.Clone(s.Phases)}
	for i := range out.Phases {
		r := &out.Phases[i].Request
		if len(r.Header) == 0 {
			continue
		}
		r.Header = maps.Clone(r.Header)
		maps.DeleteFunc(r.Header, func(_, value string) bool {
			return slices.ContainsFunc(secrets, func(secret string) bool { return strings.Contains(value, secret) })
		})
	}
	return out
}
