package columns

import (
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	head := []string{"VERDICT", "N", "WHY"}
	rows := [][]string{{"\x1b[32mPASS\x1b[0m", "7", "one\ntwo"}, {"FAIL", "1,234", ""}, {"öl 漢字", "", "x"}}
	want := []string{
		" VERDICT      N  WHY",
		"────────────────────",
		" \x1b[32mPASS\x1b[0m         7  one",
		"                 two",
		" FAIL     1,234",
		" öl 漢字         x",
	}
	got := Table(head, "lrl", rows)
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := Width(head, rows); n != 20 {
		t.Errorf("the width is %d, want 20", n)
	}
}
