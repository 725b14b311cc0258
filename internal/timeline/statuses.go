package timeline

import (
	"cmp"
	"sort"
)

// StatusCount is how many answers had a status and an outcome.
type StatusCount struct {
	Status  int     `json:"status"`
	Outcome Outcome `json:"outcome"`
	Answers int     `json:"answers"`
	// Location is where the first of them that redirects leads. Empty: none does.
	Location string `json:"location,omitempty"`
}

// notModified is the status of an answer that a client has already.
const notModified = 304

// Redirects tells whether x counts as admissions, and sends the client elsewhere.
func (x StatusCount) Redirects() bool {
	return x.Outcome == Allowed && x.Status >= 300 && x.Status < 400 && x.Status != notModified
}

// Breaks tells whether x counts as denials, and may as well be errors of the server.
func (x StatusCount) Breaks() bool { return x.Outcome == Denied && x.Status >= 500 }

// statusKey is what a StatusTally tells answers apart by.
type statusKey struct {
	status  int
	outcome Outcome
}

// StatusTally counts answers by status and outcome. The zero value is empty.
type StatusTally struct {
	at  map[statusKey]int
	out []StatusCount
}

// Add takes the next observation.
func (t *StatusTally) Add(o *Observation) {
	if o.Status == 0 {
		return
	}
	k := statusKey{o.Status, o.Outcome}
	n, known := t.at[k]
	if !known {
		if n = len(t.out); n == 0 {
			t.at = map[statusKey]int{}
		}
		t.at[k] = n
		t.out = append(t.out, StatusCount{Status: o.Status, Outcome: o.Outcome})
	}
	t.out[n].Answers++
	if t.out[n].Location == "" && o.Status >= 300 && o.Status < 400 {
		t.out[n].Location, _ = o.Fields.Get("Location")
	}
}

// Statuses returns the counts, ascending by status. Empty: nothing was answered, or no status was recorded.
func (t *StatusTally) Statuses() []StatusCount {
	sort.Slice(t.out, func(i, j int) bool {
		a, b := &t.out[i], &t.out[j]
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Outcome, b.Outcome)) < 0
	})
	return t.out
}

// Statuses counts the answers of t by status and outcome.
func (t *Timeline) Statuses() []StatusCount {
	var all StatusTally
	for o := range t.All() {
		all.Add(o)
	}
	return all.Statuses()
}
