package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MarkdownCell returns s as the text of a CSV cell. A text that a spreadsheet would take for a formula gets
// an apostrophe in front: it begins with = + - @, a tab or a carriage return.
func MarkdownCell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// Markdown returns s as Markdown that GitHub shows as it is, also at the beginning of a line: no markup, no
// HTML, no table border, no link, nobody mentioned.
func Markdown(s string) string {
	s = mdEscapes.Replace(s)
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits < len(s) && (digits > 0 && strings.ContainsRune(".)", rune(s[digits])) ||
		strings.ContainsRune("-+=", rune(s[0]))) {
		return s[:digits] + `\` + s[digits:] // a list, or the line below a heading
	}
	return s
}

var mdEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "|", `\|`, "!",
	`\!`, "$", `\$`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "://", "&#58;//", "www.", "www&#46;", "@", "@<!-- -->",
)

// MarkdownCode returns s as a Markdown code span. In a table a pipe is written \|, which GitHub turns back.
func MarkdownCode(s string, inTable bool) string {
	if s == "" {
		return ""
	}
	if inTable {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	run, longest := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' {
		s = " " + s + " "
	}
	return fence + s + fence
}

// GitHubAnnotation returns s as the message of a workflow command. Source: the toolkit of GitHub Actions,
// escapeData and escapeProperty.
func GitHubAnnotation(s string) string { return annotationEscapes.Replace(s) }

// GitHubProperty is Annotation for the value of a property.
func GitHubProperty(s string) string { return propertyEscapes.Replace(s) }

var (
	annotationEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes   = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// ShellWord returns s as one word of a POSIX shell: as it is if no character is special, otherwise in single
// quotes.
func ShellWord(s string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_@%+=:,./-", r))
	}
	if s != "" && strings.IndexFunc(s, special) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// CleanJSON returns a JSON text with the hidden characters inside its strings as \u escapes. The values stay
// exact. Outside of strings, the only hidden characters of JSON are newlines, which stay. The commands of CI
// runners begin with an escape too: outside of strings there is no #, and a line begins with no colon.
func CleanJSON(text []byte) []byte {
	text = runnerCommand.ReplaceAll(text, []byte(`#\u0023$1`))
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == '\n' || !hidden(r) {
			out = append(out, text[i:i+n]...)
		} else if r > 0xffff {
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}
