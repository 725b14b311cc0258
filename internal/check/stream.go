package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Stream judges a recording that comes one observation at a time. It keeps some eight bytes of each on tapes,
// in memory up to tapeBudget bytes and beyond that in a file (Options.Spill), and judges when all have come.
// Its judgement is that of Judge, except where a recording has more than heldLimit observations:
//
//   - A partition with at most exactLimit of them is judged as Judge does, one after the other. It tries no
//     other limit, and its hint says so.
//   - A larger one is judged in pieces: stretches that overlap by as long as the limiter remembers and the
//     requests in flight last, each judged by the bounds as a recording that was cut out of traffic
//     (pieces.go). As in Judge it is not searched exactly. Of phases and ranges, what no piece has refuted is
//     handed on from piece to piece, and from partition to partition where they share a phase (survivors.go).
//     Values between which no single piece can tell are all kept, so that a contradiction between pieces may
//     be missed that the whole would show; none is made up. Admissions under a bucket that is neither charged
//     late nor forgets are bounded over the whole recording (overall.go). The policy is measured on its first
//     exactLimit observations; where phases are not known on the first few thousand of them.
//   - Where requests place the windows (align=first, refresh), each piece is told how they lie where it
//     begins (placement.go), and what is counted in them is bounded over the whole recording. Where that is
//     not known, as the recording began amid traffic or a time to live may have passed, nothing is asked
//     until a silence after which everything begins anew.
//   - A sliding window counter with align=first is judged in the stretches between the silences after which
//     its windows begin anew, each with the phases that its pieces left alive (stretches.go).
type Stream struct {
	header timeline.Header
	limit  spec.Limit
	o      Options
	caps   streamCaps

	strands map[string]*strand
	recent  *strand
	store   *store

	counts           timeline.Counts
	unclassified     int
	units            int64
	begin, end, last time.Duration
	// fitUnits and fitSpan are known to be small enough for all products.
	fitUnits int64
	fitSpan  time.Duration
	err      error
}

// The caps of a stream.
const (
	heldLimit  = hintLimit
	tapeBudget = 16 << 20
)

// strand is one partition of a stream.
type strand struct {
	name string
	seen facts
	tape tape
}

// NewStream returns a Stream for a recording with the given header.
func NewStream(limit spec.Limit, header timeline.Header, o Options) *Stream {
	return newStream(limit, header, o, streamCaps{held: heldLimit, whole: exactLimit, tapes: tapeBudget})
}

func newStream(limit spec.Limit, header timeline.Header, o Options, caps streamCaps) *Stream {
	s := &Stream{header: header, limit: limit, o: o, caps: caps, end: header.Ended,
		strands: map[string]*strand{}, store: &store{}}
	s.counts.Unsent = header.Unsent
	s.err = fitsSpan(&header, limit, 0, header.Ended, 0)
	return s
}

// Observe takes the next observation. They ascend by Sent. An error is that of Judge or of the file, and
// final: Finish returns it again.
func (s *Stream) Observe(o *timeline.Observation) error {
	if s.err == nil {
		s.err = s.sound(o)
	}
	if s.err != nil {
		return s.err
	}
	s.count(o)
	st := s.recent
	if st == nil || st.name != o.Partition {
		if st = s.strands[o.Partition]; st == nil {
			st = &strand{name: strings.Clone(o.Partition), tape: tape{dones: s.limit.Completes()}}
			s.strands[st.name] = st
		}
		s.recent = st
	}
	st.tape.add(s.store, o)
	st.seen.add(o)
	if s.o.Spill != nil && s.store.bytes() >= s.caps.tapes {
		s.spill()
	}
	return s.err
}

// spill writes what is in memory of all tapes to the file.
func (s *Stream) spill() {
	s.store.spill(s.o.Spill, func(f func(t *tape)) {
		for _, st := range s.strands {
			f(&st.tape)
		}
	})
	s.err = s.store.err
}

// sound checks what fits checks.
func (s *Stream) sound(o *timeline.Observation) error {
	if s.counts.Sent > 0 && o.Sent < s.last {
		return fmt.Errorf("check: observation #%d: sent at %s, before the one in front of it: %w", o.Seq,
			o.Sent, ErrUnsorted)
	}
	s.units += o.Cost
	if s.units < 0 || o.Cost < 0 || s.units > maxTime/4 {
		return fmt.Errorf("check: observation #%d: cost %d: %w", o.Seq, o.Cost, ErrTooLarge)
	}
	s.last, s.begin = o.Sent, min(s.begin, o.Sent)
	s.end = max(s.end, o.Sent, o.FirstByte, o.Done)
	span := s.end - s.begin
	if s.units <= s.fitUnits && span >= 0 && span <= s.fitSpan {
		return nil
	}
	// Some way ahead, so that it is seldom asked.
	if s.units < maxTime/16 && s.begin > -time.Duration(maxTime/8) && s.end < time.Duration(maxTime/16) &&
		fitsSpan(&s.header, s.limit, s.begin, s.end+span, 2*s.units) == nil {
		s.fitUnits, s.fitSpan = 2*s.units, 2*span
		return nil
	}
	return fitsSpan(&s.header, s.limit, s.begin, s.end, s.units)
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

// Counts are the numbers of observations so far.
func (s *Stream) Counts() timeline.Counts {
	c := s.counts
	c.Planned = c.Sent + c.Unsent
	return c
}

// Finish judges what was observed. Nothing may be observed afterwards.
func (s *Stream) Finish() (*verdict.Judgement, error) {
	defer s.store.close()
	if s.err != nil {
		return nil, s.err
	}
	if s.store.file != nil { // what is in memory makes room for the judge
		s.spill()
		s.store.blocks = nil
	}
	s.header.Ended = s.end
	strands := make([]*strand, 0, len(s.strands))
	for _, st := range s.strands {
		strands = append(strands, st)
	}
	slices.SortFunc(strands, func(a, b *strand) int { return strings.Compare(a.name, b.name) })
	var j *verdict.Judgement
	if s.counts.Sent <= s.caps.held {
		j = s.together(strands)
	} else {
		j = s.caseOf(nil).conclude(s.apart(strands), s.unclassified)
		if s.o.Hint && j.Verdict == verdict.Fail && len(s.limit) == 1 {
			j.Hint = tooLargeToTry
		}
	}
	if s.err = s.store.err; s.err != nil {
		return nil, s.err
	}
	return j, nil
}

// together judges all partitions at once, as Judge does.
func (s *Stream) together(strands []*strand) *verdict.Judgement {
	var obs []timeline.Observation
	for _, st := range strands {
		obs = append(obs, s.read(st, st.tape.n)...)
	}
	slices.SortStableFunc(obs, func(a, b timeline.Observation) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Seq, b.Seq))
	})
	c := s.caseOf(obs)
	for _, p := range c.parts {
		p.seen = s.strands[p.name].seen
	}
	return explained(c, s.limit)
}

// apart judges one partition after the other.
func (s *Stream) apart(strands []*strand) []verdict.PartitionVerdict {
	plan := newPiecePlan(s.header, s.limit, s.o)
	plan.sized(s.caps, s.shared())
	partitions := make([]verdict.PartitionVerdict, len(strands))
	if plan.shared == nil {
		each(len(strands), func(i int) {
			if st := strands[i]; st.tape.n <= s.caps.whole {
				partitions[i] = s.whole(st)
			} else {
				partitions[i] = s.pieced(plan, st, s.pieces(plan, st))
			}
		})
	} else { // first all of them: each refutes what the others left alive
		all := make([]*pieces, len(strands))
		for i, st := range strands {
			all[i] = s.pieces(plan, st)
		}
		each(len(strands), func(i int) { partitions[i] = s.pieced(plan, strands[i], all[i]) })
	}
	s.judgedBeside(strands, partitions)
	return partitions
}

// judgedBeside is that of a case.
func (s *Stream) judgedBeside(strands []*strand, partitions []verdict.PartitionVerdict) {
	loose, changed := besideOthers(ticked(s.limit, s.header))
	if !s.o.Shared || !changed || !slices.ContainsFunc(partitions, failed) {
		return
	}
	if len(loose) == 0 || fitsSpan(&s.header, loose, s.begin, s.end, s.units) != nil {
		acquit(partitions, nil)
		return
	}
	other := *s
	other.limit, other.o = loose, beside
	acquit(partitions, other.apart(strands))
}

// shared tells whether a phase that is not known is the same in all partitions.
func (s *Stream) shared() bool {
	if len(s.limit) != 1 {
		return false
	}
	box, shared := phasesOf(s.limit[0], s.header)
	return shared && box.from != box.to
}

// read returns the first observations of a partition, at most so many.
func (s *Stream) read(st *strand, most int) []timeline.Observation {
	return st.tape.beginning(s.store, st.name, most)
}

// caseOf returns a case of some observations.
func (s *Stream) caseOf(obs []timeline.Observation) *caseFile {
	return newCase(&timeline.Timeline{Header: s.header, Observations: obs}, s.limit, s.o)
}

// whole judges a partition as Judge does.
func (s *Stream) whole(st *strand) verdict.PartitionVerdict {
	c := s.caseOf(s.read(st, st.tape.n))
	c.parts[0].seen, c.observations = st.seen, s.counts.Sent
	for _, h := range c.parts[0].histories {
		h.crowded = !slices.ContainsFunc(s.limit, anchored) // of these a search says more
	}
	c.judge()
	return c.verdict(c.parts[0])
}

// pieces judges a partition in pieces or, if it is small, as one.
func (s *Stream) pieces(plan *piecePlan, st *strand) *pieces {
	again := func(f func(o *timeline.Observation) bool) { st.tape.each(s.store, f) }
	x := newPieces(plan, st.name, st.tape.n <= s.caps.whole, again)
	if st.tape.n <= s.caps.whole {
		x.whole(s.read(st, st.tape.n), s.end)
		return x
	}
	again(func(o *timeline.Observation) bool {
		x.observe(o)
		return true
	})
	x.finish(s.end)
	return x
}

// pieced concludes a partition that was judged in pieces, and measures its first observations.
func (s *Stream) pieced(plan *piecePlan, st *strand, x *pieces) verdict.PartitionVerdict {
	obs, since := s.read(st, s.caps.whole+1), time.Duration(maxTime)
	if len(obs) > s.caps.whole {
		obs, since = obs[:s.caps.whole], obs[s.caps.whole].Sent
	}
	c := *plan.c
	c.end, c.edges = int64(s.end), x.beginning(since)
	c.frugal = !plan.whole.known()
	p := &part{name: st.name, obs: obs, seen: st.seen}
	c.prepare(p)
	x.conclude(&c, p)
	return c.verdict(p)
}
