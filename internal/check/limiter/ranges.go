package limiter

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Ranged tells whether the rate, the window or the burst of p is a range. Over is then asked of the loosest
// policy of the range, the denials of the tightest.
func Ranged(p spec.Policy) bool { return p.RateTo > 0 || p.PerTo > 0 || p.BurstTo > 0 }

// Cornered tells whether one policy in the ranges of p answers each question as p does: the loosest one Over,
// the tightest one denials. Some part of p has that policy however p is divided. So for one question and one
// phase, parts refute no more than p does. A range of queues starts otherwise than its parts.
func Cornered(p spec.Policy) bool {
	return Ranged(p) && p.BanTo == 0 && p.TTLTo == 0 && (p.PerTo == 0 || !p.Windowed()) &&
		(p.BurstTo == 0 || !p.Queued())
}

// fineness is into how many parts Divisible divides a unit of a bucket's rate.
const fineness = 1 << 6

// Divisible returns p with the rate of a bucket in finer units, if the products allow it. The rate of a
// bucket is any number of the range, not only a whole one.
func Divisible(p spec.Policy) spec.Policy {
	if p.RateTo == 0 || !p.Refills() {
		return p
	}
	if max(p.RateTo, int64(p.Rate.Per), p.Burst, p.BurstTo) > history.MaxTime>>28 {
		return p
	}
	p.Rate.N, p.RateTo, p.Rate.Per = p.Rate.N*fineness, p.RateTo*fineness, p.Rate.Per*fineness
	return p
}

// Divide halves the burst, the rate or the window of p. ok=false: none is a range that can be divided. The
// rate of a bucket is any number of its range, so both halves contain the middle. Bursts, quotas and windows
// are whole.
func Divide(p spec.Policy) (lower, upper spec.Policy, ok bool) {
	lower, upper = p, p
	switch {
	case p.BurstTo > 0:
		mid := p.Burst + (p.BurstTo-p.Burst)/2
		lower.BurstTo, upper.Burst = mid, mid+1
		if p.Queued() {
			upper.Queue = mid
		}
	case p.RateTo > 0 && !p.Refills():
		mid := p.Rate.N + (p.RateTo-p.Rate.N)/2
		lower.RateTo, upper.Rate.N = mid, mid+1
	case p.RateTo > p.Rate.N+1:
		mid := p.Rate.N + (p.RateTo-p.Rate.N)/2
		lower.RateTo, upper.Rate.N = mid, mid
	case p.PerTo > 0 && !p.Windowed():
		lower, upper = HalveWindow(p)
	default:
		return p, p, false
	}
	return Settled(lower), Settled(upper), true
}

// DivideTimes halves the ban or the time to live of p. ok=false: neither range is worth dividing. Every bound
// covers such a range as a whole. In the exact search each ban or silence may last another time of the range.
func DivideTimes(p spec.Policy) (shorter, longer spec.Policy, ok bool) {
	shorter, longer = p, p
	least := p.LongestWindow() >> 10
	switch {
	case p.TTLTo-p.TTL > least && p.TTLTo > 0:
		shorter.TTLTo = p.TTL + (p.TTLTo-p.TTL)/2
		longer.TTL = shorter.TTLTo + 1
	case p.BanTo-p.Ban > least && p.BanTo > 0:
		shorter.BanTo = p.Ban + (p.BanTo-p.Ban)/2
		longer.Ban = shorter.BanTo + 1
	default:
		return p, p, false
	}
	return Settled(shorter), Settled(longer), true
}

// HalveWindow halves the range of the window of p.
func HalveWindow(p spec.Policy) (shorter, longer spec.Policy) {
	shorter, longer = p, p
	shorter.PerTo = p.Rate.Per + (p.PerTo-p.Rate.Per)/2
	longer.Rate.Per = shorter.PerTo + 1
	return Settled(shorter), Settled(longer)
}

// Settled replaces each range of p that has one value by that value.
func Settled(p spec.Policy) spec.Policy {
	if p.BurstTo == p.Burst {
		p.BurstTo = 0
	}
	if p.RateTo == p.Rate.N {
		p.RateTo = 0
	}
	if p.PerTo == p.Rate.Per {
		p.PerTo = 0
	}
	if p.BanTo == p.Ban {
		p.BanTo = 0
	}
	if p.TTLTo == p.TTL {
		p.TTLTo = 0
	}
	return p
}

// FitsEnds tells whether the products of p stay in bounds at both ends of its ranges; see Bucket.Fits.
func FitsEnds(p spec.Policy, span, units int64) bool {
	tight, loose := p.Ends()
	if p.RateTo > 0 {
		fine := Divisible(p)
		_, fineLoose := fine.Ends()
		return NewBucket(tight).Fits(span, units) && NewBucket(fineLoose).Fits(span, units)
	}
	return NewBucket(tight).Fits(span, units) && NewBucket(loose).Fits(span, units)
}

// sided is a policy with one bound for each question: loose for Over, the embedded one for denials.
type sided struct {
	Bound
	loose Bound
}

func (s sided) Over(h *history.History) *Breach { return s.loose.Over(h) }

// newOwning returns the bound of a policy that also counts what another policy denies. Admitted requests were
// counted; denied requests may have been.
func newOwning(p spec.Policy, from, to int64) Bound {
	loose, tight := p, p
	loose.Count, tight.Count = spec.CountAdmitted, spec.CountAll
	if p.Refreshes() { // as may what it admitted and another policy denied
		tight.Refresh = spec.RefreshAll
	}
	return sided{boundAmong(tight, from, to, true), boundAmong(loose, from, to, true)}
}

// Lasting returns a limit without the times to live that change nothing: after that silence the policy is as
// at its start anyway.
func Lasting(limit spec.Limit) spec.Limit {
	out := limit
	for i, p := range limit {
		if p.TTL <= p.Recovery() || p.Ban > 0 || StartsLow(p) || p.Refill == spec.RefillInterval {
			continue
		}
		if &out[0] == &limit[0] {
			out = slices.Clone(limit)
		}
		out[i].TTL, out[i].TTLTo = 0, 0
	}
	return out
}

// Own returns a model that charges a request that m would admit, even if another limiter denies it.
func Own(m Model) Model { return ownModel{m} }

// ownModel charges a request that the inner model would admit, even if another limiter denies it.
type ownModel struct{ Model }

func (o ownModel) Traits() Traits {
	t := o.Model.Traits()
	t.Counted = true
	return t
}

func (o ownModel) Scaled(k int64) Model { return ownModel{o.Model.Scaled(k)} }

func (o ownModel) Pass(m State, a Request) []State { return o.Model.Admit(m, a) }
