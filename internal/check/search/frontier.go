package search

import (
	"bytes"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/limiter"
)

// undecided is what waits for its decision at a branch, by the numbers that lists gives it.
type undecided struct {
	// waiting and refused are the undecided admissions and, where they are counted, denials, by rank: in the
	// order of their ends.
	waiting, refused int32
	// spare are the numbers of unknown requests of each class that were sent and are not used as admissions.
	spare int32
	// timed and loose are the requests in flight, by their promises; see flights.
	timed, loose int32
}

// branch is a state of an exact search.
type branch struct {
	undecided
	// sums are the counts of the limiter, by the number that lists gives them.
	sums int32
	// absorbed are the numbers of denials of each class, in the order of their starts, that were decided,
	// where they are not counted. The slice is shared.
	absorbed []int32
	limiter.State
	// gone: another branch holds this one.
	gone bool
}

// place is what branches have in common of which one may hold the other: the counts of the limiter, what is
// in flight, and how many requests of each class wait, by the number that lists gives these. Which they are
// may differ.
type place struct {
	waiting, refused, sums, timed, loose int32
}

// frontier is a set of branches of which none holds another, in the order in which their places were first
// added.
type frontier struct {
	spots []spot
	index map[place]int32
	// size is the number of branches. From cap on those at one place are joined, from alike on those of them
	// that differ in nothing but times and denials.
	size, cap, alike int
	lists            *lists
	// narrow, where it is not 0, is the most branches that are kept of those for which as many wait, which
	// crowd counts; then none are joined.
	narrow int
	crowd  map[[2]int32]int
	// joined tells whether any were, which may have made up more than they held.
	joined bool
	// compared is how many pairs of branches were compared since it was last reset.
	compared int
	// late tells whether the request of one rank may be complete, and let through, as late as the one of
	// another; nil where all of a class are alike in that.
	late func(one, other int32) bool
}

// spot is the branches at one place.
type spot struct {
	place
	branches []*branch
}

func newFrontier(l *lists) frontier {
	return frontier{index: map[place]int32{}, crowd: map[[2]int32]int{}, lists: l}
}

// take empties f and returns what it had.
func (f *frontier) take() []spot {
	old := f.spots
	f.spots, f.size = make([]spot, 0, len(old)), 0
	clear(f.index)
	clear(f.crowd)
	return old
}

// all appends all branches to a list.
func (f *frontier) all(list []*branch) []*branch {
	for i := range f.spots {
		list = append(list, f.spots[i].branches...)
	}
	return list
}

func (f *frontier) empty() bool { return len(f.spots) == 0 }

// at returns the spot of a branch.
func (f *frontier) at(n *branch) *spot {
	p := place{f.lists.numbers(n.waiting), f.lists.numbers(n.refused), n.sums, n.timed, n.loose}
	i, ok := f.index[p]
	if !ok {
		i = int32(len(f.spots))
		f.index[p] = i
		f.spots = append(f.spots, spot{place: p})
	}
	return &f.spots[i]
}

// add adds a branch unless one that holds it is there. It returns the branch that was kept in its stead: n
// itself, or one that holds n and others; nil where n adds nothing. What is held by another is gone.
func (f *frontier) add(n *branch) *branch {
	sp := f.at(n)
	for i, old := range sp.branches {
		if f.holds(old, n) {
			f.compared += i
			return nil
		}
	}
	before := f.size
	n, alike := f.merged(sp, n)
	if f.narrow > 0 {
		if f.crowded(sp.place, before-f.size) {
			return nil
		}
	} else if alike >= f.alike || f.size >= f.cap {
		n = f.join(sp, n, f.size >= f.cap)
	}
	sp.branches = append(sp.branches, n)
	f.size++
	return n
}

// merged takes from a spot the branches that n holds, or that can be merged with it. It returns n with those
// that were merged, and how many of the others wait for the same requests.
func (f *frontier) merged(sp *spot, n *branch) (with *branch, alike int) {
	for again := true; again; {
		again, alike = false, 0
		f.compared += len(sp.branches)
		kept := sp.branches[:0]
		for _, old := range sp.branches {
			if f.holds(n, old) {
				old.gone = true
				continue
			}
			if u := merge(old, n); u != nil {
				old.gone, n, again = true, u, true
				continue
			}
			if kept = append(kept, old); old.undecided == n.undecided {
				alike++
			}
		}
		f.size -= len(sp.branches) - len(kept)
		sp.branches = kept
	}
	return n, alike
}

// crowded tells whether there is no room for another branch at a place, of which some were taken away.
func (f *frontier) crowded(p place, gone int) bool {
	key := [2]int32{p.waiting, p.refused}
	f.crowd[key] -= gone
	if f.crowd[key] >= f.narrow {
		return true
	}
	f.crowd[key]++
	return false
}

// join returns a branch that holds n and those at its spot that wait for the same, or all of them, and takes
// them away.
func (f *frontier) join(sp *spot, n *branch, all bool) *branch {
	kept := sp.branches[:0]
	for _, old := range sp.branches {
		both := (*branch)(nil)
		if all || old.undecided == n.undecided {
			both = f.hull(n, old)
		}
		if both == nil {
			kept = append(kept, old)
			continue
		}
		old.gone, n, f.joined = true, both, true
	}
	f.size -= len(sp.branches) - len(kept)
	sp.branches = kept
	return n
}

// holds tells whether whatever n cannot explain other cannot explain either, at the same place.
func (f *frontier) holds(n, other *branch) bool {
	for c, k := range n.absorbed {
		if k < other.absorbed[c] {
			return false
		}
	}
	return other.Zone.Within(n.Zone) && f.later(n.waiting, other.waiting) &&
		f.later(n.refused, other.refused) && f.more(n.spare, other.spare)
}

// more tells whether no number of a list is less than its partner in another; an empty list has zeros.
func (f *frontier) more(one, other int32) bool {
	return one == other || other == 0 || one != 0 && notBefore(f.lists.at[one], f.lists.at[other])
}

// later tells whether, class by class, the requests of one list end no earlier than those of another that has
// as many of each: what can be decided in time of the other can be of the one.
func (f *frontier) later(one, other int32) bool {
	if one == other {
		return true
	}
	a, b := f.lists.byClass(one), f.lists.byClass(other)
	if !notBefore(a, b) {
		return false
	}
	for k := 0; f.late != nil && k < len(a)/4; k++ {
		if !f.late(indexAt(a, k), indexAt(b, k)) {
			return false
		}
	}
	return true
}

// notBefore tells whether no element of a is less than its partner in b.
func notBefore(a, b string) bool {
	for k := range len(a) / 4 {
		if a[4*k:4*k+4] < b[4*k:4*k+4] {
			return false
		}
	}
	return true
}

// merge returns one branch that is just a and b, or nil where there is none.
func merge(a, b *branch) *branch {
	if a.undecided != b.undecided {
		return nil
	}
	for c, k := range a.absorbed {
		if k != b.absorbed[c] {
			return nil
		}
	}
	z, ok := a.Zone.Union(b.Zone)
	if !ok {
		return nil
	}
	u := *b
	u.Zone, u.gone = z, false
	return &u
}

// hull returns a branch that holds a and b, at the same place, and maybe more, or nil where there is none:
// each has spare requests that the other has not. Of the requests that wait it has those that end last: they
// stand for the others, of the same class, of which as many wait.
func (f *frontier) hull(a, b *branch) *branch {
	spare := a.spare
	switch {
	case f.more(a.spare, b.spare):
	case f.more(b.spare, a.spare):
		spare = b.spare
	default: // one used what the other has: together they would have both again, and again
		return nil
	}
	waiting, one := f.latest(a.waiting, b.waiting)
	refused, other := f.latest(a.refused, b.refused)
	if !one || !other {
		return nil
	}
	u := *a
	u.gone = false
	u.waiting, u.refused, u.spare = waiting, refused, spare
	u.Zone = a.Zone.Clone()
	u.Zone.Join(b.Zone)
	u.absorbed = append([]int32(nil), a.absorbed...)
	for c := range u.absorbed {
		u.absorbed[c] = max(u.absorbed[c], b.absorbed[c])
	}
	return &u
}

// latest returns the list of the later of each two that stand in for each other in two lists with as many of
// each class, ok=false where those are not as late in all.
func (f *frontier) latest(one, other int32) (list int32, ok bool) {
	if one == other {
		return one, true
	}
	a, b := f.lists.byClass(one), f.lists.byClass(other)
	ranks := make([]int32, 0, len(a)/4)
	for k := range len(a) / 4 {
		last, first := max(indexAt(a, k), indexAt(b, k)), min(indexAt(a, k), indexAt(b, k))
		if f.late != nil && !f.late(last, first) {
			return 0, false
		}
		ranks = append(ranks, last)
	}
	slices.Sort(ranks)
	f.lists.buf = f.lists.buf[:0]
	for _, v := range ranks {
		f.lists.buf = appendIndex(f.lists.buf, v)
	}
	return f.lists.id(f.lists.buf), true
}

// lists numbers lists of four-byte numbers, and other strings, so that places can be compared by their
// numbers. Number 0 is the empty one.
type lists struct {
	ids map[string]int32
	at  []string
	// less is what without returned, added what with did.
	less  map[[2]int32]int32
	added map[[2]int32]int32
	// class is the class of the request of a rank; nil: all are of one.
	class func(rank int32) int8
	// sorted has lists of ranks class by class, made when they are first asked for.
	sorted []sortedList
	buf    []byte
}

// sortedList is a list of ranks with those of the first class first, and the number of the list of how many
// of each class there are: 0 while it is not made.
type sortedList struct {
	byClass string
	numbers int32
}

// listsCap is the number of lists from which on those are forgotten that no branch has.
const listsCap = 1 << 14

func newLists(class func(rank int32) int8) lists {
	return lists{ids: map[string]int32{"": 0}, at: []string{""}, less: map[[2]int32]int32{},
		added: map[[2]int32]int32{}, class: class}
}

// forget makes the numbers anew, where there are too many, for the places of all spots.
func (l *lists) forget(spots []spot) {
	if clear(l.added); len(l.at) < listsCap {
		return
	}
	old := l.at
	*l = newLists(l.class)
	for i := range spots {
		for _, n := range spots[i].branches {
			for _, id := range []*int32{&n.waiting, &n.refused, &n.spare, &n.sums, &n.timed, &n.loose} {
				*id = l.id([]byte(old[*id]))
			}
		}
	}
}

// id returns the number of a list.
func (l *lists) id(list []byte) int32 {
	if id, ok := l.ids[string(list)]; ok {
		return id
	}
	id := int32(len(l.at))
	s := string(list)
	l.ids[s] = id
	l.at = append(l.at, s)
	return id
}

// byClass returns a list of ranks with those of the first class first.
func (l *lists) byClass(list int32) string {
	if l.class == nil || list == 0 {
		return l.at[list]
	}
	return l.sort(list).byClass
}

// numbers returns a key that two lists of ranks share exactly if they have as many of each class.
func (l *lists) numbers(list int32) int32 {
	if l.class == nil || list == 0 {
		return int32(len(l.at[list]))
	}
	return l.sort(list).numbers
}

// sort returns a list of ranks, which is not empty, class by class.
func (l *lists) sort(list int32) *sortedList {
	for len(l.sorted) <= int(list) {
		l.sorted = append(l.sorted, sortedList{})
	}
	s := &l.sorted[list]
	if s.numbers != 0 {
		return s
	}
	at := l.at[list]
	var classes [classCap][]byte
	for k := range len(at) / 4 {
		c := l.class(indexAt(at, k))
		classes[c] = append(classes[c], at[4*k:4*k+4]...)
	}
	var numbers []byte
	for _, c := range classes {
		numbers = appendIndex(numbers, int32(len(c)/4))
	}
	*s = sortedList{string(bytes.Join(classes[:], nil)), l.id(numbers)}
	return s
}

// with returns the ascending list with v added.
func (l *lists) with(list, v int32) int32 {
	key := [2]int32{list, v}
	id, ok := l.added[key]
	if !ok {
		at := l.at[list]
		k := len(at) / 4
		for k > 0 && indexAt(at, k-1) > v {
			k--
		}
		l.buf = append(appendIndex(append(l.buf[:0], at[:4*k]...), v), at[4*k:]...)
		id = l.id(l.buf)
		l.added[key] = id
	}
	return id
}

// then returns the list with v at its end.
func (l *lists) then(list, v int32) int32 {
	l.buf = appendIndex(append(l.buf[:0], l.at[list]...), v)
	return l.id(l.buf)
}

// without returns the list without its element k.
func (l *lists) without(list int32, k int) int32 {
	key := [2]int32{list, int32(k)}
	id, ok := l.less[key]
	if !ok {
		at := l.at[list]
		l.buf = append(append(l.buf[:0], at[:4*k]...), at[4*k+4:]...)
		id = l.id(l.buf)
		l.less[key] = id
	}
	return id
}

// more returns the list of n numbers with its element k changed by d. One of zeros is empty.
func (l *lists) more(list int32, n, k int, d int32) int32 {
	old := l.at[list]
	l.buf = l.buf[:0]
	for i := range n {
		v := int32(0)
		if old != "" {
			v = indexAt(old, i)
		}
		if i == k {
			v += d
		}
		l.buf = appendIndex(l.buf, v)
	}
	for _, b := range l.buf {
		if b != 0 {
			return l.id(l.buf)
		}
	}
	return 0
}

// appendIndex appends an element to a list.
func appendIndex(list []byte, v int32) []byte {
	return append(list, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// indexAt returns element k of a list.
func indexAt(list string, k int) int32 {
	return int32(list[4*k])<<24 | int32(list[4*k+1])<<16 | int32(list[4*k+2])<<8 | int32(list[4*k+3])
}
