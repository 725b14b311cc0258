package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"testing"
)

func TestPlainShowsWhatIsHidden(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{"plain, ünïcode, 日本, ‘quotes’ — and a % sign",
			"plain, ünïcode, 日本, ‘quotes’ — and a % sign"},
		{"\x1b[31mred", `\x1b[31mred`},
		{"a\nb\rc\td\x00\x7f", `a\nb\rc\td\x00\x7f`},
		{"\u009b2J", `\u009b2J`},                 // a control sequence of one byte in Latin-1
		{"\u202eevil\u2069", `\u202eevil\u2069`}, // right to left
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`},
		{"\u2028", `\u2028`}, // a line separator
		{"\U000e0041", `\U000e0041`},
		{"\ufffe\uffff", `\ufffe\uffff`}, // not allowed in XML
		{"\xff\xc3", `\xff\xc3`},
		{"", ""},
	} {
		if got := Clean(x.in); got != x.want {
			t.Errorf("plain(%q): got %q, want %q", x.in, got, x.want)
		}
	}
}

// TestRunnersFindNoCommand: no line of a text of a target is a command to the runner of GitHub, Azure or
// TeamCity, wherever the text is wrapped. JSON keeps its values.
func TestRunnersFindNoCommand(t *testing.T) {
	for text, want := range map[string]string{
		"##[stop-commands]x":                   `#\u0023[stop-commands]x`,
		"a ##vso[task.setvariable x=y]/":       `a #\u0023vso[task.setvariable x=y]/`,
		"##teamcity[buildStatus]":              `#\u0023teamcity[buildStatus]`,
		"###[error]":                           `##\u0023[error]`,
		"x ::stop-commands::pwn":               `x :\u003astop-commands::pwn`,
		"::set-output name=a::b ::error ::c::": `:\u003aset-output name=a:\u003ab :\u003aerror :\u003ac::`,
		"## heading, [link]":                   "## heading, [link]",
		"wrapped::error::here":                 `wrapped:\u003aerror::here`,
		"http://[::1]:8080/ and a::b":          "http://[::1]:8080/ and a::b",
		"from ::1 to ::2":                      "from ::1 to ::2",
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	doc := []byte(`{"limit":"##[set-output name=x]"}`)
	var a, b map[string]string
	if err := errors.Join(json.Unmarshal(doc, &a), json.Unmarshal(CleanJSON(doc), &b)); err != nil ||
		!maps.Equal(a, b) || bytes.Contains(CleanJSON(doc), []byte("##[")) {
		t.Errorf("%s became %s: %v", doc, CleanJSON(doc), err)
	}
}

func TestCellDisarmsFormulas(t *testing.T) {
	for in, want := range map[string]string{"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x",
		"\tx": "'\tx", "k1": "k1", "": "", "a=b": "a=b"} {
		if got := MarkdownCell(in); got != want {
			t.Errorf("cell(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestMarkdownEscapes(t *testing.T) {
	for _, x := range []struct{ got, want string }{
		{Markdown("a|b <i> *x* `c` @bob"), "a\\|b &lt;i&gt; \\*x\\* \\`c\\` @<!-- -->bob"},
		{Markdown("see http://evil.example"), "see http&#58;//evil.example"},
		{Markdown("1. not a list"), `1\. not a list`},
		{Markdown("- not a list"), `\- not a list`},
		{Markdown("110 requests"), "110 requests"},
		{MarkdownCode("a`b", false), "``a`b``"},
		{MarkdownCode("`a`", false), "`` `a` ``"},
		{MarkdownCode("a|b", true), "`a\\|b`"},
		{MarkdownCode("a|b", false), "`a|b`"},
		{MarkdownCode("", true), ""},
		{GitHubAnnotation("50% of\r\nit: a,b"), "50%25 of%0D%0Ait: a,b"},
		{GitHubProperty("50% of\r\nit: a,b"), "50%25 of%0D%0Ait%3A a%2Cb"},
		{ShellWord("reports/x-1.ndjson"), "reports/x-1.ndjson"},
		{ShellWord("it's $HOME"), `'it'\''s $HOME'`},
		{ShellWord(""), "''"},
		{CleanURL("http://u:p@h:1/x?y=1"), "http://h:1/x?y=1"},
		{CleanURL("http://h/%zz"), "http://h/%zz"},
	} {
		if x.got != x.want {
			t.Errorf("got %q, want %q", x.got, x.want)
		}
	}
}
