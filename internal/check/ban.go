package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// banned is the bound of a policy that denies a partition for some time after each denial. A denial that the policy alone
// cannot explain may follow another denial within the ban.
type banned struct {
	bound
	ban int64
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
