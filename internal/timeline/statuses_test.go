package timeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStatusesAreCounted: one status may mean two things, since a scenario may call 200 an admission on one
// route only.
func TestStatusesAreCounted(t *testing.T) {
	tl := &Timeline{}
	add := func(status int, o Outcome, location string) {
		x := Observation{Status: status, Outcome: o, Answered: status != 0}
		if location != "" {
			x.Fields = Fields{{Name: "Location", Value: location}}
		}
		tl.Observations = append(tl.Observations, x)
	}
	add(429, Denied, "/nor-this")
	add(200, Allowed, "/not-a-redirect")
	add(0, Unknown, "")
	add(302, Allowed, "")
	add(302, Allowed, "/login")
	add(302, Allowed, "/elsewhere")
	add(200, Unknown, "")
	want := []StatusCount{{200, Unknown, 1, ""}, {200, Allowed, 1, ""}, {302, Allowed, 3, "/login"},
		{429, Denied, 1, ""}}
	if d := cmp.Diff(want, tl.Statuses()); d != "" {
		t.Errorf("statuses (-want +got):\n%s", d)
	}
	if got := (&Timeline{}).Statuses(); len(got) != 0 {
		t.Errorf("of no answers: got %v, want none", got)
	}
}
