package accesslog

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// notation is how a server writes the values in its log format.
type notation struct {
	// sign begins a value, and nothing else. value is a whole one. Its groups are its name (the first that is
	// not empty), and to how many bytes the log cuts it (most).
	sign  string
	value *regexp.Regexp
	// name brings a name into one form. wrong is why a sign cannot be read.
	name  func(string) string
	wrong string
}

var (
	// dollar: $name or ${name}, as in a log_format of nginx.
	dollar = &notation{"$", regexp.MustCompile(`\$(?:(\w+)|\{([^}]*)\})`),
		func(name string) string { return name }, "a variable name must follow"}
	// percent: %NAME%, %NAME(arguments)% or %NAME(arguments):9%, as in a format string of Envoy.
	percent = &notation{"%", regexp.MustCompile(`%([^%()]+(?:\((?:[^()]|\([^()]*\))*\))?)(?::(?P<most>\d+))?%`),
		envoyOperator, "a second % ends the name of an operator"}
	// apache: %h, %>s, %{Name}i or %400,501{Name}i, as in a LogFormat. The parts of a time that stand side by
	// side are one value.
	apache = &notation{"%", regexp.MustCompile(`%(\{(?:end:)?sec\}t\.%\{(?:end:)?[mu]sec_frac\}t)|` +
		`%([!<>,\d]*(?:\{[^}]*\})?(?:\^t.|.))`), apacheName, "a letter must follow"}
)

// next finds the first value of a format. It returns its name and to how many bytes the log cuts it (0: it
// does not), and the text before and after it.
func (n *notation) next(format string) (before, name, after string, most int, found bool, err error) {
	at := n.value.FindStringSubmatchIndex(format)
	group := func(i int) string {
		if i <= 0 || 2*i >= len(at) || at[2*i] < 0 {
			return ""
		}
		return format[at[2*i]:at[2*i+1]]
	}
	if before = format; at != nil {
		before = format[:at[0]]
	}
	if _, rest, bad := strings.Cut(before, n.sign); bad {
		return "", "", "", 0, false,
			&OptionError{"Layout", quote(strings.TrimSpace(n.sign + rest)), n.wrong, ""}
	}
	if at == nil {
		return before, "", "", 0, false, nil
	}
	most, _ = strconv.Atoi(group(n.value.SubexpIndex("most"))) // 0: it is not cut
	name, after = n.name(cmp.Or(group(1), group(2))), format[at[1]:]
	if n == apache && name == "t" { // it stands in brackets
		before, after = before+"[", "]"+after
	}
	return before, name, after, most, true, nil
}

// envoyOperator drops arguments that do not matter: START_TIME(%s.%3f), REQ(X-ENVOY-ORIGINAL-PATH?:PATH).
func envoyOperator(name string) string {
	operator, inner, _ := strings.Cut(name, "(")
	if operator != "REQ" && operator != "RESP" {
		return operator
	}
	inner, _, _ = strings.Cut(inner, ")")
	if _, other, ok := strings.Cut(inner, "?"); ok && other == ":PATH" {
		inner = other
	}
	return operator + "(" + strings.ToUpper(inner) + ")"
}

// apacheName drops what does not matter: %>s is s.
func apacheName(name string) string {
	name = strings.TrimLeft(name, "%!<>,0123456789")
	if n := strings.IndexByte(name, '}'); n > 0 {
		name = strings.ToLower(name[:n]) + name[n:]
	}
	return strings.ReplaceAll(name, "msec_frac", "usec_frac")
}
