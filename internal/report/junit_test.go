package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

// parsedSuites reads JUnit as other programs do, by the names of the elements only.
type parsedSuites struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Suites   []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct { // its text is chardata
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// TestJUnitCountsWhatTheRunCounts: an open claim in an informative scenario makes no run fail, so that it is
// no error.
func TestJUnitCountsWhatTheRunCounts(t *testing.T) {
	for kind, want := range map[string]int{result.Required: 1, result.Recommended: 1, result.Informative: 0} {
		for _, reason := range []result.Reason{result.TooFew, result.Unreachable} {
			r := SampleRun(result.Scenario{ID: "x", Kind: kind, Verdict: result.Inconclusive,
				Reason: reason,
				Detail: "nothing came"})
			var got parsedSuites
			if err := xml.Unmarshal(render(t, "junit", r, Options{InconclusiveIsError: true}),
				&got); err != nil {
				t.Fatal(err)
			}
			if got.Errors != want || got.Tests != 1 {
				t.Errorf("%s, %s: got %d errors of %d tests, want %d of 1", kind, reason, got.Errors,
					got.Tests, want)
			}
		}
	}
}

// junitSchema has the attributes that each element may have, and those that it must have (junit-10.xsd of
// Jenkins' xunit plugin).
var junitSchema = map[string]struct{ must, may string }{
	"testsuites": {"", "name time tests failures errors"},
	"testsuite": {"name tests failures errors",
		"group time skipped timestamp hostname id package file log url"},
	"properties": {}, "property": {"name value", ""},
	"testcase": {"name", "time classname group"},
	"failure":  {"", "type message"}, "error": {"", "type message"}, "skipped": {"", "type message"},
	"system-out": {},
}

// TestJUnitFollowsTheSchema: a reader that validates a file refuses all of it for one wrong attribute.
func TestJUnitFollowsTheSchema(t *testing.T) {
	for name, r := range fixtures(t) {
		d := xml.NewDecoder(bytes.NewReader(render(t, "junit", r, Options{})))
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			rule, known := junitSchema[e.Name.Local]
			if !known {
				t.Errorf("%s: element %s: the schema has none", name, e.Name.Local)
			}
			var has []string
			for _, a := range e.Attr {
				has = append(has, a.Name.Local)
				if !slices.Contains(strings.Fields(rule.must+" "+rule.may), a.Name.Local) {
					t.Errorf("%s: attribute %s of %s: the schema has none", name, a.Name.Local, e.Name.Local)
				}
			}
			for _, must := range strings.Fields(rule.must) {
				if !slices.Contains(has, must) {
					t.Errorf("%s: %s has no %s", name, e.Name.Local, must)
				}
			}
		}
	}
}

func TestJUnitReadsBack(t *testing.T) {
	runs := fixtures(t)
	for _, x := range []struct {
		run                              string
		options                          Options
		tests, failures, errors, skipped int
	}{
		{"pass", Options{}, 2, 0, 0, 0},
		{"fail", Options{}, 3, 2, 0, 0},
		{"unreachable", Options{}, 1, 0, 1, 0},
		{"unknown", Options{}, 1, 0, 0, 1},
		{"unknown", Options{InconclusiveIsError: true}, 1, 0, 1, 0},
		{"interrupted", Options{}, 1, 0, 0, 1},
		{"empty", Options{}, 0, 0, 0, 0},
		{"hostile", Options{}, 3, 2, 0, 1},
		{"mixed", Options{}, 7, 0, 1, 3}, // its failures are only recommended, and so skipped
		{"mixed", Options{Strict: true}, 7, 2, 1, 1},
	} {
		var got parsedSuites
		if err := xml.Unmarshal(render(t, "junit", runs[x.run], x.options), &got); err != nil {
			t.Errorf("%s: %v", x.run, err)
			continue
		}
		tests, failures, errors, skipped := 0, 0, 0, 0
		for _, s := range got.Suites {
			suite := [4]int{len(s.Cases)}
			for _, c := range s.Cases {
				switch {
				case c.Failure != nil:
					suite[1]++
				case c.Error != nil:
					suite[2]++
				case c.Skipped != nil:
					suite[3]++
				}
			}
			if suite != [4]int{s.Tests, s.Failures, s.Errors, s.Skipped} {
				t.Errorf("%s: suite %s has %v, its attributes say %d %d %d %d", x.run, s.Name, suite, s.Tests,
					s.Failures, s.Errors, s.Skipped)
			}
			tests, failures, errors, skipped = tests+suite[0], failures+suite[1], errors+suite[2],
				skipped+suite[3]
		}
		if [4]int{tests, failures, errors, skipped} != [4]int{x.tests, x.failures, x.errors, x.skipped} {
			t.Errorf("%s: got %d tests, %d failures, %d errors, %d skipped, want %d, %d, %d, %d", x.run,
				tests, failures, errors, skipped,
				x.tests, x.failures, x.errors, x.skipped)
		}
		if got.Tests != tests || got.Failures != failures || got.Errors != errors {
			t.Errorf("%s: the root says %d %d %d, its suites %d %d %d", x.run, got.Tests, got.Failures,
				got.Errors, tests, failures, errors)
		}
	}
}

func TestJUnitFailureHasTheWitness(t *testing.T) {
	var got parsedSuites
	if err := xml.Unmarshal(render(t, "junit", SampleRun(Failing(t)), Options{}), &got); err != nil {
		t.Fatal(err)
	}
	f := got.Suites[0].Cases[0].Failure
	if f == nil || !strings.HasPrefix(f.Message, "21 requests allowed") {
		t.Fatalf("got %v, want a failure that begins with the sentence", f)
	}
	for _, part := range []string{"at most 20 + floor",
		"first #2 sent 0.002021 s, last #20 first byte 0.003247 s", "replay: rlcheck check "} {
		if !strings.Contains(f.Text, part) {
			t.Errorf("no %q in %q", part, f.Text)
		}
	}
}

// TestJUnitShowsAVerdictThatNoClaimExplains: such a verdict must not vanish, since a suite of passing cases
// would be green.
func TestJUnitShowsAVerdictThatNoClaimExplains(t *testing.T) {
	s := Unreachable(t)
	s.Claims = nil
	failed := Failing(t)
	failed.Claims = nil
	late := Passing(t) // all claims passed, but the target went away
	late.Verdict, late.Reason = result.Inconclusive, result.Unreachable
	for _, x := range []struct {
		s    result.Scenario
		want [3]int
	}{{s, [3]int{1, 0, 1}}, {failed, [3]int{1, 1, 0}}, {late, [3]int{3, 0, 1}}} {
		var got parsedSuites
		if err := xml.Unmarshal(render(t, "junit", SampleRun(x.s), Options{}), &got); err != nil {
			t.Fatal(err)
		}
		if have := [3]int{got.Tests, got.Failures, got.Errors}; have != x.want {
			t.Errorf("%s: got tests, failures, errors %v, want %v", x.s.ID, have, x.want)
		}
	}
}

// TestGitHubShowsTenOfAKind: GitHub drops the eleventh annotation silently, so that the tenth mentions the
// rest.
func TestGitHubShowsTenOfAKind(t *testing.T) {
	for _, n := range []int{10, 11, 30} {
		var all []result.Scenario
		for i := range n {
			all = append(all, Claimed(fmt.Sprintf("s%d", i), fmt.Sprintf("claim-%d", i), "k", "text"))
		}
		got := string(render(t, "github", SampleRun(all...), Options{}))
		if errors := strings.Count(got, "::error "); errors != 10 {
			t.Errorf("of %d causes: got %d errors, want 10", n, errors)
		}
		more := fmt.Sprintf("title=%d more causes::in s9, s10", n-9)
		if n > 10 && !strings.Contains(got, more) {
			t.Errorf("of %d causes: no line has %q:\n%s", n, more, got)
		}
	}
}
