package text

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns s fit for one line of a terminal, a page or an XML file. Control characters (ESC, newlines,
// C1), marks that reorder or hide text, and bytes that are no UTF-8 become visible escapes (\x1b, \n, \u202e,
// \xff). What a CI runner would take for a command becomes inert (Inert). Every text of a target passes it
// before it reaches a reader. A string that needs nothing is returned as it is.
func Clean(s string) string {
	s = Inert(s)
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80 && hidden(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff && hidden(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// The commands of runners in the output of a step. GitHub, Azure and TeamCity look for ##[...], ##vso[...]
// and ##teamcity[...] anywhere in a line; GitHub also for ::NAME ...:: at the beginning of a line, to which
// wrapping may bring any word. Source: actions/runner, ActionCommand.cs.
var (
	runnerCommand = regexp.MustCompile(`##(\w*\[)`)
	lineCommand   = regexp.MustCompile(`::([A-Za-z].*::)`)
)

// Inert breaks what a CI runner would take for a command: it writes the second character as an escape.
func Inert(s string) string {
	if strings.Contains(s, "##") {
		s = runnerCommand.ReplaceAllString(s, `#\u0023$1`)
	}
	for strings.Contains(s, "::") && lineCommand.MatchString(s) {
		s = lineCommand.ReplaceAllString(s, `:\u003a$1`)
	}
	return s
}

// hidden tells whether r changes what a reader sees and is not seen itself. These are controls, formats
// (bidirectional marks, zero-width characters, tags), line and paragraph separators, private use, and what
// XML does not allow. They are Unicode's general categories Cc, Cf, Co, Cs, Zl and Zp, and the noncharacters.
func hidden(r rune) bool {
	if r < 0x7f {
		return r < 0x20
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) ||
		r&0xfffe == 0xfffe
}

// CleanAll returns each of ss as Text returns it, in their order.
func CleanAll(ss []string) []string {
	out := make([]string, len(ss))
	for i, s := range ss {
		out[i] = Clean(s)
	}
	return out
}

// Quote returns s as a Go string literal in ASCII, cut after 80 bytes.
func Quote(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// userInfo matches the user name and password of a text that does not parse as a URL but looks like one.
var userInfo = regexp.MustCompile(`//[^/?#]*@`)

// CleanURL returns a URL without its user name and password. A URL without them is returned as it is.
func CleanURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return userInfo.ReplaceAllLiteralString(s, "//")
	}
	if u.User == nil {
		return s
	}
	u.User = nil
	return u.String()
}
