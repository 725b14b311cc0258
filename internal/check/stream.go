package check

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Stream judges a recording that comes one observation at a time, with memory that follows the limiter and the requests
// in flight rather than the recording. Its judgement is that of Judge, except where a recording is large:
//
//   - Up to heldLimit observations it holds all and calls Judge.
//   - Beyond that it keeps about ten bytes an observation until a partition has more than exactLimit of them, and judges
//     such a smaller partition as Judge does, one after the other; where one explanation is found at once it is not
//     searched (Search.Visited is 0 then).
//   - A partition with more, or any but small ones when tapeBudget bytes are kept, is watched: the bounds judge it
//     as its observations come. As in Judge it is not searched exactly. Its policy is measured on what came before it was
//     watched (with denials whose explanation may have come later left out), so that the measured intervals may be wider
//     than those of Judge but hold every value that nothing refutes; they are empty if it was watched from its beginning.
//     The witness of an over-admission that grew for longer than what is kept lists what is kept, and all numbers.
//   - A limit that is not watched (see newWatchPlan: several policies, ranges, completions, a ban, a time to live, denied
//     requests counted, a phase that is not one value) is judged in pieces instead, from the same size on: stretches that
//     overlap by as long as the limiter remembers and the requests in flight last, each judged by the bounds as a recording
//     that was cut out of traffic (pieces.go). Of phases and ranges, what no piece has refuted is handed on from piece to
//     piece, and from partition to partition where they share a phase (survivors.go). Values between which no single piece can tell
//     are all kept, so that a contradiction between pieces may be missed that the whole would show; none is made up.
//     Admissions under a bucket that is neither charged late nor forgets are bounded over the whole recording. Where phases are
//     not known the policy is measured on the first few thousand observations.
//   - Windows that requests place (align=first, refresh) are watched where they are fixed and nothing else is asked (streamfirst.go).
//     Else each piece is told how they lie where it begins (placement.go), and what is counted in them is bounded over the whole
//     recording. Where that is not known, as the recording began amid traffic or a time to live may have passed, nothing is asked
//     until a silence after which everything begins anew.
//   - A sliding window counter with align=first is judged in the stretches between the silences after which its windows begin anew,
//     each with the phases that its pieces left alive (stretches.go). Where its recording began amid traffic they are those after a
//     silence which ends all that came before.
//   - It tries no other limit, and its hint says so.
type Stream struct {
	header timeline.Header
	limit  spec.Limit
	o      Options
	caps   streamCaps
	// plan or, for a limit that is not watched, chop is how partitions are judged that are not kept.
	plan *watchPlan
	chop *piecePlan

	held    []timeline.Observation
	strands map[string]*strand
	recent  *strand
	// store has the reels of all strands.
	store store
	// beside judges the same recording under the policies of besideOthers, where these are others.
	beside *Stream

	counts           timeline.Counts
	unclassified     int
	units            int64
	begin, end, last time.Duration
	// fitUnits and fitSpan are known to be small enough for all products.
	fitUnits int64
	fitSpan  time.Duration
	err      error
}

// streamCaps are the sizes from which on a Stream keeps less.
type streamCaps struct {
	// held and whole are observations of a recording and of a partition, tapes bytes of all partitions, small bytes of one.
	held, whole, tapes, small int
	// block and last are those of watchPlan, piece is the size of piecePlan where it is not 0.
	block, last, piece int
}

// The caps of a stream: heldLimit observations are held as they are; tapeBudget bytes are kept of all partitions
// together, and of each at least tapeSmall; leastBlock and leastLast are of each watch.
const (
	heldLimit  = hintLimit
	tapeBudget = 96 << 20
	tapeSmall  = 4 << 10
	leastBlock = 16
	leastLast  = 256
)

// strand is one partition of a stream.
type strand struct {
	name string
	seen facts
	// reel has all observations, or those before the watch began.
	reel   reel
	watch  *watch
	pieces *pieces
	// since is when the first observation was sent that is not on the reel.
	since time.Duration
}

// NewStream returns a Stream for a recording with the given header.
func NewStream(limit spec.Limit, header timeline.Header, o Options) *Stream {
	return newStream(limit, header, o, streamCaps{held: heldLimit, whole: exactLimit, tapes: tapeBudget, small: tapeSmall, block: leastBlock, last: leastLast})
}

func newStream(limit spec.Limit, header timeline.Header, o Options, caps streamCaps) *Stream {
	s := &Stream{header: header, limit: limit, o: o, caps: caps, end: header.Ended, strands: map[string]*strand{}}
	s.counts.Unsent = header.Unsent
	if s.err = fitsSpan(&header, limit, 0, header.Ended, 0); s.err != nil {
		return s
	}
	if loose, changed := besideOthers(ticked(limit, header)); o.Shared && changed && len(loose) > 0 {
		s.beside = newStream(loose, header, beside, caps)
	}
	if s.plan = newWatchPlan(header, limit, o); s.plan != nil {
		s.plan.block, s.plan.last = caps.block, caps.last
	} else {
		s.chop = newPiecePlan(header, limit, o)
		s.chop.sized(caps, s.shared())
	}
	return s
}

// Observe takes the next observation. They ascend by Sent. An error is that of Judge, and final: Finish returns it again.
func (s *Stream) Observe(o *timeline.Observation) error {
	if s.err == nil {
		s.err = s.sound(o)
	}
	if s.err != nil {
		return s.err
	}
	s.count(o)
	if s.held != nil || s.counts.Sent == 1 {
		held := *o
		held.Fields, held.Body = nil, ""
		if s.held = append(s.held, held); len(s.held) > s.caps.held {
			for i := range s.held {
				s.keep(&s.held[i])
			}
			s.held = nil
		}
		return nil
	}
	s.keep(o)
	return nil
}

// sound checks what fits checks.
func (s *Stream) sound(o *timeline.Observation) error {
	if s.counts.Sent > 0 && o.Sent < s.last {
		return fmt.Errorf("check: observation #%d: sent at %s, before the one in front of it: %w", o.Seq, o.Sent, ErrUnsorted)
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

// keep adds an observation to its strand.
func (s *Stream) keep(o *timeline.Observation) {
	if s.beside != nil && s.beside.Observe(o) != nil {
		s.beside = nil
	}
	st := s.recent
	if st == nil || st.name != o.Partition {
		if st = s.strands[o.Partition]; st == nil {
			st = &strand{name: strings.Clone(o.Partition), reel: reel{tapeHead: tapeHead{dones: s.limit.Completes()}}}
			s.strands[st.name] = st
		}
		s.recent = st
	}
	if st.kept() && (st.reel.n >= s.caps.whole || s.store.bytes() >= s.caps.tapes && st.reel.size >= s.caps.small) {
		s.watch(st, o.Sent)
	}
	switch {
	case st.watch != nil:
		st.watch.observe(o, st.seen.sent)
	case st.pieces != nil:
		st.pieces.observe(o, st.seen.sent)
	default:
		st.reel.add(&s.store, o)
	}
	st.seen.add(o)
}

// kept tells whether all observations are on the reel.
func (st *strand) kept() bool { return st.watch == nil && st.pieces == nil }

// watch judges a partition from its first observation on as they come, for an observation sent at since.
func (s *Stream) watch(st *strand, since time.Duration) {
	st.since = since
	var observe func(o *timeline.Observation, n int)
	if s.plan != nil {
		st.watch = newWatch(s.plan, st.name)
		observe = st.watch.observe
	} else {
		st.pieces = newPieces(s.chop, st.name, st.reel.n < s.caps.whole)
		observe = st.pieces.observe
	}
	n := 0
	eachOf(st.reel.read(&s.store, nil), func(o *timeline.Observation) {
		observe(o, n)
		n++
	})
}

// Counts are the numbers of observations so far.
func (s *Stream) Counts() timeline.Counts {
	c := s.counts
	c.Planned = c.Sent + c.Unsent
	return c
}

// Finish judges what was observed. Nothing may be observed afterwards.
func (s *Stream) Finish() (*verdict.Judgement, error) {
	if s.err != nil {
		return nil, s.err
	}
	s.header.Ended = s.end
	if s.held != nil || s.counts.Sent == 0 {
		return Judge(&timeline.Timeline{Header: s.header, Observations: s.held}, s.limit, s.o)
	}
	strands := make([]*strand, 0, len(s.strands))
	for _, st := range s.strands {
		strands = append(strands, st)
	}
	s.strands, s.recent = nil, nil
	slices.SortFunc(strands, func(a, b *strand) int { return strings.Compare(a.name, b.name) })
	if s.shared() {
		if s.counts.Sent <= s.caps.whole && !slices.ContainsFunc(strands, func(st *strand) bool { return !st.kept() }) {
			j, err := s.together(strands)
			return s.untried(j), err
		}
		for _, st := range strands { // one after the other: each refutes what the others left alive
			s.settle(st)
		}
	}
	partitions := make([]verdict.PartitionVerdict, len(strands))
	clerks := sync.Pool{New: func() any { return newClerk(s) }}
	each(len(strands), func(i int) {
		k := clerks.Get().(*clerk)
		partitions[i] = s.verdict(strands[i], k)
		strands[i] = nil
		clerks.Put(k)
	})
	s.judgedBeside(partitions)
	return s.untried(s.caseOf(nil).conclude(partitions, s.unclassified)), nil
}

// untried says of a failure that no other limit was tried.
func (s *Stream) untried(j *verdict.Judgement) *verdict.Judgement {
	if j != nil && s.o.Hint && j.Verdict == verdict.Fail && len(s.limit) == 1 {
		j.Hint = tooLargeToTry
	}
	return j
}

// judgedBeside is that of a case.
func (s *Stream) judgedBeside(partitions []verdict.PartitionVerdict) {
	if _, changed := besideOthers(ticked(s.limit, s.header)); !s.o.Shared || !changed {
		return
	}
	var found []verdict.PartitionVerdict
	if s.beside != nil {
		if j, err := s.beside.Finish(); err == nil {
			found = j.Partitions
		}
	}
	acquit(partitions, found)
}

// shared tells whether a phase that is not known is the same in all partitions.
func (s *Stream) shared() bool {
	if len(s.limit) != 1 {
		return false
	}
	box, shared := phasesOf(s.limit[0], s.header)
	return shared && box.from != box.to
}

// together judges all partitions at once.
func (s *Stream) together(strands []*strand) (*verdict.Judgement, error) {
	tl := &timeline.Timeline{Header: s.header}
	for _, st := range strands {
		tl.Observations = append(tl.Observations, st.reel.observations(&s.store, st.name)...)
	}
	slices.SortStableFunc(tl.Observations, func(a, b timeline.Observation) int { return int(min(max(a.Sent-b.Sent, -1), 1)) })
	o := s.o
	o.Hint = false
	return Judge(tl, s.limit, o)
}

// caseOf returns a case of some observations of one partition.
func (s *Stream) caseOf(obs []timeline.Observation) *caseFile {
	return newCase(&timeline.Timeline{Header: s.header, Observations: obs}, s.limit, s.o)
}

// verdict judges one partition, by the clerk where there is one and it can.
func (s *Stream) verdict(st *strand, k *clerk) verdict.PartitionVerdict {
	if k != nil && st.kept() {
		if v, ok := k.verdict(st); ok {
			return v
		}
	}
	obs := st.reel.observations(&s.store, st.name)
	switch {
	case st.watch != nil:
		st.watch.finish()
		obs = s.explained(obs, st.since)
	case st.pieces != nil:
		return s.pieced(st, obs)
	}
	c := s.caseOf(obs)
	var p *part
	if len(c.parts) > 0 {
		p = c.parts[0]
	} else {
		p = &part{name: st.name, histories: []*history{{}}}
	}
	p.seen = st.seen
	if st.watch != nil {
		p.findings = st.watch.found
		if p.unjudged = ""; !st.watch.judged {
			p.unjudged = s.plan.edges.unjudged()
		}
	} else {
		c.judge()
	}
	st.watch = nil
	return c.verdict(p)
}

// pieced concludes a partition that was judged in pieces, and measures its first observations.
func (s *Stream) pieced(st *strand, obs []timeline.Observation) verdict.PartitionVerdict {
	st.pieces.finish(s.end)
	c := *s.chop.c
	c.end, c.edges = int64(s.end), st.pieces.beginning(st.since)
	c.frugal = !s.chop.whole.known()
	p := &part{name: st.name, obs: obs, seen: st.seen}
	c.prepare(p)
	st.pieces.conclude(&c, p)
	st.pieces = nil
	return c.verdict(p)
}

// settle judges all of a partition under the phases that are left to all of them.
func (s *Stream) settle(st *strand) {
	if !st.kept() {
		st.pieces.finish(s.end)
		return
	}
	st.pieces, st.since = newPieces(s.chop, st.name, true), time.Duration(maxTime)
	st.pieces.whole(st.reel.observations(&s.store, st.name), s.end)
}

// explained returns the observations without the denials that one sent at or after the given instant may explain.
func (s *Stream) explained(obs []timeline.Observation, since time.Duration) []timeline.Observation {
	w := s.plan.widen
	return slices.DeleteFunc(obs, func(o timeline.Observation) bool {
		return o.Outcome == timeline.Denied && (!o.Answered || newEvent(&o, w, maxTime).e >= int64(since)-w.left)
	})
}
