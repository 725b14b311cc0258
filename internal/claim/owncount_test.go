package claim

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestOwnCount(t *testing.T) {
	other := func(o timeline.Observation) timeline.Observation { o.Phase = "q"; return o }
	counted := func(counts []int64, obs ...timeline.Observation) *timeline.Timeline {
		tl := record(obs...)
		tl.Header.Counted = counts
		return tl
	}
	two := []timeline.Observation{req(1, 0, 1, 429), req(2, 1, 2, 429), req(3, 3, 4, 200)}
	lost := []timeline.Observation{req(1, 0, 1, 429), req(2, 1, 0, 0), req(3, 3, 4, 500)}
	run(t, Expect{Counted: [][]string{{"p"}}}, []row{
		{"all", counted([]int64{7, 9}, two...), "pass", "2 of 2"},
		{"one is missing", counted([]int64{7, 8}, two...), "fail",
			"counted 1 of 2 denials (its count went from 7 to 8)"},
		{"it was reset", counted([]int64{7, 0}, two...), "too-few", "from 7 to 0"},
		{"one more may be of others", counted([]int64{7, 10}, two...), "foreign-traffic", "1 more"},
		{"what had no answer may be counted or not", counted([]int64{0, 1}, lost...), "pass", ""},
		{"or all of it", counted([]int64{0, 3}, lost...), "pass", ""},
		{"but no more", counted([]int64{0, 4}, lost...), "foreign-traffic", "1 more"},
		{"a count is missing", counted([]int64{7}, two...), "too-few", "1 of 2 times"},
		{"nothing was denied", counted([]int64{7, 7}, req(1, 0, 1, 200)), "too-few",
			"there are no denials between"},
		{"denied elsewhere", counted([]int64{7, 7}, other(req(1, 0, 1, 429))), "too-few",
			"there are no denials between"},
	})
	run(t, Expect{Counted: [][]string{{"p"}, {"q"}}}, []row{
		{"one of two spans is short", counted([]int64{0, 1, 1}, req(1, 0, 1, 429), other(req(2, 3, 4, 429))),
			"fail", "counted 0 of 1"},
	})
}
