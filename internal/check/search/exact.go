// Package search decides exactly whether one order and one instant for each decision explain a history. It
// follows all orders at once, symbolically, over zones of what the limiter may remember; see docs/theory.md
// for why the orders that it leaves out cannot matter.
package search

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/zone"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Exact decides by a sweep whether some decision times, and an order along them, give every outcome of a
// history. Requests of equal cost and outcome are interchangeable, so that few orders need to be tried:
//
//   - of the admissions of one cost that wait for their decision, the one whose interval ends first may as
//     well be decided first, unless a queue that is forgotten lets a later one through before it; between
//     costs the search branches;
//   - a denial changes nothing, so all that wait may as well be decided as soon as the limiter would deny one
//     of their cost, and the dearer ones with them; where denied requests are counted, they too are decided
//     in the order of their ends.
//
// The sweep goes through the instants at which intervals begin. Between two of them it closes the set of
// branches under "decide the next admission" and "decide the denials", each no later than anything that still
// waits must be decided; then it drops the branches in which a request whose interval has ended is undecided.
// No branch left is a proof. Where the set outgrows its cap, branches that differ in their times alone are
// merged into one that holds them all, which keeps the proof sound.
type Exact struct {
	Model limiter.Model
	limiter.Traits
	h *history.History
	// gap is by how much a range stops short of the next instant: a nanosecond where windows begin at
	// instants, else none.
	gap int64
	// lag is how long, scaled, the limiter's clock may stand still: what it reads may be so much older than a
	// decision.
	lag int64
	// costs are the different costs, ascending; class is the class of each event.
	costs []int64
	class []int8
	// flights is not nil where the limiter is told of completions; kind is class then, but for what is known
	// of completions, and kinds their number.
	*flights
	kind  []int8
	kinds int
	// overtaking: a queue may be forgotten while it has requests, so that a later one is let through before
	// them.
	overtaking bool
	// order are the indices of all events ascending by end, rank where each is in it: what waits is kept by
	// rank.
	order, rank []int32
	// begun has, for each denial that was sent, by class, the scaled instant by which it and those after it
	// must be decided, at the earliest; where denials are not counted.
	begun [][]int64
	front frontier
	lists lists
	// Visited counts the decisions that were tried, each as weight; limited tells that their cap was reached.
	Visited int
	// Most is that cap.
	Most int
	// Weight is 1 for a limiter that remembers up to three times, and grows with the square of their number,
	// as does the work.
	Weight int
	// dimensions is the most variables that a zone has: those of the memory, and one of each request.
	dimensions int
	Limited    bool
	// Cap and alike are those of the frontier.
	Cap, Alike int
	// work, scratch, asks and again are memory that is used again and again.
	work        []*branch
	scratch     []byte
	asks, again []int64
}

// The caps of a search. It takes requests of up to classCap costs.
const (
	frontCap = 1 << 10
	alikeCap = 16
	stateCap = 1 << 13
	VisitCap = 3 << 18
	classCap = 64
	// glance is how many decisions are tried before a search follows few branches of each place.
	glance = 1 << 14
	// closer is how many times as many branches are followed where a short search has joined some.
	closer = 4
	// comparisons is how many comparisons of two branches are as much work as a decision.
	comparisons = 128
)

// narrows are how many branches are followed of those for which as many requests wait, one number after the
// other; each may try a sixth of the decisions.
var narrows = [2]int{1, 4}

// deadEnd is the last instant at which a request began before no branch was left.
type deadEnd struct{ At int64 }

// Search returns where every explanation has ended, or nil where one is left or the cap was reached.
//
// Where the sweep takes long it follows few branches first: of a right limiter these often lead to an
// explanation, and then nothing refutes it. Few that end prove nothing.
func (x *Exact) Search() *deadEnd {
	most := x.Most
	x.Most = min(most/4, glance)
	dead := x.Sweep(0)
	if dead == nil && !x.Limited && x.front.joined && x.Visited < most {
		return x.closely(most)
	}
	if !x.Limited {
		return dead
	}
	for _, narrow := range narrows {
		x.Limited, x.Most = false, x.Visited+most/6
		if dead := x.Sweep(narrow); dead == nil && !x.Limited {
			return nil
		}
	}
	x.Limited, x.Most = false, most
	return x.Sweep(0)
}

// closely is a sweep that joins far fewer branches, for a history that is short enough: what explains it may
// be none of them.
func (x *Exact) closely(most int) *deadEnd {
	x.Cap, x.Alike, x.Most = closer*x.Cap, closer*x.Alike, min(most, x.Visited+closer*glance)
	dead := x.Sweep(0)
	x.Limited = false // the first sweep was not
	return dead
}

// Sweep goes through the instants once: with all branches, or with those that narrow leaves; see frontier.
func (x *Exact) Sweep(narrow int) *deadEnd {
	all := x.h.All
	end := history.MinTime
	for _, ev := range all {
		end = max(end, ev.End)
	}
	x.begin(all[0].Start*x.Scale-x.lag, narrow)
	last := all[0].Start
	for i := 0; i < len(all); last = all[i-1].Start {
		s, first := all[i].Start, i
		for i < len(all) && all[i].Start == s {
			i++
		}
		to := end*x.Scale + x.gap
		if i < len(all) {
			to = all[i].Start * x.Scale
		}
		if x.renew(s*x.Scale, first, i); x.front.empty() {
			return &deadEnd{last}
		}
		if x.between(s*x.Scale, to); x.Limited {
			return nil
		}
	}
	if x.renew((end+1)*x.Scale, 0, 0); x.front.empty() {
		return &deadEnd{last}
	}
	return nil
}

// begin makes the first branch.
func (x *Exact) begin(at int64, narrow int) {
	x.begun = make([][]int64, len(x.costs))
	x.order, x.rank = history.OrderByEnd(x.h.All), make([]int32, len(x.h.All))
	for k, i := range x.order {
		x.rank[i] = int32(k)
	}
	x.lists = newLists(nil)
	if x.kinds > 1 {
		x.lists.class = func(rank int32) int8 { return x.kind[x.order[rank]] }
	}
	m := x.Model.Start(at)
	m.Zone.Elapse()
	x.dimensions = m.Zone.N + len(x.h.All)
	b := &branch{State: m, absorbed: make([]int32, len(x.costs))}
	b.sums = x.countsOf(m)
	x.front = newFrontier(&x.lists)
	if x.flights != nil && x.lingers {
		x.front.late = func(one, other int32) bool { return x.stays(x.order[one], x.order[other]) }
	}
	x.front.cap, x.front.alike, x.front.narrow = max(x.Cap/x.Weight, min(x.Cap, 32)), x.Alike, narrow
	x.front.add(b)
}

// weigh returns the weight of a decision.
func (x *Exact) weigh() int {
	n := x.Model.Start(0).Zone.N + x.abreast()
	if x.flights != nil {
		return 2 * (1 + n*n/32)
	}
	return 1 + n*n/32
}

// between closes the branches over the instants from one to the last before another, and those that a clock
// may still show then, window by window. Where there are too many windows it gives up: a request without an
// answer may wait through years of them.
func (x *Exact) between(from, to int64) {
	if x.idle() {
		return
	}
	from -= x.lag
	begins := x.Model.Boundaries(from+1, to-x.gap)
	if len(begins) == limiter.WindowCap {
		x.Limited = true
		return
	}
	for _, begin := range begins {
		x.close(from, begin-x.gap)
		if x.Visited += x.front.size; x.Visited > x.Most {
			x.Limited = true
		}
		if x.Limited {
			return
		}
		if x.lag == 0 { // else a later decision may read an earlier instant
			x.renew(begin, 0, 0)
		}
		from = begin
	}
	x.close(from, to-x.gap)
}

// idle tells whether nothing waits for its decision in any branch.
func (x *Exact) idle() bool {
	for i := range x.front.spots {
		for _, n := range x.front.spots[i].branches {
			if n.spare != 0 && !x.backs() || n.timed != 0 || n.loose != 0 || x.deadline(n) < history.MaxTime {
				return false
			}
		}
	}
	return true
}

// renew drops the branches that are dead at the instant lo, adds the requests h.All[first:last] to what waits
// in the others, and makes what no request from lo on can tell apart one.
func (x *Exact) renew(lo int64, first, last int) {
	old := x.front.take()
	for i := first; i < last; i++ {
		if ev := &x.h.All[i]; ev.Outcome == timeline.Denied && !x.Counted {
			x.await(int(x.class[i]), ev.End*x.Scale)
		}
	}
	x.lists.forget(old)
	for _, sp := range old {
		for _, n := range sp.branches {
			for i := first; i < last; i++ {
				x.with(n, int32(i))
			}
			if x.deadline(n) < lo {
				continue
			}
			if !n.Zone.Limit(0, zone.Now, x.lag-lo) {
				continue // the requests in flight had to be complete
			}
			if x.flights != nil {
				x.loosen(n, lo)
			}
			x.Model.Forget(n.State, lo-x.lag)
			n.sums = x.countsOf(n.State)
			x.front.add(n)
		}
	}
}

// await adds a denial to those that were sent.
func (x *Exact) await(class int, deadline int64) {
	list := append(x.begun[class], deadline)
	for k := len(list) - 2; k >= 0 && list[k] > deadline; k-- {
		list[k] = deadline
	}
	x.begun[class] = list
}

// with adds the request h.All[i] to what waits at n.
func (x *Exact) with(n *branch, i int32) {
	switch ev := &x.h.All[i]; {
	case ev.Outcome == timeline.Allowed:
		n.waiting = x.lists.with(n.waiting, x.rank[i])
	case ev.Outcome == timeline.Unknown:
		n.spare = x.lists.more(n.spare, x.spares(), x.spareOf(i), 1)
	case x.Counted:
		n.refused = x.lists.with(n.refused, x.rank[i])
	}
}

// countsOf returns the number of the counts of m.
func (x *Exact) countsOf(m limiter.State) int32 {
	x.scratch = x.scratch[:0]
	for _, c := range m.Counts {
		x.scratch = append(x.scratch, byte(c>>56), byte(c>>48), byte(c>>40), byte(c>>32), byte(c>>24),
			byte(c>>16), byte(c>>8), byte(c))
	}
	return x.lists.id(x.scratch)
}

// deadline returns the scaled instant by which something must be decided that waits at n, MaxTime where
// nothing waits.
func (x *Exact) deadline(n *branch) int64 {
	end := history.MaxTime
	for _, list := range [2]int32{n.waiting, n.refused} {
		if at := x.lists.at[list]; len(at) > 0 {
			end = min(end, x.h.All[x.order[indexAt(at, 0)]].End*x.Scale)
		}
	}
	for c, begun := range x.begun {
		if k := int(n.absorbed[c]); k < len(begun) {
			end = min(end, begun[k])
		}
	}
	if x.flights != nil {
		end = min(end, x.landing(n.undecided))
	}
	return end
}

// close adds every branch that decisions between the scaled instants lo and hi lead to.
func (x *Exact) close(lo, hi int64) {
	if hi < lo {
		return
	}
	x.work = x.front.all(x.work[:0])
	for len(x.work) > 0 && !x.Limited {
		n := x.work[len(x.work)-1]
		x.work = x.work[:len(x.work)-1]
		if !n.gone {
			x.decide(n, lo, min(hi, x.deadline(n)))
		}
	}
}
