package headers

import (
	"net/textproto"
	"slices"
	"strings"
	"time"
)

// hints are parts of the canonical names of fields that tell a quota or a wait.
var hints = []string{"Ratelimit", "Rate-Limit", "Retry-After", "Quota", "Throttl"}

// Suggests tells whether the canonical name of a field suggests that it tells a quota or a wait.
func Suggests(name string) bool {
	return strings.HasSuffix(name, "-Reset") ||
		slices.ContainsFunc(hints, func(part string) bool { return strings.Contains(name, part) })
}

// Unread tells whether the name of a field suggests a quota or a wait, but nothing here reads the field.
// Nothing says what such a field means.
func Unread(name string) bool {
	name, asked := textproto.CanonicalMIMEHeaderKey(name), name == "Retry-After"
	get := func(of string) (string, bool) {
		asked = asked || of == name
		return "", false
	}
	Quotas(get, time.Time{})
	NumericPolicies(get)
	MillisecondWait(get)
	return Suggests(name) && !asked
}
