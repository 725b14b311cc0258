package check

import (
	"errors"
	"fmt"
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
			units += o.Cost
			if units < 0 || o.Cost < 0 || units > history.MaxTime/4 {
				return fmt.Errorf("check: observation #%d: cost %d: %w", o.Seq, o.Cost, ErrTooLarge)
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
