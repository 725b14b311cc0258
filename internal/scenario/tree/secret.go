package tree

import (
	"encoding/base64"
	"slices"
	"strings"
)

// Secrets returns what no report may show of n, which may be nil: the values of the environment in its text
// and, of a text that is secret, all of it and what a target may repeat. A value may come more than once.
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

// shortestPart is how long a part of a secret is at least: a shorter one would stand in much that is none.
const shortestPart = 4

// repeated returns a secret text and what a target may repeat of it: the credentials behind a scheme, the
// password of Basic ones (RFC 7617), the values of cookies and forms.
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
