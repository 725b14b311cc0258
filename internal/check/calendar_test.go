package check

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestRightCalendarsAreNeverAccused judges limiters of calendar days and months around the instants at which
// zones change their clocks. Traffic lasts for days to years.
func TestRightCalendarsAreNeverAccused(t *testing.T) {
	rounds, seeds := soakRounds(t, 300, 20000)
	verdicts := map[result.Verdict]int{}
	for round := range rounds * seeds {
		r := rand.New(rand.NewPCG(soakSeed+37, uint64(round)))
		text := fmt.Sprintf("fixed-window,rate=%d/%s,zone=%s", 1+r.IntN(12),
			[]string{"1d", "month"}[r.IntN(2)], calendarZones[r.IntN(len(calendarZones))])
		if r.IntN(3) == 0 {
			text += []string{",count=all", ",tick=1h", " + sliding-window-log,rate=3/1h",
				" + token-bucket,rate=1/1h,burst=5,count=own"}[r.IntN(4)]
		}
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		started := time.Date(1971+r.IntN(80), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60),
			0, 7, time.UTC)
		wrong := time.Duration(0)
		if r.IntN(3) == 0 {
			wrong = time.Duration(r.Int64N(int64(time.Hour)))
		}
		tl := trafficBy(r, lim, limit, func(at time.Duration) time.Duration {
			return time.Duration(started.UnixNano()) + wrong + at
		})
		tl.Header.Started, tl.Header.WallError = started, wrong
		if r.IntN(4) == 0 {
			cutAmid(r, tl)
		}
		j, err := Judge(tl, limit, Options{SkipMeasure: r.IntN(4) > 0, Hint: r.IntN(9) == 0})
		if err != nil {
			t.Fatal(err)
		}
		if verdicts[j.Verdict]++; j.Verdict == result.Fail {
			t.Errorf("round %d, %s from %s: accused: %+v", round, text, started, j.Partitions)
		}
		if s := streamed(t, tl, limit, Options{SkipMeasure: true},
			anyBeginning(r)); s.Verdict == result.Fail {
			t.Errorf("round %d, %s from %s: the stream accused: %+v", round, text, started, s.Partitions)
		}
	}
	t.Logf("%v", verdicts)
	if verdicts[result.Pass] < rounds*seeds/3 {
		t.Errorf("%v: want a third to pass", verdicts)
	}
}

// calendarZones change their clocks by an hour or less, at midnight, or by a whole day.
var calendarZones = []string{"UTC", "America/Los_Angeles", "Asia/Shanghai", "Australia/Lord_Howe",
	"America/Sao_Paulo", "Africa/Cairo", "Pacific/Apia", "America/Havana", "Antarctica/Troll",
	"Asia/Kathmandu"}

// TestCalendarsAgainstTheOracle compares with the exhaustive oracle on a calendar whose days end amid a few
// requests. A window of the oracle has the same boundary, as only one lies in the recording.
func TestCalendarsAgainstTheOracle(t *testing.T) {
	rounds, seeds := soakRounds(t, 2000, 100000)
	var c catches
	for round := range rounds * seeds {
		r := rand.New(rand.NewPCG(soakSeed+38, uint64(round)))
		boundary := 20 + r.Int64N(30)
		// 1 November 2026 has 25 hours in Los Angeles, and 2 November begins at 08:00 UTC
		started := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC).Add(-time.Duration(boundary))
		quota := 1 + r.Int64N(3)
		zoned := policy(t, fmt.Sprintf("fixed-window,rate=%d/1d,zone=America/Los_Angeles", quota))
		plain := policy(t, fmt.Sprintf("fixed-window,rate=%d/1us,phase=%dns", quota, boundary))
		tl := &timeline.Timeline{Header: timeline.Header{Started: started}}
		at := time.Duration(0)
		for i := range 3 + r.IntN(5) {
			at += time.Duration(r.IntN(15))
			tl.Observations = append(tl.Observations, timeline.Observation{Arrival: timeline.Arrival{Seq: i,
				Cost: 1, Partition: "p"}, Sent: at, FirstByte: at + time.Duration(r.IntN(12)), Answered: true,
				Outcome: []timeline.Outcome{timeline.Allowed, timeline.Denied}[r.IntN(2)]})
		}
		tl.Header.Ended = tl.End()
		j, err := Judge(tl, spec.Limit{zoned}, Options{SkipMeasure: true})
		if err != nil {
			t.Fatal(err)
		}
		possible := (&oracle{}).explains(machineOf(t, plain, boundary, 0),
			requestsOf(tl.Observations, tl.End(), 0))
		c.take(t, fmt.Sprintf("round %d", round), j, tl, possible, true)
	}
	c.caughtMost(t, rounds/10, 0.98)
}

// TestADayOfTwentyFiveHours: 15 a day in Los Angeles. A right limiter admits nothing in the 25th hour, a
// limiter of 24 hours does.
func TestADayOfTwentyFiveHours(t *testing.T) {
	limit := spec.Limit{policy(t, "fixed-window,rate=15/1d,zone=America/Los_Angeles")}
	started := time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC) // midnight there
	for _, c := range []struct {
		by      string
		verdict result.Verdict
		text    string
	}{
		{"fixed-window,rate=15/1d,zone=America/Los_Angeles", result.Pass, ""},
		{"fixed-window,rate=15/1d,zone=America/Denver", result.Fail, ""},
		{"fixed-window,rate=15/1d,phase=7h", result.Fail,
			"in 1 window of a calendar day (America/Los_Angeles); at most 15 are possible"},
	} {
		lim, err := reference.NewLimit(spec.Limit{policy(t, c.by)})
		if err != nil {
			t.Fatal(err)
		}
		state, tl := lim.Init(), &timeline.Timeline{Header: timeline.Header{Started: started}}
		for i := range 100 {
			at := time.Duration(i) * 30 * time.Minute
			var d reference.Decision
			state, d = lim.Step(state, time.Duration(started.UnixNano())+at, 1)
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at + 1,
				Answered: true, Outcome: timeline.Denied}
			if d.Allow {
				o.Outcome = timeline.Allowed
			}
			tl.Observations = append(tl.Observations, o)
		}
		tl.Header.Ended = tl.End()
		j, err := Judge(tl, limit, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict != c.verdict {
			t.Errorf("%s: got %s %q, want %s", c.by, j.Verdict, j.Detail, c.verdict)
		}
		if found := fmt.Sprint(j.Partitions[0].Findings); !strings.Contains(found, c.text) {
			t.Errorf("%s: got %s, want %q", c.by, found, c.text)
		}
	}
}

// policy returns the only policy of a SPEC.
func policy(t *testing.T, text string) spec.Policy {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return limit[0]
}
