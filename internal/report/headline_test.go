package report

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

// TestHeadlineTellsFailuresApart: a failure that does not count is no reason for a FAIL of the run, and the
// headline says so.
func TestHeadlineTellsFailuresApart(t *testing.T) {
	one := func(id, kind string, v result.Verdict) result.Scenario {
		return result.Scenario{ID: id, Kind: kind, Verdict: v}
	}
	pass, fail := one("p", result.Required, result.Pass), one("f", result.Required, result.Fail)
	recommended := one("r", result.Recommended, result.Fail)
	needs := one("n", result.Required, result.Inconclusive)
	needs.Reason = result.NeedsFailed
	both := []result.Scenario{pass, recommended}
	four := []result.Scenario{recommended, recommended, recommended, recommended}
	for _, x := range []struct {
		in     []result.Scenario
		strict bool
		want   string
	}{
		{both, false, "2 scenarios: 1 PASS, 1 FAIL that does not count (r), in 41.2 s"},
		{both, true, "2 scenarios: 1 PASS, 1 FAIL (r), in 41.2 s"},
		{four, false, "4 scenarios: 4 FAIL that do not count, in 41.2 s"},
		{four[:1], false, "r in 41.2 s: its FAIL does not count (recommended)"},
		{[]result.Scenario{fail}, false, "f in 41.2 s"},
		{[]result.Scenario{fail, needs}, false, "2 scenarios: 1 FAIL (f), 1 not judged, in 41.2 s"},
		{nil, false, "nothing was judged in 41.2 s"},
	} {
		if got := Headline(SampleRun(x.in...), x.strict); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}

// TestPolicyLines: a value that was not measured, is refuted or is contradictory is described in words. It is
// not printed as an interval.
func TestPolicyLines(t *testing.T) {
	of := func(id string, m result.Measured) result.Scenario {
		return result.Scenario{ID: id, Limit: Limit(t, "token-bucket,rate=10/s,burst=20"),
			Verdict:   result.Pass,
			Judgement: &result.Judgement{Measured: m}}
	}
	run := func(all ...result.Scenario) *result.Run {
		r := Measured(all...)
		for _, s := range all[1:] {
			r.Policy.Measured = r.Policy.Measured.Intersect(s.Judgement.Measured)
		}
		return r
	}
	good := result.Measured{Burst: Between(20, 20), Rate: Between(9.97, 10.04)}
	five := result.Measured{Burst: Between(5, 5), Rate: Between(9, 11)}
	slow := result.Measured{Burst: Between(20, 20), Rate: Between(3, 4)}
	burst := result.Measured{Burst: good.Burst}
	const ok = "measured burst 20..20 (declared 20), "
	const two = " (2 scenarios that declare token-bucket,rate=10/s,burst=20)"
	const untold = "rate not known: the declared burst does not hold"
	waiting := of("a", result.Measured{Burst: Between(3, 21), Rate: good.Rate})
	waiting.Limit = Limit(t, "leaky-bucket-queue,rate=10/s,queue=20")
	for name, x := range map[string]struct {
		r    *result.Run
		want string
	}{
		"one":             {run(of("a", good)), ok + "rate 9.97..10.04/s (declared 10/s)"},
		"nothing of rate": {run(of("a", burst)), ok + "rate not measured (declared 10/s)"},
		"another burst":   {run(of("a", five)), "measured burst 5..5 (declared 20), " + untold},
		"no burst at all": {run(of("a", result.Measured{Burst: Between(2, 1)})),
			"measured no single burst: no value fits the recording of a, " + untold},
		"one of two measured": {oneOf(run(of("a", good)), of("b", good)),
			ok + "rate 9.97..10.04/s (declared 10/s) " +
				"(1 scenario that declares token-bucket,rate=10/s,burst=20)"},
		"contradictory bursts": {run(of("a", good), of("b", five)),
			"measured no single burst: a measured 20..20, b 5..5, " + untold + two},
		"contradictory rates": {run(of("a", good), of("b", slow)),
			ok + "no single rate: a measured 9.97..10.04/s, b 3..4/s" + two},
		"nothing": {SampleRun(of("a", good)), ""},
		"a queue, of which shorter ones would look the same": {run(waiting), "measured at once at most 21 " +
			"(declared 21; a shorter queue would look the same), rate 9.97..10.04/s (declared 10/s)"},
	} {
		if got := strings.Join(PolicyLines(x.r), "\n"); got != x.want {
			t.Errorf("%s: got %q, want %q", name, got, x.want)
		}
	}
}

// oneOf adds a scenario to a run. The policy of the run was not measured by it.
func oneOf(r *result.Run, s result.Scenario) *result.Run {
	r.Scenarios = append(r.Scenarios, s)
	return r
}
