package search

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/check/limiter"
)

// TestRanksAreComparedByClass: in two lists of waiting requests, the requests of one class stand for each
// other and for no others.
func TestRanksAreComparedByClass(t *testing.T) {
	l := newLists(func(rank int32) int8 { return int8(rank % 2) })
	f := newFrontier(&l)
	list := func(ranks ...int32) int32 {
		clear(l.added)
		return l.with(0, ranks, 0)
	}
	for _, c := range []struct {
		one, other int32
		later      bool
	}{
		{list(2, 3), list(0, 1), true}, {list(0, 1), list(2, 3), false}, {list(1, 2), list(0, 3), false},
		{list(0, 3), list(1, 2), false},
		{list(3, 4), list(2, 3), true}, {list(0, 2, 5), list(0, 2, 3), true},
		{list(0, 4, 5), list(2, 3, 4), false},
	} {
		if l.numbers(c.one) != l.numbers(c.other) {
			t.Fatalf("%x and %x have as many of each class", l.at[c.one], l.at[c.other])
		}
		if got := f.later(c.one, c.other); got != c.later {
			t.Errorf("%x, %x: got %v, want %v", l.at[c.one], l.at[c.other], got, c.later)
		}
	}
	if l.numbers(list(0, 1)) == l.numbers(list(0, 2)) || l.numbers(list(0)) == l.numbers(0) {
		t.Errorf("lists with other numbers of each class are taken for alike")
	}
	if got := f.latest(list(1, 2, 4), list(0, 3, 6)); l.at[got] != l.at[list(2, 3, 6)] {
		t.Errorf("got %x, want the later of each class", l.at[got])
	}
}

// TestRequestsAreInsertedTogether: a list with others inserted ascends, and no list between the two is kept.
func TestRequestsAreInsertedTogether(t *testing.T) {
	l := newLists(nil)
	some := l.with(0, []int32{2, 5, 7}, 0)
	for kind, c := range []struct{ more, want []int32 }{
		{[]int32{1, 3, 9}, []int32{1, 2, 3, 5, 7, 9}}, {[]int32{6}, []int32{2, 5, 6, 7}},
		{nil, []int32{2, 5, 7}},
	} {
		clear(l.added)
		before := len(l.at)
		got := l.at[l.with(some, c.more, int32(kind))]
		var want []byte
		for _, v := range c.want {
			want = appendIndex(want, v)
		}
		if got != string(want) || len(l.at) > before+1 {
			t.Errorf("%v: got %x and %d lists more, want %x", c.more, got, len(l.at)-before, want)
		}
	}
}

// TestComparisonsAreWork: comparing many branches at one place counts as work, even if few decisions lead
// there.
func TestComparisonsAreWork(t *testing.T) {
	l := newLists(nil)
	f := newFrontier(&l)
	f.cap, f.alike = 1<<10, 1<<10
	const n = 40
	for i := range int64(n) {
		f.add(&branch{State: limiter.State{Zone: limiter.NewZone(1000*i, -1000*i)}})
	}
	if f.size != n || f.compared != n*(n-1)/2 {
		t.Errorf("%d branches, %d comparisons: want %d, %d", f.size, f.compared, n, n*(n-1)/2)
	}
	x := &Exact{front: f, Most: VisitCap, lists: l}
	x.front.compared = 3*comparisons + 1
	x.keep(step{}, nil)
	if x.Visited != 3 || x.front.compared != 1 {
		t.Errorf("%d decisions and %d comparisons, want 3 and 1", x.Visited, x.front.compared)
	}
}
