package search

import (
	"bytes"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/limiter"
)

// undecided is what waits for its decision at a branch. Each field is a number that lists gives.
type undecided struct {
	// waiting are the undecided admissions, refused the undecided denials where denials are counted. Both are
	// lists of ranks, ascending: in the order of their ends.
	waiting, refused int32
	// spare are, for each class, how many sent requests of unknown outcome have not been used as admissions.
	spare int32
}

// branch is one state of an exact search: what waits, and a zone of limiter states.
type branch struct {
	undecided
	// sums is the number that lists gives to the limiter's counts.
	sums int32
	// absorbed is, for each class, how many denials were decided, in the order of their starts. It is 0 where
	// denials are counted. The slice is shared between branches.
	absorbed []int32
	limiter.State
	// gone: another branch holds this one, so it need not be followed.
	gone bool
}

// place is what two branches must have in common before one can hold the other. That is the limiter's counts,
// and how many requests of each class wait. Which requests wait may differ. Each field is a number that lists
// gives.
type place struct {
	waiting, refused, sums int32
}

// frontier is a set of branches in which no branch holds another. It keeps the order in which the places were
// first added, so that a search is repeatable.
type frontier struct {
	spots []spot
	index map[place]int32
	// size is the number of branches. From cap branches on, those at one place are joined into their hull.
	// From alike on, that happens to branches at one place that wait for the same requests.
	size, cap, alike int
	lists            *lists
	// narrow, unless 0, is the most branches that are kept for each pair of numbers of waiting requests.
	// crowd counts these branches. With narrow no branches are joined.
	narrow int
	crowd  map[[2]int32]int
	// joined tells whether branches were joined. A joined branch may hold states that no order leads to.
	joined bool
	// compared is the number of branch comparisons since it was last reset.
	compared int
}

// spot are the branches at one place.
type spot struct {
	place
	branches []*branch
}

func newFrontier(l *lists) frontier {
	return frontier{index: map[place]int32{}, crowd: map[[2]int32]int{}, lists: l}
}

// take empties f and returns the spots that it had.
func (f *frontier) take() []spot {
	old := f.spots
	f.spots, f.size = make([]spot, 0, len(old)), 0
	clear(f.index)
	clear(f.crowd)
	return old
}

func (f *frontier) all(list []*branch) []*branch {
	for i := range f.spots {
		list = append(list, f.spots[i].branches...)
	}
	return list
}

func (f *frontier) empty() bool { return len(f.spots) == 0 }

// at returns the spot of a branch, and makes it if needed.
func (f *frontier) at(n *branch) *spot {
	p := place{f.lists.numbers(n.waiting), f.lists.numbers(n.refused), n.sums}
	i, ok := f.index[p]
	if !ok {
		i = int32(len(f.spots))
		f.index[p] = i
		f.spots = append(f.spots, spot{place: p})
	}
	return &f.spots[i]
}

// add adds a branch, unless f has a branch that holds it. It returns the branch that is kept: n itself, or a
// branch that holds n and others. It returns nil where n adds nothing. Branches that the kept one holds are
// marked as gone.
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

// merged removes from a spot the branches that n holds, and those that unite with n exactly. It returns that
// union, and how many of the remaining branches wait for the same requests.
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

// crowded tells whether narrow leaves no room for another branch at p, after gone branches were removed
// there.
func (f *frontier) crowded(p place, gone int) bool {
	key := [2]int32{p.waiting, p.refused}
	f.crowd[key] -= gone
	if f.crowd[key] >= f.narrow {
		return true
	}
	f.crowd[key]++
	return false
}

// join removes branches from a spot and returns one branch that holds n and all of them. These are the
// branches that wait for the same requests as n, or every branch of the spot if all.
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

// holds tells whether n explains every continuation that other explains. Both are at the same place.
func (f *frontier) holds(n, other *branch) bool {
	for c, k := range n.absorbed {
		if k < other.absorbed[c] {
			return false
		}
	}
	return other.Zone.Within(n.Zone) && f.later(n.waiting, other.waiting) &&
		f.later(n.refused, other.refused) && f.more(n.spare, other.spare)
}

// more tells whether every number of the list one is at least its partner in other. An empty list means
// zeros.
func (f *frontier) more(one, other int32) bool {
	return one == other || other == 0 || one != 0 && notBefore(f.lists.at[one], f.lists.at[other])
}

// later tells whether, class by class, the requests of the list one end no earlier than those of other. Both
// lists have as many requests of each class. Whatever can be decided in time for other then can be for one.
func (f *frontier) later(one, other int32) bool {
	if one == other {
		return true
	}
	return notBefore(f.lists.byClass(one), f.lists.byClass(other))
}

// notBefore tells whether no element of a is less than its partner in b. Big-endian bytes compare as numbers.
func notBefore(a, b string) bool {
	for k := range len(a) / 4 {
		if a[4*k:4*k+4] < b[4*k:4*k+4] {
			return false
		}
	}
	return true
}

// merge returns a branch that holds exactly the states of a and b, or nil where no such branch exists.
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

// hull returns a branch that holds a and b, at the same place, and perhaps more. Of each two interchangeable
// requests that wait it has the one that ends last. It returns nil where each branch has spare requests that
// the other lacks.
func (f *frontier) hull(a, b *branch) *branch {
	spare := a.spare
	switch {
	case f.more(a.spare, b.spare):
	case f.more(b.spare, a.spare):
		spare = b.spare
	default: // each used what the other still has: a hull would have both again, and again
		return nil
	}
	u := *a
	u.gone = false
	u.waiting, u.refused, u.spare = f.latest(a.waiting, b.waiting), f.latest(a.refused, b.refused), spare
	u.Zone = a.Zone.Clone()
	u.Zone.Join(b.Zone)
	u.absorbed = append([]int32(nil), a.absorbed...)
	for c := range u.absorbed {
		u.absorbed[c] = max(u.absorbed[c], b.absorbed[c])
	}
	return &u
}

// latest pairs the requests of two lists, class by class, and returns the list of the later of each pair.
func (f *frontier) latest(one, other int32) int32 {
	if one == other {
		return one
	}
	a, b := f.lists.byClass(one), f.lists.byClass(other)
	ranks := make([]int32, 0, len(a)/4)
	for k := range len(a) / 4 {
		ranks = append(ranks, max(indexAt(a, k), indexAt(b, k)))
	}
	slices.Sort(ranks)
	f.lists.buf = f.lists.buf[:0]
	for _, v := range ranks {
		f.lists.buf = appendIndex(f.lists.buf, v)
	}
	return f.lists.id(f.lists.buf)
}

// lists gives numbers to strings: mostly lists of int32, each as four big-endian bytes. Equal lists have
// equal numbers, so places are comparable. Strings serve as map keys, and their order is the order of the
// numbers. Number 0 is the empty list.
type lists struct {
	ids map[string]int32
	at  []string
	// size is the length of all strings together.
	size int
	// less caches the results of without, added those of with.
	less  map[[2]int32]int32
	added map[[2]int32]int32
	// class returns the class of the request of a rank. nil: all requests are of one class.
	class func(rank int32) int8
	// sorted has the lists of ranks grouped by class. Each is made when it is first asked for.
	sorted []sortedList
	buf    []byte
}

// sortedList is a list of ranks grouped by class, lowest class first. numbers is the number of the list that
// says how many ranks each class has; 0 means that the sortedList is not made yet.
type sortedList struct {
	byClass string
	numbers int32
}

// From listsCap lists on, or listsSize bytes of them, forget drops those that no branch uses. A search that
// needs mostLists bytes between two instants at which requests begin gives up: each of a thousand requests in
// flight is in each of its lists.
const (
	listsCap  = 1 << 14
	listsSize = 16 << 20
	mostLists = 256 << 20
)

func newLists(class func(rank int32) int8) lists {
	return lists{ids: map[string]int32{"": 0}, at: []string{""}, less: map[[2]int32]int32{},
		added: map[[2]int32]int32{}, class: class}
}

// forget drops the lists that no branch of spots uses, once there are many, and numbers the others anew.
func (l *lists) forget(spots []spot) {
	if clear(l.added); len(l.at) < listsCap && l.size < listsSize {
		return
	}
	old := l.at
	*l = newLists(l.class)
	for i := range spots {
		for _, n := range spots[i].branches {
			for _, id := range []*int32{&n.waiting, &n.refused, &n.spare, &n.sums} {
				*id = l.id([]byte(old[*id]))
			}
		}
	}
}

// id returns the number of a list, which is new if the list is.
func (l *lists) id(list []byte) int32 {
	if id, ok := l.ids[string(list)]; ok {
		return id
	}
	id := int32(len(l.at))
	s := string(list)
	l.size += len(s)
	l.ids[s] = id
	l.at = append(l.at, s)
	return id
}

// byClass returns a list of ranks grouped by class, lowest class first.
func (l *lists) byClass(list int32) string {
	if l.class == nil || list == 0 {
		return l.at[list]
	}
	return l.sort(list).byClass
}

// numbers returns a key. Two lists of ranks share it exactly if they have as many ranks of each class.
func (l *lists) numbers(list int32) int32 {
	if l.class == nil || list == 0 {
		return int32(len(l.at[list]))
	}
	return l.sort(list).numbers
}

// sort groups a list of ranks, which is not empty, by class.
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

// with returns a list with more inserted; both ascend. Until the next forget, kind stands for more.
func (l *lists) with(list int32, more []int32, kind int32) int32 {
	if len(more) == 0 {
		return list
	}
	key := [2]int32{list, kind}
	id, ok := l.added[key]
	if !ok {
		l.buf = l.buf[:0]
		at := l.at[list]
		for _, v := range more {
			for at != "" && indexAt(at, 0) < v {
				l.buf, at = append(l.buf, at[:4]...), at[4:]
			}
			l.buf = appendIndex(l.buf, v)
		}
		l.buf = append(l.buf, at...)
		id = l.id(l.buf)
		l.added[key] = id
	}
	return id
}

// without returns the list without its element at position k.
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

// more returns the list of n numbers with d added to element k. A list of zeros is the empty list.
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

// appendIndex appends an element as four big-endian bytes.
func appendIndex(list []byte, v int32) []byte {
	return append(list, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// indexAt returns element k of a list.
func indexAt(list string, k int) int32 {
	return int32(list[4*k])<<24 | int32(list[4*k+1])<<16 | int32(list[4*k+2])<<8 | int32(list[4*k+3])
}
