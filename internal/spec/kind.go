package spec

import (
	"math"
	"math/bits"
	"time"
)

// The algorithms. TokenBucket, GCRA and LeakyBucket are the same limiter under matched parameters.
const (
	TokenBucket          Algorithm = "token-bucket"
	GCRA                 Algorithm = "gcra"
	LeakyBucket          Algorithm = "leaky-bucket"
	LeakyBucketQueue     Algorithm = "leaky-bucket-queue"
	FixedWindow          Algorithm = "fixed-window"
	SlidingWindowLog     Algorithm = "sliding-window-log"
	SlidingWindowCounter Algorithm = "sliding-window-counter"
	// Concurrency limits the requests in flight: an admitted one holds its place until it is complete.
	Concurrency Algorithm = "concurrency"
)

// family is a set of algorithms.
type family uint16

// The families that keys belong to.
const (
	inTokenBucket family = 1 << iota
	inGCRA
	inLeakyBucket
	inQueue
	inFixedWindow
	inLog
	inCounter
	inConcurrency

	inBuckets = inTokenBucket | inGCRA | inLeakyBucket
	inWindows = inFixedWindow | inCounter
	// inRated are the algorithms that count in time. inAll are these and the one that counts what is in
	// flight.
	inRated = inBuckets | inQueue | inWindows | inLog
	inAll   = inRated | inConcurrency
	// inCharged are the algorithms whose charge may come late.
	inCharged = inBuckets | inWindows | inLog
	// inReserved are the algorithms that can give units back.
	inReserved = inBuckets | inFixedWindow
)

// kinds lists the algorithms in the order of the constants: the family of each, and a noun for what
// Policy.Full counts.
var kinds = []struct {
	name Algorithm
	in   family
	noun string
}{
	{TokenBucket, inTokenBucket, "burst"},
	{GCRA, inGCRA, "burst"},
	{LeakyBucket, inLeakyBucket, "burst"},
	{LeakyBucketQueue, inQueue, "at once"},
	{FixedWindow, inFixedWindow, "quota"},
	{SlidingWindowLog, inLog, "quota"},
	{SlidingWindowCounter, inCounter, "quota"},
	{Concurrency, inConcurrency, "in flight"},
}

// Algorithms returns the words that name an algorithm, in the order of the constants.
func Algorithms() []Algorithm {
	out := make([]Algorithm, len(kinds))
	for i := range kinds {
		out[i] = kinds[i].name
	}
	return out
}

// familyOf returns the family of an algorithm. 0: a is no algorithm.
func familyOf(a Algorithm) family {
	for i := range kinds {
		if kinds[i].name == a {
			return kinds[i].in
		}
	}
	return 0
}

func (p Policy) of(in family) bool { return familyOf(p.Algorithm)&in != 0 }

// Noun names what Full counts: burst, at once, quota, in flight.
func (p Policy) Noun() string {
	for i := range kinds {
		if kinds[i].name == p.Algorithm {
			return kinds[i].noun
		}
	}
	return "quota"
}

// Bucketed tells whether p is a bucket that denies rather than delays.
func (p Policy) Bucketed() bool { return p.of(inBuckets) }

// Queued tells whether p delays requests in a queue.
func (p Policy) Queued() bool { return p.of(inQueue) }

// Refills tells whether p is a bucket or a queue. Its units come back one by one, or in batches.
func (p Policy) Refills() bool { return p.of(inBuckets | inQueue) }

// HasWindow tells whether p counts what was admitted within Rate.Per: in windows, or in a log.
func (p Policy) HasWindow() bool { return p.of(inWindows | inLog) }

// Windowed tells whether p counts in windows of Rate.Per whose alignment matters.
func (p Policy) Windowed() bool { return p.of(inWindows) }

// Fixed tells whether p counts in windows, each by itself.
func (p Policy) Fixed() bool { return p.of(inFixedWindow) }

// InFlight tells whether p limits the requests in flight. It then has no rate.
func (p Policy) InFlight() bool { return p.of(inConcurrency) }

// WithFull returns p with another Full: the burst of a bucket, the places of a queue, or the quota. The
// result has no range of it.
func (p Policy) WithFull(units int64) Policy {
	switch {
	case p.Bucketed():
		p.Burst, p.BurstTo = units, 0
	case p.Queued():
		p.Queue, p.BurstTo = units-1, 0
	default:
		p.Rate.N, p.RateTo = units, 0
	}
	if p.Burst != 0 { // Burst is what Full returns
		p.Burst = units
	}
	return p
}

// Less tells whether r gives fewer units than s in the same time. Both have a Per over 0. Nothing is rounded.
func (r Rate) Less(s Rate) bool {
	rh, rl := bits.Mul64(uint64(r.N), uint64(s.Per))
	sh, sl := bits.Mul64(uint64(s.N), uint64(r.Per))
	return rh < sh || rh == sh && rl < sl
}

// PerSecond returns the units of r in a second, as near as a float64 can be.
func (r Rate) PerSecond() float64 { return float64(r.N) / r.Per.Seconds() }

// Units returns the units of a rate that fall into a span, rounded up to whole units. If the product is over
// Most, it rounds up to whole windows.
func (r Rate) Units(span time.Duration) int64 {
	times, rest := int64(span/r.Per), int64(span%r.Per)
	if over(r.N, r.Per) {
		return r.N * (times + 1)
	}
	return r.N*times + (r.N*rest+int64(r.Per)-1)/int64(r.Per)
}

// UntilBack returns the longest time in which a bucket of p regains units, rounded up to the nanosecond.
func (p Policy) UntilBack(units int64) time.Duration {
	if p.Refill == RefillInterval {
		units = (units + p.Fill - 1) / p.Fill * p.Fill
	}
	return time.Duration((units*int64(p.Rate.Per) + p.Rate.N - 1) / p.Rate.N)
}

// Turn returns the least time from one end of a window, or batch, to the next. It is 0 if p has neither, or
// weighs the window before.
func (p Policy) Turn() time.Duration {
	switch {
	case p.Fixed():
		return p.ShortestWindow()
	case p.Refill == RefillInterval:
		p.Rate.N = max(p.Rate.N, p.RateTo)
		return p.UntilBack(1) - 1 // UntilBack rounds up
	}
	return 0
}

// UntilRoom returns the longest time until p has room for a request of some cost that it denied, if nothing
// else is asked of it. The time is rounded up to the nanosecond. It ignores ticks of the clock and bans.
func (p Policy) UntilRoom(cost int64) time.Duration {
	window := p.LongestWindow()
	switch {
	case p.InFlight():
		return p.HoldMost // by then all requests that were in flight are complete
	case p.Fixed():
		return window
	case p.Windowed() && p.Count == CountAll:
		// The count of this window may be any number. At the end of the next window it weighs nothing.
		return 2 * window
	case p.Windowed():
		// Once the window has ended, its count weighs less and less. One unit has room after 1/quota of the
		// next window.
		units, quota := time.Duration(max(cost, 1)), time.Duration(p.Rate.N)
		return window + (window*units+quota-1)/quota
	case p.Boundary == Closed:
		return window + 1 // a request still counts at the very end of its window
	case p.HasWindow():
		return window
	case p.Refill == RefillInterval:
		return p.UntilBack(max(cost, 1) + 1)
	}
	return p.UntilBack(max(cost, 1))
}

// InSlots tells whether p counts a window in slots: it is a log whose clock moves by a part of its window.
func (p Policy) InSlots() bool {
	return p.Algorithm == SlidingWindowLog && p.Tick > p.Rate.Per/(mostSlots+1)
}

// Weighs tells whether p weighs the count of the window before.
func (p Policy) Weighs() bool { return p.of(inCounter) }

// MostWithin returns the most units that p admits in a closed span at whose beginning it is full, wherever
// its windows begin. It never decreases with the span.
func (p Policy) MostWithin(span time.Duration) float64 {
	quota, per := float64(p.Rate.N), p.Rate.Per.Seconds()
	switch windows := math.Floor(span.Seconds() / per); {
	case p.Windowed() && p.Align != AlignFirst:
		return quota * (windows + 2)
	case p.HasWindow():
		return quota * (windows + 1)
	case p.Refill == RefillInterval:
		fill := float64(p.Fill)
		return float64(p.Full()) + fill*(math.Floor(span.Seconds()*quota/(fill*per))+1)
	}
	return float64(p.Full()) + math.Floor(span.Seconds()*quota/per)
}
