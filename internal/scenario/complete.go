package scenario

import (
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Complete fills in what follows from the rates of a phase whose requests have planned times. It computes the
// number of requests from the duration or, if that is zero, the duration from the number. Phases of other
// shapes, and those with a rate of zero, stay as they are. It checks no ceiling (Excesses does).
func (p *Phase) Complete() {
	switch p.Shape {
	case timeline.Constant, timeline.Poisson:
		p.completeConstant()
	case timeline.Ramp:
		p.completeRamp()
	case timeline.Steps:
		p.Requests = 0
		for i := range p.Rates {
			p.Requests = min(p.Requests+p.step(i), math.MaxInt32)
		}
	}
}

func (p *Phase) completeConstant() {
	if p.Rate.N == 0 {
		return
	}
	if p.Duration > 0 {
		p.Requests = within(p.Duration, p.Rate)
		return
	}
	p.Duration = time.Duration(MulDiv(int64(p.Requests), int64(p.Rate.Per), p.Rate.N, true))
}

// longestRamp is longer than every ceiling of a duration.
const longestRamp = 70 * 24 * time.Hour

func (p *Phase) completeRamp() {
	if p.From.N == 0 || p.To.N == 0 {
		return
	}
	if p.Duration == 0 {
		p.Duration = time.Duration(max(1, min(2e9*float64(p.Requests)/(p.From.PerSecond()+p.To.PerSecond()),
			float64(longestRamp))))
		return
	}
	p.Requests = int(max(1, min(rampCount(p.From, p.To, p.Duration), math.MaxInt32)))
}
