package check

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Resolution is what a PASS must be worth. The zero value demands nothing.
type Resolution struct {
	// Burst demands that the measured interval of the burst (quota) is at most this share of the declared
	// burst wide. BurstExact demands that it is one value.
	Burst      float64
	BurstExact bool
	// Rate demands the same of the rate, or of the length of windows, which a clock with ticks blurs.
	Rate float64
}

// Options are what a scenario or a command line asks of a judgement.
type Options struct {
	Conformance result.Conformance
	Resolution  Resolution
	// Shared says that others may use the same partitions. An unexplained denial is then no proof.
	Shared bool
	// SkipMeasure leaves out the measured policy.
	SkipMeasure bool
	// VerdictOnly leaves out the witnesses of findings, which may take longer than the verdict.
	VerdictOnly bool
	// Hint looks for what explains a recording that fails: a Diagnosis, or else another policy.
	Hint bool
	// Spill makes the file for what a Stream does not hold in memory. nil: it holds all. Judge needs none.
	Spill func() (timeline.Spill, error)
}

// Short says how the measured policies of a limit fall short of the resolution. Empty: they do not.
func (r Resolution) Short(l spec.Limit, m result.Measured) string {
	for i, pol := range l {
		of := ""
		if len(l) > 1 {
			of = " of " + pol.String()
		}
		if short := r.short(pol, m.Of(i, len(l)), of); short != "" {
			return short
		}
	}
	return ""
}

// short says how the measured values of one policy fall short of the resolution. Empty: they do not.
func (r Resolution) short(pol spec.Policy, measured result.Measured, of string) string {
	quota, rate := float64(pol.Full()), float64(pol.Rate.N)*float64(time.Second)/float64(pol.Rate.Per)
	m := measured
	if pol.Queued() {
		// An admission that waited long may have been decided late. So nothing proves that a queue has as
		// many places as declared. A denial shows that it has no more.
		m.Burst.Lo, m.Burst.LoSet = quota, true
	}
	switch {
	case r.BurstExact && (!m.Burst.LoSet || !m.Burst.HiSet || m.Burst.Lo != m.Burst.Hi):
		return "the burst" + of + " is " + known(measured.Burst, "") + ", and a PASS must measure it exactly"
	case r.Burst > 0 && !m.Burst.Within(quota, r.Burst):
		return fmt.Sprintf("the burst%s is %s, and a PASS must measure it to within %g %%", of,
			known(measured.Burst, ""), 100*r.Burst)
	case r.Rate > 0 && !pol.InFlight() && !m.Rate.Within(rate, r.Rate) && !r.toTheTick(pol, m.Rate):
		return fmt.Sprintf("the rate%s is %s, and a PASS must measure it to within %g %%", of,
			known(m.Rate, "/s"), 100*r.Rate)
	}
	return ""
}

// toTheTick tells whether the rate is measured as closely as the clock of pol allows. Each end of a window
// may be up to one tick off, so no recording tells apart windows whose lengths differ by two ticks.
func (r Resolution) toTheTick(pol spec.Policy, rate result.Interval) bool {
	if pol.Tick == 0 || !pol.HasWindow() || !rate.LoSet || !rate.HiSet {
		return false
	}
	units := float64(pol.Rate.N) * float64(time.Second)
	lengths := units/rate.Lo - units/rate.Hi
	return lengths <= r.Rate*float64(pol.Rate.Per)+2*float64(pol.Tick)
}

// known says in words what is known of a parameter.
func known(iv result.Interval, unit string) string {
	switch {
	case iv.LoSet && iv.HiSet:
		return "known to be " + iv.String() + unit
	case iv.LoSet:
		return fmt.Sprintf("known to be at least %.6g%s", iv.Lo, unit)
	case iv.HiSet:
		return fmt.Sprintf("known to be at most %.6g%s", iv.Hi, unit)
	default:
		return "not known"
	}
}

// The work of judging one recording, of all its partitions together. Each partition has a share by its number
// of observations. So many partitions take no longer than one that is as large as all of them.
const (
	// windowWork is how many observations the bounds may judge to find one end of the lengths of a window.
	// With a quarter of it, a right counter that was overloaded tenfold stays unresolved.
	windowWork = 1 << 24
	// brokenWindowWork is windowWork of a partition that fails. Its lengths only suggest another limit.
	brokenWindowWork = windowWork >> 5
	// gaugeWork is how many observations the bounds may judge for one value of a measured parameter, if the
	// phase is not known.
	gaugeWork = 1 << 21
	// leastShare is the least share of an observation of any work.
	leastShare = 64
	// HintSteps is how many decisions the exact searches of one guess may try before the last search begins.
	// HintWide is the same for searches of many phases at once. A guess that is not refuted by then may
	// explain the recording. Searching every phase would take minutes, and nothing depends on it.
	HintSteps = 1 << 14
	HintWide  = 1 << 17
)

// share returns the part of work, meant for the whole recording, that n observations may take.
func (c *Case) share(work, n int) int {
	if n >= c.Observations {
		return work
	}
	return max(int(float64(work)*float64(n)/float64(c.Observations)), leastShare*n)
}

// decisions returns how many decisions the exact searches of n observations may try. A decision under several
// policies takes several times as long as one under the first. A decision under a policy that denials change
// takes twice as long.
func (c *Case) decisions(n int) int {
	work := StepBudget
	if len(c.Limit) > 1 {
		work /= 2 * len(c.Limit)
	}
	if search.Counted(c.Limit) {
		work /= 2
	}
	if c.work > 0 {
		work = min(work, c.work)
	}
	return c.share(work, n)
}

// bounded returns how many observations the bounds may judge in the search for the phase of n observations.
func (c *Case) bounded(n int) int {
	if c.work > 0 {
		return c.share(min(MaxWork, perObservation*c.work), n)
	}
	return c.share(MaxWork, n)
}
