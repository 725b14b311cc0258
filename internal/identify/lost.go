package identify

import (
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// asker asks the judge, until it is closed: then no judgement is waited for, and none refutes anything. One
// that had begun goes on unheard. nil is never closed.
type asker <-chan struct{}

// over tells whether nothing is asked any more.
func (a asker) over() bool {
	select {
	case <-a:
		return true
	default:
		return false
	}
}

// ask is what f says, or false where that is not waited for.
func (a asker) ask(f func() bool) bool {
	if a == nil {
		return f()
	}
	if a.over() {
		return false
	}
	said := make(chan bool, 1)
	go func() { said <- f() }()
	select {
	case yes := <-said:
		return yes
	case <-a:
		return false
	}
}

// fails tells whether the judge finds something in a recording that speaks against a limit.
func (a asker) fails(tl *timeline.Timeline, l spec.Limit) bool {
	return a.ask(func() bool {
		j, err := check.Judge(tl, l, check.Options{SkipMeasure: true})
		return err == nil && j.Verdict == verdict.Fail
	})
}

// explains tells whether the judge finds nothing in a recording that speaks against a limit.
func (a asker) explains(tl *timeline.Timeline, l spec.Limit) bool {
	return a.ask(func() bool {
		j, err := check.Judge(tl, l, check.Options{SkipMeasure: true})
		return err == nil && j.Verdict != verdict.Fail
	})
}

// refuted asks the judge about a limit. A limit that cannot be judged is not refuted.
//
// The judge lets a request without an answer be decided at any time until the end of the recording. One such
// request would explain any denial after it. Here it is decided within lateness, or never. Where an extra
// admission never leads to another one, admissions are explained best if lost requests never arrived, and
// denials if all were admitted.
func (a asker) refuted(tl *timeline.Timeline, l spec.Limit, side verdict.Conformance, search bool) bool {
	whole := tl
	tl, l = stretches(tl, l)
	ask := func(tl *timeline.Timeline, side verdict.Conformance) bool {
		return a.ask(func() bool {
			no, err := check.Refuted(tl, l, side, search)
			return no && err == nil
		})
	}
	unknown := tl.Counts().Unknown
	opens := slices.ContainsFunc(l, func(p spec.Policy) bool { // an extra admission may move these
		return p.Align == spec.AlignFirst && p.Windowed() || p.Ban > 0
	})
	windowed := slices.ContainsFunc(l, spec.Policy.Windowed)
	if unknown > 0 && !several(whole) && (opens || search && !windowed) {
		return branched(tl, l, func(tl *timeline.Timeline) bool { return ask(tl, side) })
	}
	if search || opens || unknown == 0 {
		return ask(tl, side)
	}
	return side != verdict.LowerBound && ask(without(tl), verdict.UpperBound) ||
		side != verdict.UpperBound && ask(admitted(tl), verdict.LowerBound) ||
		side == verdict.Exact && windowed && ask(tl, side) // each phase may fail on another side
}

// without is tl without the requests that have no outcome.
func without(tl *timeline.Timeline) *timeline.Timeline {
	out := *tl
	out.Observations = slices.DeleteFunc(slices.Clone(tl.Observations),
		func(o timeline.Observation) bool { return o.Outcome == timeline.Unknown })
	return &out
}

// admitted is tl as if the requests without an outcome had been admitted soon after they were sent.
func admitted(tl *timeline.Timeline) *timeline.Timeline {
	out, late := *tl, lateness(tl)
	out.Observations = slices.Clone(tl.Observations)
	for i := range out.Observations {
		if o := &out.Observations[i]; o.Outcome == timeline.Unknown {
			o.Outcome, o.Answered, o.FirstByte, o.Done = timeline.Allowed, true, o.Sent+late, o.Sent+late
		}
	}
	out.Header.Ended = max(out.Header.Ended, out.End())
	return &out
}

// lateness is the time within which a request without an answer was decided, or never.
func lateness(tl *timeline.Timeline) time.Duration {
	const least = 500 * time.Millisecond
	return max(2*slowest(tl), least)
}

// places has, for each client, when the requests that may have held a place were sent, and when they were
// over; both ascend. Denied requests held none.
type places map[string]*struct{ sent, over []time.Duration }

// placesOf returns the places of a recording, in n log n.
func placesOf(tl *timeline.Timeline) places {
	late, out := lateness(tl), places{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if o.Outcome == timeline.Denied {
			continue
		}
		p := out[o.Partition]
		if p == nil {
			p = &struct{ sent, over []time.Duration }{}
			out[o.Partition] = p
		}
		over := max(o.FirstByte, o.Done)
		if !o.Answered { // it was over soon, or never began
			over = o.Sent + late
		}
		p.sent, p.over = append(p.sent, o.Sent), append(p.over, over)
	}
	for _, p := range out {
		slices.Sort(p.sent)
		slices.Sort(p.over)
	}
	return out
}

// held is the most requests of a client that may have held a place at some instant in a closed interval.
func (p places) held(client string, from, to time.Duration) int64 {
	c := p[client]
	if c == nil {
		return 0
	}
	begun, _ := slices.BinarySearch(c.sent, to+1)
	over, _ := slices.BinarySearch(c.over, from)
	return int64(begun - over)
}

// mostBranched is the most lost requests of a stretch for which every combination of outcomes is tried.
const mostBranched = 3

// branched asks about each stretch alone, since each begins anew. A stretch with few lost requests is refuted
// only if every combination of their outcomes is: admitted, never arrived or, where that matters, denied.
func branched(tl *timeline.Timeline, l spec.Limit, ask func(*timeline.Timeline) bool) bool {
	late := lateness(tl)
	sure, doubtful := *tl, []*timeline.Timeline{}
	sure.Observations = nil
	for _, part := range parted(tl) {
		if k := part.Counts().Unknown; k == 0 || k > mostBranched {
			sure.Observations = append(sure.Observations, part.Observations...)
		} else {
			doubtful = append(doubtful, part)
		}
	}
	if len(sure.Observations) > 0 && ask(&sure) {
		return true
	}
	outcomes := []timeline.Outcome{timeline.Allowed, timeline.Unknown}
	if slices.ContainsFunc(l, func(p spec.Policy) bool {
		return p.Count == spec.CountAll || p.Refresh == spec.RefreshAll || p.Ban > 0
	}) {
		outcomes = append(outcomes, timeline.Denied)
	}
	return slices.ContainsFunc(doubtful,
		func(part *timeline.Timeline) bool { return whatever(part, outcomes, late, ask) })
}

// whatever tells whether tl is refuted for every combination of outcomes of its lost requests.
func whatever(tl *timeline.Timeline, outcomes []timeline.Outcome, late time.Duration,
	ask func(*timeline.Timeline) bool) bool {
	i := slices.IndexFunc(tl.Observations,
		func(o timeline.Observation) bool { return o.Outcome == timeline.Unknown })
	if i < 0 {
		return len(tl.Observations) > 0 && ask(tl)
	}
	for _, outcome := range outcomes {
		branch := *tl
		if branch.Observations = slices.Clone(tl.Observations); outcome == timeline.Unknown {
			branch.Observations = slices.Delete(branch.Observations, i, i+1)
		} else {
			o := &branch.Observations[i]
			o.Outcome, o.Answered, o.FirstByte, o.Done = outcome, true, o.Sent+late, o.Sent+late
		}
		branch.Header.Ended = max(branch.Header.Ended, branch.End())
		if !whatever(&branch, outcomes, late, ask) {
			return false
		}
	}
	return true
}

// stretches returns tl and l with a new client after each silence in which l recovers. The judge then need
// not ask whether l recovered, and a lost request was decided in its stretch. The windows of all stretches
// have one phase.
func stretches(tl *timeline.Timeline, l spec.Limit) (*timeline.Timeline, spec.Limit) {
	if several(tl) {
		return tl, l
	}
	all := slices.Clone(l)
	for i := range all {
		if p := &all[i]; p.Align == spec.AlignUnknown {
			if tl.Counts().Unknown == 0 {
				return tl, l
			}
			p.Align = spec.AlignShared
		}
	}
	return anew(tl, silence(tl, all)), all
}

// silence is the time without requests after which a limit has surely recovered.
func silence(tl *timeline.Timeline, l spec.Limit) (out time.Duration) {
	for i := range l {
		out = max(out, l[i].Recovery()+tl.Header.Tick+time.Millisecond)
	}
	return out
}

// anew returns the recording of one client with a new client after each silence.
func anew(tl *timeline.Timeline, silence time.Duration) *timeline.Timeline {
	out, begin, end, late := *tl, 0, time.Duration(0), lateness(tl)
	out.Observations = make([]timeline.Observation, len(tl.Observations))
	for i, o := range tl.Observations {
		if i > 0 && o.Sent-end >= silence {
			begin = i
		}
		if o.Answered {
			end = max(end, o.FirstByte)
		} else {
			end = max(end, o.Sent+late)
		}
		o.Partition = strconv.Itoa(begin)
		out.Observations[i] = o
	}
	out.Header.Ended = max(tl.Header.Ended, tl.End())
	return &out
}

// parted returns the recording of each client, where the requests of a client follow one another.
func parted(tl *timeline.Timeline) (out []*timeline.Timeline) {
	for all := tl.Observations; len(all) > 0; {
		n := 1
		for n < len(all) && all[n].Partition == all[0].Partition {
			n++
		}
		part := *tl
		part.Observations = all[:n]
		out, all = append(out, &part), all[n:]
	}
	return out
}

// fromZero returns the recording with its first request sent at 0.
func fromZero(tl *timeline.Timeline) *timeline.Timeline {
	out, begin := *tl, tl.Observations[0].Sent
	out.Observations = slices.Clone(tl.Observations)
	for i := range out.Observations {
		o := &out.Observations[i]
		o.At, o.Sent = o.At-begin, o.Sent-begin
		if o.Answered {
			o.FirstByte, o.Done = max(o.Sent, o.FirstByte-begin), max(0, o.Done-begin)
		}
	}
	out.Header.Started, out.Header.Ended = out.Header.Started.Add(begin), out.End()
	return &out
}

// certain returns the recording without lost requests, and without the denials that these may have caused.
func certain(tl *timeline.Timeline) *timeline.Timeline {
	out, free, late := *tl, time.Duration(-1), lateness(tl)
	out.Observations = nil
	for _, o := range tl.Observations {
		switch {
		case !o.Answered:
			free = max(free, o.Sent+late)
		case o.Outcome != timeline.Denied || o.Sent > free:
			out.Observations = append(out.Observations, o)
		}
	}
	return &out
}

// slowest is the longest time from a request to its answer.
func slowest(tl *timeline.Timeline) (out time.Duration) {
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			out = max(out, o.FirstByte-o.Sent)
		}
	}
	return out
}

// memory has what the judge answered about a region, on one recording.
type memory struct {
	of      *timeline.Timeline
	steady  bool
	answers map[question]bool
}

// question is what the judge is asked about all policies of a box, or of a point by the exact search. beside
// is what is left of the other limit.
type question struct {
	kind        *kind
	box, beside box
	side        verdict.Conformance
	search      bool
}

// asked is r.everywhere or the exact search, once for each question. One half of a box has the larger quota
// of the whole, and the other half the smaller. What is narrowed again was asked about before.
func (r *region) asked(tl *timeline.Timeline, q question) bool {
	if m := &r.memory; m.of != tl || m.steady != r.steady {
		if m.of == nil || m.steady != r.steady || !reflect.DeepEqual(m.of, tl) {
			m.answers = map[question]bool{}
		}
		m.of, m.steady = tl, r.steady
	}
	if r.beside != nil {
		q.beside = r.beside.hull()
	}
	no, known := r.answers[q]
	if !known {
		if q.search {
			no = r.asker.refuted(tl, r.with(q.kind.policy(q.box)), q.side, true)
		} else {
			no = r.everywhere(tl, q.kind.policy(q.box), q.side)
		}
		r.answers[q] = no
	}
	return no
}
