package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// explain looks for what explains a recording that fails. It tries only limits that explain the beginning of
// the recording.
func (s *Stream) explain(parts []*partition, j *verdict.Judgement) {
	if j.Verdict != verdict.Fail {
		return
	}
	begin := s.beginning(parts)
	if judged, err := Judge(begin, s.limit, Options{Conformance: s.o.Conformance, Shared: s.o.Shared,
		SkipMeasure: true}); err == nil {
		if j.Diagnosis = diagnose(begin, s.limit, judged, s.o); j.Diagnosis != nil {
			j.Diagnosis.Why += fmt.Sprintf(" (seen in the first %d requests)", len(begin.Observations))
			return
		}
	}
	q := newInquiry(begin, s.o)
	q.whole = func(limit spec.Limit) attempt { return s.tried(parts, limit) }
	j.Explanations, j.Hint = q.explain(s.limit, j)
}

// beginning returns the observations before s.until of all partitions, ascending by Sent. Its header says
// that the recording goes on.
func (s *Stream) beginning(parts []*partition) *timeline.Timeline {
	begin := &timeline.Timeline{Header: s.header}
	for _, st := range parts {
		st.tape.Each(s.store, func(o *history.Observation) bool {
			if o.Sent >= s.until {
				return false
			}
			begin.Observations = append(begin.Observations, o.In(st.name))
			return true
		})
	}
	slices.SortStableFunc(begin.Observations, inOrder)
	missing := s.until - s.header.Tick
	for _, p := range s.limit {
		missing = min(missing, s.until-p.Tick)
	}
	if complete := &begin.Header.CompleteUntil; *complete == 0 || missing < *complete {
		*complete = max(missing, time.Nanosecond)
	}
	return begin
}

// tried judges all of a large recording under another limit, on the side that its options ask for. A limit
// that cannot be judged fails.
func (s *Stream) tried(parts []*partition, limit spec.Limit) attempt {
	if _, err := reference.NewLimit(limit); err != nil ||
		judge.FitsSpan(&s.header, limit, s.begin, s.end, s.units) != nil {
		return attempt{verdict: verdict.Fail}
	}
	other := *s
	other.limit, other.quick = limit, true
	other.o = Options{Conformance: s.o.Conformance, Shared: s.o.Shared, SkipMeasure: true}
	partitions := other.apart(parts)
	capped := func(p verdict.PartitionVerdict) bool { return p.Search.Capped }
	return attempt{verdict: other.caseOf(nil).Conclude(partitions, 0).Verdict,
		sure: !slices.ContainsFunc(partitions, capped)}
}
