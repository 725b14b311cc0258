package report

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
)

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
