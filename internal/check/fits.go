package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ErrTooLarge is what Judge wraps when the products of a limit and the length of a recording exceed 2^61.
var ErrTooLarge = errors.New("the limit times the length of the recording exceeds 2^61")

// ErrUnsorted is what Judge wraps when observations do not ascend by Sent.
var ErrUnsorted = errors.New("observations ascend by the time they were sent")

// Fits checks that the observations of each partition ascend by Sent and that no product of the bounds can
// overflow. It returns an error that wraps ErrUnsorted or ErrTooLarge.
func Fits(rec *history.Recording, limit spec.Limit) error {
	var units int64
	var begin time.Duration
	for k := range rec.Parts {
		obs := rec.Parts[k].Obs
		for i := range obs {
			o := &obs[i]
			counts, err := unitsOf(o.Seq, o.Cost, limit)
			if units += counts; err != nil || units < 0 || units > history.MaxTime/4 {
				return cmp.Or(err,
					fmt.Errorf("check: observation #%d: cost %d: %w", o.Seq, o.Cost, ErrTooLarge))
			}
			if i > 0 && o.Sent < obs[i-1].Sent {
				return fmt.Errorf("check: observation #%d: sent at %s, before the one in front of it: %w",
					o.Seq, o.Sent, ErrUnsorted)
			}
			begin = min(begin, o.Sent)
		}
	}
	return FitsSpan(&rec.Header, limit, begin, rec.Header.Ended, units)
}

// ErrUnknownCost is what Judge wraps when the cost of a request is not known, and a policy needs it to
// decide.
var ErrUnknownCost = errors.New("the limit admits by the cost of a request, which its answer did not tell " +
	"(say charge=completion, or unit=request if it counts requests)")

// ErrFree is what a Stream wraps when a request costs nothing, and a policy needs costs to decide.
var ErrFree = errors.New("the limit admits by the cost of a request, which is at least 1 (say " +
	"charge=completion, or unit=request if it counts requests)")

func needsCosts(p spec.Policy) bool {
	return p.Charge != spec.ChargeCompletion && p.Unit != spec.UnitRequest
}

// excused tells whether a denial says nothing: nobody knows what the request would have cost, so a policy
// that it must fit may have denied it whatever was left, and it changed no state.
func excused(outcome timeline.Outcome, cost int64, limit spec.Limit) bool {
	return outcome == timeline.Denied && cost == timeline.CostUnknown &&
		slices.ContainsFunc(limit, needsCosts) && !slices.ContainsFunc(limit, func(p spec.Policy) bool {
		return p.Count == spec.CountAll || p.Ban > 0 || p.TTL > 0 || p.Refresh == spec.RefreshAll
	})
}

// unitsOf returns the most units that a policy counts for a request at one time, as far as its cost is known.
func unitsOf(seq int, cost int64, limit spec.Limit) (units int64, err error) {
	units = max(cost, 0)
	for _, p := range limit {
		switch {
		case cost < timeline.CostUnknown:
			return 0, fmt.Errorf("check: observation #%d: cost %d: %w", seq, cost, ErrTooLarge)
		case cost == timeline.CostUnknown && p.Full() >= history.AnyCost:
			return 0, fmt.Errorf("check: observation #%d: cost unknown: %w", seq, ErrTooLarge)
		case cost == timeline.CostUnknown && needsCosts(p):
			return 0, fmt.Errorf("check: observation #%d: %w", seq, ErrUnknownCost)
		}
		units = max(units, p.Reserve)
	}
	return units, nil
}

// FitsSpan checks that no product of the bounds can overflow for so many units requested from begin to end.
// It returns an error that wraps ErrTooLarge.
func FitsSpan(h *timeline.Header, limit spec.Limit, begin, end time.Duration, units int64) error {
	least, most := min(h.ClockError, h.Tick, h.WallError), max(h.ClockError, h.Tick, h.WallError)
	if int64(begin) < -history.MaxTime/4 || least < 0 || int64(most) > history.MaxTime/4 {
		return fmt.Errorf("check: from %s, clocks known up to %s, %s and %s: %w", begin, h.WallError,
			h.ClockError, h.Tick, ErrTooLarge)
	}
	if h.DriftPPM < 0 || h.DriftPPM > timeline.MaxDriftPPM {
		return fmt.Errorf("check: a drift of %d ppm: %w", h.DriftPPM, ErrTooLarge)
	}
	span := min(int64(end), history.MaxTime) - int64(begin) + 2*int64(h.ClockError) + int64(h.Tick)
	span += 2 * int64(h.Drift(time.Duration(max(span, 0))))
	for _, p := range limit {
		if p.Align == spec.AlignCalendar && h.Started.IsZero() {
			return fmt.Errorf("check: %s: the recording does not say when it began, so that no calendar day "+
				"is known (declare a window without a zone)", p)
		}
		if span < 0 || span > history.MaxTime/4 || int64(p.Rate.Per) > history.MaxTime/4 ||
			p.Align != spec.AlignCalendar && !limiter.FitsEnds(p, span+int64(p.Tick), units) {
			return fmt.Errorf("check: %s over %s: %w", p.Algorithm, end, ErrTooLarge)
		}
	}
	return nil
}
