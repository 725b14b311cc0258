package headers

import (
	"net/textproto"
	"strings"
	"time"
)

// Unread tells whether a field looks as if it told of a quota and Quotas does not read it: nothing says
// what it means.
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
