package check

import (
	"fmt"
	"math/rand/v2"
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

// traffic records a limiter over a long time. Arrivals are random and in bursts, latencies up to longest, and
// decisions lie anywhere in between.
func traffic(t *testing.T, rng *rand.Rand, text string, n int, longest time.Duration) []timeline.Observation {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	type request struct {
		o       timeline.Observation
		decided time.Duration
	}
	all := make([]request, n)
	at := time.Duration(0)
	for i := range all {
		pause := 40 * time.Millisecond
		switch rng.IntN(50) {
		case 0:
			pause = 6 * time.Second
		case 1, 2:
			pause = 500 * time.Millisecond
		}
		at += time.Duration(rng.Int64N(int64(pause)))
		took := time.Duration(rng.Int64N(int64(longest)))
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: at, Cost: 1}, Sent: at,
			FirstByte: at + took, Answered: true}
		all[i] = request{o, at + time.Duration(rng.Int64N(int64(took)+1))}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(all[a].decided - all[b].decided) })
	state := lim.Init()
	for _, i := range order {
		var d reference.Decision
		state, d = lim.Step(state, all[i].decided, 1)
		all[i].o.Outcome = timeline.Denied
		if d.Allow {
			all[i].o.Outcome = timeline.Allowed
		}
	}
	out := make([]timeline.Observation, n)
	for i := range all {
		out[i] = all[i].o
	}
	return out
}

// cutOut returns what a log of [from, until] has of the traffic: the requests that ended in it.
func cutOut(all []timeline.Observation, from, until, longest time.Duration) *timeline.Timeline {
	tl := &timeline.Timeline{Header: timeline.Header{Started: time.Unix(0, 0).UTC(), CompleteFrom: from,
		CompleteUntil: until - longest}}
	for _, o := range all {
		if o.FirstByte >= from && o.FirstByte <= until {
			tl.Observations = append(tl.Observations, o)
		}
	}
	return tl
}

// edgeSpecs are pairs of a right limit and one that is wrong.
var edgeSpecs = [][2]string{
	{"token-bucket,rate=10/s,burst=20", "token-bucket,rate=10/s,burst=22"},
	{"token-bucket,rate=10/s,burst=20,start=empty", "token-bucket,rate=12/s,burst=20,start=empty"},
	{"token-bucket,rate=10/s,burst=5,refill=interval,fill=5",
		"token-bucket,rate=20/s,burst=5,refill=interval,fill=5"},
	{"leaky-bucket,rate=10/s,burst=5", "leaky-bucket,rate=10/s,burst=4"},
	{"token-bucket,rate=10/s,burst=5,count=all", "token-bucket,rate=10/s,burst=4,count=all"},
	{"token-bucket,rate=10/s,burst=20,ban=300ms", "token-bucket,rate=10/s,burst=18,ban=300ms"},
	{"sliding-window-log,rate=10/1s", "sliding-window-log,rate=11/1s"},
	{"sliding-window-log,rate=10/1s,count=all", "sliding-window-log,rate=9/1s,count=all"},
	{"fixed-window,rate=10/1s", "fixed-window,rate=11/1s"},
	{"fixed-window,rate=10/1s,count=all", "fixed-window,rate=11/1s,count=all"},
	{"fixed-window,rate=10/1s,align=first", "fixed-window,rate=9/1s,align=first"},
	{"sliding-window-counter,rate=10/1s", "sliding-window-counter,rate=11/1s"},
	{"sliding-window-counter,rate=10/1s,align=first", "sliding-window-counter,rate=9/1s,align=first"},
	{"token-bucket,rate=10/s,burst=20,ttl=400ms", "token-bucket,rate=4/s,burst=8,ttl=400ms"},
	{"token-bucket,rate=10/s,burst=20,start=empty,ttl=400ms",
		"token-bucket,rate=2/s,burst=4,start=empty,ttl=400ms"},
	{"sliding-window-counter,rate=10/1s,count=all,rounding=down",
		"sliding-window-counter,rate=5/1s,count=all,rounding=down"},
	{"sliding-window-log,rate=5/1s", "sliding-window-log,rate=6/1s"},
	{"gcra,rate=10/s,burst=5,tick=10ms", "gcra,rate=10/s,burst=4,tick=10ms"},
	{"token-bucket,rate=8..12/s,burst=18..22", "token-bucket,rate=8..9/s,burst=10..12"},
	{"token-bucket,rate=30/s,burst=5,count=own + fixed-window,rate=10/1s",
		"token-bucket,rate=30/s,burst=5,count=own + fixed-window,rate=8/1s"},
	{"fixed-window,rate=10/1s + token-bucket,rate=20/s,burst=5",
		"fixed-window,rate=9/1s + token-bucket,rate=20/s,burst=5"},
}

// TestNoAccusationAtTheEdges: wherever a recording is cut out of traffic, it does not accuse a right limiter.
// Without the edges in its header it often would. A wrong limit is refuted all the same.
func TestNoAccusationAtTheEdges(t *testing.T) {
	cuts := max(fewer(t, 10), 3)
	for _, c := range edgeSpecs {
		t.Run(c[0], func(t *testing.T) {
			t.Parallel()
			caught, blind := 0, 0
			for i := range cuts {
				rng := rand.New(rand.NewPCG(uint64(i), 7))
				longest := []time.Duration{time.Millisecond, 50 * time.Millisecond,
					700 * time.Millisecond}[i%3]
				all := traffic(t, rng, c[0], 250, longest)
				end := all[len(all)-1].FirstByte
				from := time.Duration(rng.Int64N(int64(end / 3)))
				tl := cutOut(all, from, from+end/2, longest)
				o := Options{SkipMeasure: i > 0} // measuring is most of the work, and decides nothing
				right, wrong := judgeBy(t, tl, c[0], o), judgeBy(t, tl, c[1], o)
				if right.Verdict == result.Fail {
					t.Fatalf("seed %d, cut from %s, latency up to %s: accused: %s", i, from, longest,
						textOf(right))
				}
				if wrong.Verdict == result.Fail {
					caught++
				}
				tl.Header.CompleteFrom, tl.Header.CompleteUntil = 0, 0
				if judgeBy(t, tl, c[0], o).Verdict == result.Fail {
					blind++
				}
			}
			t.Logf("caught %d of %d, accused without the edges %d", caught, cuts, blind)
			if want := max(cuts/4, 1); caught < want {
				t.Errorf("%s: got %d of %d refuted, want at least %d", c[1], caught, cuts, want)
			}
		})
	}
}

func judgeSpec(t *testing.T, tl *timeline.Timeline, spec string) *result.Judgement {
	t.Helper()
	return judgeBy(t, tl, spec, Options{})
}

func judgeBy(t *testing.T, tl *timeline.Timeline, text string, o Options) *result.Judgement {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	j, err := Judge(tl, limit, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func textOf(j *result.Judgement) string {
	out := ""
	for _, p := range j.Partitions {
		for _, f := range p.Findings {
			out += fmt.Sprintf("%s %v; ", f.Text, f.Observations)
		}
	}
	return out
}

// TestBansOfAPartOfAHistory: a part of a history shares the memory of the whole, but numbers its requests
// anew.
func TestBansOfAPartOfAHistory(t *testing.T) {
	limit := mustLimit(t, "token-bucket,rate=1/12ns,burst=2,ban=17ns")
	for round := range 300 {
		r := rand.New(rand.NewPCG(8, uint64(round)))
		tl := randomPartitions(t, r, limit, shape{requests: 30, gap: 30})
		h := newHistory(tl.Observations, history.Widening{}, int64(tl.End()))
		b := limiter.NewBound(limit[0], 0, 0)
		want := limiter.UnexplainedBy(h, b)
		h.Cut(int64(tl.End()) / 2)
		if got := limiter.UnexplainedBy(h, b); !slices.Equal(got, want) {
			t.Fatalf("round %d: got %v after a cut, want %v", round, got, want)
		}
	}
}

// TestEdgesRememberThatABucketWasCreatedBefore: a recording began amid traffic, and a silence follows.
// Windows begin anew after it. A bucket that started empty was created before the recording, and has units
// again.
func TestEdgesRememberThatABucketWasCreatedBefore(t *testing.T) {
	limit, err := spec.Parse("token-bucket,rate=10/1s,burst=2,start=empty + " +
		"fixed-window,rate=6/100ms,align=first")
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline.Timeline{Header: timeline.Header{CompleteFrom: time.Millisecond}}
	tl.Observations = []timeline.Observation{{Arrival: timeline.Arrival{Cost: 1}, Sent: 10 * time.Second,
		FirstByte: 10 * time.Second,
		Answered:  true, Outcome: timeline.Allowed}}
	j, err := Judge(tl, limit, Options{SkipMeasure: true})
	if err != nil || j.Verdict == result.Fail {
		t.Errorf("got %+v, %v: want no accusation", j, err)
	}
}

// TestMissingRequestsMayHaveEmptiedABusyBucket: units used by unrecorded requests stay in use for as long as
// recorded ones take all that comes back.
func TestMissingRequestsMayHaveEmptiedABusyBucket(t *testing.T) {
	const ms = time.Millisecond
	for wrong, last := range map[bool]time.Duration{false: 135 * ms, true: 160 * ms} {
		tl := &timeline.Timeline{Header: timeline.Header{CompleteFrom: 100 * ms}}
		add := func(at time.Duration, outcome timeline.Outcome) {
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: len(tl.Observations), At: at, Cost: 1},
					Sent: at, FirstByte: at, Answered: true, Outcome: outcome})
		}
		for _, at := range []time.Duration{0, 110 * ms, 120 * ms, 130 * ms} { // it was emptied at 99 ms
			add(at, timeline.Allowed)
		}
		add(last, timeline.Denied)
		limit := mustLimit(t, "token-bucket,rate=1/10ms,burst=2")
		whole, err := Judge(tl, limit, Options{SkipMeasure: true})
		if err != nil {
			t.Fatal(err)
		}
		stream := streamed(t, tl, limit, Options{SkipMeasure: true}, inTurnCaps)
		if got := []bool{whole.Verdict == result.Fail, stream.Verdict == result.Fail}; got[0] != wrong ||
			got[1] != wrong {
			t.Errorf("denied at %s: accused %v (whole, as a stream), want %v", last, got, wrong)
		}
	}
}

// TestClocksMoveTheEdges: by the clock of the limiter, an unrecorded request may have been decided later than
// the recording says.
func TestClocksMoveTheEdges(t *testing.T) {
	const ms = time.Millisecond
	for at, want := range map[time.Duration]bool{117 * ms: false, 123 * ms: true, 180 * ms: true,
		191 * ms: false} {
		tl := &timeline.Timeline{Header: timeline.Header{CompleteFrom: 100 * ms, CompleteUntil: 200 * ms,
			ClockError: 5 * ms}}
		tl.Observations = []timeline.Observation{{Arrival: timeline.Arrival{Cost: 1}, Sent: at, FirstByte: at,
			Answered: true, Outcome: timeline.Denied}}
		if got := judgeBy(t, tl, "sliding-window-log,rate=1/10ms",
			Options{SkipMeasure: true}).Verdict == result.Fail; got != want {
			t.Errorf("denied at %s: accused %v, want %v", at, got, want)
		}
	}
}

// TestDenialsLeftOutMayHaveCreatedThePartition: a denial that is not judged may have created the partition,
// even if it was sent after the first request that is judged.
func TestDenialsLeftOutMayHaveCreatedThePartition(t *testing.T) {
	const ms = time.Millisecond
	tl := &timeline.Timeline{Header: timeline.Header{CompleteUntil: 60 * ms}}
	tl.Observations = []timeline.Observation{
		{Arrival: timeline.Arrival{Cost: 1}, Sent: 4 * ms, FirstByte: 50 * ms, Answered: true,
			Outcome: timeline.Allowed},
		{Arrival: timeline.Arrival{Seq: 1, Cost: 1}, Sent: 5 * ms, FirstByte: 100 * ms, Answered: true,
			Outcome: timeline.Denied}}
	for _, spec := range []string{"token-bucket,rate=1/10ms,burst=5,start=empty",
		"gcra,rate=1/10ms,burst=5,start=empty + sliding-window-log,rate=9/1s"} {
		if j := judgeBy(t, tl, spec, Options{SkipMeasure: true}); j.Verdict == result.Fail {
			t.Errorf("%s: accused: %+v", spec, j.Partitions)
		}
	}
}

// TestDenialsAtAnEdgeKeepAPartition: an unrecorded request may explain a denial at an edge, so that it proves
// nothing. It still keeps its partition from being forgotten, which explains another denial.
func TestDenialsAtAnEdgeKeepAPartition(t *testing.T) {
	type request struct {
		sent, answered time.Duration
		outcome        timeline.Outcome
	}
	for name, c := range map[string]struct {
		h    timeline.Header
		seen []request
	}{
		"end": {timeline.Header{CompleteUntil: 15 * time.Second},
			[]request{{0, 0, timeline.Allowed}, {4, 20, timeline.Denied}, {9, 9, timeline.Denied}}},
		"begin": {timeline.Header{CompleteFrom: 100 * time.Second},
			[]request{{105, 130, timeline.Denied}, {120, 120, timeline.Allowed},
				{129, 129, timeline.Denied}}},
	} {
		tl := &timeline.Timeline{Header: c.h}
		for i, r := range c.seen {
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: r.sent * time.Second,
					FirstByte: r.answered * time.Second, Answered: true, Outcome: r.outcome})
		}
		for _, spec := range []string{"token-bucket,rate=1/10s,burst=1,ttl=6s",
			"sliding-window-log,rate=1/10s,ttl=6s"} {
			if j := judgeBy(t, tl, spec, Options{SkipMeasure: true}); j.Verdict == result.Fail {
				t.Errorf("%s, %s: accused: %+v", name, spec, j.Partitions)
			}
		}
	}
}

// TestMissingRequestsMayHaveCreatedAPartition: an unrecorded request after the end may find a bucket that
// starts empty. The next one then finds what came back since.
func TestMissingRequestsMayHaveCreatedAPartition(t *testing.T) {
	const ms = time.Millisecond
	for _, spec := range []string{"token-bucket,rate=1/10ms,burst=5,start=empty",
		"token-bucket,rate=1/10ms,burst=5,start=empty,ttl=20ms",
		"leaky-bucket,rate=1/10ms,burst=5,start=empty + sliding-window-log,rate=9/1s"} {
		for _, at := range [][2]time.Duration{{90 * ms, 200 * ms}, {150 * ms, 151 * ms}} {
			tl := &timeline.Timeline{Header: timeline.Header{CompleteUntil: 100 * ms}}
			for i := range 2 {
				tl.Observations = append(tl.Observations,
					timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at[0],
						FirstByte: at[1], Answered: true, Outcome: timeline.Allowed})
			}
			whole := judgeBy(t, tl, spec, Options{SkipMeasure: true})
			stream := streamed(t, tl, mustLimit(t, spec), Options{SkipMeasure: true}, inTurnCaps)
			if whole.Verdict == result.Fail || stream.Verdict == result.Fail {
				t.Errorf("%s, at %s: accused: %+v, as a stream %+v", spec, at[0], whole.Partitions,
					stream.Partitions)
			}
		}
	}
}

// TestMissingRequestsMayHaveSetTheBatches: batches come at multiples of the interval from the first request
// on. That one may be unrecorded, so that a batch comes soon after recorded ones.
func TestMissingRequestsMayHaveSetTheBatches(t *testing.T) {
	const ms = time.Millisecond
	for _, spec := range []string{"token-bucket,rate=2/20ms,burst=2,refill=interval,fill=2",
		"token-bucket,rate=2/20ms,burst=2,refill=interval,fill=2,ttl=30ms"} {
		tl := &timeline.Timeline{Header: timeline.Header{CompleteUntil: 100 * ms}} // one at 101 ms is missing
		for i, at := range []time.Duration{118 * ms, 121 * ms, 121 * ms} {
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at,
					Answered: true, Outcome: timeline.Allowed})
		}
		if j := judgeBy(t, tl, spec, Options{SkipMeasure: true}); j.Verdict == result.Fail {
			t.Errorf("%s: accused: %+v", spec, j.Partitions)
		}
	}
}

// TestAnswersThatProveNothingDoNotPass: a partition was not judged if unrecorded requests may explain each of
// its answers.
func TestAnswersThatProveNothingDoNotPass(t *testing.T) {
	const ms = time.Millisecond
	for _, spec := range []string{"fixed-window,rate=2/20ms,align=clock",
		"fixed-window,rate=2/20ms,align=clock,count=all", "token-bucket,rate=2/20ms,burst=2,ban=10ms",
		"token-bucket,rate=2/20ms,burst=2,ban=10ms + sliding-window-log,rate=9/1s"} {
		tl := &timeline.Timeline{Header: timeline.Header{CompleteFrom: 100 * ms}}
		for i, at := range []time.Duration{108 * ms, 109 * ms, 111 * ms} {
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at,
					Answered: i > 0, Outcome: []timeline.Outcome{timeline.Unknown, timeline.Denied,
						timeline.Denied}[i]})
		}
		o := Options{SkipMeasure: true}
		for _, j := range []*result.Judgement{judgeBy(t, tl, spec, o),
			streamed(t, tl, mustLimit(t, spec), o, inTurnCaps),
			streamed(t, tl, mustLimit(t, spec), o, caps{whole: 9})} {
			if j.Verdict != result.Inconclusive || j.Reason != result.TooFew ||
				j.Detail != history.UnsureEdges {
				t.Errorf("%s: got %s, %s: %s", spec, j.Verdict, j.Reason, j.Detail)
			}
		}
	}
}

// TestWhoIsMissingMayHaveCreated: an unrecorded request may have created a bucket that was not full, or whose
// batches come from then on. That is possible only after CompleteUntil. Before, only the first recorded
// request can have created it.
func TestWhoIsMissingMayHaveCreated(t *testing.T) {
	for _, c := range []struct {
		spec     string
		late     []time.Duration // admissions after 100 s
		inTime   []time.Duration
		explains string // what may have happened
	}{
		{"token-bucket,rate=1/10s,burst=5,start=empty", []time.Duration{200, 200, 200}, []time.Duration{50},
			"one at 120 s found it empty"},
		{"token-bucket,rate=1/10s,burst=5,start=empty,ttl=20s", []time.Duration{50, 200, 200},
			[]time.Duration{50, 50}, "one at 140 s, another at 160 s, ..."},
		{"token-bucket,rate=1/10s,burst=5,start=0..1 + fixed-window,rate=100/1m", []time.Duration{200, 200},
			[]time.Duration{50, 50}, "one at 120 s found it empty"},
		{"token-bucket,rate=1/10s,burst=5,refill=interval,fill=1",
			[]time.Duration{200, 200, 200, 200, 200, 206}, []time.Duration{50, 50, 50, 50, 50, 56},
			"one at 195 s, so that the next unit came at 205 s"},
	} {
		limit := mustLimit(t, c.spec)
		recorded := func(admissions []time.Duration) *timeline.Timeline {
			tl := &timeline.Timeline{Header: timeline.Header{CompleteUntil: 100 * time.Second}}
			for i, at := range admissions {
				at *= time.Second
				tl.Observations = append(tl.Observations,
					timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at,
						Answered: true, Outcome: timeline.Allowed})
			}
			// the one at 50 s was the first, and denied
			if c.late[0] == 50 && admissions[len(admissions)-1] > 100 {
				tl.Observations[0].Outcome = timeline.Denied
			}
			tl.Header.Ended = tl.End()
			return tl
		}
		o := Options{SkipMeasure: true}
		whole, err := Judge(recorded(c.late), limit, o)
		if err != nil {
			t.Fatal(err)
		}
		stream := streamed(t, recorded(c.late), limit, o, inTurnCaps)
		if whole.Verdict == result.Fail || stream.Verdict == result.Fail {
			t.Errorf("%s: %v, as a stream %v, though %s: %+v", c.spec, whole.Verdict, stream.Verdict,
				c.explains, whole.Partitions[0].Findings)
		}
		if !accused(t, recorded(c.inTime), limit) {
			t.Errorf("%s: admissions at %v explained, where no request is missing", c.spec, c.inTime)
		}
	}
	tl := &timeline.Timeline{Header: timeline.Header{CompleteUntil: time.Second}}
	tl.Observations = []timeline.Observation{{Arrival: timeline.Arrival{Cost: 1}, Sent: 2 * time.Second,
		FirstByte: 2 * time.Second, Answered: true, Outcome: timeline.Allowed}}
	if j := judged(t, tl,
		mustPolicy(t, "token-bucket,rate=1/10s,burst=5,start=empty")); j.Verdict != result.Inconclusive {
		t.Errorf("a partition that was asked too late: %v, %q", j.Verdict, j.Detail)
	}
}
