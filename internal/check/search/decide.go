package search

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// decide adds every branch that n leads to by one decision in the scaled instants [lo, hi].
func (x *Exact) decide(n *branch, lo, hi int64) {
	if earliest, _ := n.Zone.Present(); max(earliest, lo) > hi {
		return
	}
	m, memory := n.Into(x.asks)
	x.asks = memory
	m.Zone.Limit(0, limiter.ZoneNow, -lo)
	m.Zone.Limit(limiter.ZoneNow, 0, hi)
	x.denyAll(n, m)
	x.denyNext(n, m)
	x.admitNext(n, m)
	x.useLost(n, m)
}

// denyAll decides waiting denials that are not counted. For each class it decides the denials of that class
// together with all dearer ones: where a cost is denied, a larger cost is denied too.
func (x *Exact) denyAll(n *branch, m limiter.State) {
	for c, begun := range x.begun { // the cheapest class first: it takes the dearer ones with it
		if int(n.absorbed[c]) == len(begun) || n.gone {
			continue
		}
		absorbed := slices.Clone(n.absorbed)
		for d := c; d < len(absorbed); d++ {
			absorbed[d] = int32(len(x.begun[d]))
		}
		s := step{to: n.undecided, absorbed: absorbed, deny: true,
			Request: limiter.Request{Cost: x.costs[c], End: history.MaxTime}}
		x.try(s, m)
		if x.backs() {
			x.backed(s, m)
		}
	}
}

// denyNext decides the next waiting denial of each kind, where denials are counted.
func (x *Exact) denyNext(n *branch, m limiter.State) {
	x.each(n.refused, func(k int, i int32) {
		to := n.undecided
		to.refused = x.lists.without(n.refused, k)
		x.try(step{to: to, absorbed: n.absorbed, deny: true, Request: x.asked(i)}, m)
	})
}

// admitNext decides the next waiting admission of each kind.
func (x *Exact) admitNext(n *branch, m limiter.State) {
	x.each(n.waiting, func(k int, i int32) {
		if n.gone {
			return
		}
		s := step{to: n.undecided, absorbed: n.absorbed, Request: x.asked(i)}
		s.to.waiting = x.lists.without(n.waiting, k)
		x.try(s, m)
	})
}

// useLost decides one request without an answer, of each kind that waits at n.
func (x *Exact) useLost(n *branch, m limiter.State) {
	spare := x.lists.at[n.spare]
	for c := range len(spare) / 4 {
		if indexAt(spare, c) == 0 || n.gone || x.backs() {
			continue
		}
		s := step{to: n.undecided, absorbed: n.absorbed,
			Request: limiter.Request{Cost: x.costs[c], End: history.MaxTime}}
		s.to.spare = x.lists.more(n.spare, len(x.costs), c, -1)
		if x.Counted || x.Created { // the lost request may have been denied, and counted
			s.deny = true
			x.try(s, m)
			s.deny = false
		}
		x.try(s, m)
	}
}

// backs tells whether lost requests are only admitted just before a denial that needs them (backed), or
// never. An admission so late takes room from no other request, so no other instant needs to be tried.
func (x *Exact) backs() bool {
	return x.Counting && !x.Counted && !x.Created && len(x.costs) == 1
}

// backed tries the denial of s after one lost request is admitted just before it, after two, and so on.
func (x *Exact) backed(s step, m limiter.State) {
	for s.to.spare != 0 && !x.Limited {
		s.to.spare = x.lists.more(s.to.spare, 1, 0, -1)
		states := x.Model.Admit(m.Clone(), s.Request)
		if x.Visited++; len(states) == 0 {
			return
		}
		m = states[0]
		x.try(s, m)
	}
}

// asked returns event i as the limiter sees it. A queue must release the request by the scaled instant End.
func (x *Exact) asked(i int32) limiter.Request {
	return limiter.Request{Cost: x.h.All[i].Cost, End: x.h.All[i].End * x.Scale}
}

// each calls f with the position k and the event i of the elements of a list that may be decided next. That
// is the first element of each class. With overtaking it is every element.
func (x *Exact) each(list int32, f func(k int, i int32)) {
	at := x.lists.at[list]
	var seen uint64
	for k := range len(at) / 4 {
		i := x.order[indexAt(at, k)]
		class := uint64(1) << x.class[i]
		if seen&class == 0 || x.overtaking {
			f(k, i)
		}
		seen |= class
		if len(x.costs) == 1 && !x.overtaking {
			return
		}
	}
}

// step is one decision that a branch may take, and what is undecided after it.
type step struct {
	to       undecided
	absorbed []int32
	deny     bool
	limiter.Request
}

// try adds the branches after the decision s from the state m. The caller has limited the present of m to the
// instants at which the decision may be made.
func (x *Exact) try(s step, m limiter.State) {
	if x.Visited += x.Weight; x.Visited > x.Most || x.lists.size > mostLists {
		x.Limited = true
		return
	}
	decide := x.Model.Admit
	if s.deny {
		decide = x.Model.Deny
	}
	mine, memory := m.Into(x.again)
	x.again = nil
	states := decide(mine, s.Request)
	if !x.keep(s, states) {
		x.again = memory
	}
}

// keep adds the branches that a step leads to. It tells whether any of them is new.
func (x *Exact) keep(s step, states []limiter.State) (news bool) {
	if len(states) > limiter.OutcomeCap {
		x.Limited = true
		return true
	}
	x.Visited += len(states) / 4 // many states are as much work as more decisions
	for _, after := range states {
		after.Zone.Elapse()
		n := &branch{undecided: s.to, absorbed: s.absorbed, State: after}
		n.sums = x.countsOf(after)
		if kept := x.front.add(n); kept != nil {
			x.work = append(x.work, kept)
			news = true
		}
	}
	x.Visited += x.front.compared / comparisons
	x.front.compared %= comparisons
	if x.front.size > stateCap {
		x.Limited = true
	}
	return news
}

// Simply tries to find an explanation of h without a search: every request is decided as soon as the limiter
// answers so, or a little later (soon).
//
// True: an explanation was found, so no search can refute h. False: not known. at are the phases of the
// policies, in nanoseconds. Cost: O(n log n).
func Simply(h *history.History, limit spec.Limit, at []int64) bool {
	lim := plainLimiter(limit, at)
	return lim != nil && soon(h, lim)
}

// plainLimiter returns the reference limiter of a limit, with one known phase for each policy. It returns nil
// where a policy leaves more open than its phase, and where completions count.
func plainLimiter(limit spec.Limit, at []int64) reference.Limiter {
	known := slices.Clone(limit)
	for i := range known {
		p := &known[i]
		if limiter.Ranged(*p) || p.Completes() || p.BanTo > 0 || p.TTLTo > 0 || p.LevelTo > 0 {
			return nil
		}
		if p.Start == spec.StartUnknown {
			p.Start = spec.StartFull
		}
		p.Tick, p.TickSet = 0, false // a ticking clock may also show the instant itself
		if p.Windowed() && p.Align != spec.AlignFirst {
			phase := time.Duration(history.Mod(at[i], int64(p.ShortestWindow())))
			p.Rate.Per, p.Zone = p.LongestWindow(), ""
			p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignPhase, phase, phase
		}
	}
	lim, err := reference.NewLimit(known)
	if err != nil {
		return nil
	}
	return lim
}
