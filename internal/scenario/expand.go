package scenario

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Env looks up a variable, as os.LookupEnv does. A nil Env has none.
type Env func(name string) (value string, set bool)

// expansion is the result of expanding one text.
type expansion struct {
	text string
	// values are the values of the environment in it.
	values []string
	// bad is the part that cannot be expanded. why and mend say why, and what helps. Empty: all was expanded.
	bad, why, mend string
}

// expand replaces ${NAME} by the variable. It replaces ${NAME:-TEXT} by the variable or, if that is unset or
// empty, by TEXT, which ends at the next brace. "$${" stands for "${". Values stay text, even if they look
// like YAML.
func expand(s string, env Env) expansion {
	var out strings.Builder
	var x expansion
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			break
		}
		if i > 0 && s[i-1] == '$' {
			out.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		out.WriteString(s[:i])
		inside, rest, closed := strings.Cut(s[i+2:], "}")
		if !closed {
			return expansion{bad: s[i:], why: `a variable ends with "}"`,
				mend: `write "$${" for the two characters themselves`}
		}
		name, fallback, hasFallback := strings.Cut(inside, ":-")
		if !variable.MatchString(name) {
			return expansion{bad: "${" + inside + "}", why: "a variable is written ${NAME} or ${NAME:-TEXT}",
				mend: `write "$${" for the two characters themselves`}
		}
		value, set := "", false
		if env != nil {
			value, set = env(name)
		}
		switch {
		case set && (value != "" || !hasFallback):
			x.values = append(x.values, value)
		case hasFallback:
			value = fallback
		default:
			return expansion{bad: "${" + name + "}", why: "the variable is not set",
				mend: "set it, or write ${" + name + ":-TEXT}"}
		}
		out.WriteString(value)
		s = rest
	}
	out.WriteString(s)
	x.text = out.String()
	return x
}

// variable matches the name of a variable.
var variable = regexp.MustCompile(`^[A-Za-z_][0-9A-Za-z_]*$`)

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

// BorrowedHost returns the host of the URL n, HOST or HOST:PORT, if a value of the environment is a part of
// it, or all of it: a lookup of the host would tell the value to name servers. It is empty otherwise, also if
// the value is itself a URL with this host. n may be nil.
func (n *Node) BorrowedHost() string {
	if n == nil || len(n.Values) == 0 {
		return ""
	}
	before, _, _ := strings.Cut(n.Raw, "${")
	_, authority, named := strings.Cut(before, "://")
	u, err := url.Parse(n.Text)
	if err != nil || named && strings.ContainsAny(authority, "/?#") ||
		slices.ContainsFunc(n.Values, func(v string) bool { return strings.Contains(v, "://"+u.Host) }) {
		return ""
	}
	return u.Host
}

// SecretParts returns the values of the environment in the URL n, but not those that are its whole address:
// a URL, a host or a port. n may be nil.
func (n *Node) SecretParts() []string {
	if n == nil {
		return nil
	}
	u, err := url.Parse(n.Text)
	return slices.DeleteFunc(slices.Clone(n.Values), func(v string) bool {
		return strings.Contains(v, "://") || err == nil && (v == u.Host || v == u.Hostname() || v == u.Port())
	})
}
