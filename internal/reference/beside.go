package reference

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Beside returns what right limiters would have decided on each request of a recording, whose requests ascend
// by Sent. Each limit counts the requests of its phases. A request that no limit counts is Unknown. It
// returns an error for a refused SPEC, and the errors of NewLimiter.
//
// Each request is decided within its interval from Sent to FirstByte. Among requests in flight at the same
// time, the admitted ones come first and as late as possible. The others come as early as possible:
//
//	admitted   sent |---------------X| first byte
//	denied        sent |X---------------| first byte
//
// A request that is charged at its completion is decided early, before others complete. Another order may fit
// the recording better, so a difference proves nothing.
func Beside(tl *timeline.Timeline, limits []timeline.PhaseLimit) ([]timeline.Outcome, error) {
	out := make([]timeline.Outcome, len(tl.Observations))
	for _, l := range limits {
		limit, err := spec.Parse(l.Limit)
		if err != nil {
			return nil, err
		}
		limiter, err := NewSimulation(limit, tl.Header.Started, 0)
		if err != nil {
			return nil, err
		}
		late := !slices.ContainsFunc(limit, func(p spec.Policy) bool {
			return p.Charge == spec.ChargeCompletion
		})
		parts := map[string][]int{}
		for i := range tl.Observations {
			if o := &tl.Observations[i]; l.Counts(o.Phase) {
				parts[o.Partition] = append(parts[o.Partition], i)
			}
		}
		for _, part := range parts {
			order(tl, part, late, func(i int, at time.Duration) {
				o := &tl.Observations[i]
				cost := max(o.Cost, 1)
				if tl.Header.Judged.SingleUnits {
					cost = 1
				}
				limiter.answer = max(o.Done-at, 0) // the request is in flight until its recorded answer ends
				out[i] = timeline.Denied
				if limiter.Decide(o.Partition, at, cost).Allow {
					if out[i] = timeline.Allowed; limit[0].Clears(o.Status) {
						limiter.Clear(o.Partition)
					}
				}
			})
		}
	}
	return out, nil
}

// order calls decide for each request of one partition, with an instant in its interval; the instants ascend.
// With late, admitted requests get the latest possible instant. It takes time proportional to the number of
// requests times the number in flight.
func order(tl *timeline.Timeline, part []int, late bool,
	decide func(i int, at time.Duration),
) {
	end := tl.End()
	until := func(i int) time.Duration {
		if o := &tl.Observations[i]; o.Answered {
			return max(o.FirstByte, o.Sent)
		}
		return max(end, tl.Observations[i].Sent)
	}
	var pending []int
	now := time.Duration(0)
	for len(part) > 0 || len(pending) > 0 {
		if len(pending) == 0 {
			pending, part = append(pending, part[0]), part[1:]
		}
		first := until(pending[0])
		for _, i := range pending {
			first = min(first, until(i))
		}
		if len(part) > 0 && tl.Observations[part[0]].Sent <= first {
			pending, part = append(pending, part[0]), part[1:]
			continue
		}
		next := 0
		for k, i := range pending {
			if better(tl, i, pending[next], until) {
				next = k
			}
		}
		i := pending[next]
		pending = append(pending[:next], pending[next+1:]...)
		if now = max(now, tl.Observations[i].Sent); late && tl.Observations[i].Outcome == timeline.Allowed {
			now = max(now, first)
		}
		decide(i, now)
	}
}

// better tells whether request a is decided before b. Both are in flight at the same time.
func better(tl *timeline.Timeline, a, b int, until func(int) time.Duration) bool {
	admitted := func(i int) bool { return tl.Observations[i].Outcome == timeline.Allowed }
	if admitted(a) != admitted(b) {
		return admitted(a)
	}
	return until(a) < until(b)
}
