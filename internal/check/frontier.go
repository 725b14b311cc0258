package check

import "slices"

// undecided is what waits for its decision at a branch, by the numbers that lists gives it.
type undecided struct {
	// waiting and refused are the undecided admissions and, where they are counted, denials, by rank: in the order of their
	// ends.
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
	// absorbed are the numbers of denials of each class, in the order of their starts, that were decided, where they are not
	// counted. The slice is shared.
	absorbed []int32
	memoryState
	// gone: another branch holds this one.
	gone bool
}

// place is what branches have in common of which one may hold the other: the counts of the limiter, what is in flight, and
// how many requests wait. Which they are may differ.
type place struct {
	waiting, refused, sums, timed, loose int32
}

// frontier is a set of branches of which none holds another, in the order in which their places were first added.
type frontier struct {
	spots []spot
	index map[place]int32
	// size is the number of branches. From cap on those at one place are joined, from alike on those of them that differ in
	// nothing but times and denials.
	size, cap, alike int
	lists            *lists
	// class is that of the request of a rank, one of so many classes.
	class   func(rank int32) int8
	classes int
	// late tells whether the request of one rank may be complete, and let through, as late as that of another; nil where all
	// of a class are alike in that.
	late func(one, other int32) bool
}

// spot is the branches at one place.
type spot struct {
	place
	branches []*branch
}

func newFrontier(l *lists, class func(rank int32) int8, classes int) frontier {
	return frontier{index: map[place]int32{}, lists: l, class: class, classes: classes}
}

// take empties f and returns what it had.
func (f *frontier) take() []spot {
	old := f.spots
	f.spots, f.size = make([]spot, 0, len(old)), 0
	clear(f.index)
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
	p := place{int32(len(f.lists.at[n.waiting])), int32(len(f.lists.at[n.refused])), n.sums, n.timed, n.loose}
	i, ok := f.index[p]
	if !ok {
		i = int32(len(f.spots))
		f.index[p] = i
		f.spots = append(f.spots, spot{place: p})
	}
	return &f.spots[i]
}

// add adds a branch unless one that holds it is there. It returns the branch that was kept in its stead: n itself, or one
// that holds n and others; nil where n adds nothing. What is held by another is gone.
func (f *frontier) add(n *branch) *branch {
	sp := f.at(n)
	for _, old := range sp.branches {
		if f.holds(old, n) {
			return nil
		}
	}
	alike := 0
	for again := true; again; {
		again, alike = false, 0
		kept := sp.branches[:0]
		for _, old := range sp.branches {
			if f.holds(n, old) {
				old.gone = true
			} else if u := merge(old, n); u != nil {
				old.gone, n, again = true, u, true
			} else {
				if kept = append(kept, old); old.undecided == n.undecided {
					alike++
				}
			}
		}
		f.size -= len(sp.branches) - len(kept)
		sp.branches = kept
	}
	if alike >= f.alike || f.size >= f.cap {
		n = f.join(sp, n, f.size >= f.cap)
	}
	sp.branches = append(sp.branches, n)
	f.size++
	return n
}

// join returns a branch that holds n and those at its spot that wait for the same, or all of them, and takes them away.
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
		old.gone, n = true, both
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
	return other.zone.within(n.zone) && f.later(n.waiting, other.waiting) && f.later(n.refused, other.refused) &&
		f.more(n.spare, other.spare)
}

// more tells whether no number of a list is less than that of another; an empty list has zeros.
func (f *frontier) more(one, other int32) bool {
	return one == other || other == 0 || one != 0 && notBefore(f.lists.at[one], f.lists.at[other])
}

// later tells whether, class by class, the requests of one list end no earlier than those of another that is as long: what
// can be decided in time of the other can be of the one.
func (f *frontier) later(one, other int32) bool {
	if one == other {
		return true
	}
	a, b := f.lists.at[one], f.lists.at[other]
	if f.classes == 1 && f.late == nil {
		return notBefore(a, b)
	}
	for c := range f.classes {
		i, j := f.next(a, 0, int8(c)), f.next(b, 0, int8(c))
		for i < len(a)/4 && j < len(b)/4 {
			if indexAt(a, i) < indexAt(b, j) || !f.stays(indexAt(a, i), indexAt(b, j)) {
				return false
			}
			i, j = f.next(a, i+1, int8(c)), f.next(b, j+1, int8(c))
		}
		if i < len(a)/4 || j < len(b)/4 {
			return false
		}
	}
	return true
}

// stays is late, of those that may differ.
func (f *frontier) stays(one, other int32) bool { return f.late == nil || f.late(one, other) }

// next returns the first element of a list from k on that is of a class.
func (f *frontier) next(list string, k int, class int8) int {
	for k < len(list)/4 && f.class(indexAt(list, k)) != class {
		k++
	}
	return k
}

// notBefore tells whether no element of a is less than that of b.
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
	z, ok := a.zone.union(b.zone)
	if !ok {
		return nil
	}
	u := *b
	u.zone, u.gone = z, false
	return &u
}

// hull returns a branch that holds a and b, and maybe more, or nil where not as many of each class wait, or each has spare
// requests that the other has not. Of the requests that wait it has those that end last: they stand for the others, of the
// same class, of which as many wait.
func (f *frontier) hull(a, b *branch) *branch {
	u := *a
	u.gone = false
	u.zone = a.zone.clone()
	u.zone.join(b.zone)
	u.absorbed = append([]int32(nil), a.absorbed...)
	for c := range u.absorbed {
		u.absorbed[c] = max(u.absorbed[c], b.absorbed[c])
	}
	var one, other bool
	u.waiting, one = f.latest(a.waiting, b.waiting)
	u.refused, other = f.latest(a.refused, b.refused)
	if !one || !other {
		return nil
	}
	switch {
	case f.more(a.spare, b.spare):
	case f.more(b.spare, a.spare):
		u.spare = b.spare
	default: // one used what the other has: together they would have both again, and again
		return nil
	}
	return &u
}

// latest returns the list of the later of each two that stand in for each other in two lists, ok=false where there are not
// as many of each class.
func (f *frontier) latest(one, other int32) (list int32, ok bool) {
	if one == other {
		return one, true
	}
	a, b := f.lists.at[one], f.lists.at[other]
	var ranks []int32
	for c := range f.classes {
		i, j := f.next(a, 0, int8(c)), f.next(b, 0, int8(c))
		for i < len(a)/4 && j < len(b)/4 {
			last, first := max(indexAt(a, i), indexAt(b, j)), min(indexAt(a, i), indexAt(b, j))
			if ranks = append(ranks, last); !f.stays(last, first) {
				return 0, false
			}
			i, j = f.next(a, i+1, int8(c)), f.next(b, j+1, int8(c))
		}
		if i < len(a)/4 || j < len(b)/4 {
			return 0, false
		}
	}
	slices.Sort(ranks)
	var out []byte
	for _, v := range ranks {
		out = append(out, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return f.lists.id(out), true
}

// lists numbers lists of four-byte numbers, and other strings, so that places can be compared by their numbers. Number 0 is
// the empty one.
type lists struct {
	ids map[string]int32
	at  []string
	// less is what without returned, added what with did.
	less  map[[2]int32]int32
	added map[[2]int32]int32
}

// listsCap is the number of lists from which on those are forgotten that no branch has.
const listsCap = 1 << 14

func newLists() lists {
	return lists{ids: map[string]int32{"": 0}, at: []string{""}, less: map[[2]int32]int32{}, added: map[[2]int32]int32{}}
}

// forget makes the numbers anew, where there are too many, for the places of all spots.
func (l *lists) forget(spots []spot) {
	if clear(l.added); len(l.at) < listsCap {
		return
	}
	old := l.at
	*l = newLists()
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
		out := append(make([]byte, 0, len(at)+4), at[:4*k]...)
		out = append(out, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
		id = l.id(append(out, at[4*k:]...))
		l.added[key] = id
	}
	return id
}

// then returns the list with v at its end.
func (l *lists) then(list, v int32) int32 {
	return l.id(append([]byte(l.at[list]), byte(v>>24), byte(v>>16), byte(v>>8), byte(v)))
}

// without returns the list without its element k.
func (l *lists) without(list int32, k int) int32 {
	key := [2]int32{list, int32(k)}
	id, ok := l.less[key]
	if !ok {
		at := l.at[list]
		id = l.id([]byte(at[:4*k] + at[4*k+4:]))
		l.less[key] = id
	}
	return id
}

// more returns the list of n numbers with its element k changed by d. One of zeros is empty.
func (l *lists) more(list int32, n, k int, d int32) int32 {
	out := []byte(l.at[list])
	if len(out) == 0 {
		out = make([]byte, 4*n)
	}
	v := indexAt(string(out), k) + d
	out[4*k], out[4*k+1], out[4*k+2], out[4*k+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
	for _, b := range out {
		if b != 0 {
			return l.id(out)
		}
	}
	return 0
}

// vector returns the elements of a list.
func (l *lists) vector(list int32) []int32 {
	out := make([]int32, len(l.at[list])/4)
	for k := range out {
		out[k] = indexAt(l.at[list], k)
	}
	return out
}

// indexAt returns element k of a list.
func indexAt(list string, k int) int32 {
	return int32(list[4*k])<<24 | int32(list[4*k+1])<<16 | int32(list[4*k+2])<<8 | int32(list[4*k+3])
}
