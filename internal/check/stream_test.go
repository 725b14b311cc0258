package check

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// everything keeps nothing back: every partition is watched from its first observation, in blocks of one or more, or in
// pieces of eight or more.
func everything(r *rand.Rand) streamCaps {
	return streamCaps{held: 0, whole: 0, block: 1 + r.IntN(4), last: 1 + r.IntN(64), piece: 8 + r.IntN(25)}
}

// streamed judges a timeline one observation at a time.
func streamed(t *testing.T, tl *timeline.Timeline, limit spec.Limit, o Options, caps streamCaps) *verdict.Judgement {
	t.Helper()
	s := newStream(limit, tl.Header, o, caps)
	for i := range tl.Observations {
		if err := s.Observe(&tl.Observations[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := s.Counts(), tl.Counts(); got != want {
		t.Fatalf("counts: got %+v, want %+v", got, want)
	}
	j, err := s.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// byBounds judges as Judge does, without the exact search.
func byBounds(tl *timeline.Timeline, limit spec.Limit, o Options) *verdict.Judgement {
	c := newCase(tl, limit, o)
	c.boundsOnly = true
	c.judge()
	return c.judgement()
}

// kindsOf is the verdict, and the kinds of the findings of each partition.
func kindsOf(j *verdict.Judgement) string {
	s := j.Verdict.String() + " " + string(j.Reason)
	for _, p := range j.Partitions {
		s += fmt.Sprintf("; %q %s %s %d", p.Partition, p.Verdict, p.Reason, p.Judged)
		for _, f := range p.Findings {
			s += " " + string(f.Kind)
		}
	}
	return s
}

// forgetVisits leaves out how many decisions searches tried, which depends on the order in which a map gives its states.
func forgetVisits(js ...*verdict.Judgement) {
	for _, j := range js {
		for k := range j.Partitions {
			j.Partitions[k].Search.Visited = 0
		}
	}
}

// randomPartitions makes a history of one to three partitions that are used at the same time.
func randomPartitions(t *testing.T, r *rand.Rand, limit spec.Limit, sh shape) *timeline.Timeline {
	t.Helper()
	lim, err := reference.NewLimit(knownLimit(r, limit))
	if err != nil {
		t.Fatal(err)
	}
	all := &timeline.Timeline{}
	for k := range 1 + r.IntN(3) {
		tl := randomHistory(r, lim, sh)
		for _, o := range tl.Observations {
			o.Partition = string(rune('a' + k))
			all.Observations = append(all.Observations, o)
		}
	}
	slices.SortStableFunc(all.Observations, func(a, b timeline.Observation) int { return int(a.Sent - b.Sent) })
	for i := range all.Observations {
		o := &all.Observations[i]
		if o.Seq = i; o.Outcome == timeline.Unknown && r.IntN(2) == 0 {
			o.Answered, o.FirstByte = false, 0
		}
	}
	all.Header.Ended = all.End()
	return all
}

func randomStreamOptions(r *rand.Rand) Options {
	o := Options{SkipMeasure: true}
	switch r.IntN(6) {
	case 0:
		o.Conformance = UpperBound
	case 1:
		o.Conformance = LowerBound
	case 2:
		o.Shared = true
	}
	return o
}

// TestWatchedVerdictIsThatOfTheBounds feeds thousands of random histories one observation at a time, under all policies.
func TestWatchedVerdictIsThatOfTheBounds(t *testing.T) {
	rounds, seeds := soakRounds(300, 20_000)
	watched := 0
	for name, limit := range smallLimits() {
		if newWatchPlan(timeline.Header{}, limit, Options{}) == nil {
			continue
		}
		watched++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fails, kinds := 0, map[verdict.Kind]int{}
			for round := range rounds * seeds {
				r := rand.New(rand.NewPCG(soakSeed, uint64(round)))
				sh := shape{requests: 2 + r.IntN(60), gap: 1 + r.IntN(40), late: r.IntN(1+r.IntN(100)) * (r.IntN(4)), costs: r.IntN(3) == 0}
				tl, o := randomPartitions(t, r, limit, sh), randomStreamOptions(r)
				if cutAtRandom(r, tl); newWatchPlan(tl.Header, limit, o) == nil {
					continue // what opened its windows is not known
				}
				got, want := streamed(t, tl, limit, o, everything(r)), byBounds(tl, limit, o)
				if kindsOf(got) != kindsOf(want) {
					t.Fatalf("round %d, %+v: got %s\nwant %s\n%+v\n%s", round, o, kindsOf(got), kindsOf(want), want.Partitions, draw(tl))
				}
				for _, p := range got.Partitions {
					for _, f := range p.Findings {
						kinds[f.Kind]++
						if len(f.Observations) == 0 || f.Text == "" || f.Partition != p.Partition {
							t.Fatalf("round %d: a finding without a witness: %+v", round, f)
						}
					}
				}
				if got.Verdict == verdict.Fail {
					fails++
				}
			}
			if fails < rounds/20 || fails == rounds*seeds || kinds[verdict.OverAdmission] == 0 || kinds[verdict.UnderAdmission] == 0 {
				t.Errorf("%d of %d histories fail, with %v: too one-sided to tell anything", fails, rounds*seeds, kinds)
			}
		})
	}
	if watched < 19 {
		t.Errorf("only %d limits of the list are watched", watched)
	}
}

// cutAtRandom makes every third timeline one that began and ended amid traffic.
func cutAtRandom(r *rand.Rand, tl *timeline.Timeline) {
	if r.IntN(3) == 0 {
		end := int64(tl.End())
		tl.Header.CompleteFrom, tl.Header.CompleteUntil = time.Duration(r.Int64N(end/2+1)), time.Duration(end-r.Int64N(end/2+1))
	}
}

// TestTapedJudgementIsThatOfJudge: where partitions are kept whole, all of the judgement is the same.
func TestTapedJudgementIsThatOfJudge(t *testing.T) {
	for name, limit := range smallLimits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range 40 {
				r := rand.New(rand.NewPCG(soakSeed+1, uint64(round)))
				tl, o := randomPartitions(t, r, limit, shape{requests: 2 + r.IntN(6), gap: 30, late: r.IntN(30), costs: false}), randomStreamOptions(r)
				o.SkipMeasure = r.IntN(4) > 0
				cutAtRandom(r, tl)
				got := streamed(t, tl, limit, o, streamCaps{whole: 1 << 30, tapes: 1 << 30})
				want, err := Judge(tl, limit, o)
				if err != nil {
					t.Fatal(err)
				}
				forgetVisits(got, want)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("round %d, %+v: got %+v\nwant %+v\n%s", round, o, got, want, draw(tl))
				}
			}
		})
	}
}

// TestWatchedMeasureHoldsThatOfJudge: what is measured on the beginning is refuted by the beginning alone.
func TestWatchedMeasureHoldsThatOfJudge(t *testing.T) {
	set := 0
	for name, limit := range smallLimits() {
		if newWatchPlan(timeline.Header{}, limit, Options{}) == nil {
			continue
		}
		for round := range fewer(60) {
			r := rand.New(rand.NewPCG(soakSeed+2, uint64(round)))
			tl := randomPartitions(t, r, limit, shape{requests: 20, gap: 20, late: r.IntN(30)})
			caps := everything(r)
			caps.whole, caps.tapes = 1+r.IntN(20), 1<<30
			judged := byBounds(tl, limit, Options{})
			if judged.Verdict != verdict.Pass { // a policy that is refuted has no measure
				continue
			}
			got, want := streamed(t, tl, limit, Options{}, caps).Measured, judged.Measured
			for _, iv := range [][2]verdict.Interval{{got.Burst, want.Burst}, {got.Rate, want.Rate}} {
				wide, narrow := iv[0], iv[1]
				if wide.LoSet && (!narrow.LoSet || wide.Lo > narrow.Lo) || wide.HiSet && (!narrow.HiSet || wide.Hi < narrow.Hi) {
					t.Fatalf("%s, round %d: got %+v, which does not hold %+v", name, round, got, want)
				}
				if wide.LoSet && wide.HiSet {
					set++
				}
			}
		}
	}
	if set < fewer(60) {
		t.Errorf("only %d intervals were measured", set)
	}
}

// TestStreamOfSmallRecordingIsJudge: up to heldLimit observations nothing differs, hints and errors included.
func TestStreamOfSmallRecordingIsJudge(t *testing.T) {
	limit := smallLimits()["token bucket"]
	tl := randomPartitions(t, rand.New(rand.NewPCG(3, 3)), limit, shape{requests: 40, gap: 3, late: 3})
	s := NewStream(limit, tl.Header, Options{Hint: true})
	for i := range tl.Observations {
		if err := s.Observe(&tl.Observations[i]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Finish()
	want, wantErr := Judge(tl, limit, Options{Hint: true})
	forgetVisits(got, want)
	if !reflect.DeepEqual(got, want) || err != nil || wantErr != nil {
		t.Errorf("got %+v, %v\nwant %+v, %v", got, err, want, wantErr)
	}
	none := NewStream(limit, timeline.Header{}, Options{})
	if j, err := none.Finish(); err != nil || j.Verdict != verdict.Inconclusive || j.Reason != verdict.TooFew {
		t.Errorf("nothing observed: got %+v, %v", j, err)
	}
}

// TestStreamRefusesWhatJudgeRefuses: what would overflow, and what does not ascend.
func TestStreamRefusesWhatJudgeRefuses(t *testing.T) {
	limit := smallLimits()["token bucket, 3 per 25"]
	at := func(sent, until time.Duration, cost int64) timeline.Observation {
		return timeline.Observation{Arrival: timeline.Arrival{Cost: cost}, Sent: sent, FirstByte: until, Answered: true, Outcome: timeline.Allowed}
	}
	for name, obs := range map[string][]timeline.Observation{
		"sound":        {at(0, 5, 1), at(5, 6, 2)},
		"unsorted":     {at(5, 6, 1), at(4, 6, 1)},
		"negative":     {at(5, 6, -1)},
		"costs":        {at(5, 6, 1<<58), at(6, 7, 1)},
		"product":      {at(0, 1, 1), at(0, 1<<58, 1)},
		"very long":    {at(0, 1, 1), at(0, 1<<62, 1)},
		"large, sound": {at(0, 1, 1), at(0, 1<<56, 1), at(1, 1<<56+9, 9)},
	} {
		_, want := Judge(&timeline.Timeline{Observations: obs}, limit, Options{SkipMeasure: true})
		s := newStream(limit, timeline.Header{}, Options{SkipMeasure: true}, everything(rand.New(rand.NewPCG(1, 1))))
		for i := range obs {
			_ = s.Observe(&obs[i]) // Finish returns it
		}
		_, got := s.Finish()
		if (got == nil) != (want == nil) || errors.Is(got, ErrTooLarge) != errors.Is(want, ErrTooLarge) || errors.Is(got, ErrUnsorted) != errors.Is(want, ErrUnsorted) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// TestLostAnswersAreNotKept: requests without an answer stay possible for ever, and take no memory.
func TestLostAnswersAreNotKept(t *testing.T) {
	limit := smallLimits()["token bucket"]
	s := newStream(limit, timeline.Header{}, Options{SkipMeasure: true}, streamCaps{block: 16, last: 16})
	for i := range 100_000 {
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: time.Duration(i)}
		if i%2 == 1 && i > 1 {
			o.Answered, o.FirstByte, o.Outcome = true, o.Sent, timeline.Denied
		}
		if err := s.Observe(&o); err != nil {
			t.Fatal(err)
		}
	}
	w := s.strands[""].watch
	if w.under == nil { // nothing was found before the end, as lost requests explain all
		t.Fatal("a denial was blamed though two requests were lost before it")
	}
	if len(w.lost) > 2 || cap(w.block) > 1<<13 || len(w.under.m.(*bucketMeter).starts) > 1<<13 || len(w.older.bytes)+len(w.newer.bytes) > 1<<20 {
		t.Errorf("kept %d lost, a block of %d, %d starts, %d bytes", len(w.lost), cap(w.block), len(w.under.m.(*bucketMeter).starts), len(w.older.bytes)+len(w.newer.bytes))
	}
	j, err := s.Finish()
	if err != nil || j.Verdict != verdict.Pass {
		t.Errorf("got %+v, %v", j, err)
	}
}

// TestTapeKeepsWhatItWasGiven: all that a judgement needs comes back, also of times before zero and answers before their
// requests.
func TestTapeKeepsWhatItWasGiven(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var on store
	var tp, other reel
	var want []timeline.Observation
	for range 5000 {
		large := func() int64 { return (r.Int64() - 1<<62) >> r.IntN(64) }
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: len(want), Partition: "p", Cost: 1}, Sent: time.Duration(large()), Outcome: timeline.Outcome(r.IntN(3))}
		if r.IntN(3) == 0 {
			o.Seq, o.Cost = int(large()), large()
		}
		if r.IntN(3) > 0 {
			o.Answered, o.FirstByte = true, o.Sent+time.Duration(large()>>8)
		}
		o.At = o.Sent
		want = append(want, o)
		tp.add(&on, &o)
		other.add(&on, &want[0])
	}
	if got := tp.observations(&on, "p"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %d observations back, not those %d that were added", len(got), len(want))
	}
}

// TestWatchedMeasureLeavesOutWhatMayBeExplainedLater: the denial is explained by a request that came after the part of the
// recording that is measured.
func TestWatchedMeasureLeavesOutWhatMayBeExplainedLater(t *testing.T) {
	at := func(seq int, sent, until time.Duration, out timeline.Outcome) timeline.Observation {
		return timeline.Observation{Arrival: timeline.Arrival{Seq: seq, Cost: 1}, Sent: sent, FirstByte: until, Answered: true, Outcome: out}
	}
	tl := &timeline.Timeline{Observations: []timeline.Observation{at(0, 0, 0, timeline.Allowed), at(1, 1, 9, timeline.Denied), at(2, 2, 3, timeline.Allowed)}}
	caps := streamCaps{whole: 2, tapes: 1 << 30, block: 1, last: 1}
	j := streamed(t, tl, smallLimits()["token bucket"], Options{}, caps)
	if m := j.Measured.Burst; j.Verdict != verdict.Pass || !m.LoSet || m.HiSet && m.Hi < 2 {
		t.Errorf("got %v, burst %s, want pass and one that holds 2", j.Verdict, m)
	}
}
