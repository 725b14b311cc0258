package report

import (
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
