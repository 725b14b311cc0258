package transport

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Fields that change with each answer are all recorded, and none is mistaken for another.
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

// TestNothingIsKeptOfWhatWasRead: the texts of fields point into a buffer that the next read overwrites, so
// they must be copied.
func TestNothingIsKeptOfWhatWasRead(t *testing.T) {
	s, read := newFieldStore(), []byte("one")
	f := timeline.Fields{{Name: "X", Value: unsafe.String(&read[0], len(read))}}
	first := s.keep(f)
	copy(read, "two")
	second := s.keep(f)
	copy(read, "one")
	if again := s.keep(f); first[0].Value != "one" || second[0].Value != "two" || &again[0] != &first[0] {
		t.Errorf("got %v, %v, %v, want one, two, and the first again", first, second, again)
	}
}
