package identify

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// recordedOf returns two recordings of a limit: one shows its quota, the other how it recovers.
func recordedOf(t *testing.T, limit spec.Limit) []*timeline.Timeline {
	var out []*timeline.Timeline
	const ms = time.Millisecond
	for seed, phases := range [][]Phase{
		{{Requests: 12, Every: 2 * ms}, {Rest: 1900 * ms, Requests: 12, Every: 2 * ms}},
		{{Requests: 90, Every: 77 * ms}, {Rest: 2600 * ms, Requests: 5, Every: 2 * ms},
			{Rest: 1400 * ms, Requests: 12, Every: 2 * ms}, {Rest: 700 * ms, Requests: 8, Every: 2 * ms}},
	} {
		s, tl := simulate(t, limit, uint64(seed)), &timeline.Timeline{}
		for _, p := range phases {
			seen, _ := s.Send(t.Context(), p)
			tl.Observations = append(tl.Observations, seen...)
		}
		for i := range tl.Observations {
			tl.Observations[i].Seq, tl.Observations[i].Cost = i, 1
		}
		tl.Header = s.Header()
		out = append(out, tl)
	}
	return out
}

// Two recordings together are named, or left open with the truth among what is left.
func TestRecordingsAreRead(t *testing.T) {
	for _, text := range []string{"token-bucket,rate=5/s,burst=6", "fixed-window,rate=6/2s,align=first"} {
		if testing.Short() && text[0] == 't' { // it takes seconds
			continue
		}
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		res := Recorded(t.Context(), recordedOf(t, limit), Options{Fresh: true})
		t.Logf("%s", res.Text(About{Recording: "timeline.ndjson"}))
		fits(t, res)
		is := false
		for _, c := range res.Found {
			is = is || differs(limit[0], c) == ""
		}
		if !is || !res.Recorded {
			t.Errorf("%s: got %s, want it among what is left", text, res.Summary())
		}
	}
}

// TestWhatARecordingLeavesIsToldSharply: for a bucket of 20, a recording left "quota 6..34". The judge was
// asked about twelve parts of what was left, wherever they lay.
func TestWhatARecordingLeavesIsToldSharply(t *testing.T) {
	s, tl := simulate(t, parsed(t, "token-bucket,rate=10/s,burst=20"), 1), &timeline.Timeline{}
	for range 4 {
		burst := Phase{Rest: 10 * time.Second, Requests: 30, Every: 10 * time.Millisecond}
		seen, _ := s.Send(t.Context(), burst)
		tl.Observations = append(tl.Observations, seen...)
	}
	tl.Header = s.Header()
	left := func(sharp bool) Box {
		r := &Region{Kind: Kinds()[0], effort: effort{Sharp: sharp, Over: never},
			Live: []Box{{Q1: 1, Q2: 100, T1: time.Millisecond, T2: time.Minute}}}
		r.Narrow(tl, ManyAsked)

		return r.Hull()
	}
	if b, before := left(true), left(false); b.Q1 < 18 || b.Q2 > 23 || before.Q1 >= 18 && before.Q2 <= 23 {
		t.Errorf("got a bucket of %d..%d, and %d..%d before, want 18..23", b.Q1, b.Q2, before.Q1, before.Q2)
	}
}

// TestALogFromAmidTrafficSaysWhatWouldTell: the answer asked for 6,220 requests.
func TestALogFromAmidTrafficSaysWhatWouldTell(t *testing.T) {
	tl := recordedOf(t, parsed(t, "token-bucket,rate=5/s,burst=6"))[0]
	tl.Header.CompleteFrom, tl.Header.CompleteUntil = time.Millisecond, tl.End()
	res := Recorded(t.Context(), []*timeline.Timeline{tl}, Options{Think: time.Second})
	if res.Verdict != Open || !strings.Contains(res.Next, "--complete") {
		t.Errorf("got %s and %q, want --complete named", res.Verdict, res.Next)
	}
}

// TestASampleIsWhatWasDeniedMost: whole clients, or the beginning of one, near whose end no denial counts.
func TestASampleIsWhatWasDeniedMost(t *testing.T) {
	tl := &timeline.Timeline{}
	for i := range 400 {
		o := timeline.Observation{Sent: time.Duration(i) * time.Second, Answered: true,
			Outcome: timeline.Allowed}
		o.Partition = string(rune('a' + i%4))
		if o.Partition == "c" || o.Partition == "d" && i%2 == 1 && i > 40 {
			o.Outcome = timeline.Denied
		}
		tl.Observations = append(tl.Observations, o)
	}
	for n, want := range map[int]string{200: "cd", 250: "cd", 100: "c", 60: "c"} {
		clients, got := "", sample(tl, n)
		for _, o := range got.Observations {
			if !strings.Contains(clients, o.Partition) {
				clients += o.Partition
			}
		}
		if clients != want || len(got.Observations) != min(n, 100*len(want)) {
			t.Errorf("of %d: got %d of %q, want %q", n, len(got.Observations), clients, want)
		}
		if until := got.Header.CompleteUntil; (until > 0) != (n < 100) || until > 241*time.Second {
			t.Errorf("of %d: got it complete until %s", n, until)
		}
	}
}

// A recording of several limits names nothing.
func TestARecordingOfSeveralLimitsIsNotRead(t *testing.T) {
	limit := spec.Limit{{Algorithm: spec.FixedWindow, Rate: spec.Rate{N: 5, Per: time.Second}}}
	all := recordedOf(t, limit)[:1]
	all[0].Header.Judged.Limits = []timeline.PhaseLimit{{Limit: "a", Phases: []string{"b"}}}
	if res := Recorded(t.Context(), all, Options{}); res.Verdict != Open || len(res.Found) > 0 {
		t.Errorf("got %s, want it open with nothing found", res.Summary())
	}
}

// TestALogWhoseAnswersTakeLongIsNoQueue: admitted requests take their time, although nothing waits for a
// place.
func TestALogWhoseAnswersTakeLongIsNoQueue(t *testing.T) {
	limit := parsed(t, "token-bucket,rate=10/s,burst=20")
	l, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("minutes, as nothing bounds the judge: RLCHECK_SOAK")
	}
	for seed := range uint64(5) {
		res := Recorded(t.Context(), []*timeline.Timeline{slowLog(l, seed)}, Options{Fresh: true})
		if len(res.Found) == 0 || res.Found[0].Class[0] != spec.TokenBucket ||
			res.Found[0].Measured.Burst.Lo > 20 || res.Found[0].Measured.Burst.Hi < 20 {
			t.Errorf("seed %d: got %s, want a token bucket that may be one of 20 first", seed, res.Summary())
		}
		for _, c := range res.Found {
			if c.Class[0] == spec.LeakyBucketQueue && res.Verdict == Identified {
				t.Errorf("seed %d: got %s, and nothing waited for a place", seed, c.Limit)
			}
		}
	}
}

// TestAQueueIsSeenInAllOfARecording: the last phase may have one request, which did not wait.
func TestAQueueIsSeenInAllOfARecording(t *testing.T) {
	s, tl := simulate(t, parsed(t, "leaky-bucket-queue,rate=5/2s,queue=4"), 1), &timeline.Timeline{}
	for _, p := range []Phase{{Name: "crowd", Requests: 8, Every: 20 * time.Millisecond},
		{Name: "one", Rest: 3 * time.Second, Requests: 1}} {
		seen, _ := s.Send(t.Context(), p)
		for _, o := range seen {
			o.Phase = p.Name
			tl.Observations = append(tl.Observations, o)
		}
	}
	if queued(tl, "one") || !queued(tl, "crowd") || !queued(tl, "") {
		t.Error("got it of the last phase, or not of all")
	}
}

// slowLog is a log from a limiter behind which admitted requests take 50 to 300 ms longer.
func slowLog(l reference.Limiter, seed uint64) *timeline.Timeline {
	tl, state, r := &timeline.Timeline{}, l.Init(), rand.New(rand.NewPCG(seed, 1))
	for i := range time.Duration(240) {
		at := i*16*time.Millisecond + i/60*1500*time.Millisecond
		var d reference.Decision
		state, d = l.Step(state, at+time.Millisecond, 1)
		o := timeline.Observation{Sent: at, Answered: true,
			FirstByte: at + time.Duration(2+r.IntN(100))*time.Millisecond,
			Outcome:   timeline.Denied}
		if d.Allow {
			o.FirstByte += time.Duration(50+r.IntN(250)) * time.Millisecond
			o.Outcome = timeline.Allowed
		}
		o.Seq, o.At, o.Cost = int(i), at, 1
		tl.Observations = append(tl.Observations, o)
	}
	return tl
}
