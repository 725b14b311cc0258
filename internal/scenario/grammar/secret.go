package grammar

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/scenario/tree"
)

// secrets lists the values of the environment in the header fields and the body, and what secret settings put
// there.
func secrets(root *tree.Node) []string {
	var all []string
	add := func(values ...string) {
		for _, v := range values {
			if v != "" && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	target := root.Get("target")
	fields := target.Get("header").Children()
	for _, p := range root.Get("phases").Children() {
		fields = append(fields, p.Get("header").Children()...)
	}
	for _, n := range append(fields, target.Get("body")) {
		if n == nil {
			continue
		}
		if n.Secret {
			add(parts(n.Text)...)
		}
		add(n.Values...)
	}
	return all
}

// shortestPart is how long a part of a secret is at least: a shorter one would stand in much that is none.
const shortestPart = 4

// parts are a secret text and what a target may repeat of it: the credentials behind a scheme, the password
// of Basic ones (RFC 7617), the values of cookies and forms.
func parts(text string) []string {
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
