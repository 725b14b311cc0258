package tree

import (
	"encoding/base64"
	"slices"
	"strings"
)

// Secrets returns the texts of n that no report may show: the values of the environment in it. If n is
// secret, it is all of its text, and the parts that a target may repeat. n may be nil. A value may come more
// than once.
func (n *Node) Secrets() []string {
	switch {
	case n == nil:
		return nil
	case n.Secret:
		return append(repeated(n.Text), n.Values...)
	default:
		return n.Values
	}
}

// shortestPart is the least length of a part of a secret. A shorter part would also stand in many harmless
// texts.
const shortestPart = 4

// repeated returns a secret text and the parts that a target may repeat: the credentials behind a scheme, the
// password of Basic credentials (RFC 7617), the values of cookies and forms.
func repeated(text string) []string {
	var found []string
	scheme, credentials, two := strings.Cut(text, " ")
	if two && !strings.ContainsAny(scheme, "=;{") {
		found = append(found, credentials)
	}
	plain, err := base64.StdEncoding.DecodeString(credentials)
	if err == nil && strings.EqualFold(scheme, "basic") {
		_, password, _ := strings.Cut(string(plain), ":")
		found = append(found, string(plain), password)
	}
	for _, pair := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '&' }) {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if ok && !strings.ContainsAny(name, " {") {
			found = append(found, value)
		}
	}
	short := func(part string) bool { return len(part) < shortestPart }
	return append([]string{text}, slices.DeleteFunc(found, short)...)
}
