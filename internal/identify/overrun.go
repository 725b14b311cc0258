package identify

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Answers may state another limit beside the one that was found, with a longer window: 1000 an hour beside 10
// a second. A statement proves nothing, so that limit is reached where the budget allows.

// beyond is a quota that is stated beside the found limit, and the phase that reaches it.
type beyond struct {
	quota headers.Quota
	phase plan.Phase
}

// overrun sends as fast as the found limit admits, for more than a quota that is stated beside it.
var overrun = experiment{name: "overrun", most: 1, of: func(r *space.Region) bool { return !r.Rare() },
	phases: func(x *search, _ int) []step {
		all := x.beyonds()
		if len(all) == 0 || all[0].phase.Requests > x.spare() {
			return nil
		}
		return inTurn(all[0].phase)
	}}

// beyonds are the larger quotas of longer windows that the first denial states, those that are reached first
// before the others.
func (x *search) beyonds() (out []beyond) {
	tl := x.tl
	i := slices.IndexFunc(tl.Observations, func(o timeline.Observation) bool {
		return o.Outcome == timeline.Denied
	})
	if i < 0 || len(x.regions) == 0 {
		return nil
	}
	r, o := x.regions[0], &tl.Observations[i]
	h, every := r.Hull(), r.Hull().T2
	if !r.Kind.Paced {
		every /= time.Duration(h.Q2)
	}
	every = max(x.every, every*51/50)
	quotas, _ := headers.Quotas(o.Fields.Get, tl.Header.Started.Add(o.FirstByte))
	for _, q := range quotas {
		known := func(b beyond) bool { return b.quota.Limit == q.Limit && b.quota.Window == q.Window }
		if !q.HasLimit || q.Limit <= h.Q2 || q.Window <= 2*r.Recovery() || slices.ContainsFunc(out, known) {
			continue
		}
		const more = 3
		out = append(out, beyond{q, plan.Phase{Rest: every, Every: every, Denials: 2,
			Requests: int(max(0, q.Limit-x.admitted(q.Window))) + more}})
	}
	slices.SortStableFunc(out, func(a, b beyond) int { return a.phase.Requests - b.phase.Requests })
	return out
}

// admitted counts the requests that were admitted within the last window.
func (x *search) admitted(window time.Duration) (n int64) {
	tl := x.shown()
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Allowed && o.Sent > tl.End()-window {
			n++
		}
	}
	return n
}

// alsoTold describes the limits that are stated beside c. One that was not reached comes with a SPEC to paste
// and the requests that it takes.
func (x *search) alsoTold(c identity.Candidate) (out []string) {
	if x.stage > 0 {
		return nil
	}
	sent := slices.ContainsFunc(x.tl.Observations, func(o timeline.Observation) bool {
		return o.Phase == overrun.name
	})
	for i, b := range x.beyonds() {
		said := fmt.Sprintf("%d in %s", b.quota.Limit, b.quota.Window)
		if i == 0 && sent {
			out = append(out, said+", and more were admitted")
			continue
		}
		p := space.Complete(spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignUnknown,
			Rate: spec.Rate{N: b.quota.Limit, Per: b.quota.Window}})
		out = append(out, fmt.Sprintf("%s, not reached (it takes %s, %s apart): %s", said,
			quantity.Plural(b.phase.Requests, "more request"), quantity.Brief(b.phase.Every),
			append(slices.Clone(c.Limit), p)))
	}
	return out
}
