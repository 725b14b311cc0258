package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/phases"
	"github.com/rlcheck/rlcheck/internal/check/pieces"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Stream judges a recording that comes one observation at a time. It keeps about eight bytes of each on
// tapes. They stay in memory up to tapeBudget bytes, and go on in a file (Options.Spill). It judges when all
// observations have come. Judge streams recordings of more than heldLimit observations, so their judgements
// are the same:
//
//   - One partition is judged after the other. Other limits are tried on the first heldLimit observations.
//     One that explains these is tried on the whole recording (beginning.go).
//   - A partition with more than search.MostEvents observations is judged in pieces. They overlap by as long
//     as the limiter remembers and the requests in flight last. The bounds judge each like a recording that
//     was cut out of traffic (package pieces). It is not searched exactly.
//   - The phases and ranges that no piece has refuted are handed on from piece to piece. Partitions that
//     share a phase hand them on too (pieces/survivors.go). Values that no single piece can tell apart are
//     all kept. So a contradiction between pieces may be missed that the whole would show. None is made up.
//   - The admissions under a bucket are bounded over the whole recording (pieces/overall.go). The bucket must
//     not be charged late or start low, and no ban may be forgotten.
//   - The policy is measured on the first search.MostEvents observations of a partition. If phases are not
//     known, it is measured on the first few thousand.
//   - Where requests place the windows (align=first, refresh), each piece is told how they lie at its
//     beginning (history.Placement). The admissions in them are bounded over the whole recording. The windows
//     may be unknown, since the recording began amid traffic or a time to live may have passed. Nothing is
//     then asked until a silence after which everything begins anew.
//   - A sliding window counter with align=first is judged in the stretches between the silences after which
//     its windows begin anew. Each stretch has the phases that its pieces left alive (pieces/stretches.go).
type Stream struct {
	header timeline.Header
	limit  spec.Limit
	o      Options
	caps   pieces.Caps

	partitions map[string]*partition
	recent     *partition
	store      *history.Store

	counts           timeline.Counts
	unclassified     int
	units            int64
	begin, end, last time.Duration
	// All products are known to be small enough for fitUnits units within fitSpan.
	fitUnits int64
	fitSpan  time.Duration
	err      error
	// until is when the first observation was sent that is not among the first heldLimit.
	until time.Duration
	// quick asks for the verdict alone.
	quick bool
}

// The caps of a stream.
const (
	heldLimit  = 200_000 // the largest recording that is judged at once
	tapeBudget = 16 << 20
)

// partition is one partition of a stream.
type partition struct {
	name string
	seen history.Facts
	tape history.Tape
}

// NewStream returns a Stream for a recording with the given header.
func NewStream(limit spec.Limit, header timeline.Header, o Options) *Stream {
	return newStream(limit, header, o,
		pieces.Caps{Held: heldLimit, Whole: search.MostEvents, Tapes: tapeBudget})
}

func newStream(limit spec.Limit, header timeline.Header, o Options, caps pieces.Caps) *Stream {
	s := &Stream{header: header, limit: limit, o: o, caps: caps, end: header.Ended,
		partitions: map[string]*partition{}, store: &history.Store{}}
	s.counts = header.Counts()
	s.err = judge.FitsSpan(&header, limit, 0, header.Ended, 0)
	return s
}

// Observe takes the next observation. They ascend by Sent. An error is one of Judge or of the file, and
// final: Finish returns it again.
func (s *Stream) Observe(o *timeline.Observation) error {
	if s.err == nil {
		s.err = s.sound(o)
	}
	if s.err != nil {
		return s.err
	}
	if s.count(o); s.counts.Sent == s.caps.Held+1 {
		s.until = o.Sent
	}
	st := s.recent
	if st == nil || st.name != o.Partition {
		if st = s.partitions[o.Partition]; st == nil {
			st = &partition{name: strings.Clone(o.Partition), tape: history.Tape{Dones: s.limit.Completes()}}
			s.partitions[st.name] = st
		}
		s.recent = st
	}
	one := history.ObservationOf(o)
	st.tape.Add(s.store, &one)
	st.seen.Add(o)
	if s.o.Spill != nil && s.store.Bytes() >= s.caps.Tapes {
		s.spill()
	}
	return s.err
}

// spill writes the tapes that are in memory to the file.
func (s *Stream) spill() {
	s.store.Spill(s.o.Spill, func(f func(t *history.Tape)) {
		for _, st := range s.partitions {
			f(&st.tape)
		}
	})
	s.err = s.store.Err
}

// sound checks what judge.Fits checks.
func (s *Stream) sound(o *timeline.Observation) error {
	if s.counts.Sent > 0 && o.Sent < s.last {
		return fmt.Errorf("check: observation #%d: sent at %s, before the one in front of it: %w", o.Seq,
			o.Sent, ErrUnsorted)
	}
	s.units += o.Cost
	if s.units < 0 || o.Cost < 0 || s.units > history.MaxTime/4 {
		return fmt.Errorf("check: observation #%d: cost %d: %w", o.Seq, o.Cost, ErrTooLarge)
	}
	s.last, s.begin = o.Sent, min(s.begin, o.Sent)
	s.end = max(s.end, o.Sent, o.FirstByte, o.Done)
	span := s.end - s.begin
	if s.units <= s.fitUnits && span >= 0 && span <= s.fitSpan {
		return nil
	}
	// Check some way ahead, so that the check is rare.
	if s.units < history.MaxTime/16 && s.begin > -time.Duration(history.MaxTime/8) &&
		s.end < time.Duration(history.MaxTime/16) &&
		judge.FitsSpan(&s.header, s.limit, s.begin, s.end+span, 2*s.units) == nil {
		s.fitUnits, s.fitSpan = 2*s.units, 2*span
		return nil
	}
	return judge.FitsSpan(&s.header, s.limit, s.begin, s.end, s.units)
}

func (s *Stream) count(o *timeline.Observation) {
	s.counts.Sent++
	switch o.Outcome {
	case timeline.Allowed:
		s.counts.Allowed++
	case timeline.Denied:
		s.counts.Denied++
	default:
		s.counts.Unknown++
		if o.Answered {
			s.unclassified++
		}
	}
}

// Counts returns the numbers of observations so far.
func (s *Stream) Counts() timeline.Counts {
	c := s.counts
	c.Planned = c.Sent + c.Unsent
	return c
}

// Finish judges what was observed. Nothing may be observed afterwards.
func (s *Stream) Finish() (*verdict.Judgement, error) {
	defer s.store.Close()
	if s.err != nil {
		return nil, s.err
	}
	if s.store.File != nil { // make room for the judge
		s.spill()
		s.store.Blocks = nil
	}
	s.header.Ended = s.end
	parts := make([]*partition, 0, len(s.partitions))
	for _, st := range s.partitions {
		parts = append(parts, st)
	}
	slices.SortFunc(parts, func(a, b *partition) int { return strings.Compare(a.name, b.name) })
	var j *verdict.Judgement
	if s.counts.Sent <= s.caps.Held {
		j = s.together(parts)
	} else {
		j = s.caseOf(nil).Conclude(s.apart(parts), s.unclassified)
		if s.o.Hint {
			s.explain(parts, j)
		}
	}
	if s.err = s.store.Err; s.err != nil {
		return nil, s.err
	}
	return j, nil
}

// together judges all partitions at once, as Judge does.
func (s *Stream) together(parts []*partition) *verdict.Judgement {
	var obs []timeline.Observation
	for _, st := range parts {
		st.tape.Each(s.store, func(o *history.Observation) bool {
			obs = append(obs, o.In(st.name))
			return true
		})
	}
	slices.SortStableFunc(obs, inOrder)
	c := s.caseOf(obs)
	for _, p := range c.Parts {
		p.Seen = s.partitions[p.Name].seen
	}
	return explained(c, s.limit)
}

// inOrder compares observations by their order in a recording.
func inOrder(a, b timeline.Observation) int {
	return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Seq, b.Seq))
}

// apart judges one partition after the other.
func (s *Stream) apart(parts []*partition) []verdict.PartitionVerdict {
	plan := pieces.NewPlan(s.header, s.limit, s.o)
	plan.Sized(s.caps, s.shared())
	partitions := make([]verdict.PartitionVerdict, len(parts))
	if plan.Shared == nil {
		judge.Each(len(parts), func(i int) {
			if st := parts[i]; st.tape.N <= s.caps.Whole {
				partitions[i] = s.whole(st)
			} else {
				partitions[i] = s.pieced(plan, st, s.pieces(plan, st))
			}
		})
		// First come all pieces: each partition refutes what the others left alive.
	} else {
		all := make([]*pieces.Pieces, len(parts))
		for i, st := range parts {
			all[i] = s.pieces(plan, st)
		}
		judge.Each(len(parts), func(i int) { partitions[i] = s.pieced(plan, parts[i], all[i]) })
	}
	s.judgedBeside(parts, partitions)
	return partitions
}

// judgedBeside withdraws findings of admissions for which others may have made room.
func (s *Stream) judgedBeside(parts []*partition, partitions []verdict.PartitionVerdict) {
	loose, changed := judge.LoosenForOthers(limiter.Ticked(s.limit, s.header))
	if !s.o.Shared || !changed || !slices.ContainsFunc(partitions, judge.Failed) {
		return
	}
	if len(loose) == 0 || judge.FitsSpan(&s.header, loose, s.begin, s.end, s.units) != nil {
		judge.Withdraw(partitions, nil)
		return
	}
	other := *s
	other.limit, other.o = loose, judge.Beside
	judge.Withdraw(partitions, other.apart(parts))
}

// shared tells whether there is one policy whose phase is not known and the same in all partitions.
func (s *Stream) shared() bool {
	if len(s.limit) != 1 {
		return false
	}
	box, shared := phases.Of(s.limit[0], s.header)
	return shared && box.From != box.To
}

// read returns the first observations of a partition, at most so many.
func (s *Stream) read(st *partition, most int) []history.Observation {
	return st.tape.Beginning(s.store, most)
}

// caseOf returns a case of some observations.
func (s *Stream) caseOf(obs []timeline.Observation) *judge.Case {
	return judge.New(&timeline.Timeline{Header: s.header, Observations: obs}, s.limit, s.o)
}

// whole judges a partition as Judge does.
func (s *Stream) whole(st *partition) verdict.PartitionVerdict {
	c := s.caseOf(nil)
	p := &judge.Part{Name: st.name, Obs: s.read(st, st.tape.N), Seen: st.seen}
	c.Prepare(p)
	c.Parts, c.Quick = []*judge.Part{p}, s.quick
	c.Among(s.counts.Sent)
	c.Judge()
	return c.Verdict(p)
}

// pieces judges a partition in pieces. A small one is judged as one piece.
func (s *Stream) pieces(plan *pieces.Plan, st *partition) *pieces.Pieces {
	again := func(f func(o *history.Observation) bool) { st.tape.Each(s.store, f) }
	x := pieces.New(plan, st.name, st.tape.N <= s.caps.Whole, again)
	if st.tape.N <= s.caps.Whole {
		x.Whole(s.read(st, st.tape.N), s.end)
		return x
	}
	x.Most = st.tape.N
	again(func(o *history.Observation) bool {
		x.Observe(o)
		return true
	})
	x.Finish(s.end)
	return x
}

// pieced concludes a partition that was judged in pieces, and measures its first observations.
func (s *Stream) pieced(plan *pieces.Plan, st *partition, x *pieces.Pieces) verdict.PartitionVerdict {
	obs, since := s.read(st, s.caps.Whole+1), time.Duration(history.MaxTime)
	if len(obs) > s.caps.Whole {
		obs, since = obs[:s.caps.Whole], obs[s.caps.Whole].Sent
	}
	c := *plan.C
	c.End, c.Edges = int64(s.end), x.Beginning(since)
	c.Frugal = !plan.Whole.Known()
	p := &judge.Part{Name: st.name, Obs: obs, Seen: st.seen}
	c.Prepare(p)
	x.Conclude(&c, p)
	return c.Verdict(p)
}
