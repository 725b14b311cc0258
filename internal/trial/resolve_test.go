package trial

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// measuring is a scenario that had to measure a burst exactly and measured lo to hi.
func measuring(t *testing.T, id, limit string, lo, hi float64) result.Scenario {
	t.Helper()
	l, err := spec.Parse(limit)
	if err != nil {
		t.Fatal(err)
	}
	j := &result.Judgement{Verdict: result.Pass,
		Measured: result.Measured{Burst: result.Interval{Lo: lo, Hi: hi, LoSet: true, HiSet: true}}}
	c := result.Claim{ID: "conformance", Kind: result.ClaimConformance, Verdict: result.Pass,
		Chances: result.Of(1, "clients")}
	s := result.Scenario{ID: id, Kind: result.Required, Limit: l, Judgement: j,
		Verdict: result.Pass, Claims: []result.Claim{c},
		Kept: result.Kept{TimelinePath: id + "/timeline.ndjson"}}
	if s.Header.Judged.BurstExact = true; lo != hi {
		j.Verdict, j.Reason, j.Unresolved = result.Inconclusive, result.TooFew, true
		s.Claims[0].Verdict, s.Claims[0].Reason = result.Inconclusive, result.TooFew
		s.Verdict, s.Reason = result.Inconclusive, result.TooFew
	}
	return s
}

// TestWhoResolvesWhom: what measured too little passes by others of the same limiter that do not fail, and
// only where it came close itself.
func TestWhoResolvesWhom(t *testing.T) {
	const limit, other = "token-bucket,rate=10/s,burst=20", "token-bucket,rate=10/s,burst=21"
	const coarse = limit + ",tick=1s"
	of := func(id string, lo, hi float64) result.Scenario { return measuring(t, id, limit, lo, hi) }
	edit := func(s result.Scenario, change func(*result.Scenario)) result.Scenario { change(&s); return s }
	exact, near := of("exact", 20, 20), of("s", 19, 20)
	pair := []result.Scenario{of("a", 18, 20), of("b", 20, 22)}
	fails := edit(exact, func(s *result.Scenario) { s.Verdict = result.Fail })
	elsewhere := edit(exact, func(s *result.Scenario) { s.Target = "x" })
	late := edit(near, func(s *result.Scenario) { s.Reason = result.ScheduleMissed })
	failed := edit(near, func(s *result.Scenario) { s.Verdict, s.Reason = result.Fail, "" })
	for name, x := range map[string]struct {
		beside []result.Scenario
		s      result.Scenario
		want   string
	}{
		"one unit open":          {[]result.Scenario{exact}, near, "exact"},
		"two units of 20 open":   {[]result.Scenario{exact}, of("s", 19, 21), "exact"},
		"three units of 20 open": {[]result.Scenario{exact}, of("s", 18, 21), ""},
		"nobody else":            {nil, near, ""},
		"two together":           {pair, of("s", 19, 21), "a b"},
		"as open as its clock ticks": {[]result.Scenario{measuring(t, "o", coarse, 20, 20)},
			measuring(t, "s", coarse, 10, 20), "o"},
		"more open than its clock ticks": {[]result.Scenario{measuring(t, "o", coarse, 20, 20)},
			measuring(t, "s", coarse, 9, 20), ""},
		"another limit":              {[]result.Scenario{measuring(t, "o", other, 20, 20)}, near, ""},
		"another target":             {[]result.Scenario{elsewhere}, near, ""},
		"one that fails":             {[]result.Scenario{fails}, near, ""},
		"a recording that was late":  {[]result.Scenario{exact}, late, ""},
		"another claim stays failed": {[]result.Scenario{exact}, failed, ""},
	} {
		_, got := Together(append(slices.Clone(x.beside), x.s))
		s := got[len(got)-1]
		by := strings.Join(s.ResolvedBy, " ")
		if by != x.want || (s.Verdict == result.Pass) != (x.want != "") {
			t.Errorf("%s: got %s by %q, want %q", name, s.Verdict, by, x.want)
		}
	}
}

// TestOnePolicyOfSeveralIsEnough: where the tighter of two policies denies, nothing reaches the other. What
// others measured of it counts, but not where a recording measured neither.
func TestOnePolicyOfSeveralIsEnough(t *testing.T) {
	const limit = "token-bucket,rate=10/s,burst=20 + fixed-window,rate=60/10s,align=first"
	of := func(id string, first, second result.Interval) result.Scenario {
		s := measuring(t, id, limit, 0, 1)
		s.Judgement.Measured = result.Measured{Policies: []result.Measured{{Burst: first}, {Burst: second}}}
		return s
	}
	atLeast := func(x float64) result.Interval { return result.Interval{Lo: x, LoSet: true} }
	exactly := func(x float64) result.Interval {
		return result.Interval{Lo: x, Hi: x, LoSet: true, HiSet: true}
	}
	both := of("both", exactly(20), exactly(60))
	for name, x := range map[string]struct {
		s    result.Scenario
		want result.Verdict
	}{
		"the tighter one alone": {of("s", exactly(20), atLeast(20)), result.Pass},
		"the looser one alone":  {of("s", atLeast(3), exactly(60)), result.Pass},
		"neither":               {of("s", atLeast(3), atLeast(20)), result.Inconclusive},
	} {
		if _, got := Together([]result.Scenario{both, x.s}); got[1].Verdict != x.want {
			t.Errorf("%s: got %s, want %s", name, got[1].Verdict, x.want)
		}
	}
}

// TestUnsentRequestsStayUnsent: what others measured does not stand for requests that were not sent.
func TestUnsentRequestsStayUnsent(t *testing.T) {
	s := measuring(t, "s", "token-bucket,rate=10/s,burst=20", 19, 20)
	s.Counts.Planned, s.Counts.Unsent = 9, 2
	_, got := Together([]result.Scenario{measuring(t, "exact", s.Limit.String(), 20, 20), s})
	if got[1].Verdict != result.Inconclusive || got[1].Reason != result.ScheduleMissed {
		t.Errorf("got %s, %s, want inconclusive, schedule-missed", got[1].Verdict, got[1].Reason)
	}
}

// TestRecordingsThatContradictEachOther: of a range each recording may keep another value, and no limiter has
// both. What fails alone contradicts nobody, and resolves nobody.
func TestRecordingsThatContradictEachOther(t *testing.T) {
	const limit = "token-bucket,rate=10/s,burst=18..22"
	low, high := measuring(t, "low", limit, 18, 18), measuring(t, "high", limit, 21, 21)
	between := measuring(t, "between", limit, 18, 19)
	p, got := Together([]result.Scenario{low, high, between})
	r := result.Run{Scenarios: got, Policy: p}
	if p.Contradiction == nil || r.Verdict(false) != result.Fail || got[2].Verdict != result.Inconclusive {
		t.Fatalf("got %+v, the run %s and %s", p.Contradiction, r.Verdict(false), got[2].Verdict)
	}
	if want := "no burst explains both: at most 18 in low (low/timeline.ndjson), " +
		"at least 21 in high (high/timeline.ndjson)"; p.Contradiction.Text != want {
		t.Errorf("got %q, want %q", p.Contradiction.Text, want)
	}
	r.Scenarios[0].Kind = result.Recommended
	if v := r.Verdict(false); v == result.Fail {
		t.Errorf("beside a recommended scenario that does not count: got %s", v)
	}
	if v := r.Verdict(true); v != result.Fail {
		t.Errorf("strictly: got %s, want fail", v)
	}
	high.Verdict = result.Fail
	if p, _ := Together([]result.Scenario{low, high}); p.Contradiction != nil {
		t.Errorf("with one that fails: got %s", p.Contradiction.Text)
	}
}

// TestRecordingsOfOneScenarioAreJoined: a repeated scenario measured what its recordings have in common.
func TestRecordingsOfOneScenarioAreJoined(t *testing.T) {
	const limit = "token-bucket,rate=10/s,burst=20"
	first, second := measuring(t, "s", limit, 19, 20), measuring(t, "s", limit, 20, 21)
	got := Again(first, second, "timeline-1.ndjson")
	if got.Verdict != result.Pass || got.Judgement.Measured.Burst.String() != "20..20" {
		t.Errorf("got %s, measured %s", got.Verdict, got.Judgement.Measured.Burst)
	}
	if second.Judgement.Measured.Burst.String() != "20..21" {
		t.Error("the recording itself is changed")
	}
	if same := Again(first, first, ""); Narrower(&first, &same) || !Narrower(&first, &got) {
		t.Error("a recording that shows the same is said to show more, or one that shows more is not")
	}
	second.Verdict, second.Reason = result.Fail, ""
	if got := Again(first, second, ""); got.Verdict != result.Fail {
		t.Errorf("the second one fails: got %s", got.Verdict)
	}
}
