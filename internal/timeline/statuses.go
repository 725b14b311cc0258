package timeline

import (
	"cmp"
	"slices"
)

// StatusCount is how many answers had a status, and what they were taken for.
type StatusCount struct {
	Status  int
	Outcome Outcome
	Answers int
	// Location is where the first of them that says so redirects to; empty for none.
	Location string
}

// Statuses counts the answers of t by status and outcome. Ascending by status; empty where nothing was
// answered, and where no status was recorded.
func (t *Timeline) Statuses() []StatusCount {
	type key struct {
		status  int
		outcome Outcome
	}
	at := map[key]int{}
	var out []StatusCount
	for i := range t.Observations {
		o := &t.Observations[i]
		if o.Status == 0 {
			continue
		}
		k := key{o.Status, o.Outcome}
		n, known := at[k]
		if !known {
			n = len(out)
			at[k] = n
			out = append(out, StatusCount{Status: o.Status, Outcome: o.Outcome})
		}
		out[n].Answers++
		if out[n].Location == "" && o.Status >= 300 && o.Status < 400 {
			out[n].Location, _ = o.Fields.Get("Location")
		}
	}
	slices.SortFunc(out, func(a, b StatusCount) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Outcome, b.Outcome))
	})
	return out
}
