package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestWitnessesOfAnyLimitFail records limiters of random SPECs that answered a few requests wrongly. The
// witness of a finding about one partition fails alone. Findings about a common window start fail together.
// It judges recordings whole and as streams.
func TestWitnessesOfAnyLimitFail(t *testing.T) {
	rounds, seeds := soakRounds(t, 300, 2000)
	failed, shared := 0, 0
	for round := range rounds * seeds {
		r := rand.New(rand.NewPCG(soakSeed+5, uint64(round)))
		text := randomSPEC(r)
		limit, err := spec.Parse(text)
		if err != nil || contradictory(limit) {
			continue // keys that do not go together
		}
		lim, err := reference.NewLimit(knownLimit(r, limit))
		if err != nil {
			t.Fatal(err)
		}
		tl := honestTraffic(r, lim, limit)
		for range 1 + r.IntN(3) {
			answerWrongly(&tl.Observations[r.IntN(len(tl.Observations))])
		}
		var j *result.Judgement
		if r.IntN(2) == 0 {
			j = streamed(t, tl, limit, Options{SkipMeasure: true}, anyBeginning(r))
		} else if j, err = Judge(tl, limit, Options{SkipMeasure: true}); err != nil {
			t.Fatal(err)
		}
		if j.Verdict != result.Fail {
			continue
		}
		failed++
		where := fmt.Sprintf("round %d, %s", round, text)
		var together []int
		for _, p := range j.Partitions {
			for _, f := range p.Findings {
				if strings.Contains(f.Text, "common window start") {
					together = append(together, f.Observations...)
					continue
				}
				failsAlone(t, where, tl, limit, f.Observations)
			}
		}
		if slices.Sort(together); len(together) > 0 {
			shared++
			failsAlone(t, where+", together", tl, limit, together)
		}
	}
	t.Logf("%d fail, %d by several partitions", failed, shared)
	if failed < rounds*seeds/3 || shared == 0 && os.Getenv("RLCHECK_SOAK") == "1" { // they are rare
		t.Errorf("%d fail, %d by several partitions: too few to tell of %d", failed, shared, rounds*seeds)
	}
}

// answerWrongly turns an admission into a denial, and a denial into an admission.
func answerWrongly(o *timeline.Observation) {
	switch o.Outcome {
	case timeline.Allowed:
		o.Outcome = timeline.Denied
	case timeline.Denied:
		o.Outcome = timeline.Allowed
	}
}

// failsAlone judges only the observations with the given request numbers, which ascend.
func failsAlone(t *testing.T, where string, tl *timeline.Timeline, limit spec.Limit, seqs []int) {
	t.Helper()
	j, err := Judge(alone(tl, seqs), limit, Options{SkipMeasure: true})
	if err != nil || j.Verdict != result.Fail {
		t.Errorf("%s: the witness %v alone: got %v, %v", where, seqs, j.Verdict, err)
	}
}

// TestWitnessOfARefreshedWindowHasWhatKeptItOpen: denied requests keep a full window open for much longer
// than a stream keeps observations. The witness has them all the same.
func TestWitnessOfARefreshedWindowHasWhatKeptItOpen(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	limit := mustLimit(t, "fixed-window,rate=3/100ms,align=first,refresh=all")
	tl := &timeline.Timeline{}
	for i := range 5000 {
		at := time.Duration(i) * time.Millisecond
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: at, Cost: 1}, Sent: at, FirstByte: at,
			Answered: true, Outcome: timeline.Denied}
		if i < 3 || i == 4000 {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	j := streamed(t, tl, limit, Options{SkipMeasure: true}, inTurnCaps)
	if len(j.Partitions[0].Findings) != 1 {
		t.Fatalf("got %+v, want one finding", j.Partitions[0])
	}
	f := j.Partitions[0].Findings[0]
	failsAlone(t, "one too many", tl, limit, f.Observations)
	if n := len(f.Observations); f.Seen != 4 || n < 4+4000/100 || n > 4+2*4000/100+2 {
		t.Errorf("got %d admitted, %d observations; want 4, and those that follow each other within 100 ms",
			f.Seen, n)
	}
}
