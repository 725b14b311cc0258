package check

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// inTurnCaps judge one partition after the other, and each whole.
var inTurnCaps = caps{whole: wholeLimit, tapes: tapeBudget}

// anyBeginning judges only the first few requests of each partition.
func anyBeginning(r *rand.Rand) caps { return caps{whole: 1 + r.IntN(30), tapes: tapeBudget} }

// streamed judges a timeline one observation at a time.
func streamed(t *testing.T, tl *timeline.Timeline, limit spec.Limit, o Options,
	c caps) *result.Judgement {
	t.Helper()
	s := newStream(limit, tl.Header, o, c)
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
func byBounds(tl *timeline.Timeline, limit spec.Limit, o Options) *result.Judgement {
	c := NewCase(history.RecordingOf(tl), limit, o)
	c.BoundsOnly = true
	c.Judge()
	return c.Judgement()
}

// kindsOf is the verdict, and the kinds of the findings of each partition.
func kindsOf(j *result.Judgement) string {
	s := j.Verdict.String() + " " + string(j.Reason)
	for _, p := range j.Partitions {
		s += fmt.Sprintf("; %q %s %s %d", p.Partition, p.Verdict, p.Reason, p.Judged)
		for _, f := range p.Findings {
			s += " " + string(f.Kind)
		}
	}
	return s
}

// forgetVisits clears how many decisions the searches tried. That depends on the order in which a map yields
// its states.
func forgetVisits(js ...*result.Judgement) {
	for _, j := range js {
		for k := range j.Partitions {
			j.Partitions[k].Search.Visited = 0
		}
	}
}

// randomPartitions makes a history of one to three partitions that are in use at the same time.
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
	slices.SortStableFunc(all.Observations,
		func(a, b timeline.Observation) int { return int(a.Sent - b.Sent) })
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
		o.Conformance = result.UpperBound
	case 1:
		o.Conformance = result.LowerBound
	case 2:
		o.Shared = true
	}
	return o
}

// cutAtRandom turns every third timeline into one that began and ended amid traffic.
func cutAtRandom(r *rand.Rand, tl *timeline.Timeline) {
	if r.IntN(3) == 0 {
		end := int64(tl.End())
		tl.Header.CompleteFrom, tl.Header.CompleteUntil = time.Duration(r.Int64N(end/2+1)),
			time.Duration(end-r.Int64N(end/2+1))
	}
}

// TestTapedJudgementIsThatOfJudge: where partitions are kept whole, the whole judgement equals that of Judge.
func TestTapedJudgementIsThatOfJudge(t *testing.T) {
	for name, limit := range smallLimits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range 3 * fewer(t, 12) {
				r := rand.New(rand.NewPCG(soakSeed+1, uint64(round)))
				tl, o := randomPartitions(t, r, limit,
					shape{requests: 2 + r.IntN(6), gap: 30, late: r.IntN(30), costs: false}),
					randomStreamOptions(r)
				o.SkipMeasure = r.IntN(4) > 0
				cutAtRandom(r, tl)
				c := inTurnCaps
				if len(limit) == 1 && limit[0].Windowed() && limit[0].Align != spec.AlignFirst {
					c.held = 1 << 30 // partitions may share a phase
				}
				got := streamed(t, tl, limit, o, c)
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

// TestStreamMeasuresWhatHoldsThatOfJudge: a stream measures the beginning only. Its intervals hold those of
// Judge, since what the beginning refutes is refuted by the whole.
func TestStreamMeasuresWhatHoldsThatOfJudge(t *testing.T) {
	set := 0
	for name, limit := range smallLimits() {
		if len(limit) > 1 || limiter.Anchored(limit[0]) || limiter.NeedsPlacement(limit[0]) ||
			limit[0].Completes() {
			continue
		}
		for round := range fewer(t, 15) {
			r := rand.New(rand.NewPCG(soakSeed+2, uint64(round)))
			tl := randomPartitions(t, r, limit, shape{requests: 20, gap: 20, late: r.IntN(30)})
			c := anyBeginning(r)
			judged, err := Judge(tl, limit, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if judged.Verdict != result.Pass { // a policy that is refuted has no measured values
				continue
			}
			got, want := streamed(t, tl, limit, Options{}, c).Measured, judged.Measured
			for _, iv := range [][2]result.Interval{{got.Burst, want.Burst}, {got.Rate, want.Rate}} {
				wide, narrow := iv[0], iv[1]
				if wide.LoSet && (!narrow.LoSet || wide.Lo > narrow.Lo) || wide.HiSet &&
					(!narrow.HiSet || wide.Hi < narrow.Hi) {
					t.Fatalf("%s, round %d: got %+v, which does not hold %+v", name, round, got, want)
				}
				if wide.LoSet && wide.HiSet {
					set++
				}
			}
		}
	}
	if set < fewer(t, 15) {
		t.Errorf("only %d intervals were measured", set)
	}
}

// TestStreamOfSmallRecordingIsJudge: up to heldLimit observations a stream gives all that Judge gives, hints
// and errors included.
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
	if j, err := none.Finish(); err != nil || j.Verdict != result.Inconclusive ||
		j.Reason != result.TooFew {
		t.Errorf("nothing observed: got %+v, %v", j, err)
	}
}

// TestStreamRefusesWhatJudgeRefuses: times that would overflow, and times that do not ascend.
func TestStreamRefusesWhatJudgeRefuses(t *testing.T) {
	limit := smallLimits()["token bucket, 3 per 25"]
	at := func(sent, until time.Duration, cost int64) timeline.Observation {
		return timeline.Observation{Arrival: timeline.Arrival{Cost: cost}, Sent: sent, FirstByte: until,
			Answered: true, Outcome: timeline.Allowed}
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
		s := newStream(limit, timeline.Header{}, Options{SkipMeasure: true},
			inTurnCaps)
		for i := range obs {
			_ = s.Observe(&obs[i]) // Finish returns it
		}
		_, got := s.Finish()
		if (got == nil) != (want == nil) || errors.Is(got, ErrTooLarge) != errors.Is(want, ErrTooLarge) ||
			errors.Is(got, ErrUnsorted) != errors.Is(want, ErrUnsorted) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// TestTapeKeepsWhatItWasGiven: a tape gives back all that a judgement needs, even times before zero and
// answers before their requests.
func TestTapeKeepsWhatItWasGiven(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, most := range []int{1 << 30, 1 << 12} { // in memory, and mostly in a file
		on, file := &history.Store{}, &spilled{}
		var tp, other history.Tape
		var want []history.Observation
		for range 5000 {
			large := func() int64 { return (r.Int64() - 1<<62) >> r.IntN(64) }
			o := history.Observation{Seq: len(want), Cost: 1, Sent: time.Duration(large()),
				Outcome: timeline.Outcome(r.IntN(3))}
			if r.IntN(3) == 0 {
				o.Seq, o.Cost = int(large()), large()
			}
			if r.IntN(3) > 0 {
				o.Answered, o.FirstByte = true, o.Sent+time.Duration(large()>>8)
			}
			want = append(want, o)
			tp.Add(on, &o)
			other.Add(on, &want[0])
			if on.Bytes() > most {
				on.Spill(file.open, func(f func(*history.Tape)) { f(&tp); f(&other) })
			}
		}
		for range 2 {
			if got := tp.Beginning(on, len(want)); !reflect.DeepEqual(got, want) {
				t.Errorf("got %d observations back, not those %d that were added", len(got), len(want))
			}
		}
		on.Close()
		if err := on.Err(); err != nil || file.closed != (most < 1<<30) || file.Len() > 0 != file.closed {
			t.Errorf("%v, closed %t, with %d bytes", err, file.closed, file.Len())
		}
	}
}

// spilled is a file in memory that can be told to fail.
type spilled struct {
	bytes.Buffer
	fails  error
	closed bool
}

func (f *spilled) open() (timeline.Spill, error) { return f, nil }

func (f *spilled) ReadAt(b []byte, at int64) (int, error) {
	if f.fails != nil {
		return 0, f.fails
	}
	return bytes.NewReader(f.Bytes()).ReadAt(b, at)
}

func (f *spilled) Close() error {
	f.closed = true
	return nil
}

// TestSpilledRecordingsAreJudgedAlike: where the bytes lie changes nothing. Finish returns an error of the
// file.
func TestSpilledRecordingsAreJudgedAlike(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for name, limit := range smallLimits() {
		r := rand.New(rand.NewPCG(soakSeed+3, 1))
		tl := randomPartitions(t, r, limit, shape{requests: 150, gap: 10, late: 20})
		c := inTurnCaps
		want := streamed(t, tl, limit, Options{SkipMeasure: true}, c)
		file, o := &spilled{}, Options{SkipMeasure: true}
		o.Spill, c.tapes = file.open, 1<<9
		got := streamed(t, tl, limit, o, c)
		if forgetVisits(got, want); !reflect.DeepEqual(got, want) || !file.closed {
			t.Errorf("%s: got %+v\nwant %+v", name, got, want)
		}
		broken := &spilled{fails: errors.New("no such luck")}
		o.Spill = broken.open
		s := newStream(limit, tl.Header, o, c)
		for i := range tl.Observations {
			_ = s.Observe(&tl.Observations[i]) // Finish returns it
		}
		if j, err := s.Finish(); j != nil || !errors.Is(err, broken.fails) {
			t.Errorf("%s: got %v, %v", name, j, err)
		}
	}
}

// TestMeasureLeavesOutWhatMayBeExplainedLater: a later request, after the part of the recording that is
// measured, explains the denial.
func TestMeasureLeavesOutWhatMayBeExplainedLater(t *testing.T) {
	at := func(seq int, sent, until time.Duration, out timeline.Outcome) timeline.Observation {
		return timeline.Observation{Arrival: timeline.Arrival{Seq: seq, Cost: 1}, Sent: sent,
			FirstByte: until, Answered: true, Outcome: out}
	}
	tl := &timeline.Timeline{Observations: []timeline.Observation{at(0, 0, 0, timeline.Allowed),
		at(1, 1, 9, timeline.Denied), at(2, 2, 3, timeline.Allowed)}}
	j := streamed(t, tl, smallLimits()["token bucket"], Options{}, caps{whole: 2})
	if m := j.Measured.Burst; j.Verdict != result.Pass || !m.LoSet || m.HiSet && m.Hi < 2 {
		t.Errorf("got %v, burst %s, want pass and one that holds 2", j.Verdict, m)
	}
}
