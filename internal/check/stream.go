package check

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Stream judges a recording that comes one observation at a time. It keeps about eight bytes of each on
// tapes. They stay in memory up to tapeBudget bytes, and go on in a file (Options.Spill). It judges when
// all observations have come:
//
//   - Up to heldLimit observations are judged at once, as Judge does.
//   - Of a larger recording, one partition is judged after the other. If an unknown phase is the same in all
//     of them, their beginnings are judged together too. Other limits are tried on the first heldLimit
//     observations.
//   - Of a partition with more than wholeLimit observations, only these first ones are judged, as a recording
//     that was cut out of traffic. PartitionVerdict.Left says how many were not.
type Stream struct {
	header timeline.Header
	limit  spec.Limit
	o      Options
	caps   caps

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
	// until is when the first observation was sent that is not among the first caps.held.
	until time.Duration
	// quick asks for the verdict alone.
	quick bool
}

// The caps of a stream.
const (
	heldLimit  = 200_000   // the largest recording that is judged at once
	wholeLimit = 1_000_000 // the most observations of one partition that are judged
	tapeBudget = 8 << 20
)

// caps are the caps of a stream: heldLimit, wholeLimit and tapeBudget except in tests.
type caps struct{ held, whole, tapes int }

type partition struct {
	name string
	seen history.Facts
	tape history.Tape
}

// NewStream returns a Stream for a recording with the given header.
func NewStream(limit spec.Limit, header timeline.Header, o Options) *Stream {
	return newStream(limit, header, o, caps{heldLimit, wholeLimit, tapeBudget})
}

func newStream(limit spec.Limit, header timeline.Header, o Options, c caps) *Stream {
	s := &Stream{header: header, limit: limit, o: o, caps: c, end: header.Ended,
		partitions: map[string]*partition{}, store: &history.Store{}}
	s.counts = header.Counts()
	s.err = FitsSpan(&header, limit, 0, header.Ended, 0)
	return s
}

// Observe takes the next observation. They ascend by Sent. An error is one of Judge or of the file, and
// final: Finish returns it again.
func (s *Stream) Observe(o *timeline.Observation) error {
	dropped := excused(o.Outcome, o.Cost, s.limit)
	if s.err == nil && !dropped {
		s.err = s.sound(o)
	}
	if s.err != nil {
		return s.err
	}
	if s.counts.Add(o); o.Outcome == timeline.Unknown && o.Answered {
		s.unclassified++
	}
	if dropped {
		return nil
	}
	if s.counts.Sent == s.caps.held+1 {
		s.until = o.Sent
	}
	st := s.recent
	if st == nil || st.name != o.Partition {
		if st = s.partitions[o.Partition]; st == nil {
			st = &partition{name: strings.Clone(o.Partition)}
			st.tape.Dones, st.tape.Statuses = s.limit.Completes(), s.limit.Cleared()
			s.partitions[st.name] = st
		}
		s.recent = st
	}
	one := history.ObservationOf(o)
	st.tape.Add(s.store, &one)
	st.seen.Add(o)
	if s.o.Spill != nil && s.store.Bytes() >= s.caps.tapes {
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
	s.err = s.store.Err()
}

// sound checks what Fits checks.
func (s *Stream) sound(o *timeline.Observation) error {
	if s.counts.Sent > 0 && o.Sent < s.last {
		return fmt.Errorf("check: observation #%d: sent at %s, before the one in front of it: %w", o.Seq,
			o.Sent, ErrUnsorted)
	}
	counts, err := unitsOf(o.Seq, o.Cost, s.limit)
	err = cmp.Or(err, s.free(o))
	if s.units += counts; err != nil || s.units < 0 || s.units > history.MaxTime/4 {
		return cmp.Or(err, fmt.Errorf("check: observation #%d: cost %d: %w", o.Seq, o.Cost, ErrTooLarge))
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
		FitsSpan(&s.header, s.limit, s.begin, s.end+span, 2*s.units) == nil {
		s.fitUnits, s.fitSpan = 2*s.units, 2*span
		return nil
	}
	return FitsSpan(&s.header, s.limit, s.begin, s.end, s.units)
}

// free returns an error if a request costs nothing, and a policy needs costs to decide.
func (s *Stream) free(o *timeline.Observation) error {
	if o.Cost == 0 && slices.ContainsFunc(s.limit, needsCosts) {
		return fmt.Errorf("check: observation #%d: cost 0: %w", o.Seq, ErrFree)
	}
	return nil
}

// Counts returns the numbers of observations so far.
func (s *Stream) Counts() timeline.Counts { return s.counts }

// Finish judges what was observed. Nothing may be observed afterwards.
func (s *Stream) Finish() (*result.Judgement, error) {
	defer s.store.Close()
	if s.err != nil {
		return nil, s.err
	}
	if s.store.Spilled() { // make room for the judge
		s.spill()
		s.store.Blocks = nil
	}
	s.header.Ended = s.end
	parts := make([]*partition, 0, len(s.partitions))
	for _, st := range s.partitions {
		parts = append(parts, st)
	}
	slices.SortFunc(parts, func(a, b *partition) int { return strings.Compare(a.name, b.name) })
	var j *result.Judgement
	if s.counts.Sent <= s.caps.held {
		j = explained(NewCase(s.whole(parts), s.limit, s.o), s.limit)
	} else {
		j = s.apart(parts)
	}
	if s.err = s.store.Err(); s.err != nil {
		return nil, s.err
	}
	return j, nil
}

func (s *Stream) whole(parts []*partition) *history.Recording {
	rec := &history.Recording{Header: s.header}
	for _, st := range parts {
		rec.Parts = append(rec.Parts, history.Partition{Name: st.name, Seen: st.seen,
			Obs: st.tape.Beginning(s.store, st.tape.N)})
	}
	return rec
}

// apart judges one partition after the other.
func (s *Stream) apart(parts []*partition) *result.Judgement {
	partitions := make([]result.PartitionVerdict, len(parts))
	order := make([]int, len(parts)) // the large ones last, for the memory: then little else is judged
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(parts[a].tape.N, parts[b].tape.N) })
	large := sort.Search(len(order), func(k int) bool { return parts[order[k]].tape.N > heldLimit })
	Each(large, func(k int) { partitions[order[k]] = s.alone(parts[order[k]]) })
	for _, i := range order[large:] { // one at a time
		partitions[i] = s.alone(parts[i])
	}
	failed := func(p result.PartitionVerdict) bool { return p.Verdict == result.Fail }
	if s.sharedPhase() && !slices.ContainsFunc(partitions, failed) {
		s.together(parts, partitions)
	}
	c := NewCase(&history.Recording{Header: s.header}, s.limit, s.o)
	j := c.Conclude(partitions, s.unclassified)
	if !s.quick && j.Verdict != result.Fail {
		b := excerpts{of: func(i, n int) []history.Observation {
			return parts[i].tape.Beginning(s.store, n)
		}}
		for _, st := range parts {
			b.sizes = append(b.sizes, st.tape.N)
		}
		c.tellApart(j.Partitions, b)
	}
	if s.o.Hint && j.Verdict == result.Fail {
		s.explain(parts, j)
	}
	return j
}

// explain looks for what explains a recording that fails. It tries only limits that explain the beginning of
// the recording.
func (s *Stream) explain(parts []*partition, j *result.Judgement) {
	begin := s.beginning(parts)
	c := NewCase(begin, s.limit, Options{Conformance: s.o.Conformance, Shared: s.o.Shared, SkipMeasure: true})
	c.Judge()
	if j.Diagnosis = diagnose(begin, s.limit, c.Judgement(), s.o); j.Diagnosis != nil {
		j.Diagnosis.Why += fmt.Sprintf(" (seen in the first %d requests)", begin.Len())
		return
	}
	q := &inquiry{of: []evidence{{begin, s.o, func(l spec.Limit) attempt { return s.tried(parts, l) }}},
		left: hintWork}
	j.Explanations, j.Hint = q.explain(s.limit)
}

// tried judges all of a large recording under another limit, on the side that its options ask for. A limit
// that cannot be judged fails.
func (s *Stream) tried(parts []*partition, limit spec.Limit) attempt {
	if _, err := reference.NewLimit(limit); err != nil ||
		FitsSpan(&s.header, limit, s.begin, s.end, s.units) != nil {
		return attempt{verdict: result.Fail}
	}
	other := *s
	other.limit, other.quick = limit, true
	other.o = Options{Conformance: s.o.Conformance, Shared: s.o.Shared, SkipMeasure: true}
	j := other.apart(parts)
	capped := func(p result.PartitionVerdict) bool { return p.Search.Capped }
	return attempt{verdict: j.Verdict, capped: slices.ContainsFunc(j.Partitions, capped)}
}

// alone judges a partition, or its first caps.whole observations.
func (s *Stream) alone(st *partition) result.PartitionVerdict {
	p := history.Partition{Name: st.name, Seen: st.seen, Obs: st.tape.Beginning(s.store, s.caps.whole+1)}
	header := s.header
	left := st.tape.N - s.caps.whole
	if left > 0 {
		header.CompleteUntil = s.cutAt(p.Obs[s.caps.whole].Sent)
		p.Obs = p.Obs[:s.caps.whole:s.caps.whole]
		p.Seen.Known = history.Known(p.Obs)
	}
	c := NewCase(&history.Recording{Header: header, Parts: []history.Partition{p}}, s.limit, s.o)
	c.Quick = s.quick
	c.Observations = s.counts.Sent
	c.Judge()
	v := c.Judgement().Partitions[0]
	v.Left = max(left, 0)
	return v
}

// cutAt returns the Header.CompleteUntil of a recording whose next observation was sent at an instant. It
// lies just before, as that one may be decided at once. It is not 0, which stands for no end.
func (s *Stream) cutAt(sent time.Duration) time.Duration {
	until := sent - 1 - s.header.Tick
	for _, p := range s.limit {
		until = min(until, sent-1-p.Tick)
	}
	if known := s.header.CompleteUntil; known != 0 {
		until = min(until, known)
	}
	if until == 0 {
		return -1
	}
	return until
}

// sharedPhase tells whether there is one policy whose phase is not known and the same in all partitions.
func (s *Stream) sharedPhase() bool {
	if len(s.limit) != 1 || len(s.partitions) < 2 {
		return false
	}
	box, shared := PhasesOf(s.limit[0], s.header)
	return shared && box.From != box.To
}

// together judges the beginnings of all partitions at once, since they share a phase.
func (s *Stream) together(parts []*partition, partitions []result.PartitionVerdict) {
	c := NewCase(s.beginning(parts), s.limit, s.o)
	c.Quick, c.O.SkipMeasure = s.quick, true
	c.Judge()
	for i, v := range c.Judgement().Partitions {
		if v.Verdict == result.Fail {
			v.Judged, v.Left, v.Measured = partitions[i].Judged, partitions[i].Left, partitions[i].Measured
			partitions[i] = v
		}
	}
}

// beginning returns the observations before s.until of all partitions. Its header says that the recording
// goes on.
func (s *Stream) beginning(parts []*partition) *history.Recording {
	begin := &history.Recording{Header: s.header}
	begin.Header.CompleteUntil = s.cutAt(s.until)
	for _, st := range parts {
		p := history.Partition{Name: st.name, Seen: st.seen}
		st.tape.Each(s.store, func(o *history.Observation) bool {
			if o.Sent < s.until {
				p.Obs = append(p.Obs, *o)
			}
			return o.Sent < s.until
		})
		begin.Parts = append(begin.Parts, p)
	}
	return begin
}
