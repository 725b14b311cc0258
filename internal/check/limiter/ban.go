package limiter

import (
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// banned is the bound of a policy that denies a partition for a time after each denial. A denial may follow
// another denial within the ban, even if the policy alone cannot explain it.
type banned struct {
	Bound
	ban int64
	// growth, unless nil, says how bans grow; ban is then the longest.
	growth *growth
	// crowd: NoFirst is asked, as the first denial bans the others. It is not asked where a denied request
	// may be the one from which windows, batches or a level count.
	crowd bool
}

// newBanned returns the bound of p. A denied request is counted only where no ban is on, and no single denial
// is sure of that. So over-admission is asked of the admissions alone.
func newBanned(p spec.Policy, from, to int64, others bool) Bound {
	crowd := !others && p.Growth == 0 && p.Align != spec.AlignFirst && p.Refill != spec.RefillInterval &&
		!StartsLow(p)
	out := banned{plainBound(p, from, to, others), int64(p.LongestBan()), growthOf(p), crowd}
	if p.Count != spec.CountAll {
		return out
	}
	p.Count = spec.CountAdmitted
	return sided{out, plainBound(p, from, to, others)}
}

// unbanned returns the unexplained denials that no ban explains. A ban may come from any other request that
// was or may have been denied.
func unbanned(h *history.History, unexplained []int32, ban int64) []int32 {
	if len(unexplained) == 0 {
		return unexplained
	}
	var starts []int64
	var lasting []longest // for the requests up to each start, the two that end last
	var two longest
	for i := range h.All {
		if ev := &h.All[i]; ev.Outcome != timeline.Allowed {
			two.add(ev)
			starts, lasting = append(starts, ev.Start), append(lasting, two)
		}
	}
	return slices.DeleteFunc(unexplained, func(j int32) bool {
		d := h.Denial(j)
		n := sort.Search(len(starts), func(i int) bool { return starts[i] > d.End })
		return n > 0 && lasting[n-1].other(d.Seq) >= d.Start-ban
	})
}

// longest has the ends of the two requests that end last. seq is the Seq of the last.
type longest struct {
	last, next int64
	seq        int
	begun      bool
}

func (l *longest) add(ev *history.Event) {
	switch {
	case !l.begun:
		*l = longest{last: ev.End, next: history.MinTime, seq: ev.Seq, begun: true}
	case ev.End > l.last:
		l.last, l.next, l.seq = ev.End, l.last, ev.Seq
	default:
		l.next = max(l.next, ev.End)
	}
}

// other returns the last End of the requests without the given Seq.
func (l *longest) other(seq int) int64 {
	if l.seq == seq {
		return l.next
	}
	return l.last
}

func (b banned) Scope() Scope {
	of := b.Bound.Scope()
	of.Memory, of.Ban, of.Crowd, of.Growth = of.Memory+b.ban, b.ban, b.crowd, b.growth
	return of
}

// bannedUntil is the time of a banModel.
const bannedUntil = ownTime

// banModel denies for a time after each denial of the inner model. The inner model does not see the requests
// in a ban.
type banModel struct {
	around
	// ban is the shortest and banTo the longest time that a ban lasts, scaled.
	ban, banTo int64
}

func (b banModel) Traits() Traits { return b.remembers() }

func (b banModel) Scaled(k int64) Model {
	return banModel{around{b.Model.Scaled(k)}, b.ban * k, b.banTo * k}
}

func (b banModel) Admit(m State, a Request) []State { return b.unbanned(m, a, Model.Admit) }

// Pass: a request that would be admitted starts no ban, whatever another limiter says.
func (b banModel) Pass(m State, a Request) []State { return b.unbanned(m, a, Model.Pass) }

// unbanned asks the inner model at the instants without a ban.
func (b banModel) unbanned(m State, a Request, q question) []State {
	if !m.Zone.Limit(bannedUntil, ZoneNow, 0) {
		return nil
	}
	m.Zone.Spread(bannedUntil, ZoneNow, -NoBound, 0) // the ban is over and matters no more
	return b.ask(m, a, q)
}

// Deny: a ban is on, which this denial does not renew; or the inner model denies, and a ban begins.
func (b banModel) Deny(m State, a Request) []State {
	var out []State
	if on := m.Clone(); on.Zone.Limit(ZoneNow, bannedUntil, -b.Traits().Scale) {
		out = append(out, on)
	}
	if !m.Zone.Limit(bannedUntil, ZoneNow, 0) {
		return out
	}
	for _, denied := range b.ask(m, a, Model.Deny) {
		denied.Zone.Spread(bannedUntil, ZoneNow, b.ban, b.banTo)
		out = append(out, denied)
	}
	return out
}

// Forget: a ban that is over at lo no longer matters.
func (b banModel) Forget(m State, lo int64) {
	if m.Zone.Bound(bannedUntil, 0) <= lo {
		m.Zone.Free(bannedUntil, lo)
	}
	b.around.Forget(m, lo)
}

// growth are bans of which each lasts longer than the one before. Ban n = 0, 1, ... lasts
// L_n = min(first * times^n, most), so its place among the bans says how long it is:
//
//	begins in [lo_n, hi_n], ends in [lo_n + L_n, hi_n + L_n]
//	lo_n+1: the earliest that a denial which the limiter alone explains may be decided after ban n
//	hi_n+1: the latest that the first denial after ban n may be decided, as a ban has begun by then
type growth struct{ first, times, most int64 }

func growthOf(p spec.Policy) *growth {
	if p.Growth < 2 {
		return nil
	}
	return &growth{int64(p.Ban), p.Growth, int64(p.LongestBan())}
}

type lockout struct{ begun, until, length int64 }

// lockouts returns the bans that surely began, in order, and the instant from which another one may have
// begun: MaxTime if none may. unexplained are the denials, as indices in h.Denied, that begin no ban, as the
// limiter alone does not explain them.
func (g growth) lockouts(h *history.History, unexplained []int32) (bans []lockout, open int64) {
	idle := map[int]bool{} // by Seq
	for _, j := range unexplained {
		idle[h.Denial(j).Seq] = true
	}
	from, surely, length := history.MinTime, history.MinTime, g.first
	starters := slices.DeleteFunc(slices.Clone(h.All), func(ev history.Event) bool {
		return ev.Outcome == timeline.Allowed || idle[ev.Seq]
	})
	for {
		begun, until := history.MaxTime, history.MaxTime
		for i := range starters {
			if starters[i].End >= from {
				begun = min(begun, max(from, starters[i].Start))
			}
		}
		for d := range h.Denials() {
			if d.Start >= surely {
				until = min(until, d.End)
			}
		}
		if begun == history.MaxTime || until == history.MaxTime || begun > until {
			return bans, begun
		}
		bans = append(bans, lockout{begun, until, length})
		from, surely = history.Later(begun, length), history.Later(until, length)
		if length > g.most/g.times {
			length = g.most
		} else {
			length *= g.times
		}
		starters = slices.DeleteFunc(starters, func(ev history.Event) bool { return ev.End < from })
	}
}

// unexplained returns the denials of those given that no ban covers.
func (g growth) unexplained(h *history.History, left []int32) []int32 {
	if len(left) == 0 {
		return left
	}
	bans, open := g.lockouts(h, left)
	return slices.DeleteFunc(left, func(j int32) bool {
		d := h.Denial(j)
		return d.End >= open || slices.ContainsFunc(bans, func(b lockout) bool {
			return d.End >= b.begun && d.Start < b.until+b.length
		})
	})
}

// banned returns the breach of a request that was admitted while a ban was surely on, or nil.
func (g growth) banned(h *history.History, b Bound) *Breach {
	if h.Joined(history.MaxTime) { // nobody knows how many bans there were
		return nil
	}
	bans, _ := g.lockouts(h, unexplained(h, b.Usage(h), h.Possible, false))
	for _, ban := range bans {
		inside := func(ev history.Event) bool { return ev.Start > ban.until && ev.End < ban.begun+ban.length }
		i := slices.IndexFunc(h.Admitted, inside)
		if i < 0 {
			continue
		}
		br := &Breach{Kind: result.NoExplanation, Windows: 1}
		for _, ev := range h.All {
			if ev.Start <= h.Admitted[i].End {
				br.Events = append(br.Events, ev)
			}
		}
		br.Seen, br.Bound, br.Span = int64(len(br.Events)), int64(len(br.Events))-1, SpanOf(br.Events)
		return br
	}
	return nil
}

// Banned returns the breach of a request that was admitted while a ban that grows was surely on. It returns
// nil where there is none, and for policies without such bans.
func Banned(h *history.History, b Bound) *Breach {
	if g := b.Scope().Growth; g != nil {
		return g.banned(h, b)
	}
	return nil
}
