package check

// place is all of a branch that is not time, by the numbers that lists gives them.
type place struct {
	// waiting and refused are the undecided admissions and, where they are counted, denials, in the order of their ends.
	waiting, refused int32
	// spare are the numbers of unknown requests of each class that were sent and are not used as admissions.
	spare int32
	// sums are the counts of the limiter.
	sums int32
}

// branch is a state of an exact search.
type branch struct {
	place
	// absorbed are the numbers of denials of each class, in the order of their starts, that were decided, where they are not
	// counted. The slice is shared.
	absorbed []int32
	memoryState
	// gone: another branch holds this one.
	gone bool
}

// holds tells whether whatever n cannot explain other cannot explain either, at the same place.
func (n *branch) holds(other *branch) bool {
	for c, k := range n.absorbed {
		if k < other.absorbed[c] {
			return false
		}
	}
	return other.zone.within(n.zone)
}

// frontier is a set of branches of which none holds another, in the order in which their places were first added.
type frontier struct {
	spots []spot
	index map[place]int32
}

// spot is the branches at one place.
type spot struct {
	place
	branches []*branch
}

// branchCap is the largest number of branches at one place.
const branchCap = 16

func (f *frontier) clear() {
	f.spots, f.index = nil, map[place]int32{}
}

// take empties f and returns what it had.
func (f *frontier) take() []spot {
	old := f.spots
	f.spots = make([]spot, 0, len(old))
	clear(f.index)
	return old
}

// branches appends all branches to a list.
func (f *frontier) branches(list []*branch) []*branch {
	for i := range f.spots {
		list = append(list, f.spots[i].branches...)
	}
	return list
}

func (f *frontier) empty() bool { return len(f.spots) == 0 }

// put adds a branch without a look at others.
func (f *frontier) put(n *branch) {
	i, ok := f.index[n.place]
	if !ok {
		i = int32(len(f.spots))
		f.index[n.place] = i
		f.spots = append(f.spots, spot{place: n.place})
	}
	f.spots[i].branches = append(f.spots[i].branches, n)
}

// add adds a branch unless one that holds it is there. It returns the branch that was kept in its stead: n itself, or one that
// holds n and others; nil where n adds nothing. What is held by another is gone.
func (f *frontier) add(n *branch) *branch {
	i, ok := f.index[n.place]
	if !ok {
		f.put(n)
		return n
	}
	sp := &f.spots[i]
	for _, old := range sp.branches {
		if old.holds(n) {
			return nil
		}
	}
	for again := true; again; {
		again = false
		kept := sp.branches[:0]
		for _, old := range sp.branches {
			if n.holds(old) {
				old.gone = true
			} else if u := merge(old, n); u != nil {
				old.gone, n, again = true, u, true
			} else {
				kept = append(kept, old)
			}
		}
		sp.branches = kept
	}
	if len(sp.branches) >= branchCap || len(f.spots) > frontCap && len(sp.branches) > 0 {
		for _, old := range sp.branches {
			n = hull(n, old)
			old.gone = true
		}
		sp.branches = sp.branches[:0]
	}
	sp.branches = append(sp.branches, n)
	return n
}

// merge returns one branch that is just a and b, or nil where there is none.
func merge(a, b *branch) *branch {
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

// hull returns a branch that holds a and b, and maybe more.
func hull(a, b *branch) *branch {
	u := *a
	u.gone = false
	u.zone = a.zone.clone()
	u.zone.join(b.zone)
	u.absorbed = append([]int32(nil), a.absorbed...)
	for c := range u.absorbed {
		u.absorbed[c] = max(u.absorbed[c], b.absorbed[c])
	}
	return &u
}

// lists numbers lists of four-byte numbers, and other strings, so that places can be compared by their numbers. Number 0 is
// the empty one.
type lists struct {
	ids map[string]int32
	at  []string
	// less is what without returned, added what insert did.
	less  map[[2]int32]int32
	added map[[3]int32]int32
}

// listsCap is the number of lists from which on those are forgotten that no branch has.
const listsCap = 1 << 14

func newLists() lists {
	return lists{ids: map[string]int32{"": 0}, at: []string{""}, less: map[[2]int32]int32{}, added: map[[3]int32]int32{}}
}

// forget makes the numbers anew, where there are too many, for the places of all spots.
func (l *lists) forget(spots []spot) {
	if clear(l.added); len(l.at) < listsCap {
		return
	}
	old := l.at
	*l = newLists()
	for i := range spots {
		p := &spots[i].place
		for _, id := range []*int32{&p.waiting, &p.refused, &p.spare, &p.sums} {
			*id = l.id([]byte(old[*id]))
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

// insert returns the list with v as element k.
func (l *lists) insert(list int32, k int, v int32) int32 {
	key := [3]int32{list, int32(k), v}
	id, ok := l.added[key]
	if !ok {
		at := l.at[list]
		out := append(make([]byte, 0, len(at)+4), at[:4*k]...)
		out = append(out, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
		id = l.id(append(out, at[4*k:]...))
		l.added[key] = id
	}
	return id
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
