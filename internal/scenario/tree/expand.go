package tree

import "strings"

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
		if !isVariable(name) {
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

// isVariable tells whether s is a name of letters, digits and underscores that does not begin with a digit.
func isVariable(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
