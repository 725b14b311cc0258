package result

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// dear is what limits a measurement if requests cost several units. Where answers tell the cost, a charge
// that may come late hides more than the cost does.
//
//	charged   |--a--|      |--b--|     one by one, each charge is certain before the next request
//	sent      a            b     c
func (s *Scenario) dear(cost int64, less string) (why, mend string) {
	if s.settling() >= 0 && s.closelyKnown() { // the rate is not
		return "a window ends between two requests, and is known no closer",
			"accept a coarser rate (--set expect.resolution.rate=10%)"
	}
	if mend := s.ChargeMend(); mend != "" {
		return "nobody knows which answers were charged before a request", mend
	}
	i := s.settling()
	if i < 0 {
		return fmt.Sprintf("no request costs less than %d units, so no burst is known to less", cost),
			"send requests of one unit, or " + less
	}
	p, dearest, longest := s.Limit[i], int64(0), time.Duration(0)
	for k := range s.Timeline.Observations {
		if o := &s.Timeline.Observations[k]; o.Outcome == timeline.Allowed {
			dearest, longest = max(dearest, o.Cost), max(longest, o.Done-o.Sent)
		}
	}
	if 2*dearest > p.Full() {
		return fmt.Sprintf("an answer costs up to %d of %d units", dearest, p.Full()),
			"ask for answers that cost less, or " + less
	}
	apart := (longest + p.Linger).Truncate(paceStep) + paceStep
	return "a request was sent before the charge of an earlier answer was certain",
		fmt.Sprintf("send one after the other, further apart than an answer and its charge take "+
			"(shape: constant, rate: 1/%s)", text.Short(apart))
}

// paceStep is the step of the times that a mend names.
const paceStep = 100 * time.Millisecond

// settling returns the index of the policy that counts what answers cost, -1 without one.
func (s *Scenario) settling() int {
	for i, p := range s.Limit {
		if p.Charge == spec.ChargeCompletion && p.Unit != spec.UnitRequest {
			return i
		}
	}
	return -1
}

// ChargeMend returns what must be said of a limit that settles costs, so that a recording can prove more: how
// soon an answer is charged, and where windows begin. Empty: all is said.
func (s *Scenario) ChargeMend() string {
	i := s.settling()
	if i < 0 {
		return ""
	}
	var open []string
	if !s.Limit[i].LingerSet {
		open = append(open, "how soon after its last byte an answer is charged (linger=20ms)")
	}
	if s.Limit[i].Align == spec.AlignUnknown {
		open = append(open, "where windows begin (align=first)")
	}
	if len(open) == 0 {
		return ""
	}
	return "say " + strings.Join(open, ", and ")
}

// closelyKnown tells whether the burst of each policy is known as closely as was demanded.
func (s *Scenario) closelyKnown() bool {
	if s.Judgement == nil {
		return false
	}
	share := s.Header.Judged.Burst
	for i, p := range s.Limit {
		if b := s.Judgement.Measured.Of(i, len(s.Limit)).Burst; !b.Within(float64(p.Full()), share) {
			return false
		}
	}
	return true
}
