package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// The elements follow the schema of Jenkins' xunit plugin (junit-10.xsd), which the common readers share.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	File       string          `xml:"file,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Classname string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Skipped   *junitMessage `xml:"skipped"`
	Error     *junitMessage `xml:"error"`
	Failure   *junitMessage `xml:"failure"`
	// Basis is what a pass rests on.
	Basis string `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// wholeScenario names the test case of a verdict that no claim explains.
const wholeScenario = "verdict"

// writeJUnit writes a test suite for each scenario and a test case for each claim. A failed claim is a
// failure if its scenario counts, otherwise it is skipped. An inconclusive claim is skipped. It is an error
// if the scenario is more than informative, and the target was not reached, not set up or not the limited
// route, or the options demand it.
// A claim on what the target never had and did not promise is always skipped. A verdict that no claim
// explains gets its own case, named "verdict".
func writeJUnit(w io.Writer, r *result.Run, o Options) error {
	clean := cleanRun(r)
	all := junitSuites{Name: "rlcheck", Time: junitTime(r.Duration)}
	for i := range clean.Scenarios {
		suite := junitScenario(clean, &clean.Scenarios[i], r.Scenarios[i].Failures(), o)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitScenario(r *result.Run, s *result.Scenario, fails []result.Failure, o Options) junitSuite {
	suite := junitSuite{Name: s.ID, File: s.File, Time: junitTime(s.Duration)}
	suite.Properties = junitProperties(r, s)
	if !r.Started.IsZero() {
		suite.Timestamp = r.Started.UTC().Format("2006-01-02T15:04:05")
	}
	for _, claim := range casesOf(s) {
		c := junitClaim(s, &claim, fails, o)
		suite.Tests++
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Cases[0].Time = suite.Time
	return suite
}

// casesOf returns the claims of a scenario, and its verdict if none of them explains it.
func casesOf(s *result.Scenario) []result.Claim {
	claims, worst := s.Claims, result.Pass
	for i := range claims {
		if claims[i].Unpromised == "" && !claims[i].Moot {
			worst = result.Worst(worst, claims[i].Verdict)
		}
	}
	if len(claims) == 0 || worst != s.Verdict {
		claims = append(slices.Clip(claims),
			result.Claim{ID: wholeScenario, Verdict: s.Verdict, Reason: s.Reason, Text: s.Detail})
	}
	return claims
}

// junitClaim returns one test case. Its time is zero, as claims share the time of their scenario, which its
// first case carries.
func junitClaim(s *result.Scenario, c *result.Claim, fails []result.Failure, o Options) junitCase {
	out := junitCase{Name: c.ID, Classname: "rlcheck." + s.ID, Time: junitTime(0), Basis: c.Basis()}
	switch {
	case c.Verdict == result.Fail && !s.Weighs(o.Strict):
		m := junitFailure(c, fails)
		m.Message, m.Type = "FAIL, "+s.Kind+" only: "+m.Message, ""
		out.Skipped = &m
	case c.Verdict == result.Fail:
		m := junitFailure(c, fails)
		out.Failure = &m
	case c.Verdict == result.Inconclusive:
		t := Trouble{Reason: string(c.Reason), Detail: c.Text, Mend: Mend(s, c.Reason)}
		m := junitMessage{Message: "INCONCLUSIVE " + t.Line(), Text: t.Mend}
		broken := o.InconclusiveIsError || c.Reason == result.SetupFailed ||
			c.Reason == result.Unreachable || c.Reason == result.UnclassifiedStatus
		if broken && s.Kind != result.Informative && c.Reason != result.NeedsFailed {
			m.Type = string(c.Reason)
			out.Error = &m
		} else {
			out.Skipped = &m
		}
	}
	return out
}

func junitFailure(c *result.Claim, fails []result.Failure) junitMessage {
	m := junitMessage{Message: c.Text}
	var body []string
	for _, f := range fails {
		if f.Claim != c.ID && c.ID != wholeScenario {
			continue
		}
		if len(body) == 0 {
			m.Message, m.Type = f.Sentence, f.Kind
		}
		body = append(body, f.Lines()...)
	}
	m.Text = strings.Join(body, "\n")
	return m
}

func junitProperties(r *result.Run, s *result.Scenario) []junitProperty {
	var out []junitProperty
	add := func(name, value string) {
		if value != "" {
			out = append(out, junitProperty{name, value})
		}
	}
	add("rlcheck.version", r.Version)
	add("kind", s.Kind)
	add("verdict", s.Verdict.String())
	add("target", s.Target)
	if len(s.Limit) > 0 {
		add("limit", text.Clean(s.Limit.String()))
	}
	add("worth", strings.Join(s.Worth(), ", "))
	add("resolved by", strings.Join(s.ResolvedBy, ", "))
	add("policy", strings.Join(PolicyLines(r), "; "))
	if r.Hint != nil {
		add("hint", r.Hint.Text)
	}
	add("requests", result.CountsText(s.Counts))
	add("timeline", s.TimelinePath)
	for _, text := range s.Remarks() {
		add("note", text)
	}
	add("cpus", strconv.Itoa(r.Host.CPUs))
	return out
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// ctrfReport is a report in the Common Test Report Format (ctrf.io). Times are in milliseconds.
type ctrfReport struct {
	Format  string      `json:"reportFormat"`
	Spec    string      `json:"specVersion"`
	Results ctrfResults `json:"results"`
}

type ctrfResults struct {
	Tool    map[string]string `json:"tool"`
	Summary ctrfSummary       `json:"summary"`
	Tests   []ctrfTest        `json:"tests"`
}

type ctrfSummary struct {
	Tests   int   `json:"tests"`
	Passed  int   `json:"passed"`
	Failed  int   `json:"failed"`
	Skipped int   `json:"skipped"`
	Pending int   `json:"pending"`
	Other   int   `json:"other"`
	Start   int64 `json:"start"`
	Stop    int64 `json:"stop"`
}

type ctrfTest struct {
	Name      string   `json:"name"`
	Status    string   `json:"status"`
	Duration  int64    `json:"duration"`
	Suite     []string `json:"suite"`
	Message   string   `json:"message,omitempty"`
	Trace     string   `json:"trace,omitempty"`
	RawStatus string   `json:"rawStatus"`
}

// writeCTRF writes a test for each claim, as JUnit does. An inconclusive claim is other. What was not judged,
// and a FAIL that does not count, are skipped.
func writeCTRF(w io.Writer, r *result.Run, o Options) error {
	clean := cleanRun(r)
	o.InconclusiveIsError = false // the status says it
	all := ctrfResults{Tool: map[string]string{"name": "rlcheck", "version": r.Version}, Tests: []ctrfTest{},
		Summary: ctrfSummary{Start: r.Started.UnixMilli(), Stop: r.Started.Add(r.Duration).UnixMilli()}}
	for i := range clean.Scenarios {
		s := &clean.Scenarios[i]
		fails, took := r.Scenarios[i].Failures(), s.Duration
		for _, c := range casesOf(s) {
			t := ctrfTest{Name: s.ID + ": " + c.ID, Suite: []string{s.ID}, Duration: took.Milliseconds(),
				Status:    all.Summary.count(s, &c, o.Strict),
				RawStatus: strings.TrimSpace(strings.ToUpper(c.Verdict.String()) + " " + string(c.Reason))}
			took = time.Duration(0) // the first case has the time of its scenario
			j := junitClaim(s, &c, fails, o)
			for _, m := range []*junitMessage{j.Failure, j.Error, j.Skipped} {
				if m != nil {
					t.Message, t.Trace = m.Message, m.Text
				}
			}
			all.Tests = append(all.Tests, t)
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(ctrfReport{"CTRF", "0.0.0", all})
}

// count counts a claim, and returns its status.
func (x *ctrfSummary) count(s *result.Scenario, c *result.Claim, strict bool) string {
	x.Tests++
	switch {
	case c.Verdict == result.Pass:
		x.Passed++
		return "passed"
	case c.Verdict == result.Fail && s.Weighs(strict):
		x.Failed++
		return "failed"
	case c.Verdict == result.Fail, c.Reason == result.NeedsFailed:
		x.Skipped++
		return "skipped"
	}
	x.Other++
	return "other"
}
