package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestMeasuredIsAsSharpAsTheJudge: for a right limiter of any SPEC, what is measured holds the true values.
// The judge also does not fail the ends of the measured intervals, unless the work for these questions was
// used up.
func TestMeasuredIsAsSharpAsTheJudge(t *testing.T) {
	saysReplay(t)
	var asked, failed int
	for round := range fewer(t, 40) {
		r := rand.New(rand.NewPCG(soakSeed+77, uint64(round)))
		text := randomSPEC(r)
		limit, known, lim := limiterOf(r, text)
		if lim == nil || slices.ContainsFunc(limit, limiter.Ranged) {
			continue
		}
		tl := honestTraffic(r, lim, limit)
		where := fmt.Sprintf("round %d, %s", round, text)
		j, err := Judge(tl, limit, Options{})
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if j.Verdict == result.Fail {
			t.Errorf("%s: accused", where)
		}
		if slices.ContainsFunc(j.Partitions,
			func(p result.PartitionVerdict) bool { return p.Search.Capped }) {
			continue // the judge itself ran out of work
		}
		measuresTheTruth(t, where, &result.Judgement{Partitions: []result.PartitionVerdict{
			{Measured: j.Measured}}}, limit, known)
		for i := range limit {
			for _, end := range endsOf(limit, i, j.Measured.Of(i, len(limit))) {
				if asked++; judgedAs(tl, end) == result.Fail {
					failed++
					t.Logf("%s: %+v: %s FAILs", where, j.Measured, end)
				}
			}
		}
	}
	t.Logf("%d of %d ends fail", failed, asked)
	if asked < fewer(t, 40) || failed > 2+asked/10 {
		t.Errorf("%d of %d ends fail, want one in ten, and two, at most", failed, asked)
	}
}

// TestEndsThatFailAreNotMeasured: for limits whose bounds leave much open, a first burst measures the quota
// exactly. The judge fails the next values.
func TestEndsThatFailAreNotMeasured(t *testing.T) {
	for _, text := range []string{"token-bucket,rate=20/1s,burst=20,refill=interval,fill=20",
		"sliding-window-log,rate=20/1s,ban=2s", "fixed-window,rate=20/1s,align=first,ban=2s",
		"sliding-window-log,rate=20/1s,count=all", "token-bucket,rate=20/1s,burst=20,count=all",
		"fixed-window,rate=20/2s,align=first,tick=1s",
		"sliding-window-log,rate=20/1s,ban=2s + gcra,rate=99/s,burst=99",
	} {
		limit := mustLimit(t, text)
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		tl, state := &timeline.Timeline{}, lim.Init()
		for i := range 60 {
			at := time.Duration(i/30) * 4500 * time.Millisecond
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1, At: at}, Sent: at,
				FirstByte: at + time.Millisecond, Answered: true, Outcome: timeline.Denied}
			var d reference.Decision
			if state, d = lim.Step(state, at, 1); d.Allow {
				o.Outcome = timeline.Allowed
			}
			tl.Observations = append(tl.Observations, o)
		}
		j, err := Judge(tl, limit, Options{})
		if err != nil || j.Verdict != result.Pass {
			t.Fatalf("%s: %v, %v", text, j, err)
		}
		if got := j.Measured.Of(0, len(limit)).Burst.String(); got != "20..20" {
			t.Errorf("%s: measured %s, want 20..20", text, got)
		}
	}
}

// endsOf returns the limits with one value of policy i at an end of what was measured of it.
func endsOf(limit spec.Limit, i int, m result.Measured) (out []spec.Limit) {
	add := func(p spec.Policy) {
		other := slices.Clone(limit)
		other[i] = p
		if _, err := reference.NewLimit(other); err == nil {
			out = append(out, other)
		}
	}
	p := limit[i]
	if m.Burst.LoSet && !p.Queued() {
		add(p.WithFull(int64(m.Burst.Lo)))
	}
	if m.Burst.HiSet {
		add(p.WithFull(int64(m.Burst.Hi)))
	}
	if p.Align == spec.AlignClock { // another window begins elsewhere
		p.Align = spec.AlignShared
	}
	// rounded to the precision of the search, a part of what the bounds left, and to whole nanoseconds
	units := float64(p.Rate.N) * float64(time.Second)
	const parts = 2 * windowReach * (1.0 / inwardParts)
	per := limit[i].Rate.Per
	if m.Rate.LoSet {
		p.Rate.Per = max(per, time.Duration(units/m.Rate.Lo-parts*float64(per))-1)
		add(p)
	}
	if m.Rate.HiSet {
		p.Rate.Per = min(per, time.Duration(units/m.Rate.Hi+parts*float64(per))+2)
		add(p)
	}
	return out
}

func judgedAs(tl *timeline.Timeline, limit spec.Limit) result.Verdict {
	j, err := Judge(tl, limit, Options{SkipMeasure: true})
	if err != nil {
		return result.Inconclusive
	}
	return j.Verdict
}
