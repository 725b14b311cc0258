package search

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/check/limiter"
)

// TestJoinsMakeUpNoRequests: two branches each used a request without an answer that the other one has left.
// Joining them must not make a branch that has both left: it would use them again, and so on.
func TestJoinsMakeUpNoRequests(t *testing.T) {
	l := newLists(nil)
	f := newFrontier(&l)
	with := func(spare ...byte) *branch {
		var list []byte
		for _, n := range spare {
			list = append(list, 0, 0, 0, n)
		}
		return &branch{undecided: undecided{spare: l.id(list)},
			State: limiter.State{Zone: limiter.NewZone(0, int64(spare[0]))}}
	}
	if both := f.hull(with(1, 0), with(0, 1)); both != nil {
		t.Errorf("got a branch with %x, want none", l.at[both.spare])
	}
	for _, pair := range [][2]*branch{{with(2, 1), with(1, 1)}, {with(1, 1), with(2, 1)}} {
		both := f.hull(pair[0], pair[1])
		if both == nil || l.at[both.spare] != "\x00\x00\x00\x02\x00\x00\x00\x01" {
			t.Errorf("got %v, want a branch with what one of them has", both)
		}
	}
}
