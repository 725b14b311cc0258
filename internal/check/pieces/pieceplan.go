package pieces

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Plan is what the pieces of all partitions share. It does not change.
//
// A piece is a stretch of a partition's observations. The bounds judge it like a recording that was cut out
// of traffic. Earlier requests have left the limiter in some state, which may explain a denial near the
// beginning. Later requests may explain a denial that may have been decided as late as they were. The edges
// of a piece (history.Edges) take care of both.
//
// Pieces overlap by as long as the limiter remembers, and by the longest request in flight. So every denial
// is asked in a piece that has all requests that may count against it:
//
//	                     from                        until
//	piece k     ..........|============================|         asks of every denial within
//	piece k+1                                  |.......|=================|
//	                                          from    the oldest request in flight when piece k was taken
//
// Every request that may have been decided, or be complete, after `from` is in the piece.
type Plan struct {
	C     *judge.Case
	Whole region
	// bound is the bound of the only policy if no phase and no range is open, otherwise nil.
	bound limiter.Bound
	// memory is how long earlier requests may explain a denial in a piece. reach is the least length of the
	// spans in which a piece counts admissions. Both are nanoseconds.
	memory, reach int64
	// low: a bucket may be created with less than it holds. So every witness has the requests that may have
	// created it.
	low bool
	// silence is the length, in nanoseconds, of a silence after which nothing earlier matters.
	silence int64
	// full is how many units, if they are in use for ever, explain every denial.
	full int64
	// kinds are the different ways in which the policies make events of observations.
	kinds []kind
	// sweeps bound the admissions of a whole recording. They are for buckets, whose spans may be long, and
	// for windows that requests place. swept: the sweep of the only policy leaves nothing to ask of
	// admissions.
	sweeps []*overallPlan
	swept  bool
	// size is the least number of observations of a piece. small is the same where there are many partitions.
	size, small int
	// Shared are the surviving regions of all partitions together. nil: each partition has its own.
	Shared *survivors
	// upper is the plan for the admissions alone, if a denial proves nothing by itself. Otherwise nil.
	upper *Plan
}

// kind is how events of a policy are made from observations.
type kind struct {
	history.Widening
	history.Stay
}

// pieceSize is the usual least number of observations of a piece. longPiece is that for a bucket whose
// admissions no sweep bounds fully, smallPiece that where many partitions are watched. At most `farthest`
// observations are judged again for one slow denial. At most keptWitness requests are kept for a witness.
const (
	pieceSize   = 1 << 15
	longPiece   = 1 << 17
	smallPiece  = 1 << 11
	farthest    = 1 << 17
	keptWitness = 1 << 16
)

// NewPlan returns the plan for a recording with the given header.
func NewPlan(h timeline.Header, limit spec.Limit, o judge.Options) *Plan {
	c := judge.New(&timeline.Timeline{Header: h}, limit, o)
	c.BoundsOnly = true
	w := &Plan{C: c, Whole: wholeRegion(c), size: pieceSize, small: smallPiece}
	for _, p := range c.Limit {
		w.add(p, h, o)
	}
	if o.Shared && (o.Conformance == "" || o.Conformance == verdict.Exact) {
		o.Conformance = verdict.UpperBound
		w.upper = NewPlan(h, limit, o)
	}
	if p := c.Limit[0]; len(c.Limit) == 1 && w.Whole.Known() && !limiter.Anchored(p) && !limiter.Ranged(p) &&
		p.BanTo == 0 && p.TTLTo == 0 {
		w.bound = limiter.NewBound(c.Limit[0], w.Whole.boxes[0].From, w.Whole.boxes[0].To)
	}
	return w
}

// add adds what one of the policies needs.
func (w *Plan) add(p spec.Policy, h timeline.Header, o judge.Options) {
	w.memory, w.reach = max(w.memory, recalls(p)), max(w.reach, recalls(p), reaches(p))
	w.silence = max(w.silence, limiter.NewBound(p, 0, 0).Scope().Memory)
	_, loose := p.Ends()
	w.full = max(w.full, loose.Full())
	w.low = w.low || limiter.StartsLow(p)
	if k := (kind{history.Widen(h, p.Tick, p.TickSet), history.StayOf(p)}); !slices.Contains(w.kinds, k) {
		w.kinds = append(w.kinds, k)
	}
	if s := sweepPlan(h, p, len(w.C.Limit) > 1, o); s != nil {
		w.swept = w.swept || p.TTL == 0 && !(p.Refreshes() && p.Count == spec.CountAll)
		w.sweeps = append(w.sweeps, s)
	}
	if p.Refills() && (limiter.Ranged(p) || p.Completes()) {
		w.size = longPiece
	}
}

// recalls returns how long a policy remembers a decision, in nanoseconds. If requests are counted when they
// are complete, it is how long it remembers a completion.
func recalls(p spec.Policy) int64 {
	if p.InFlight() {
		return 0
	}
	p.Charge, p.TTL, p.TTLTo = "", 0, 0
	return limiter.NewBound(limiter.Slowest(p), 0, 0).Scope().Memory
}

// reaches returns how long the spans are in which admissions are counted, in nanoseconds. Missing requests
// may have emptied a bucket. It is taken to be empty when the first known request was decided. It is full
// again one memory later.
func reaches(p spec.Policy) int64 {
	switch {
	case p.Windowed():
		return 3 * int64(p.LongestWindow())
	case p.HasWindow():
		return limiter.Spans * int64(p.LongestWindow())
	}
	return 2 * recalls(p)
}

// sweepable tells whether one sweep can bound all admissions of a recording. The sweep is under the loosest
// bucket of a policy, or under windows that requests place.
//
// An overloaded bucket is never full, so only spans since it was full show that it gave too much. The more
// windows that requests place are full, the more is known of where they lie.
//
// A bucket must not be created at a low level. No denial may lie inside a ban that is not seen. No partition
// with placed windows may be forgotten, or be in use before the recording: its windows would lie elsewhere.
func sweepable(h timeline.Header, p spec.Policy) bool {
	switch {
	case p.Completes(), limiter.RemembersStart(p), p.TTL > 0 && p.Ban > 0:
		return false
	case p.Fixed():
		return limiter.NeedsPlacement(p) && p.TTL == 0 && h.CompleteFrom == 0 && h.CompleteUntil == 0
	}
	return p.Refills()
}

// sweepPlan returns the plan of a sweep over all admissions under a policy, alone or one of several. nil: it
// is not sweepable, or nothing is asked of admissions.
func sweepPlan(h timeline.Header, p spec.Policy, several bool, o judge.Options) *overallPlan {
	if !sweepable(h, p) || o.Conformance == verdict.LowerBound {
		return nil
	}
	_, loose := p.Ends()
	bare := loose
	bare.Count, bare.Ban, bare.BanTo, bare.TTLTo, o.Conformance = spec.CountAdmitted, 0, 0, 0,
		verdict.UpperBound
	w := &overallPlan{header: h, pol: bare, o: o, edges: limiter.EdgesOf(h, spec.Limit{bare}),
		widen: history.Widen(h, p.Tick, p.TickSet), block: overallBlock}
	w.bound = limiter.SweepingOf(bare)
	if limiter.NeedsPlacement(p) {
		w.bound = limiter.SweepingWindows(loose, several || limiter.Ranged(p))
	}
	return w
}

// Sized sets the sizes of the pieces. shared: all partitions have the same phase, so they share what
// survives.
func (w *Plan) Sized(caps Caps, shared bool) {
	if caps.Piece > 0 {
		w.size, w.small = caps.Piece, caps.Piece
	}
	if shared {
		w.Shared = newSurvivors(w.Whole)
	}
	if w.upper != nil {
		w.upper.Sized(caps, shared)
	}
	for _, s := range w.sweeps {
		s.block = min(overallBlock, 1+w.size/8)
	}
}

// until returns the last instant by which no request that is sent at or after next can have been decided, in
// nanoseconds.
func (w *Plan) until(next time.Duration) int64 {
	until := history.MaxTime
	for _, k := range w.kinds {
		until = min(until, int64(next)-k.Left-k.Drift(int64(next)))
	}
	return until - 1
}

// Caps are the sizes beyond which a Stream judges in another way.
type Caps struct {
	// Held is the most observations of a recording that are judged at once, Whole the most of a partition.
	// Tapes is the most bytes in memory. Piece, unless 0, is the least number of observations of a piece.
	Held, Whole, Tapes, Piece int
}
