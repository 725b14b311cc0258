package check

import (
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// banned is the bound of a policy that denies a partition for some time after each denial. A denial that the
// policy alone cannot explain may follow another denial within the ban.
type banned struct {
	bound
	ban int64
}

// newBanned returns the bound of p. A denied request is counted only where no ban was on, which no single
// denial is sure of: what cannot have been admitted is what the admissions alone leave no room for.
func newBanned(p spec.Policy, from, to int64, others bool) bound {
	out := banned{algorithmBound(p, from, to, others), int64(p.LongestBan())}
	if p.Count != spec.CountAll {
		return out
	}
	p.Count = spec.CountAdmitted
	return sided{out, algorithmBound(p, from, to, others)}
}

// unbanned keeps of the unexplained denials those that no other request, which was or may have been denied,
// can have banned.
func unbanned(h *history, unexplained []int32, ban int64) []int32 {
	if len(unexplained) == 0 {
		return unexplained
	}
	var starts []int64
	var lasting []longest // of the requests up to each of the starts, the two that end last
	var two longest
	for i := range h.all {
		if ev := &h.all[i]; ev.outcome != timeline.Allowed {
			two.add(ev)
			starts, lasting = append(starts, ev.s), append(lasting, two)
		}
	}
	return slices.DeleteFunc(unexplained, func(j int32) bool {
		d := h.denied[j]
		n := sort.Search(len(starts), func(i int) bool { return starts[i] > d.e })
		return n > 0 && lasting[n-1].other(d.seq) >= d.s-ban
	})
}

// longest has the ends of the two requests that end last, and which the last one is.
type longest struct {
	last, next int64
	seq        int
	begun      bool
}

func (l *longest) add(ev *event) {
	switch {
	case !l.begun:
		*l = longest{last: ev.e, next: minTime, seq: ev.seq, begun: true}
	case ev.e > l.last:
		l.last, l.next, l.seq = ev.e, l.last, ev.seq
	default:
		l.next = max(l.next, ev.e)
	}
}

// other returns the last end of those that do not have the given number.
func (l *longest) other(seq int) int64 {
	if l.seq == seq {
		return l.next
	}
	return l.last
}

func (b banned) scope() scope {
	of := b.bound.scope()
	of.memory, of.ban = of.memory+b.ban, b.ban
	return of
}

// bannedUntil is the time of a banModel.
const bannedUntil = ownTime

// banModel denies for a time after each denial of the model inside, which does not see what is asked
// meanwhile.
type banModel struct {
	around
	// ban is the least and banTo the most that a ban lasts.
	ban, banTo int64
}

func (b banModel) traits() traits { return b.remembers() }

func (b banModel) scaled(k int64) model {
	return banModel{around{b.model.scaled(k)}, b.ban * k, b.banTo * k}
}

func (b banModel) admit(m memoryState, a ask) []memoryState { return b.unbanned(m, a, model.admit) }

// pass: who would be admitted bans nobody, whatever another limiter says.
func (b banModel) pass(m memoryState, a ask) []memoryState { return b.unbanned(m, a, model.pass) }

// unbanned asks the model inside where no ban is on.
func (b banModel) unbanned(m memoryState, a ask, q question) []memoryState {
	if !m.zone.limit(bannedUntil, now, 0) {
		return nil
	}
	m.zone.spread(bannedUntil, now, -noBound, 0) // it is over, and matters no more
	return b.ask(m, a, q)
}

// deny: inside a ban, which that does not renew, or by the model inside, which begins one.
func (b banModel) deny(m memoryState, a ask) []memoryState {
	var out []memoryState
	if on := m.clone(); on.zone.limit(now, bannedUntil, -b.traits().scale) {
		out = append(out, on)
	}
	if !m.zone.limit(bannedUntil, now, 0) {
		return out
	}
	for _, denied := range b.ask(m, a, model.deny) {
		denied.zone.spread(bannedUntil, now, b.ban, b.banTo)
		out = append(out, denied)
	}
	return out
}

// forget: a ban that is over at lo is as good as any other.
func (b banModel) forget(m memoryState, lo int64) {
	if m.zone.bound(bannedUntil, 0) <= lo {
		m.zone.free(bannedUntil, lo)
	}
	b.around.forget(m, lo)
}
