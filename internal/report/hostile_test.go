package report

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestHostileTextsStayText prints texts that try to be something else, in every format but the recordings.
func TestHostileTextsStayText(t *testing.T) {
	r := SampleRun(Hostile(t))
	r.ID, r.Version, r.Command = "r\x1b[2J", "v</title><script>", []string{"<!--", "\u202e"}
	recordings := []string{"ndjson", "hlog"} // what a program reads, byte for byte
	for _, format := range Formats() {
		if slices.Contains(recordings, format) {
			continue
		}
		got := bytes.ReplaceAll(render(t, format, r, Options{Width: 80}), []byte("\r\n"), []byte("\n"))
		if !utf8.Valid(got) {
			t.Errorf("%s: not UTF-8", format)
		}
		for i, c := range string(got) {
			if text.Clean(string(c)) != string(c) && c != '\n' {
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
	got := string(render(t, "github", SampleRun(Hostile(t), Unreachable(t)), Options{}))
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
	broken := Passing(t)
	broken.Judgement.Measured.Rate = Between(math.Inf(-1), math.Inf(1))
	broken.Header.Audit.CPUShare = math.NaN()
	none := result.Scenario{ID: "none"}
	nothing := Unknown(t)
	nothing.Timeline.Observations, nothing.Timeline.Header.Ended, nothing.Latency = nil, 0,
		timeline.LatencySummary{}
	for name, r := range map[string]*result.Run{
		"broken": SampleRun(broken), "zero": SampleRun(none), "nothing": SampleRun(nothing), "empty": {},
		"unknown": SampleRun(Unknown(t)),
	} {
		for _, format := range Formats() {
			var b bytes.Buffer
			if err := Write(&b, format, r, Options{}); err != nil {
				continue // a format of one recording
			}
			got := b.Bytes()
			if m := regexp.MustCompile(`\bNaN\b|\bInf\b|%!|<no value>`).Find(got); m != nil {
				t.Errorf("%s of %s: contains %s", format, name, m)
			}
		}
	}
}
