package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// banned is the bound of a policy that denies a partition for some time after each denial. A denial that the policy alone
// cannot explain may follow another denial within the ban.
type banned struct {
	bound
	ban int64
}

// newBanned returns the bound of p, of which b knows nothing of its ban. A denied request is counted only where no ban was on,
// which no single denial is sure of: what cannot have been admitted is what the admissions alone leave no room for.
func newBanned(p reference.Policy, b bound, from, to int64) bound {
	out := banned{b, int64(p.LongestBan())}
	if p.Count != reference.CountAll {
		return out
	}
	p.Count = reference.CountAdmitted
	return sided{out, banned{algorithmBound(p, from, to), int64(p.LongestBan())}}
}

// unbanned keeps of the unexplained denials those that no other request, which was or may have been denied, can have
// banned.
func (b banned) unbanned(h *history, unexplained []int32) []int32 {
	return slices.DeleteFunc(unexplained, func(j int32) bool {
		d := h.denied[j]
		return slices.ContainsFunc(h.all, func(ev event) bool {
			return ev.seq != d.seq && ev.outcome != timeline.Allowed && ev.s <= d.e && ev.e >= d.s-b.ban
		})
	})
}

func (b banned) memory() int64 { return b.bound.memory() + b.ban }
