package identify

import (
	"slices"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// refuted asks the judge about a limit. One that cannot be judged is not refuted.
//
// The judge takes a request without an answer to be decided at any time until the end of the recording, so
// that one of them explains any denial after it. Here it is decided soon or never, as stretches supposes.
// Where more admissions never admit more, what was admitted is explained best without such requests, and what
// was denied by their admission.
func refuted(tl *timeline.Timeline, l spec.Limit, side verdict.Conformance, search bool) bool {
	whole := tl
	tl, l = stretches(tl, l)
	ask := func(tl *timeline.Timeline, side verdict.Conformance) bool {
		no, err := check.Refuted(tl, l, side, search)
		return no && err == nil
	}
	unknown := tl.Counts().Unknown
	opens := slices.ContainsFunc(l, func(p spec.Policy) bool { // an admission may end what another began
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
		side == verdict.Exact && windowed && ask(tl, side) // each place of its windows by another side
}

// without is tl without the requests that have no outcome.
func without(tl *timeline.Timeline) *timeline.Timeline {
	out := *tl
	out.Observations = slices.DeleteFunc(slices.Clone(tl.Observations),
		func(o timeline.Observation) bool { return o.Outcome == timeline.Unknown })
	return &out
}

// admitted is tl with the requests that have no outcome admitted, soon after they were sent.
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

// lateness is the time within which a request without an answer is decided, if it is.
func lateness(tl *timeline.Timeline) time.Duration {
	const least = 500 * time.Millisecond
	return max(2*slowest(tl), least)
}

// places has when the requests of each client that may have held a place were sent, and when they were over;
// both ascend. Those are all but denied ones.
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
		if !o.Answered { // it is over soon, or never began
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

// held is how many requests of a client, at most, held a place at some instant from one to another.
func (p places) held(client string, from, to time.Duration) int64 {
	c := p[client]
	if c == nil {
		return 0
	}
	begun, _ := slices.BinarySearch(c.sent, to+1)
	over, _ := slices.BinarySearch(c.over, from)
	return int64(begun - over)
}

// mostBranched is how many lost requests of a stretch are supposed admitted or never decided, each apart.
const mostBranched = 3

// branched asks about each stretch apart, as each begins anew. A stretch with few lost requests is refuted if
// it is whatever became of them: each was admitted, or denied where that counts, or never arrived.
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

// whatever tells whether tl is refuted with each outcome of its first lost request, and so on.
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

// stretches returns tl and l such that what comes after a silence in which l recovers is another client. The
// judge then needs not ask whether it recovered, and a request whose answer was lost was decided in its
// stretch. The windows of all stretches go on where they began.
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

// silence is how long nothing is asked until a limit surely recovers.
func silence(tl *timeline.Timeline, l spec.Limit) (out time.Duration) {
	for i := range l {
		out = max(out, l[i].Recovery()+tl.Header.Tick+time.Millisecond)
	}
	return out
}

// anew is the recording of one client in which what comes after a silence is another one.
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

// parted returns the recording of each client, one after the other.
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

// fromZero is a recording whose first request is sent at 0.
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

// certain is a recording without lost answers, and without the denials that such a request may have caused.
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

// slowest is the most time from a request to its answer.
func slowest(tl *timeline.Timeline) (out time.Duration) {
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			out = max(out, o.FirstByte-o.Sent)
		}
	}
	return out
}
