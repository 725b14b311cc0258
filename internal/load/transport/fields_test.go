package transport

import (
	"fmt"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Fields that change with each answer are all recorded, and none is taken for another.
func TestFieldsAreKeptApart(t *testing.T) {
	s := newFieldStore()
	var kept []timeline.Fields
	for i := range 5 * rows {
		f := timeline.Fields{{Name: "Date", Value: "d"}, {Name: "X", Value: fmt.Sprint(i / 2)}}
		kept = append(kept, s.keep(f))
	}
	for i, f := range kept {
		if len(f) != 2 || f[0].Value != "d" || f[1].Value != fmt.Sprint(i/2) {
			t.Fatalf("answer %d: got %v", i, f)
		}
	}
	a := s.keep(timeline.Fields{{Name: "A", Value: "bc"}})
	b := s.keep(timeline.Fields{{Name: "Ab", Value: "c"}})
	if a[0] == b[0] || s.keep(nil) != nil {
		t.Errorf("got %v and %v", a, b)
	}
}
