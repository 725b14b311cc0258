package limiter

import (
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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

// lockout is a ban that surely began within [begun, until].
type lockout struct{ begun, until, length int64 }

// lockouts returns the bans that surely began, in order, and the instant from which another one may have
// begun: MaxTime if none may. unexplained are the denials, as indices in h.Denied, that begin no ban, as the
// limiter alone does not explain them.
func (g growth) lockouts(h *history.History, unexplained []int32) (bans []lockout, open int64) {
	idle := map[int]bool{} // by Seq
	for _, j := range unexplained {
		idle[h.Denied[j].Seq] = true
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
		for _, d := range h.Denied[sort.Search(len(h.Denied),
			func(i int) bool { return h.Denied[i].Start >= surely }):] {
			until = min(until, d.End)
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
		d := h.Denied[j]
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
