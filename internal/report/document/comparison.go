package document

import (
	"github.com/rlcheck/rlcheck/internal/compare"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// The form of rlcheck.compare/v1.
type jsonComparison struct {
	Schema        string         `json:"schema"`
	Verdict       string         `json:"verdict"`
	Why           []string       `json:"why"`
	MaxRegression *float64       `json:"max_regression"`
	Old           jsonSide       `json:"old"`
	New           jsonSide       `json:"new"`
	Notes         []string       `json:"notes"`
	OnlyOld       []string       `json:"only_old"`
	OnlyNew       []string       `json:"only_new"`
	RunsNeeded    int            `json:"runs_needed"`
	Scenarios     []jsonCompared `json:"scenarios"`
}

type jsonSide struct {
	Name string   `json:"name"`
	Runs []string `json:"runs"`
}

type jsonCompared struct {
	ID         string          `json:"id"`
	Change     string          `json:"change"`
	Counts     bool            `json:"counts"`
	Old        jsonTally       `json:"old"`
	New        jsonTally       `json:"new"`
	Parameters []jsonParameter `json:"parameters"`
	Latencies  []jsonShift     `json:"latencies"`
}

type jsonTally struct {
	Verdict      string `json:"verdict"`
	Reason       string `json:"reason"`
	Passed       int    `json:"passed"`
	Failed       int    `json:"failed"`
	Inconclusive int    `json:"inconclusive"`
}

type jsonParameter struct {
	Name    string           `json:"name"`
	Policy  int              `json:"policy"`
	Old     verdict.Interval `json:"old"`
	New     verdict.Interval `json:"new"`
	Changed bool             `json:"changed"`
}

type jsonShift struct {
	Outcome  string     `json:"outcome"`
	Quantile float64    `json:"quantile"`
	Old      jsonSample `json:"old"`
	New      jsonSample `json:"new"`
	Change   float64    `json:"change"`
	Interval []float64  `json:"interval"`
	Shown    bool       `json:"shown"`
}

type jsonSample struct {
	MedianNS int64    `json:"median_ns"`
	RunsNS   []int64  `json:"runs_ns"`
	Answers  int64    `json:"answers"`
	WithinNS [2]int64 `json:"within_ns"`
}

// Comparison returns a comparison in the form of rlcheck.compare/v1, indented and ending in a newline.
func Comparison(c *compare.Comparison) ([]byte, error) { return marshal(toComparison(c)) }

func toComparison(c *compare.Comparison) *jsonComparison {
	out := &jsonComparison{Schema: compareForm, Verdict: c.Verdict.String(), Why: words(c.Why),
		Old: toSide(c.Old), New: toSide(c.New), Notes: words(c.Notes),
		OnlyOld: words(c.OnlyOld), OnlyNew: words(c.OnlyNew),
		RunsNeeded: c.Needed, Scenarios: []jsonCompared{}}
	if c.Options.Gate {
		out.MaxRegression = &c.Options.MaxRegression
	}
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		x := jsonCompared{ID: s.ID, Change: string(s.Change), Counts: s.Counts, Old: toTally(s.Old),
			New:        toTally(s.New),
			Parameters: []jsonParameter{}, Latencies: []jsonShift{}}
		for _, p := range s.Parameters {
			x.Parameters = append(x.Parameters, jsonParameter{p.Name, p.Policy, p.Old, p.New, p.Changed})
		}
		for k := range s.Latencies {
			x.Latencies = append(x.Latencies, toShift(&s.Latencies[k]))
		}
		out.Scenarios = append(out.Scenarios, x)
	}
	return out
}

// words returns texts for a JSON list that is never null.
func words(list []string) []string { return append([]string{}, list...) }

func toSide(s compare.Side) jsonSide {
	out := jsonSide{Name: s.Name}
	for _, r := range s.Runs {
		out.Runs = append(out.Runs, r.ID)
	}
	return out
}

func toTally(t compare.Tally) jsonTally {
	return jsonTally{t.Verdict.String(), string(t.Reason), t.Passed, t.Failed, t.Open}
}

func toShift(l *compare.Latency) jsonShift {
	out := jsonShift{Outcome: l.Outcome.String(), Quantile: l.Quantile, Old: toSample(&l.Old),
		New:    toSample(&l.New),
		Change: l.Ratio.Mid - 1, Shown: l.Ratio.Differs(), Interval: []float64{}}
	if l.Ratio.Bounded {
		out.Interval = []float64{l.Ratio.Lo - 1, l.Ratio.Hi - 1}
	}
	return out
}

func toSample(s *compare.Sample) jsonSample {
	out := jsonSample{MedianNS: int64(s.Middle()), Answers: s.Answers,
		WithinNS: [2]int64{int64(s.Within[0]), int64(s.Within[1])}}
	for _, v := range s.Values {
		out.RunsNS = append(out.RunsNS, int64(v))
	}
	return out
}
