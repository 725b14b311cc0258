package result

import (
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestRemarksAreOfTheTarget: what the recorder noticed about the target is told beside the verdict, each
// thing once. What it notes about itself is not.
func TestRemarksAreOfTheTarget(t *testing.T) {
	slow := timeline.OfTarget + "requests waited"
	notes := []string{"a boundary", slow, Unverified}
	s := Scenario{Target: "http://127.0.0.1:1/", Header: timeline.Header{Notes: notes}}
	r := Run{Scenarios: []Scenario{s, s}}
	if got, want := r.Remarks(), []string{slow, Unverified}; !slices.Equal(got, want) {
		t.Errorf("got remarks %q, want %q", got, want)
	}
}
