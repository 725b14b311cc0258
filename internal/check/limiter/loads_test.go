package limiter

import (
	"slices"
	"testing"
)

// TestLoadsOfWindows: windows can be asked for in any order, even those without units.
func TestLoadsOfWindows(t *testing.T) {
	l := &loads{}
	for _, k := range []int64{-3, -3, 0, 1, 7} {
		l.add(k, 2)
	}
	var got []int64
	for _, k := range []int64{-4, -3, 0, 7, 8, 1, -3, -9, 6} {
		got = append(got, l.in(k))
	}
	if want := []int64{0, 4, 2, 2, 0, 2, 4, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
