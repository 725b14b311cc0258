package lab

import "strings"

// IsToken tells whether s is a token (RFC 9110 section 5.6.2). Methods and field names are tokens.
func IsToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') &&
			!strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
