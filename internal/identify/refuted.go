package identify

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Asker asks the judge, until it is closed: then no judgement is waited for, and none refutes anything. One
// that had begun goes on unheard. nil is never closed.
type Asker <-chan struct{}

// Over tells whether nothing is asked any more.
func (a Asker) Over() bool {
	select {
	case <-a:
		return true
	default:
		return false
	}
}

// Ask is what f says, or false where that is not waited for.
func (a Asker) Ask(f func() bool) bool {
	if a == nil {
		return f()
	}
	if a.Over() {
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

// Fails tells whether the judge finds something in a recording that speaks against a limit.
func (a Asker) Fails(tl *timeline.Timeline, l spec.Limit) bool { return a.judged(tl, l, true) }

// Explains tells whether the judge finds nothing in a recording that speaks against a limit.
func (a Asker) Explains(tl *timeline.Timeline, l spec.Limit) bool { return a.judged(tl, l, false) }

// judged tells whether the judge answered, and whether it found something as fails says.
func (a Asker) judged(tl *timeline.Timeline, l spec.Limit, fails bool) bool {
	return a.Ask(func() bool {
		j, err := check.Judge(tl, l, check.Options{SkipMeasure: true, VerdictOnly: true})
		return err == nil && (j.Verdict == result.Fail) == fails
	})
}

// memory has what the judge answered about a region, on one recording.
type memory struct {
	of      *timeline.Timeline
	answers map[question]bool
}

// question is what the judge is asked about all policies of a box, or of a point by the exact search.
type question struct {
	kind   *Kind
	box    Box
	side   result.Conformance
	search bool
}

// asked asks everywhere, or the exact search, once for each question. One half of a box has the larger quota
// of the whole, and the other half the smaller. What is narrowed again was asked about before.
func (r *Region) asked(tl *timeline.Timeline, q question) bool {
	if m := &r.memory; m.of != tl {
		if m.of == nil {
			m.answers = map[question]bool{}
		} else if !reflect.DeepEqual(m.of, tl) { // what a part refutes, the whole refutes
			maps.DeleteFunc(m.answers, func(_ question, no bool) bool { return !no })
		}
		m.of = tl
	}
	no, known := r.answers[q]
	if !known {
		if q.search {
			no = r.Asker.Refuted(tl, spec.Limit{q.kind.Policy(q.box)}, q.side, true)
		} else {
			no = r.everywhere(tl, q.kind.Policy(q.box), q.side)
		}
		r.answers[q] = no
	}
	return no
}

// Refuted asks the judge about all policies of a box. With one quota it asks about both sides at once: one
// phase of the windows may admit too little, another too much. With several quotas the largest answers for
// what was admitted, since it admits no less, and the smallest for what was denied.
func (r *Region) Refuted(tl *timeline.Timeline, b Box) bool {
	r.Judgements--
	parts := r.Kind.Each()
	if b.Q1 == b.Q2 && (len(parts) == 1 || b.narrow()) {
		return !slices.ContainsFunc(parts,
			func(k *Kind) bool { return !r.asked(tl, question{kind: k, box: b, side: result.Exact}) })
	}
	least, most := b, b
	least.Q2, most.Q1 = b.Q1, b.Q2
	return r.asked(tl, question{kind: parts[0], box: most, side: result.UpperBound}) ||
		r.asked(tl, question{kind: parts[len(parts)-1], box: least, side: result.LowerBound})
}

// everywhere asks the judge about p by its bounds. If windows are longer than the recording, most phases have
// no beginning in it. So it asks apart about those that have.
func (r *Region) everywhere(tl *timeline.Timeline, p spec.Policy, side result.Conformance) bool {
	clocked := p.Fixed() && p.Align == spec.AlignUnknown
	if (p.Weighs() || clocked) && r.Looser(tl, p, side) {
		return true
	}
	if p.Bucketed() && p.Count == spec.CountAll && side != result.LowerBound &&
		refilled(tl, p.Rate.Per/time.Duration(max(p.Rate.N, p.RateTo))) {
		return true
	}
	end := tl.End() + tl.Header.Tick + time.Millisecond
	if p.Align != spec.AlignUnknown || p.Rate.Per < 2*end || Several(tl) {
		return r.Asker.Refuted(tl, spec.Limit{p}, side, false)
	}
	inside, outside := p, p
	inside.Align, inside.PhaseFrom, inside.PhaseTo = spec.AlignPhase, 0, end
	outside.Align, outside.PhaseFrom, outside.PhaseTo = spec.AlignPhase, end, p.Rate.Per-1
	asks := func(p spec.Policy) bool { return r.Asker.Refuted(tl, spec.Limit{p}, side, false) }
	return asks(outside) && asks(inside)
}

// refilled tells whether an admission came sooner after a denial than a unit comes back. A bucket that
// charges denied requests is empty after each, so its next admission comes a unit later. The bounds do not
// say so.
func refilled(tl *timeline.Timeline, unit time.Duration) bool {
	all, h := tl.Observations, &tl.Header
	for i := range all {
		a := &all[i]
		soonest := a.FirstByte + h.Tick + a.FirstByte/1_000_000*time.Duration(h.DriftPPM) - unit
		for j := i - 1; j >= 0 && a.Outcome == timeline.Allowed && all[j].Sent > soonest; j-- {
			d := &all[j]
			if d.Outcome == timeline.Denied && d.Partition == a.Partition && d.FirstByte < a.Sent {
				return true
			}
		}
	}
	return false
}

// Looser asks about two logs and a bucket that are looser than every p, a window by the clock or a counter,
// at every phase. The judge refutes ranges of these more often and sooner.
//
// A window denies only if the quota was counted within its time, a counter within two. Both admit at most two
// quotas in the time of one. A bucket of two quotas admits all that windows do. For a counter the bucket
// holds one quota and two units, for a unit that has begun and for rounding. After a quota at the end of a
// window a counter admits at most its rate, as the weight of that window falls.
func (r *Region) Looser(tl *timeline.Timeline, p spec.Policy, side result.Conformance) bool {
	few := spec.Policy{Algorithm: spec.SlidingWindowLog, Rate: p.Rate, RateTo: p.RateTo, PerTo: p.PerTo,
		Burst: p.Burst, Count: p.Count}
	many, quota := few, max(p.Rate.N, p.RateTo)
	bucket := spec.Policy{Algorithm: spec.TokenBucket, Rate: spec.Rate{N: quota, Per: p.Rate.Per},
		Burst: 2 * quota}
	if p.Weighs() {
		few.Rate.Per, few.PerTo, bucket.Burst = 2*p.Rate.Per, 2*p.PerTo, min(2*quota, quota+2)
	}
	many.Rate.N, many.RateTo, many.Burst = 2*p.Rate.N, 2*p.RateTo, 2*p.Burst
	many.Count = spec.CountAdmitted
	return side != result.UpperBound && r.Asker.Refuted(tl, spec.Limit{few}, result.LowerBound, false) ||
		side != result.LowerBound && (r.Asker.Refuted(tl, spec.Limit{many}, result.UpperBound, false) ||
			r.Asker.Refuted(tl, spec.Limit{bucket}, result.UpperBound, false))
}

// stands tells whether the middle point of a box is not refuted.
func (r *Region) stands(tl *timeline.Timeline, b Box) bool { return r.explains(tl, b.Point()) }

// explains tells whether nothing refutes a point: no bound and, where bounds alone miss much, no exact
// search.
func (r *Region) explains(tl *timeline.Timeline, point Box) bool {
	if !r.Kind.Searched || r.Shallow || r.searches <= 0 {
		return !r.Refuted(tl, point)
	}
	r.Judgements--
	r.searches--
	for _, k := range r.Kind.Each() {
		if !r.asked(tl, question{kind: k, box: point, side: result.Exact, search: true}) {
			return true
		}
	}
	return false
}

// hit tells whether one of some policies spread over a box explains the recording.
func (r *Region) hit(tl *timeline.Timeline, b Box) bool {
	const tries = 5
	for i := range time.Duration(tries) {
		p := b
		p.T1 += (b.T2 - b.T1) * i / (tries - 1)
		p.T2 = p.T1
		if r.explains(tl, p) {
			return true
		}
	}
	return false
}

// Refuted asks the judge about a limit. A limit that cannot be judged is not refuted.
//
// The judge lets a request without an answer be decided at any time until the end of the recording. One such
// request would explain any denial after it. Here it is decided within lateness, or never. Where an extra
// admission never leads to another one, admissions are explained best if lost requests never arrived, and
// denials if all were admitted.
func (a Asker) Refuted(tl *timeline.Timeline, l spec.Limit, side result.Conformance, search bool) bool {
	whole := tl
	tl, l = stretches(tl, l)
	ask := func(tl *timeline.Timeline, side result.Conformance) bool {
		return a.Ask(func() bool {
			no, err := check.Refuted(tl, l, side, search)
			return no && err == nil
		})
	}
	unknown := tl.Counts().Unknown
	opens := slices.ContainsFunc(l, func(p spec.Policy) bool { // an extra admission may move these
		return p.Align == spec.AlignFirst && p.Windowed()
	})
	windowed := slices.ContainsFunc(l, spec.Policy.Windowed)
	if unknown > 0 && !Several(whole) && (opens || search && !windowed) {
		return branched(tl, l, func(tl *timeline.Timeline) bool { return ask(tl, side) })
	}
	if search || opens || unknown == 0 {
		return ask(tl, side)
	}
	late := Lateness(tl)
	as := func(out timeline.Outcome) *timeline.Timeline { return settled(tl, out, late, unknown) }
	return side != result.LowerBound && ask(as(timeline.Unknown), result.UpperBound) ||
		side != result.UpperBound && ask(as(timeline.Allowed), result.LowerBound) ||
		side == result.Exact && windowed && ask(tl, side) // each phase may fail on another side
}

// settled is tl as if the first lost requests had been decided soon after they were sent, or never (Unknown).
func settled(tl *timeline.Timeline, as timeline.Outcome, late time.Duration, first int) *timeline.Timeline {
	out := *tl
	out.Observations = nil
	for _, o := range tl.Observations {
		if o.Outcome == timeline.Unknown && first > 0 {
			if first--; as == timeline.Unknown {
				continue
			}
			o.Outcome, o.Answered, o.FirstByte, o.Done = as, true, o.Sent+late, o.Sent+late
		}
		out.Observations = append(out.Observations, o)
	}
	out.Header.Ended = max(out.Header.Ended, out.End())
	return &out
}

// Lateness is the time within which a request without an answer was decided, or never.
func Lateness(tl *timeline.Timeline) time.Duration {
	const least = 500 * time.Millisecond
	return max(2*Slowest(tl), least)
}

// mostBranched is the most lost requests of a stretch for which every combination of outcomes is tried.
const mostBranched = 3

// branched asks about each stretch alone, since each begins anew. A stretch with few lost requests is refuted
// only if every combination of their outcomes is: admitted, never arrived or, where that matters, denied.
func branched(tl *timeline.Timeline, l spec.Limit, ask func(*timeline.Timeline) bool) bool {
	outcomes := []timeline.Outcome{timeline.Allowed, timeline.Unknown}
	if slices.ContainsFunc(l, func(p spec.Policy) bool {
		return p.Count == spec.CountAll || p.Refresh == spec.RefreshAll
	}) {
		outcomes = append(outcomes, timeline.Denied)
	}
	late, sure := Lateness(tl), *tl
	sure.Observations = nil
	var whatever func(part *timeline.Timeline) bool // it is refuted for every combination
	whatever = func(part *timeline.Timeline) bool {
		if part.Counts().Unknown == 0 {
			return len(part.Observations) > 0 && ask(part)
		}
		return !slices.ContainsFunc(outcomes, func(as timeline.Outcome) bool {
			return !whatever(settled(part, as, late, 1))
		})
	}
	for _, part := range Parted(tl) {
		if k := part.Counts().Unknown; k == 0 || k > mostBranched {
			sure.Observations = append(sure.Observations, part.Observations...)
		} else if whatever(part) {
			return true
		}
	}
	return len(sure.Observations) > 0 && ask(&sure)
}

// Several tells whether a recording has more than one client.
func Several(tl *timeline.Timeline) bool {
	return slices.ContainsFunc(tl.Observations, func(o timeline.Observation) bool {
		return o.Partition != tl.Observations[0].Partition
	})
}

// stretches returns tl and l with a new client after each silence in which l recovers. The judge then need
// not ask whether l recovered, and a lost request was decided in its stretch. The windows of all stretches
// have one phase.
func stretches(tl *timeline.Timeline, l spec.Limit) (*timeline.Timeline, spec.Limit) {
	if Several(tl) {
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
	return Anew(tl, Silence(tl, all)), all
}

// Silence is the time without requests after which a limit has surely recovered.
func Silence(tl *timeline.Timeline, l spec.Limit) (out time.Duration) {
	for i := range l {
		out = max(out, l[i].Recovery()+tl.Header.Tick+time.Millisecond)
	}
	return out
}

// stretch names a stretch by its first request, so that names ascend as the stretches do.
const stretch = "%09d"

// Anew returns the recording of one client with a new client after each silence.
func Anew(tl *timeline.Timeline, silence time.Duration) *timeline.Timeline {
	out, name, end, late := *tl, fmt.Sprintf(stretch, 0), time.Duration(0), Lateness(tl)
	out.Observations = make([]timeline.Observation, len(tl.Observations))
	for i, o := range tl.Observations {
		if i > 0 && o.Sent-end >= silence {
			name = fmt.Sprintf(stretch, i)
		}
		if o.Answered {
			end = max(end, o.FirstByte)
		} else {
			end = max(end, o.Sent+late)
		}
		o.Partition = name
		out.Observations[i] = o
	}
	out.Header.Ended = max(tl.Header.Ended, tl.End())
	return &out
}

// Parted returns the recording of each client, where the requests of a client follow one another.
func Parted(tl *timeline.Timeline) (out []*timeline.Timeline) {
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
