package headers

import (
	"net/textproto"
	"slices"
	"strings"
	"time"
)

// hints are parts of the names of fields that tell a quota or a wait.
var hints = []string{"ratelimit", "rate-limit", "retry-after", "quota", "throttl"}

// Unread tells whether the name of a field suggests a quota or a wait, but nothing here reads the field.
// Nothing says what such a field means.
func Unread(name string) bool {
	s := strings.ToLower(name)
	if !slices.ContainsFunc(hints, func(part string) bool { return strings.Contains(s, part) }) {
		return false
	}
	name, asked := textproto.CanonicalMIMEHeaderKey(name), false
	get := func(of string) (string, bool) {
		asked = asked || of == name
		return "", false
	}
	Quotas(get, time.Time{})
	NumericPolicies(get)
	MillisecondWait(get)
	get("Retry-After")
	return !asked
}
