package report

import (
	"bytes"
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

func render(t testing.TB, format string, r *result.Run, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, r, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fixtures are the sample runs, with their clients.
func fixtures(t testing.TB) map[string]*result.Run {
	out := SampleRuns(t)
	for _, r := range out {
		for i := range r.Scenarios {
			r.Scenarios[i].Clients = chartedClients(&r.Scenarios[i])
		}
	}
	return out
}

func TestGolden(t *testing.T) {
	runs := fixtures(t)
	everyKind := []string{"pass", "fail", "unreachable", "empty", "hostile", "mixed", "alike"}
	compared := []string{"ndjson", "hlog"} // by tests of their own
	for _, x := range []struct {
		format, suffix string
		options        Options
		runs           []string
	}{
		{"table", "80.txt", Options{Width: 80}, []string{"pass", "fail", "unreachable", "unknown"}},
		{"table", "80.txt", Options{Width: 80},
			[]string{"interrupted", "empty", "hostile", "mixed", "alike"}},
		{"table", "verbose.txt", Options{Width: 100, Verbose: true}, []string{"mixed", "alike"}},
		{"table", "quiet.txt", Options{Width: 60, Quiet: true}, []string{"mixed", "pass"}},
		{"table", "120.txt", Options{Width: 120}, []string{"pass", "fail", "mixed"}},
		{"table", "color.txt", Options{Width: 100, Color: true}, []string{"mixed"}},
		{"table", "strict.txt", Options{Width: 100, Strict: true}, []string{"mixed"}},
		{"json", "json", Options{}, []string{"pass", "fail", "empty", "hostile"}},
		{"junit", "junit.xml", Options{}, []string{"pass", "fail", "unreachable", "unknown", "empty",
			"hostile", "mixed"}},
		{"ctrf", "ctrf.json", Options{}, []string{"fail", "unreachable", "empty", "hostile", "mixed"}},
		{"markdown", "md", Options{}, everyKind},
		{"github", "github.txt", Options{}, everyKind},
		{"openmetrics", "metrics.txt", Options{}, []string{"fail", "unknown", "empty", "hostile"}},
		{"csv", "csv", Options{}, []string{"unknown"}},
		{"clients", "clients.csv", Options{}, []string{"fail", "hostile", "unreachable"}},
		{"html", "html", Options{}, []string{"unreachable", "empty"}},
		{"acceptance", "acceptance.html", Options{}, []string{"fail", "hostile", "unreachable"}},
	} {
		compared = append(compared, x.format)
		for _, name := range x.runs {
			t.Run(name+"."+x.suffix, func(t *testing.T) {
				got := render(t, x.format, runs[name], x.options)
				if x.format == "html" || x.format == "acceptance" {
					got = unstyled(t, got)
				}
				Golden(t, "testdata/"+name+"."+x.suffix, got)
			})
		}
	}
	for _, format := range Formats() {
		if !slices.Contains(compared, format) {
			t.Errorf("format %s has no golden file: name runs for it in the table above", format)
		}
	}
}

// unstyled returns a page without its style sheet, which the page must contain.
func unstyled(t *testing.T, page []byte) []byte {
	t.Helper()
	before, after, ok := bytes.Cut(page, []byte(pageStyle))
	if !ok {
		t.Error("the page is not self-contained: its style sheet is missing")
	}
	return slices.Concat(before, []byte("/* page.css */\n"), after)
}
