package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// curlLookup finds a variable, as os.LookupEnv does.
type curlLookup func(name string) (value string, set bool)

// lexer cuts a command into words as a shell does.
type lexer struct {
	rest   string
	lookup curlLookup
	words  []string
	word   strings.Builder
	// open tells that a word has begun; it may still be empty.
	open bool
}

// split returns the words of one command. It replaces variables, but runs nothing and expands no file
// patterns.
func split(text string, lookup curlLookup) ([]string, error) {
	l := lexer{rest: strings.ReplaceAll(text, "\r\n", "\n"), lookup: lookup}
	for l.rest != "" {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	l.end()
	return l.words, nil
}

// end closes a word.
func (l *lexer) end() {
	if l.open {
		l.words = append(l.words, l.word.String())
	}
	l.word.Reset()
	l.open = false
}

// add puts text into the word.
func (l *lexer) add(text string) {
	l.word.WriteString(text)
	l.open = true
}

// take removes n bytes from the rest and returns them.
func (l *lexer) take(n int) string {
	head := l.rest[:n]
	l.rest = l.rest[n:]
	return head
}

// next reads the beginning of rest, outside of quotes.
func (l *lexer) next() error {
	switch c := l.rest[0]; {
	case strings.HasPrefix(l.rest, "\\\n"):
		l.take(2)
	case c == ' ' || c == '\t' || c == '\n':
		l.take(1)
		l.end()
	case c == '#' && !l.open:
		line, _, _ := strings.Cut(l.rest, "\n")
		l.take(len(line))
	case c == '\\' && len(l.rest) > 1:
		_, size := utf8.DecodeRuneInString(l.rest[1:])
		l.add(l.take(1 + size)[1:])
	case c == '\'':
		return l.single()
	case c == '"':
		return l.double()
	case strings.HasPrefix(l.rest, "$'"):
		return l.ansi()
	case c == '$' || c == '`':
		return l.variable()
	case strings.IndexByte(";|&<>()", c) >= 0:
		return problem(strconv.Quote(string(c)), "it ends the curl command, and rlcheck runs no other "+
			"command",
			"put a URL with it into quotes, and leave out everything after the command")
	default:
		l.add(l.take(1))
	}
	return nil
}

// single reads '...'.
func (l *lexer) single() error {
	inside, rest, closed := strings.Cut(l.rest[1:], "'")
	if !closed {
		return problem("'", "this quote is not closed", "")
	}
	l.add(inside)
	l.rest = rest
	return nil
}

// double reads "...". In it, a backslash takes away the meaning of $, `, ", a backslash, and the end of a
// line.
func (l *lexer) double() error {
	l.take(1)
	l.open = true
	for l.rest != "" {
		switch c := l.rest[0]; {
		case c == '"':
			l.take(1)
			return nil
		case strings.HasPrefix(l.rest, "\\\n"):
			l.take(2)
		case c == '\\' && len(l.rest) > 1 && strings.IndexByte("$`\"\\", l.rest[1]) >= 0:
			l.add(l.take(2)[1:])
		case c == '$' || c == '`':
			if err := l.variable(); err != nil {
				return err
			}
		default:
			l.add(l.take(1))
		}
	}
	return problem(`"`, "this quote is not closed", "")
}

// variable reads $NAME and ${NAME}. A dollar sign before anything else stands for itself.
func (l *lexer) variable() error {
	if l.rest[0] == '`' || strings.HasPrefix(l.rest, "$(") {
		return problem(l.take(1), "a shell would run a command here, and rlcheck runs none",
			"write its output, or a variable")
	}
	name, after := l.rest[1:], ""
	if strings.HasPrefix(name, "{") {
		inside, rest, closed := strings.Cut(name[1:], "}")
		if !closed || nameLength(inside) != len(inside) || inside == "" {
			return problem("${", "a variable is $NAME or ${NAME}", "")
		}
		name, after = inside, rest
	} else {
		n := nameLength(name)
		name, after = name[:n], name[n:]
	}
	if name == "" {
		l.add(l.take(1))
		return nil
	}
	value, set := "", false
	if l.lookup != nil {
		value, set = l.lookup(name)
	}
	if !set {
		return problem("$"+name, "the variable is not set", "export it, or write its value")
	}
	l.add(value)
	l.rest = after
	return nil
}

// nameLength returns how many bytes at the beginning of s form the name of a variable.
func nameLength(s string) int {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return i
		}
	}
	return len(s)
}

// escapes are the escapes of $'...' that stand for one character.
var escapes = map[byte]string{'a': "\a", 'b': "\b", 'e': "\x1b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t",
	'v': "\v", '\\': "\\", '\'': "'", '"': `"`, '?': "?"}

// ansi reads $'...', in which browsers write characters outside of ASCII.
func (l *lexer) ansi() error {
	l.take(2)
	l.open = true
	for l.rest != "" {
		switch c := l.rest[0]; {
		case c == '\'':
			l.take(1)
			return nil
		case c != '\\' || len(l.rest) == 1:
			l.add(l.take(1))
		case escapes[l.rest[1]] != "":
			l.add(escapes[l.take(2)[1]])
		default:
			l.numbered()
		}
	}
	return problem("$'", "this quote is not closed", "")
}

// numbered reads \xHH, \uHHHH, \UHHHHHHHH and \NNN. A backslash before anything else stands for itself.
func (l *lexer) numbered() {
	digits, base, most := l.rest[1:], 8, 3
	switch l.rest[1] {
	case 'x':
		digits, base, most = l.rest[2:], 16, 2
	case 'u':
		digits, base, most = l.rest[2:], 16, 4
	case 'U':
		digits, base, most = l.rest[2:], 16, 8
	}
	n := 0
	for n < min(most, len(digits)) {
		if _, err := strconv.ParseUint(digits[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	if n == 0 {
		l.add(l.take(1))
		return
	}
	code, _ := strconv.ParseUint(digits[:n], base, 64) // digits alone, and few
	if most == 2 || most == 3 {
		l.add(string([]byte{byte(code)}))
	} else {
		l.add(string(rune(code)))
	}
	l.rest = digits[n:]
}
