package report

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// plain returns s fit for one line of a terminal, a page or an XML file: control characters (ESC, newlines,
// C1), marks that reorder or hide text, and bytes that are no UTF-8 become visible escapes (\x1b, \n, \u202e,
// \xff). Everything a target said passes through it before it reaches a reader. A string that needs nothing
// is returned as it is.
func plain(s string) string {
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

// hidden tells whether r changes what a reader sees without being seen itself: controls, formats
// (bidirectional marks, zero-width characters, tags), line and paragraph separators, private use, and what
// XML does not allow. Unicode's general categories Cc, Cf, Co, Cs, Zl and Zp, with the noncharacters.
func hidden(r rune) bool {
	if r < 0x7f {
		return r < 0x20
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) ||
		r&0xfffe == 0xfffe
}

// plainRun returns a copy of r whose every text has passed plain, and whose URLs carry no credentials.
// Timelines are shared, not copied: their texts are cleaned where they are used.
func plainRun(r *result.Run) *result.Run {
	c := *r
	c.ID, c.Version = plain(r.ID), plain(r.Version)
	c.Command = plainAll(r.Command)
	c.Host.GoVersion, c.Host.OS, c.Host.Arch = plain(r.Host.GoVersion), plain(r.Host.OS), plain(r.Host.Arch)
	if r.Policy != nil {
		p := *r.Policy
		p.From = plainAll(p.From)
		if k := p.Contradiction; k != nil {
			p.Contradiction = &result.Contradiction{Text: plain(k.Text)}
			p.Contradiction.Between = [2]string{plain(k.Between[0]), plain(k.Between[1])}
		}
		c.Policy = &p
	}
	c.Hint = plainHint(r.Hint)
	c.Scenarios = make([]result.Scenario, len(r.Scenarios))
	for i := range r.Scenarios {
		c.Scenarios[i] = plainScenario(r.Scenarios[i])
	}
	return &c
}

func plainScenario(s result.Scenario) result.Scenario {
	for _, p := range []*string{&s.ID, &s.Title, &s.Kind, &s.Source, &s.File, &s.Store, &s.Fault, &s.Detail,
		&s.TimelinePath, &s.Excerpt, &s.Unfit} {
		*p = plain(*p)
	}
	s.Target, s.Origin = plain(withoutUser(s.Target)), plain(withoutUser(s.Origin))
	s.ResolvedBy = plainAll(s.ResolvedBy)
	s.Reason = verdict.Reason(plain(string(s.Reason)))
	s.Header.Notes = plainAll(s.Header.Notes)
	s.Statuses = slices.Clone(s.Statuses)
	for i := range s.Statuses {
		s.Statuses[i].Location = plain(withoutUser(s.Statuses[i].Location))
	}
	s.Claims = append([]verdict.Claim(nil), s.Claims...)
	for i := range s.Claims {
		c := &s.Claims[i]
		c.ID, c.Text, c.Reason = plain(c.ID), plain(c.Text), verdict.Reason(plain(string(c.Reason)))
		c.Findings = plainFindings(c.Findings)
		c.Compared = slices.Clone(c.Compared)
		for k := range c.Compared {
			x := &c.Compared[k]
			for _, p := range []*string{&x.Attribute, &x.Plain, &x.Other, &x.Expected, &x.Observed,
				&x.Detail} {
				*p = plain(*p)
			}
		}
	}
	if s.Judgement != nil {
		j := *s.Judgement
		j.Detail = plain(j.Detail)
		j.Partitions = append([]verdict.PartitionVerdict(nil), j.Partitions...)
		for i := range j.Partitions {
			p := &j.Partitions[i]
			p.Partition, p.Detail, p.Findings = plain(p.Partition), plain(p.Detail), plainFindings(p.Findings)
		}
		s.Judgement = &j
	}
	return s
}

func plainFindings(fs []verdict.Finding) []verdict.Finding {
	fs = append([]verdict.Finding(nil), fs...)
	for i := range fs {
		fs[i].Kind, fs[i].Partition = verdict.Kind(plain(string(fs[i].Kind))), plain(fs[i].Partition)
		fs[i].Text = plain(fs[i].Text)
	}
	return fs
}

func plainAll(ss []string) []string {
	out := make([]string, len(ss))
	for i, s := range ss {
		out[i] = plain(s)
	}
	return out
}

// userInfo finds the user name and password of what does not parse as a URL, but looks like one.
var userInfo = regexp.MustCompile(`//[^/?#]*@`)

// withoutUser returns a URL without its user name and password. What has none is returned as it is.
func withoutUser(s string) string {
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

// cell returns s as the text of a CSV cell: a text that a spreadsheet would take for a formula (it begins
// with = + - @, a tab or a carriage return) gets an apostrophe in front.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// mdText returns s as a run of Markdown text that GitHub shows as it is, also at the beginning of a line: no
// markup, no HTML, no table border, no link, nobody mentioned.
func mdText(s string) string {
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

// mdCode returns s as a Markdown code span. In a table a pipe is written \|, which GitHub turns back.
func mdCode(s string, inTable bool) string {
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

// annotation returns s as the message of a workflow command, property as the value of one of its properties.
// Source: the toolkit of GitHub Actions, escapeData and escapeProperty.
func annotation(s string) string { return annotationEscapes.Replace(s) }

func property(s string) string { return propertyEscapes.Replace(s) }

var (
	annotationEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes   = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// shellWord returns s as one word of a POSIX shell: as it is where no character is special, else in single
// quotes.
func shellWord(s string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_@%+=:,./-", r))
	}
	if s != "" && strings.IndexFunc(s, special) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// plainHint is h with its texts passed through plain.
func plainHint(h *result.Hint) *result.Hint {
	if h == nil {
		return nil
	}
	return &result.Hint{Text: plain(h.Text), From: plainAll(h.From), Limits: h.Limits}
}
