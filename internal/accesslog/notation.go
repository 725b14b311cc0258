package accesslog

import "strings"

// finder finds the first value of a format. It returns its name and to how many bytes the log cuts it (0: it
// does not), and the text before and after it.
type finder func(format string) (before, name, after string, most int, found bool, err error)

// dollar finds $name or ${name}, as in a log_format of nginx.
func dollar(format string) (before, name, after string, most int, found bool, err error) {
	before, rest, found := strings.Cut(format, "$")
	if !found {
		return format, "", "", 0, false, nil
	}
	if inner, after, ok := strings.Cut(rest, "}"); ok && strings.HasPrefix(inner, "{") {
		return before, inner[1:], after, 0, true, nil
	}
	n := 0
	for n < len(rest) && (rest[n] == '_' || rest[n] >= '0' && rest[n] <= '9' || rest[n]|0x20 >= 'a' &&
		rest[n]|0x20 <= 'z') {
		n++
	}
	if n == 0 {
		return "", "", "", 0, false, &OptionError{"Layout", `"$"`, "a variable name must follow", ""}
	}
	return before, rest[:n], rest[n:], 0, true, nil
}

// percent finds %NAME%, %NAME(arguments)% or %NAME(arguments):9%, as in a format string of Envoy.
func percent(format string) (before, name, after string, most int, found bool, err error) {
	before, rest, found := strings.Cut(format, "%")
	if !found {
		return format, "", "", 0, false, nil
	}
	depth := 0
	for i, c := range rest {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '%' && depth == 0 && i > 0:
			_, length, _ := cutLast([]byte(rest[:i]), ':')
			most, _ := number(length) // 0 if it is no length
			return before, envoyOperator(rest[:i]), rest[i+1:], most, true, nil
		}
	}
	return "", "", "", 0, false,
		&OptionError{"Layout", quote("%" + rest), "a second % ends the name of an operator", ""}
}

// envoyOperator drops arguments and lengths that do not matter: START_TIME(%s.%3f),
// REQ(X-ENVOY-ORIGINAL-PATH?:PATH):99, RESP(AGE):9.
func envoyOperator(name string) string {
	for _, of := range []string{"RESP(", "REQ("} {
		inner, ok := strings.CutPrefix(name, of)
		if !ok {
			continue
		}
		inner, _, _ = strings.Cut(inner, ")")
		if _, other, ok := strings.Cut(inner, "?"); ok && other == ":PATH" {
			inner = other
		}
		return of + strings.ToUpper(inner) + ")"
	}
	name, _, _ = strings.Cut(name, "(")
	return name
}

// envoyVariable: the header field X-Api-Key is REQ(X-API-KEY).
func envoyVariable(name string) string {
	if headerLike(name) && !strings.Contains(name, "(") && strings.ToUpper(name) != name {
		return "REQ(" + strings.ToUpper(name) + ")"
	}
	return envoyOperator(name)
}

func envoyAnswered(name string) string { return "RESP(" + strings.ToUpper(name) + ")" }

// apache finds %h, %>s, %{Name}i or %400,501{Name}i, as in a LogFormat. The parts of a time that stand side
// by side, %{sec}t.%{usec_frac}t, are one value.
func apache(format string) (before, name, after string, most int, found bool, err error) {
	for _, fraction := range []string{"msec_frac", "usec_frac"} {
		format = strings.ReplaceAll(format, "%{sec}t.%{"+fraction+"}t", "%{epoch}")
		format = strings.ReplaceAll(format, "%{end:sec}t.%{end:"+fraction+"}t", "%{end:epoch}t")
	}
	before, rest, found := strings.Cut(format, "%")
	switch {
	case !found:
		return format, "", "", 0, false, nil
	case strings.HasPrefix(rest, "{epoch}"):
		return before, "epoch", rest[len("{epoch}"):], 0, true, nil
	}
	rest = strings.TrimLeft(rest, "!<>,0123456789")
	argument := ""
	if strings.HasPrefix(rest, "{") {
		n := strings.IndexByte(rest, '}')
		argument, rest = rest[:n+1], rest[n+1:]
	}
	if strings.HasPrefix(rest, "^") && len(rest) > 2 {
		return before, argument + rest[:3], rest[3:], 0, true, nil
	}
	if rest == "" {
		return "", "", "", 0, false, &OptionError{"Layout", `"%"`, "a letter must follow", ""}
	}
	if rest[0] == 't' && argument == "" { // it stands in brackets
		return before + "[", "t", "]" + rest[1:], 0, true, nil
	}
	name = rest[:1]
	if argument != "" {
		name = strings.ToLower(argument) + name
	}
	return before, name, rest[1:], 0, true, nil
}

// apacheVariable: the header field X-Api-Key is %{X-Api-Key}i.
func apacheVariable(name string) string {
	name = strings.TrimLeft(name, "%<>")
	if headerLike(name) && !strings.HasPrefix(name, "{") && len(name) > 1 {
		return "{" + strings.ToLower(name) + "}i"
	}
	return name
}

func apacheAnswered(name string) string { return "{" + strings.ToLower(name) + "}o" }
