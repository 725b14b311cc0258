package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestTableFitsTheTerminal: no line is wider than the terminal, apart from a command to copy and a single
// long word.
func TestTableFitsTheTerminal(t *testing.T) {
	for name, r := range fixtures(t) {
		if name == "hostile" {
			continue // its id is one long word
		}
		for width := 60; width <= 160; width++ {
			text := string(render(t, "table", r, Options{Width: width, Verbose: width%2 == 1}))
			for _, l := range strings.Split(text, "\n") {
				if w := twwidth.Width(l); w > width && !strings.HasPrefix(l, "  replay: ") &&
					(strings.Contains(strings.TrimSpace(l), " ") || strings.HasPrefix(l, "─")) {
					t.Errorf("%s: %d columns, want at most %d: %s", name, w, width, l)
				}
				if strings.TrimRight(l, " ") != l {
					t.Errorf("%s at %d: spaces at the end of %q", name, width, l)
				}
			}
		}
	}
}

func TestTableIsColouredOnlyOnRequest(t *testing.T) {
	r := fixtures(t)["mixed"]
	plain := string(render(t, "table", r, Options{Width: 100}))
	color := string(render(t, "table", r, Options{Width: 100, Color: true}))
	if strings.Contains(plain, "\x1b") {
		t.Error("colours without being asked")
	}
	if got := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(color, ""); got != plain ||
		got == color {
		t.Errorf("without its colours the coloured report differs:\n%s\n%s", got, plain)
	}
}

func TestManyFindingsAreSummedUp(t *testing.T) {
	s := Failing(t)
	f := s.Claims[0].Findings[0]
	for range 6 {
		s.Claims[0].Findings = append(s.Claims[0].Findings, f)
	}
	got := string(render(t, "table", SampleRun(s), Options{Width: 200}))
	if n := strings.Count(got, "21 requests allowed"); n != 1 || !strings.Contains(got, "7 findings in all") {
		t.Errorf("got %d of 7 findings, want the clearest, and their number:\n%s", n, got)
	}
	got = string(render(t, "table", SampleRun(s), Options{Width: 200, Verbose: true}))
	if n := strings.Count(got, "21 requests allowed"); n != 3 {
		t.Errorf("got %d of 7 findings, want 3", n)
	}
	if !strings.Contains(got, "and 4 more like it") || !strings.Contains(got, "3 of 12 clients") {
		t.Errorf("neither says what is left out nor shows the other claim:\n%s", got)
	}
	if n := strings.Count(got, "replay: "); n != 1 {
		t.Errorf("got the replay command %d times, want once", n)
	}
}

// TestUnclassifiedAnswersAreAnswers: a target that answers nothing but 500 does answer.
func TestUnclassifiedAnswersAreAnswers(t *testing.T) {
	x := result.Scenario{}
	if got := tails(&x); got != "no answers" {
		t.Errorf("got %q", got)
	}
	x.Latency.Unknown.Service = timeline.Distribution{Count: 2, P50: 9 * time.Millisecond,
		P99: 31 * time.Millisecond}
	if got, want := tails(&x), "unknown 9.00/31.0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMeasuredIntervals(t *testing.T) {
	for _, x := range []struct {
		in   result.Interval
		want string
	}{
		{Between(20, 20), "measured 20..20/s"},
		// rounded outwards: the printed interval holds the measured one
		{Between(9.9712, 10.0388), "measured 9.97..10.04/s"},
		{Between(99.12, 100.39), "measured 99.1..100.4/s"},
		{Between(0.016666, 0.016667), "measured 0.0166..0.0167/s"},
		{Between(123456.7, 123457.1), "measured 123456..123458/s"},
		{Between(100, 100), "measured 100..100/s"},
		{result.Interval{Lo: 18, LoSet: true}, "measured at least 18/s"},
		{result.Interval{Hi: 22, HiSet: true}, "measured at most 22/s"},
		{result.Interval{Hi: 0, HiSet: true}, "measured at most 0/s"}, // everything was denied
		{result.Interval{}, "not measured"},
		{Between(12, 11), "measured: no value fits"},
	} {
		if got := result.IntervalText(x.in, "/s", text.PerSecond); got != x.want {
			t.Errorf("measured(%v): got %q, want %q", x.in, got, x.want)
		}
	}
}

// TestLatenciesFitTheTerminal: a long id and times of many digits leave less room for quantiles. The median,
// the 99th percentile and the longest latency stay.
func TestLatenciesFitTheTerminal(t *testing.T) {
	s := Passing(t)
	s.ID = "forged-client-address-of-nobody"
	r := SampleRun(s)
	for width, want := range map[int]string{100: "ANSWERS P50 P90 P99 P99.9 MAX", 80: "P50 P90 P99 P99.9 MAX",
		72: "P50 P90 P99 MAX", 66: "P50 P99 MAX"} {
		text := string(render(t, "table", r, Options{Width: width, Verbose: true}))
		for _, l := range strings.Split(text, "\n") {
			head, ok := strings.CutPrefix(l, " LATENCY, ms")
			if !ok {
				continue
			}
			if got := strings.Join(strings.Fields(head)[2:], " "); got != want || twwidth.Width(l) > width {
				t.Errorf("at %d: got %s in %d columns, want %s", width, got, twwidth.Width(l), want)
			}
		}
	}
}

// TestManyScenariosFitOneScreen: 36 scenarios that pass take one line each and a few more. Of 36 causes only
// some are shown, and the rest is counted.
func TestManyScenariosFitOneScreen(t *testing.T) {
	var pass, fail []result.Scenario
	for i := range 36 {
		s := Passing(t)
		s.ID = fmt.Sprintf("scenario-%d", i)
		pass = append(pass, s)
		fail = append(fail, Claimed(s.ID, s.ID, "k", "text"))
	}
	got := string(render(t, "table", Measured(pass...), Options{}))
	if n := strings.Count(got, "\n"); n > 36+12 {
		t.Errorf("36 scenarios that pass: got %d lines, want at most 48:\n%s", n, got)
	}
	got = string(render(t, "table", SampleRun(fail...), Options{}))
	if !strings.Contains(got, "24 more causes in ") || !strings.Contains(got, "scenario-35") {
		t.Errorf("neither shows all causes nor says how many it leaves out:\n%s", got)
	}
}
