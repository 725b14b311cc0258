package document

import (
	"github.com/rlcheck/rlcheck/internal/compare"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// comparison is rlcheck.compare/v1: a compare.Comparison, of whose sides only the ids of the runs are kept.
type comparison struct {
	Schema        string             `json:"schema"`
	Verdict       verdict.Verdict    `json:"verdict"`
	Why           []string           `json:"why"`
	MaxRegression *float64           `json:"max_regression"`
	Old           side               `json:"old"`
	New           side               `json:"new"`
	Notes         []string           `json:"notes"`
	OnlyOld       []string           `json:"only_old"`
	OnlyNew       []string           `json:"only_new"`
	RunsNeeded    int                `json:"runs_needed"`
	Scenarios     []compare.Scenario `json:"scenarios"`
}

type side struct {
	Name string   `json:"name"`
	Runs []string `json:"runs"`
}

// Comparison returns a comparison in the form of rlcheck.compare/v1, indented and ending in a newline.
func Comparison(c *compare.Comparison) ([]byte, error) {
	out := comparison{compareForm, c.Verdict, c.Why, nil, sideOf(c.Old), sideOf(c.New), c.Notes, c.OnlyOld,
		c.OnlyNew, c.Needed, c.Scenarios}
	if c.Options.Gate {
		out.MaxRegression = &c.Options.MaxRegression
	}
	return marshal(filled(out))
}

func sideOf(s compare.Side) side {
	out := side{Name: s.Name}
	for _, r := range s.Runs {
		out.Runs = append(out.Runs, r.ID)
	}
	return out
}
