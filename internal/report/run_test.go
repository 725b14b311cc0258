package report

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestVerdictOfARun(t *testing.T) {
	const p, f, i = result.Pass, result.Fail, result.Inconclusive
	const n = result.Verdict(99) // inconclusive, needs-failed
	type kv struct {
		kind string
		v    result.Verdict
	}
	for _, x := range []struct {
		name         string
		in           []kv
		interrupted  bool
		want, strict result.Verdict
	}{
		{"all passed", []kv{{result.Required, p}, {result.Recommended, p}}, false, p, p},
		{"a required one failed", []kv{{result.Required, f}, {result.Required, i}}, false, f, f},
		{"a recommended one failed", []kv{{result.Required, p}, {result.Recommended, f}}, false, p, f},
		{"an informative one failed", []kv{{result.Required, p}, {result.Informative, f}}, false, p, p},
		{"a required one is open", []kv{{result.Required, p}, {result.Required, i}}, false, i, i},
		{"a recommended one is open", []kv{{result.Required, p}, {result.Recommended, i}}, false, i, i},
		{"an informative one is open", []kv{{result.Required, p}, {result.Informative, i}}, false, p, p},
		{"only an informative one, open: nothing was judged", []kv{{result.Informative, i}}, false, i, i},
		{"one needs what the target never had", []kv{{result.Required, p}, {result.Required, n}}, false, p,
			p},
		{"all need what the target never had: nothing was judged", []kv{{result.Required, n}}, false, i, i},
		{"one is open, one needs something",
			[]kv{{result.Required, p}, {result.Required, n}, {result.Required, i}}, false, i, i},
		{"one failed and one needs something", []kv{{result.Required, f}, {result.Required, n}}, false, f, f},
		{"a kind that is misspelt counts", []kv{{"requird", f}}, false, f, f},
		{"nothing ran", nil, false, i, i},
		{"interrupted after a pass", []kv{{result.Required, p}}, true, i, i},
		{"interrupted after a failure", []kv{{result.Required, f}}, true, f, f},
	} {
		r := &result.Run{Interrupted: x.interrupted}
		for _, s := range x.in {
			if s.v == n {
				r.Scenarios = append(r.Scenarios, result.Scenario{Kind: s.kind, Reason: result.NeedsFailed})
				continue
			}
			r.Scenarios = append(r.Scenarios, result.Scenario{Kind: s.kind, Verdict: s.v})
		}
		if got := r.Verdict(false); got != x.want {
			t.Errorf("%s: got %s, want %s", x.name, got, x.want)
		}
		if got := r.Verdict(true); got != x.strict {
			t.Errorf("%s, strict: got %s, want %s", x.name, got, x.strict)
		}
	}
}

func TestUnknownFormatNamesTheKnownOnes(t *testing.T) {
	err := Write(io.Discard, "yaml", &result.Run{}, Options{})
	if err == nil || !strings.Contains(err.Error(), `"yaml"`) ||
		!strings.Contains(err.Error(), strings.Join(Formats(), ", ")) {
		t.Errorf("got %v, want an error that quotes yaml and lists %v", err, Formats())
	}
}

func TestFormatsOfRecordingsNeedOne(t *testing.T) {
	none := SampleRun(Passing(t))
	none.Scenarios[0].Timeline = nil
	for _, format := range []string{"ndjson", "csv", "hlog"} {
		if err := Write(io.Discard, format, none, Options{}); !errors.Is(err, ErrNone) {
			t.Errorf("%s without a recording: got %v, want %v", format, err, ErrNone)
		}
	}
	two := SampleRun(Passing(t), Failing(t))
	for _, format := range []string{"ndjson", "hlog"} {
		if err := Write(io.Discard, format, two, Options{}); err == nil ||
			!strings.Contains(err.Error(), "2 recordings") {
			t.Errorf("%s of two recordings: got %v, want a refusal", format, err)
		}
	}
}

func TestEveryFormatReportsAWriterThatFails(t *testing.T) {
	r := SampleRun(Failing(t))
	full := errors.New("no space left on device")
	for _, format := range Formats() {
		if err := Write(failingWriter{full}, format, r, Options{}); !errors.Is(err, full) {
			t.Errorf("%s on a full disk: got %v, want %v", format, err, full)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestWritingChangesNothing(t *testing.T) {
	r := SampleRun(Hostile(t), Passing(t))
	before := render(t, "json", r, Options{})
	for _, format := range []string{"table", "junit", "markdown", "github", "html", "csv", "openmetrics"} {
		render(t, format, r, Options{})
	}
	if d := cmp.Diff(string(before), string(render(t, "json", r, Options{}))); d != "" {
		t.Errorf("the run has changed (-before +after):\n%s", d)
	}
}

func TestRecordingsReadBack(t *testing.T) {
	s := Failing(t)
	r := SampleRun(s)
	tl, err := timeline.Read(bytes.NewReader(render(t, "ndjson", r, Options{})), "x", timeline.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s.Timeline, tl); d != "" {
		t.Errorf("ndjson read back (-want +got):\n%s", d)
	}
	tl, err = timeline.ReadCSV(bytes.NewReader(render(t, "csv", r, Options{})), "x", timeline.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Timeline.Observations {
		s.Timeline.Observations[i].Fields = nil // has no column
	}
	if d := cmp.Diff(s.Timeline.Observations, tl.Observations); d != "" {
		t.Errorf("csv read back (-want +got):\n%s", d)
	}
	log := string(render(t, "hlog", r, Options{}))
	for _, tag := range []string{"[StartTime: 1795168800.000 ", "Tag=allowed-corrected,",
		"Tag=allowed-service,", "Tag=denied-corrected,", "Tag=denied-service,"} {
		if !strings.Contains(log, tag) {
			t.Errorf("hlog: no line with %s", tag)
		}
	}
}

// TestReportReadBackPrintsTheSame: a report that was read back prints as before, apart from what only the
// recording tells.
func TestReportReadBackPrintsTheSame(t *testing.T) {
	r := fixtures(t)["mixed"]
	back, err := ReadDocument(bytes.NewReader(render(t, "json", r, Options{})))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Scenarios {
		r.Scenarios[i].Timeline = nil
	}
	for _, format := range []string{"table", "junit", "markdown", "github", "html", "openmetrics"} {
		if d := cmp.Diff(string(render(t, format, r, Options{})),
			string(render(t, format, back, Options{}))); d != "" {
			t.Errorf("%s of the report read back (-want +got):\n%s", format, d)
		}
	}
}
