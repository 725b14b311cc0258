package headers

import (
	"net/textproto"
	"strings"
	"time"
)

// Unread tells whether the name of a field suggests a quota, but Quotas does not read the field. Nothing says
// what such a field means.
func Unread(name string) bool {
	s := strings.ToLower(name)
	if !strings.Contains(s, "ratelimit") && !strings.Contains(s, "rate-limit") {
		return false
	}
	asked := false
	name = textproto.CanonicalMIMEHeaderKey(name)
	Quotas(func(of string) (string, bool) {
		asked = asked || of == name
		return "", false
	}, time.Time{})
	return !asked
}
