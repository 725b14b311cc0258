package report

import (
	"github.com/rlcheck/rlcheck/internal/result"
)

// comparison is rlcheck.compare/v1: a Comparison, of whose sides only the ids of the runs are kept.
type comparison struct {
	Schema        string             `json:"schema"`
	Verdict       result.Verdict     `json:"verdict"`
	Why           []string           `json:"why"`
	MaxRegression *float64           `json:"max_regression"`
	Old           side               `json:"old"`
	New           side               `json:"new"`
	Notes         []string           `json:"notes"`
	OnlyOld       []string           `json:"only_old"`
	OnlyNew       []string           `json:"only_new"`
	RunsNeeded    int                `json:"runs_needed"`
	Scenarios     []ComparedScenario `json:"scenarios"`
}

type side struct {
	Name string   `json:"name"`
	Runs []string `json:"runs"`
}

// ComparisonDocument returns a comparison in the form of rlcheck.compare/v1, indented and ending in a
// newline.
func ComparisonDocument(c *Comparison) ([]byte, error) {
	out := comparison{compareForm, c.Verdict, c.Why, nil, documentSideOf(c.Old), documentSideOf(c.New),
		c.Notes, c.OnlyOld,
		c.OnlyNew, c.Needed, c.Scenarios}
	if c.Options.Gate {
		out.MaxRegression = &c.Options.MaxRegression
	}
	return marshal(filled(out))
}

func documentSideOf(s Side) side {
	out := side{Name: s.Name}
	for _, r := range s.Runs {
		out.Runs = append(out.Runs, r.ID)
	}
	return out
}
