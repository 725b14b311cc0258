package report

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// causeLines prints causes in short: the scenarios, and what happened.
func causeLines(r *result.Run) []string {
	var out []string
	all := Causes(r, cleanRun(r), false)
	for i := range all {
		out = append(out, all[i].Who()+": "+all[i].Sentence())
	}
	return out
}

// TestOneCauseIsToldOnce: findings that differ only in numbers have one cause. Another kind, claim or
// sentence is another cause.
func TestOneCauseIsToldOnce(t *testing.T) {
	r := SampleRun(
		Claimed("a", "quota", "remaining-too-high", "#0 is told that 20 remain; 19 do"),
		Claimed("b", "quota", "remaining-too-high",
			"#7, #8 and 3 more is told that 1,020 remain; 19 do"),
		Claimed("c", "quota", "remaining-too-low", "#0 is told that 20 remain; 19 do"),
		Claimed("d", "other", "remaining-too-high", "#0 is told that 20 remain; 19 do"),
		Claimed("e", "quota", "remaining-too-high", "#0 is told that nothing remains"),
	)
	want := []string{"a and 1 more: quota: #0 is told that 20 remain; 19 do",
		"c: quota: #0 is told that 20 remain; 19 do",
		"d: other: #0 is told that 20 remain; 19 do", "e: quota: #0 is told that nothing remains"}
	if d := cmp.Diff(want, causeLines(r)); d != "" {
		t.Errorf("causes (-want +got):\n%s", d)
	}
}

// TestOneHintIsOneCause: recordings that one other policy explains have one cause. Where no such policy is
// known, recordings with other measured values have another cause.
func TestOneHintIsOneCause(t *testing.T) {
	with := func(id, hint string, burst float64) result.Scenario {
		s := Claimed(id, result.ConformanceID, result.OverAdmission, "21 requests allowed within "+id)
		s.Limit = Limit(t, "token-bucket,rate=10/s,burst=20")
		s.Judgement = &result.Judgement{Verdict: result.Fail, Hint: hint,
			Measured: result.Measured{Burst: Between(burst, burst)}}
		s.Counts.Denied = 1
		return s
	}
	r := SampleRun(with("1", "a burst of 21", 21), with("2", "a burst of 21", 21),
		with("3", "a burst of 22", 22),
		with("4", "", 23), with("5", "", 23), with("6", "", 24))
	want := []string{"1 and 1 more: 21 requests allowed within 1",
		"4 and 1 more: 21 requests allowed within 4",
		"3: 21 requests allowed within 3", "6: 21 requests allowed within 6"}
	if d := cmp.Diff(want, causeLines(r)); d != "" {
		t.Errorf("causes (-want +got):\n%s", d)
	}
}

// TestOneHintOfAllIsOneCause: a policy that explains all recordings of a run is told with the run, not with
// each.
func TestOneHintOfAllIsOneCause(t *testing.T) {
	of := func(id string, burst float64) result.Scenario {
		s := Claimed(id, result.ConformanceID, result.OverAdmission, "21 requests allowed within "+id)
		s.Limit = Limit(t, "token-bucket,rate=10/s,burst=20")
		s.Judgement = &result.Judgement{Verdict: result.Fail,
			Measured: result.Measured{Burst: Between(burst, 99)}}
		return s
	}
	r := SampleRun(of("1", 21), of("2", 22), of("3", 23), of("other", 24))
	r.Hint = &result.Hint{From: []string{"1", "2", "3"}}
	if got := causeLines(r); len(got) != 4 {
		t.Errorf("nothing explains them: got %q, want a cause for each", got)
	}
	r.Hint.Limits = []spec.Limit{Limit(t, "token-bucket,rate=10/s,burst=24")}
	want := []string{"1 and 2 more: 21 requests allowed within 1", "other: 21 requests allowed within other"}
	if d := cmp.Diff(want, causeLines(r)); d != "" {
		t.Errorf("causes (-want +got):\n%s", d)
	}
}

// TestTheNearestPolicyIsTheCause: how many other policies explain a recording depends on how much it shows,
// and makes no cause of its own. For several recordings the report offers the policy that explains each of
// them.
func TestTheNearestPolicyIsTheCause(t *testing.T) {
	with := func(id, more string) result.Scenario {
		s := Claimed(id, result.ConformanceID, result.OverAdmission, "21 requests allowed within "+id)
		limit := Limit(t, "token-bucket,rate=10/s,burst=21")
		s.Judgement = &result.Judgement{Verdict: result.Fail,
			Hint:         "a burst of 21 would explain all of this (" + limit.String() + ")" + more,
			Explanations: []result.Explanation{{Text: "a burst of 21", Limit: limit, Sure: true}}}
		return s
	}
	const fixed = "; so would fixed-window,rate=21/2s"
	const near = "a burst of 21 would explain all of this (token-bucket,rate=10/s,burst=21)"
	for name, x := range map[string]struct {
		all  []result.Scenario
		hint string
	}{
		"alone":      {[]result.Scenario{with("a", fixed)}, near + fixed},
		"one hint":   {[]result.Scenario{with("a", fixed), with("b", fixed)}, near + fixed},
		"different":  {[]result.Scenario{with("a", fixed), with("b", "")}, near},
		"third same": {[]result.Scenario{with("a", fixed), with("b", ""), with("c", fixed)}, near},
	} {
		r := SampleRun(x.all...)
		all := Causes(r, cleanRun(r), false)
		if len(all) != 1 || all[0].Clearest.Hint != x.hint {
			t.Errorf("%s: got %d causes, the first with hint %q, want one with %q", name, len(all),
				all[0].Clearest.Hint, x.hint)
		}
	}
}

// TestTheClearestWitnessIsShown: that is the one with the fewest requests, in a scenario that counts.
func TestTheClearestWitnessIsShown(t *testing.T) {
	long := Claimed("long", "x", "k", "2 requests")
	long.Claims[0].Findings[0].Observations = []int{1, 2}
	recommended := Claimed("recommended", "x", "k", "0 requests")
	recommended.Kind = result.Recommended
	r := SampleRun(recommended, long, Claimed("short", "x", "k", "1 requests"))
	all := Causes(r, cleanRun(r), false)
	const also = "also: recommended, long"
	if len(all) != 1 || !all[0].Counts || all[0].Witness != "short" || all[0].Also() != also {
		t.Errorf("got %+v, want one cause that counts, of short, recommended and long", all)
	}
}

// TestWhatFollowsIsNoCause: a recording that was not made as planned also shows too little. To send more
// would not mend that.
func TestWhatFollowsIsNoCause(t *testing.T) {
	s := Unknown(t)
	s.Reason, s.Detail = result.ScheduleMissed, "it stood still"
	s.Claims = []result.Claim{{ID: "conformance", Kind: result.ClaimConformance,
		Reason: result.TooFew, Text: "the burst is known to be 17..21"}}
	r := SampleRun(s)
	if got := Causes(r, r, false); len(got) != 1 || !strings.Contains(got[0].Sentence(), "stood still") {
		t.Errorf("got %+v, want the machine alone", got)
	}
	r.Scenarios[0].Reason = result.SearchLimit
	if got := Causes(r, r, false); len(got) != 2 {
		t.Errorf("for another reason: got %+v, want both", got)
	}
}

// TestCountersApartAreNamedIfTheyShow: twice the quota was admitted, and two answers to one client each state
// a quota of which one unit is used. Without such answers, or a denial, nothing shows workers.
func TestCountersApartAreNamedIfTheyShow(t *testing.T) {
	for name, c := range map[string]struct {
		burst, counters, denied int
		want                    string
	}{
		"two counters": {40, 2, 5, "40 is 2 times 20, and 2 answers to one client"},
		"one counter":  {40, 1, 5, ""},
		"no fields":    {40, 0, 5, ""},
		"no multiple":  {39, 2, 5, ""},
		"no denial":    {40, 2, 0, ""},
	} {
		s := Failing(t)
		s.Limit = Limit(t, "token-bucket,rate=10/s,burst=20")
		s.Judgement.Measured = result.Measured{Burst: Between(float64(c.burst), float64(c.burst))}
		s.Counts.Denied = c.denied
		s.Timeline = &timeline.Timeline{}
		for i := range c.burst {
			o := timeline.Observation{Answered: true, Outcome: timeline.Allowed}
			if o.Partition = "k"; c.counters > 0 {
				left := strconv.Itoa(max(0, 20-1-i/c.counters))
				o.Fields = timeline.Fields{{Name: "X-Ratelimit-Limit", Value: "20"},
					{Name: "X-Ratelimit-Remaining", Value: left}}
			}
			s.Timeline.Observations = append(s.Timeline.Observations, o)
		}
		got := severalMend(&s, &result.Failure{Claim: result.ConformanceID})
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
