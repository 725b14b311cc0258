// Package search decides exactly whether a history has an explanation: one order and one instant for each
// decision. It follows all orders at once. A branch of the search holds a zone: a set of limiter states,
// given by bounds on the differences of their times (limiter.Zone). docs/theory.md, section 7, argues why the
// orders that the search leaves out cannot matter.
package search

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Exact decides whether some order of decision times gives every outcome of a history. It is the sweep of
// docs/theory.md, section 7.
//
// Requests of equal cost and outcome are interchangeable, so few orders need to be tried:
//
//   - Admissions of one cost are decided in the order in which their intervals end (exchange argument). An
//     exception is a queue that can be forgotten: there a later admission may overtake. Between costs the
//     search branches.
//   - A denial changes nothing. So all waiting denials are decided together, at the first instant at which
//     the limiter would deny their cost; dearer denials go with them. Where denied requests are counted,
//     denials are decided in the order of their ends too.
//
// The sweep goes through the instants at which intervals begin. Between two of these instants it closes the
// frontier, the set of branches, under "decide the next admission" and "decide the denials". A decision comes
// no later than the earliest end of the requests that wait. At the next instant the sweep drops the branches
// in which a request whose interval has ended is undecided. An empty frontier proves that there is no
// explanation. Where the frontier outgrows its cap, branches that differ only in times are joined into their
// hull. The hull holds every state of both branches, so an empty frontier remains a proof.
type Exact struct {
	Model limiter.Model
	limiter.Traits
	h *history.History
	// gap is by how much, scaled, a range stops short of the next instant. It is one nanosecond where windows
	// begin at instants, else 0.
	gap int64
	// lag is how long, scaled, the limiter's clock may stand still. The clock may show an instant up to lag
	// before the decision.
	lag int64
	// costs are the different costs, ascending. class is the index in costs of each event's cost.
	costs []int64
	class []int8
	// overtaking: a queue may be forgotten while requests are in it. A later request is then released before
	// them.
	overtaking bool
	// order are the indices of all events, ascending by end. rank is the position of each event in order.
	// Waiting requests are kept by rank.
	order, rank []int32
	// begun has the deadlines of the denials that were sent, by class, in the order of their starts. Entry k
	// is the scaled instant by which denial k, or a later one, must be decided: the least of their ends.
	// begun stays empty where denials are counted.
	begun [][]int64
	front frontier
	lists lists
	// Visited is the work of the decisions tried so far. Limited tells that Visited has exceeded its cap.
	Visited int
	// Most is the cap of Visited.
	Most int
	// Weight is the work of one decision: 1 for a limiter that remembers up to three times. It grows with the
	// square of the number of times, as does the cost of a zone.
	Weight  int
	Limited bool
	// Cap and Alike are the caps of the frontier; see frontier.
	Cap, Alike int
	// work, scratch, asks and again are memory that is reused.
	work        []*branch
	scratch     []byte
	asks, again []int64
}

// The caps of a search. A history with more than classCap different costs is not searched.
const (
	frontCap = 1 << 10
	alikeCap = 16
	stateCap = 1 << 13
	VisitCap = 3 << 18
	classCap = 64
	// glance is the work of the first sweep. A search that needs more follows few branches of each place
	// first.
	glance = 1 << 14
	// closer is the factor by which the caps of the frontier grow in closely.
	closer = 4
	// comparisons is how many comparisons of two branches count as much work as one decision.
	comparisons = 128
)

// narrows are the values of frontier.narrow that a long search tries, in this order. Each try may use a sixth
// of Most.
var narrows = [2]int{1, 4}

// deadEnd is a proof that there is no explanation: the requests that began by At cannot be explained
// together.
type deadEnd struct{ At int64 }

// Search returns a dead end, or nil. nil means that an explanation is left, or, if x.Limited, that the cap
// was reached and nothing is known.
//
// A long search first follows few branches. The answers of a correct limiter often need no more, and one
// explanation ends the search. A dead end of few branches proves nothing, so the full sweep follows.
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

// closely sweeps again with larger caps, so that it joins far fewer branches. It follows a first sweep that
// joined branches and found no dead end: a joined branch may hold states that no order leads to. The second
// sweep may find the dead end.
func (x *Exact) closely(most int) *deadEnd {
	x.Cap, x.Alike, x.Most = closer*x.Cap, closer*x.Alike, min(most, x.Visited+closer*glance)
	dead := x.Sweep(0)
	x.Limited = false // the first sweep ended within its cap, and its answer stands
	return dead
}

// Sweep goes through the instants once. narrow limits the branches; 0 keeps all of them. See frontier.
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

// begin makes the first branch, at the scaled instant at.
func (x *Exact) begin(at int64, narrow int) {
	x.begun = make([][]int64, len(x.costs))
	x.order, x.rank = history.OrderByEnd(x.h.All), make([]int32, len(x.h.All))
	for k, i := range x.order {
		x.rank[i] = int32(k)
	}
	x.lists = newLists(nil)
	if len(x.costs) > 1 {
		x.lists.class = func(rank int32) int8 { return x.class[x.order[rank]] }
	}
	m := x.Model.Start(at)
	m.Zone.Elapse()
	b := &branch{State: m, absorbed: make([]int32, len(x.costs))}
	b.sums = x.countsOf(m)
	x.front = newFrontier(&x.lists)
	x.front.cap, x.front.alike, x.front.narrow = max(x.Cap/x.Weight, min(x.Cap, 32)), x.Alike, narrow
	x.front.add(b)
}

// weigh returns the work of a decision; see Weight.
func (x *Exact) weigh() int {
	n := x.Model.Start(0).Zone.N
	return 1 + n*n/32
}

// between closes the branches over the scaled instants [from, to), one window at a time. It begins x.lag
// earlier with a clock that may stand still. It gives up, with Limited, where there are WindowCap windows: a
// request without an answer may wait through years of windows.
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
		if x.lag == 0 { // with a lag a later decision may still read an instant before this boundary
			x.renew(begin, 0, 0)
		}
		from = begin
	}
	x.close(from, to-x.gap)
}

// idle tells whether no branch has anything left to decide.
func (x *Exact) idle() bool {
	for i := range x.front.spots {
		for _, n := range x.front.spots[i].branches {
			if n.spare != 0 && !x.backs() || x.deadline(n) < history.MaxTime {
				return false
			}
		}
	}
	return true
}

// renew moves all branches on to the scaled instant lo. It drops the branches with a deadline before lo, and
// adds the requests h.All[first:last] to what waits in the others. It forgets what no request from lo on can
// observe, so that branches become equal.
func (x *Exact) renew(lo int64, first, last int) {
	old := x.front.take()
	sent := x.send(first, last)
	x.lists.forget(old)
	for _, sp := range old {
		for _, n := range sp.branches {
			n.waiting = x.lists.with(n.waiting, sent.admitted, 0)
			n.refused = x.lists.with(n.refused, sent.denied, 1)
			for _, class := range sent.unknown {
				n.spare = x.lists.more(n.spare, len(x.costs), class, 1)
			}
			if x.deadline(n) < lo {
				continue
			}
			n.Zone.Limit(0, limiter.ZoneNow, x.lag-lo)
			x.Model.Forget(n.State, lo-x.lag)
			n.sums = x.countsOf(n.State)
			x.front.add(n)
		}
	}
}

// await adds a denial to begun, and lowers the deadlines before it, as these cover the later denials too.
func (x *Exact) await(class int, deadline int64) {
	list := append(x.begun[class], deadline)
	for k := len(list) - 2; k >= 0 && list[k] > deadline; k-- {
		list[k] = deadline
	}
	x.begun[class] = list
}

// together are requests that are sent at one instant: the ranks of admissions and of counted denials,
// ascending, and the classes of those without an outcome. Other denials are in Exact.begun.
type together struct {
	admitted, denied []int32
	unknown          []int
}

// send returns the requests h.All[first:last], which begin at one instant.
func (x *Exact) send(first, last int) (out together) {
	for i := first; i < last; i++ {
		switch ev := &x.h.All[i]; {
		case ev.Outcome == timeline.Allowed:
			out.admitted = append(out.admitted, x.rank[i])
		case ev.Outcome == timeline.Unknown:
			out.unknown = append(out.unknown, int(x.class[i]))
		case x.Counted:
			out.denied = append(out.denied, x.rank[i])
		default:
			x.await(int(x.class[i]), ev.End*x.Scale)
		}
	}
	slices.Sort(out.admitted)
	slices.Sort(out.denied)
	return out
}

// countsOf returns the number that lists gives to the counts of m.
func (x *Exact) countsOf(m limiter.State) int32 {
	x.scratch = x.scratch[:0]
	for _, c := range m.Counts {
		x.scratch = append(x.scratch, byte(c>>56), byte(c>>48), byte(c>>40), byte(c>>32), byte(c>>24),
			byte(c>>16), byte(c>>8), byte(c))
	}
	return x.lists.id(x.scratch)
}

// deadline returns the scaled instant by which the first of what waits at n must be decided. It returns
// MaxTime where nothing waits.
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
	return end
}

// close adds every branch that decisions in the scaled instants [lo, hi] lead to.
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
