package text

import (
	"strings"
	"testing"
)

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b         string
		edits, slips int
	}{
		{"", "", 0, 0}, {"", "abc", 3, 3}, {"burst", "burst", 0, 0}, {"brust", "burst", 1, 1},
		{"burs", "burst", 1, 1},
		{"bursst", "burst", 1, 1}, {"host", "cost", 1, 2}, {"limit", "rate", 5, 7}, {"ca", "abc", 3, 3},
		{strings.Repeat("a", 65), "a", 65, 65}, {strings.Repeat("a", 64), strings.Repeat("a", 63), 1, 1},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if edits, slips := Edits(pair[0], pair[1]), Slips(pair[0], pair[1]); edits != c.edits ||
				slips != c.slips {
				t.Errorf("%q, %q: got %d and %d, want %d and %d", pair[0], pair[1], edits, slips, c.edits,
					c.slips)
			}
		}
	}
}
