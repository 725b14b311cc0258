package report

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rlcheck/rlcheck/internal/latency"
	"github.com/rlcheck/rlcheck/internal/report/sample"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

func TestPlainShowsWhatIsHidden(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{"plain, ünïcode, 日本, ‘quotes’ — and a % sign", "plain, ünïcode, 日本, ‘quotes’ — and a % sign"},
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
		if got := plain(x.in); got != x.want {
			t.Errorf("plain(%q): got %q, want %q", x.in, got, x.want)
		}
	}
}

func TestCellDisarmsFormulas(t *testing.T) {
	for in, want := range map[string]string{"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x",
		"\tx": "'\tx", "k1": "k1", "": "", "a=b": "a=b"} {
		if got := cell(in); got != want {
			t.Errorf("cell(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestMarkdownEscapes(t *testing.T) {
	for _, x := range []struct{ got, want string }{
		{mdText("a|b <i> *x* `c` @bob"), "a\\|b &lt;i&gt; \\*x\\* \\`c\\` @<!-- -->bob"},
		{mdText("see http://evil.example"), "see http&#58;//evil.example"},
		{mdText("1. not a list"), `1\. not a list`},
		{mdText("- not a list"), `\- not a list`},
		{mdText("110 requests"), "110 requests"},
		{mdCode("a`b", false), "``a`b``"},
		{mdCode("`a`", false), "`` `a` ``"},
		{mdCode("a|b", true), "`a\\|b`"},
		{mdCode("a|b", false), "`a|b`"},
		{mdCode("", true), ""},
		{annotation("50% of\r\nit: a,b"), "50%25 of%0D%0Ait: a,b"},
		{property("50% of\r\nit: a,b"), "50%25 of%0D%0Ait%3A a%2Cb"},
		{shellWord("reports/x-1.ndjson"), "reports/x-1.ndjson"},
		{shellWord("it's $HOME"), `'it'\''s $HOME'`},
		{shellWord(""), "''"},
		{withoutUser("http://u:p@h:1/x?y=1"), "http://h:1/x?y=1"},
		{withoutUser("http://h/%zz"), "http://h/%zz"},
	} {
		if x.got != x.want {
			t.Errorf("got %q, want %q", x.got, x.want)
		}
	}
}

// Every format but the recordings, on texts that try to be something else.
func TestHostileTextsStayText(t *testing.T) {
	r := sample.Run(sample.Hostile(t))
	r.ID, r.Version, r.Command = "r\x1b[2J", "v</title><script>", []string{"<!--", "\u202e"}
	for _, format := range []string{"table", "json", "junit", "markdown", "github", "html", "csv",
		"openmetrics"} {
		got := render(t, format, r, Options{Width: 80})
		if !utf8.Valid(got) {
			t.Errorf("%s: not UTF-8", format)
		}
		for i, c := range string(got) {
			if hidden(c) && c != '\n' && !(format == "csv" && c == '\r') {
				t.Errorf("%s: byte %d: the hidden character %U", format, i, c)
				break
			}
		}
		if bytes.Contains(got, []byte("secret")) {
			t.Errorf("%s: shows the password of a URL", format)
		}
		if len(got) < 500 {
			t.Errorf("%s: only %d bytes", format, len(got))
		}
	}
}

func TestGitHubWritesOnlyItsOwnCommands(t *testing.T) {
	got := string(render(t, "github", sample.Run(sample.Hostile(t), sample.Unreachable(t)), Options{}))
	for _, l := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
		if !regexp.MustCompile(`^::(error|warning|notice) title=[^:]*(,file=[^:,]*)?::`).MatchString(l) {
			t.Errorf("not a command of ours: %s", l)
		}
	}
	if n := strings.Count(got, "\n"); n != 5 {
		t.Errorf("got %d lines, want 5: an error for two claims and the redirect, a warning, a notice", n)
	}
}

func TestNoFormatWritesNaN(t *testing.T) {
	broken := sample.Passing(t)
	broken.Judgement.Measured.Rate = sample.Between(math.Inf(-1), math.Inf(1))
	broken.Header.Audit.CPUShare = math.NaN()
	none := result.Scenario{ID: "none"}
	nothing := sample.Unknown(t)
	nothing.Timeline.Observations, nothing.Timeline.Header.Ended, nothing.Latency = nil, 0, latency.Summary{}
	for name, r := range map[string]*result.Run{
		"broken": sample.Run(broken), "zero": sample.Run(none), "nothing": sample.Run(nothing), "empty": {},
		"unknown": sample.Run(sample.Unknown(t)),
	} {
		for _, format := range []string{"table", "json", "junit", "markdown", "github", "html",
			"openmetrics"} {
			got := render(t, format, r, Options{})
			if m := regexp.MustCompile(`\bNaN\b|\bInf\b|%!|<no value>`).Find(got); m != nil {
				t.Errorf("%s of %s: contains %s", format, name, m)
			}
		}
	}
	if j := toInterval(verdict.Interval{Lo: math.Inf(-1), LoSet: true}); j[0] != nil {
		t.Errorf("an infinite end: got %v, want null", *j[0])
	}
}
