package spec

import (
	"slices"
	"strings"
	"time"
)

// Algorithm names a rate limiting algorithm by the word used in a SPEC.
type Algorithm string

// Rate is a pair: N quota units per Per. It is never reduced, since 100/1m and 5/3s are different windows.
type Rate struct {
	N   int64
	Per time.Duration
}

// Start is the level a partition starts at.
type Start string

// The start levels. The zero value means StartFull. StartUnknown allows every level, and a limiter made of it
// starts full. start=N and start=A..B set StartLevel.
const (
	StartFull    Start = "full"
	StartEmpty   Start = "empty"
	StartUnknown Start = "unknown"
	StartLevel   Start = "level"
)

// Align says where windows begin.
type Align string

// The alignments. The zero value means AlignClock where windows have an alignment at all.
//
//   - AlignClock: windows start at the multiples of the window since the Unix epoch.
//   - AlignFirst: a window starts with a request that finds none open.
//   - AlignUnknown: each partition has windows of its own, which start anywhere.
//   - AlignShared: one timer ends the windows of all partitions, which start anywhere.
//   - AlignPhase, set by phase=D: windows start at zero + D + k windows.
const (
	AlignClock   Align = "clock"
	AlignFirst   Align = "first"
	AlignUnknown Align = "unknown"
	AlignShared  Align = "shared"
	AlignPhase   Align = "phase"
	// AlignCalendar, set by zone=NAME or N/month: windows are the calendar days or months of a zone.
	AlignCalendar Align = "calendar"
)

// Refresh says which requests start the open window anew.
type Refresh string

// The refreshes of a fixed window that a request opens. The zero value means RefreshNone: the window ends one
// window after it was opened. RefreshAdmitted: it ends one window after the last request that it admitted.
// RefreshAll: it ends one window after the last request, admitted or denied. Its count is kept until then. A
// request inside a ban refreshes nothing.
const (
	RefreshNone     Refresh = "none"
	RefreshAdmitted Refresh = "admitted"
	RefreshAll      Refresh = "all"
)

// Count says which requests are counted.
type Count string

// The countings. The zero value means CountAdmitted. With CountAll a denied request is charged too. In
// windows and logs its cost is added to the count. In a bucket it takes what is left: the level stops at
// empty, and there is no debt. A request inside a ban is never counted.
const (
	CountAdmitted Count = "admitted"
	CountAll      Count = "all"
	// CountOwn is for a limit of several policies that are charged in order, or each for itself. It counts
	// what this policy admits, even if another one denies it.
	CountOwn Count = "own"
)

// Refill says how a bucket regains units.
type Refill string

// The refills. The zero value means RefillContinuous. RefillInterval adds Fill units at a time, every
// Fill*Per/N.
const (
	RefillContinuous Refill = "continuous"
	RefillInterval   Refill = "interval"
)

// Rounding says how the weighted part of a sliding window counter is rounded.
type Rounding string

// The roundings. The zero value means RoundNone: a request of one unit is admitted while the exact weighted
// count is below the quota. RoundDown admits the same. RoundUp admits a request while the exact count and its
// cost are at most the quota.
const (
	RoundNone    Rounding = "none"
	RoundDown    Rounding = "down"
	RoundUp      Rounding = "up"
	RoundNearest Rounding = "nearest"
)

// Boundary says to which side the end of a window belongs.
type Boundary string

// The boundaries. The zero value means HalfOpen: an admission does not count exactly one window later.
// Closed: it still does.
const (
	HalfOpen Boundary = "half-open"
	Closed   Boundary = "closed"
)

// Charge says when an admitted request is counted.
type Charge string

// The charges. The zero value means ChargeDecision. With ChargeCompletion a limiter settles: it admits a
// request while at least one unit is left, and counts all of its cost when it is complete. So a bucket may go
// below zero, and a window may count more than its quota until it ends.
const (
	ChargeDecision   Charge = "decision"
	ChargeCompletion Charge = "completion"
)

// Unit says what a policy counts.
type Unit string

// The units. The zero value means UnitCost. With UnitRequest each request counts 1, whatever it costs.
const (
	UnitCost    Unit = "cost"
	UnitRequest Unit = "request"
)

// Policy is one declared limit: an algorithm and its parameters. Parse and Build return it complete: no zero
// values where the comments name a default.
type Policy struct {
	Algorithm Algorithm
	// Rate is the quota and its window. A Concurrency has none: N is the most units in flight (limit=), and
	// Per is the time in which so many can surely be served. That is HoldMost, or else HoldLeast, or else a
	// second.
	Rate Rate
	// RateTo is the upper end of a range of rates (rate=9..11/s), with Rate.N as the lower end; 0: the rate
	// is one value. BurstTo is the same for Burst. For a queue, which has Queue+1 places, it counts places
	// (queue=8..10).
	RateTo, BurstTo int64
	// PerTo is the longest window of a range (rate=100/50s..70s), with Rate.Per as the shortest; 0: the
	// window has one length.
	PerTo time.Duration
	// Burst is the most units that a full start admits at once, at least 1: what Full returns. Only buckets
	// declare it. Parse sets it for the others too.
	Burst int64
	// Queue is how many requests may wait in a leaky-bucket-queue, so Queue+1 are admitted at once. Undelayed
	// is how many of them are let through without waiting (nginx's delay=).
	Queue     int64
	Undelayed int64
	// Start is the level of a bucket or queue when its first request creates its partition. StartEmpty: as if
	// Full units had been taken at that instant. StartLevel: as if all but Level had been, or all but one of
	// Level..LevelTo. LevelTo is 0 for one value. Both are 0 for the other starts.
	Start          Start
	Level, LevelTo int64
	// Align says where windows begin; empty: the algorithm has no such windows.
	Align Align
	WindowPhase
	// Refresh says which requests start the window anew. Empty for all but fixed windows.
	Refresh Refresh
	Count   Count
	Refill  Refill
	// Fill is the number of units added at a time with RefillInterval, 0 without.
	Fill     int64
	Rounding Rounding
	// Tick is the step of the limiter's own clock, 0: it has none. TickSet: the SPEC names it.
	Tick     time.Duration
	TickSet  bool
	Boundary Boundary
	// Unit says whether the policy counts costs or requests.
	Unit Unit
	Bans
	Lifetime
	Completion
}

// WindowPhase places windows that the clock does not.
type WindowPhase struct {
	// PhaseFrom and PhaseTo are the closed interval of phases of AlignPhase, 0 <= PhaseFrom <= PhaseTo <
	// Rate.Per.
	PhaseFrom, PhaseTo time.Duration
	// Zone is the time zone of AlignCalendar, a name of the IANA database; empty: UTC.
	Zone string
}

// Bans is what follows a denial.
type Bans struct {
	// Ban is how long a partition is denied after a denial, 0: it is not. BanTo is the longest ban of a
	// range, 0: it is one value.
	Ban, BanTo time.Duration
	// Growth is how many times longer each ban is than the one before, up to BanMost; 0: all last alike.
	// Nothing but a success (Clear) makes the next one shorter again.
	Growth  int64
	BanMost time.Duration
}

// Lifetime is how long a partition stays the same.
type Lifetime struct {
	// TTL is how long the state of a partition is kept after its last request, 0: long enough. TTLTo is the
	// longest of a range, 0: it is one value. A TTL that is too short for the limiter gives an idle partition
	// a fresh start early.
	TTL, TTLTo time.Duration
	// Clear is the lowest status of an answer to a success, an admitted request that makes its partition a
	// new one: nothing counts any more. 0: none does. ClearTo is the highest, 0 for one value.
	Clear, ClearTo int64
}

// Completion is about requests that count, or hold a place, until they are complete.
type Completion struct {
	// Charge says when an admitted request is counted. Empty for a Concurrency and a queue.
	Charge Charge
	// Reserve are the units that a request takes at its decision. The rest of its cost is taken, or what is
	// too much is given back, when it is complete. 0: nothing is reserved. Otherwise Charge is
	// ChargeCompletion.
	Reserve int64
	// The others are for policies of which Completes is true. The limiters do not read them: they are told of
	// completions. HoldLeast and HoldMost are the least and the most time from the decision to the
	// completion, when a place is given back or a charge is made. HoldMost is 0 if it is not known. The last
	// byte of the answer is not sent before HoldLeast either. Linger is how long after the client has read
	// the last byte the completion may come. LingerSet: the SPEC names it. Otherwise it is not known.
	HoldLeast, HoldMost, Linger time.Duration
	LingerSet                   bool
}

// key is one key of a SPEC: the algorithms for which it has a meaning, and how its value is read.
type key struct {
	name string
	in   family
	read func(p *Policy, value string) *Problem
}

// keys are all keys, in the order in which SPECs are printed.
var keys = []key{
	{"rate", inRated, readRate},
	{"limit", inConcurrency,
		readRange("limit", atLeast(1), func(p *Policy, from, to int64) { p.Rate.N, p.RateTo = from, to })},
	{"burst", inBuckets,
		readRange("burst", atLeast(1), func(p *Policy, from, to int64) { p.Burst, p.BurstTo = from, to })},
	{"queue", inQueue, readRange("queue", atLeast(0), setQueue)},
	{"undelayed", inQueue, readCount("undelayed", 0, func(p *Policy, n int64) { p.Undelayed = n })},
	{"start", inBuckets | inQueue, readStart},
	{"phase", inWindows, readPhase},
	{"align", inWindows, readWord("align", func(p *Policy, w Align) { p.Align = w }, AlignClock, AlignFirst,
		AlignUnknown, AlignShared)},
	{"zone", inFixedWindow, readZone},
	{"slots", inFixedWindow, readCount("slots", 1, func(*Policy, int64) {})},
	{"refresh", inFixedWindow, readWord("refresh", func(p *Policy, w Refresh) { p.Refresh = w },
		RefreshNone, RefreshAdmitted, RefreshAll)},
	{"count", inBuckets | inWindows | inLog, readWord("count", func(p *Policy, w Count) { p.Count = w },
		CountAdmitted, CountAll, CountOwn)},
	{"refill", inTokenBucket | inLeakyBucket, readWord("refill", func(p *Policy, w Refill) { p.Refill = w },
		RefillContinuous, RefillInterval)},
	{"fill", inTokenBucket | inLeakyBucket, readCount("fill", 1, func(p *Policy, n int64) { p.Fill = n })},
	{"rounding", inCounter, readWord("rounding", func(p *Policy, w Rounding) { p.Rounding = w },
		RoundNone, RoundDown, RoundUp, RoundNearest)},
	{"tick", inRated, readTick},
	{"boundary", inLog, readWord("boundary", func(p *Policy, w Boundary) { p.Boundary = w }, HalfOpen,
		Closed)},
	{"ban", inRated, readRange("ban", readDuration,
		func(p *Policy, from, to time.Duration) { p.Ban, p.BanTo = from, to })},
	{"growth", inRated, readCount("growth", 2, func(p *Policy, n int64) { p.Growth = n })},
	{"max", inRated, readTime("max", func(p *Policy, d time.Duration) { p.BanMost = d })},
	{"ttl", inRated, readRange("ttl", readDuration,
		func(p *Policy, from, to time.Duration) { p.TTL, p.TTLTo = from, to })},
	{"clear", inCharged,
		readRange("clear", atLeast(200), func(p *Policy, from, to int64) { p.Clear, p.ClearTo = from, to })},
	{"charge", inCharged, readWord("charge", func(p *Policy, w Charge) { p.Charge = w }, ChargeDecision,
		ChargeCompletion)},
	{"reserve", inReserved, readCount("reserve", 1, func(p *Policy, n int64) { p.Reserve = n })},
	{"hold", inCharged | inConcurrency, readHold},
	{"linger", inCharged | inConcurrency,
		readTime("linger", func(p *Policy, d time.Duration) { p.Linger, p.LingerSet = d, true })},
	{"unit", inAll, readWord("unit", func(p *Policy, w Unit) { p.Unit = w }, UnitCost, UnitRequest)},
}

// String returns p as a canonical SPEC: every key once, in a fixed order. Keys with their default are left
// out.
func (p Policy) String() string {
	var b strings.Builder
	b.WriteString(string(p.Algorithm))
	pair := func(key, value string, shown bool) {
		if shown {
			b.WriteString("," + key + "=" + value)
		}
	}
	word := func(key, value, usual string) { pair(key, value, value != "" && value != usual) }
	bucket := p.Algorithm == TokenBucket || p.Algorithm == GCRA || p.Algorithm == LeakyBucket
	queue := p.Algorithm == LeakyBucketQueue
	pair("rate", p.RateText(), p.Algorithm != Concurrency)
	pair("limit", counts(p.Rate.N, p.RateTo), p.Algorithm == Concurrency)
	pair("burst", counts(p.Burst, p.BurstTo), bucket || p.Burst != 0 && p.Burst != p.Full())
	pair("queue", counts(p.Queue, max(p.BurstTo, 1)-1), queue || p.Queue != 0)
	pair("undelayed", counts(p.Undelayed, 0), p.Undelayed != 0)
	if p.Start == StartLevel {
		pair("start", counts(p.Level, p.LevelTo), true)
	} else {
		word("start", string(p.Start), string(StartFull))
	}
	phase := durationText(p.PhaseFrom)
	if p.PhaseTo != p.PhaseFrom {
		phase += ".." + durationText(p.PhaseTo)
	}
	pair("phase", phase, p.Align == AlignPhase)
	if p.Align != AlignPhase && p.Align != AlignCalendar {
		word("align", string(p.Align), string(AlignClock))
	}
	pair("zone", p.Zone, p.Zone != "")
	word("refresh", string(p.Refresh), string(RefreshNone))
	word("count", string(p.Count), string(CountAdmitted))
	word("refill", string(p.Refill), string(RefillContinuous))
	pair("fill", counts(p.Fill, 0), p.Fill != 0)
	word("rounding", string(p.Rounding), string(RoundNone))
	pair("tick", durationText(p.Tick), p.TickSet || p.Tick != 0)
	word("boundary", string(p.Boundary), string(HalfOpen))
	span := func(from, to time.Duration) string {
		if to == 0 {
			return durationText(from)
		}
		return durationText(from) + ".." + durationText(to)
	}
	pair("ban", span(p.Ban, p.BanTo), p.Ban != 0)
	pair("growth", counts(p.Growth, 0), p.Growth != 0)
	pair("max", durationText(p.BanMost), p.BanMost != 0)
	pair("ttl", span(p.TTL, p.TTLTo), p.TTL != 0)
	pair("clear", counts(p.Clear, p.ClearTo), p.Clear != 0)
	word("charge", string(p.Charge), string(ChargeDecision))
	pair("reserve", counts(p.Reserve, 0), p.Reserve != 0)
	pair("hold", p.holdText(), p.HoldLeast != 0 || p.HoldMost != 0)
	pair("linger", durationText(p.Linger), p.LingerSet || p.Linger != 0)
	word("unit", string(p.Unit), string(UnitCost))
	return b.String()
}

// Limit is one or more policies, all of which must admit a request. It is never empty after Parse.
type Limit []Policy

// Full returns the most units that p admits at once from a full start: the burst of a bucket, the places of a
// queue with the one in service, or the quota of a window.
func (p Policy) Full() int64 {
	switch p.Algorithm {
	case TokenBucket, GCRA, LeakyBucket:
		return p.Burst
	case LeakyBucketQueue:
		return p.Queue + 1
	default:
		return p.Rate.N
	}
}

// Ends returns the policies at the ends of the ranges of p: tight admits the least, loose the most. Both are
// p itself if p has no range. Where windows have an alignment, a longer one may admit more or less, so both
// keep the range of lengths.
func (p Policy) Ends() (tight, loose Policy) {
	tight, loose = p, p
	loose.Rate.N, loose.Burst = max(p.Rate.N, p.RateTo), max(p.Burst, p.BurstTo)
	if p.Algorithm == LeakyBucketQueue && p.BurstTo > 0 {
		loose.Queue = p.BurstTo - 1
	}
	tight.RateTo, tight.BurstTo, loose.RateTo, loose.BurstTo = 0, 0, 0, 0
	if !p.Windowed() {
		tight.Rate.Per, tight.PerTo, loose.PerTo = p.LongestWindow(), 0, 0
	}
	return tight, loose
}

// StartLevels returns the fewest and the most units that p holds when a partition is created.
func (p Policy) StartLevels() (least, most int64) {
	switch p.Start {
	case StartEmpty:
		return 0, 0
	case StartUnknown:
		return 0, p.Full()
	case StartLevel:
		return min(p.Level, p.Full()), min(max(p.Level, p.LevelTo), p.Full())
	default:
		return p.Full(), p.Full()
	}
}

// Missing returns how many units of a new partition are taken, at the highest level that p allows.
func (p Policy) Missing() int64 {
	_, most := p.StartLevels()
	return p.Full() - most
}

// LongestWindow returns the longest that a window of p can be: Rate.Per, or the upper end of its range.
func (p Policy) LongestWindow() time.Duration {
	if c := p.Calendar(); !c.IsZero() {
		return c.Longest()
	}
	return max(p.Rate.Per, p.PerTo)
}

// ShortestWindow returns the least length of a window; calendar days have one length on their padded clock.
func (p Policy) ShortestWindow() time.Duration {
	if p.Align == AlignCalendar {
		return p.LongestWindow()
	}
	return p.Rate.Per
}

// LongestBan returns the longest that a ban of p can be: Ban, the upper end of its range, or BanMost.
func (p Policy) LongestBan() time.Duration { return max(p.Ban, p.BanTo, p.BanMost) }

// Recovery returns the silence after which p is as good as new, whatever came before, rounded up to the
// nanosecond. It is the time that a bucket needs to fill from empty, one window, or two for the sliding
// window counter. It is no shorter than the ban, and one tick longer if the limiter's clock ticks. If
// requests are counted when they are complete, it is longer by the time until then, as far as that is known.
// A place that nothing bounds may be held for ever, and the debt of a bucket may take longer.
func (p Policy) Recovery() time.Duration {
	var d time.Duration
	switch p.Algorithm {
	case FixedWindow, Concurrency:
		d = p.LongestWindow()
	case SlidingWindowLog:
		d = p.LongestWindow()
		if p.Boundary == Closed {
			d++
		}
	case SlidingWindowCounter:
		d = 2 * p.LongestWindow()
	default:
		d = p.UntilBack(max(p.Full(), p.BurstTo))
	}
	d = max(d, p.LongestBan()) + p.Tick
	if p.Completes() {
		d += p.Linger
	}
	if p.Charge == ChargeCompletion {
		d += max(p.HoldLeast, p.HoldMost)
	}
	return d
}

// Completes tells whether a limiter of p must be told when a request that it admitted is complete
// (reference.Complete).
func (p Policy) Completes() bool { return p.Algorithm == Concurrency || p.Charge == ChargeCompletion }

// Clears tells whether the status of an answer says that the count of the partition was cleared.
func (p Policy) Clears(status int) bool {
	return p.Clear > 0 && p.Clear <= int64(status) && int64(status) <= max(p.Clear, p.ClearTo)
}

// Asks returns how many units must be left for a request of the cost to be admitted.
func (p Policy) Asks(cost int64) int64 {
	switch {
	case p.Reserve > 0:
		return p.Reserve
	case p.Unit == UnitRequest || p.Charge == ChargeCompletion:
		return 1
	}
	return cost
}

// Full returns the most units that l admits at once from a full start: the least Full of its policies, 0
// without policies.
func (l Limit) Full() int64 {
	if len(l) == 0 {
		return 0
	}
	full := l[0].Full()
	for _, p := range l[1:] {
		full = min(full, p.Full())
	}
	return full
}

// Completes tells whether a limiter of l must be told when a request that it admitted is complete.
func (l Limit) Completes() bool { return slices.ContainsFunc(l, Policy.Completes) }

// Cleared tells whether some successes clear the count of l. It then has one policy.
func (l Limit) Cleared() bool { return len(l) == 1 && l[0].Clear > 0 }

// Admission returns the status with which a made target admits: 200, or 401 if 200 is a success of l.
func (l Limit) Admission() int {
	if len(l) > 0 && l[0].Clears(200) {
		return 401
	}
	return 200
}

// Refreshes tells whether requests start the open window of p anew.
func (p Policy) Refreshes() bool { return p.Refresh == RefreshAdmitted || p.Refresh == RefreshAll }
