package trial

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Redacted stands where a secret stood.
const Redacted = "REDACTED"

// RedactURL returns a URL, or a path, as it is shown and kept: without a password, and without the values of
// its query, any of which may be a secret. What is no URL is returned as it is.
func RedactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.RawQuery == "" && u.User == nil {
		return text
	}
	u.RawQuery = shownQuery(u.RawQuery)
	return u.Redacted()
}

// shownQuery returns a query with its names alone. What stands in it without a name may be a secret too.
func shownQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, p := range parts {
		name, value, named := strings.Cut(p, "=")
		switch {
		case named && value != "":
			parts[i] = name + "=" + Redacted
		case !named && p != "":
			parts[i] = Redacted
		}
	}
	return strings.Join(parts, "&")
}

// RedactSchedule returns a schedule that may be kept: header fields of phases in which a secret stands are
// left out, and the values of queries.
func RedactSchedule(s *timeline.Schedule, secrets []string) *timeline.Schedule {
	out := &timeline.Schedule{Phases: slices.Clone(s.Phases)}
	for i := range out.Phases {
		r := &out.Phases[i].Request
		r.Path = RedactURL(r.Path)
		if len(r.Header) == 0 {
			continue
		}
		r.Header = maps.Clone(r.Header)
		maps.DeleteFunc(r.Header, func(_, value string) bool {
			return slices.ContainsFunc(secrets,
				func(secret string) bool { return strings.Contains(value, secret) })
		})
	}
	return out
}
