package claim

import (
	"fmt"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestDeniedStatus(t *testing.T) {
	origin := func(o timeline.Observation) timeline.Observation { o.Origin = true; return o }
	run(t, Expect{DeniedStatus: []int{429, 403}}, []row{
		{"as expected", record(req(1, 0, 1, 429), req(2, 1, 2, 403)), "pass",
			"2 of 2 denials have status 429 or 403"},
		{"one is another", record(req(1, 0, 1, 429), req(2, 1, 2, 503)), "fail",
			"1 of 2 denials have status 503, expected is 429 or 403: #2"},
		{"the origin does not count", record(req(1, 0, 1, 429), origin(req(2, 1, 2, 503))), "pass", "1 of 1"},
		{"an admission does not count", record(req(1, 0, 1, 429), req(2, 1, 2, 200)), "pass", "1 of 1"},
		{"an unknown outcome does not count", record(req(1, 0, 1, 500)), "too-few", ""},
		{"a denial without a status does not count",
			record(with(req(1, 0, 1, 429), func(o *timeline.Observation) { o.Status = 0 })), "too-few",
			"there are no denials whose status was read"},
	})
}

// TestADenialWithoutAnAnswerHasNoStatus: a target that declares to deny by closing the connection sends no
// answer that could have a wrong status.
func TestADenialWithoutAnAnswerHasNoStatus(t *testing.T) {
	dropped := with(req(2, 2, 3, 0), func(o *timeline.Observation) {
		o.Answered, o.FirstByte, o.Outcome = true, 3*ms, timeline.Denied
	})
	never := record(req(1, 0, 1, 200, someDate), dropped)
	once := record(req(1, 0, 1, 200, someDate), dropped, req(3, 4, 5, 429, someDate))
	run(t, Expect{DeniedStatus: []int{429}}, []row{{"never", never, "needs-failed", "no denial was answered"},
		{"once", once, "pass", "1 of 1 denial have status 429"}})
}

func TestDenialsOfAPhase(t *testing.T) {
	late := func(o timeline.Observation,
		by time.Duration) timeline.Observation {
		o.At = o.Sent - by
		return o
	}
	other := func(o timeline.Observation) timeline.Observation { o.Phase = "q"; return o }
	origin := func(o timeline.Observation) timeline.Observation { o.Origin = true; return o }
	two := []timeline.Observation{req(1, 0, 1, 429), req(2, 1, 2, 429), req(3, 3, 4, 200)}
	more := func(obs ...timeline.Observation) *timeline.Timeline { return record(append(obs, two...)...) }
	for max, want := range []string{"fail", "fail", "pass", "too-few"} {
		run(t, Expect{Denials: []DenialBound{{Phase: "p", Max: max}}},
			[]row{{fmt.Sprintf("two denials, %d allowed for", max), more(), want,
				fmt.Sprintf("2 of 3 requests of phase \"p\" were denied, expected at most %d", max)}})
	}
	run(t, Expect{Denials: []DenialBound{{Phase: "p", Max: 1}}}, []row{
		{"another phase", record(other(req(4, 0, 1, 429)), other(req(5, 0, 1, 429)), req(1, 0, 1, 429)),
			"too-few", "1 of 1"},
		{"the origin", record(origin(req(4, 0, 1, 429)), req(1, 0, 1, 429)), "too-few", "1 of 1"},
		{"no such phase", record(other(req(4, 0, 1, 429))), "too-few", `no decisions of phase "p" beyond 1`},
		{"sent as late as is allowed for", more(late(req(4, 50, 51, 200), 5*ms)), "fail", "#1, #2"},
		{"sent later", more(late(req(4, 50, 51, 200), 5*ms+1)), "schedule-missed", "5.000 ms late"},
		{"late, but within the bound", record(late(req(4, 50, 51, 200), 50*ms), req(5, 51, 52, 200)), "pass",
			""},
		{"another phase was late", more(other(late(req(4, 50, 51, 200), 50*ms))), "fail", ""},
	})
	run(t, Expect{Denials: []DenialBound{{Phase: "p", Max: 2}}}, []row{
		{"one lost may be a third", more(req(4, 9, 0, 0)), "too-few", "1 request had no answer"},
		{"one not classified may be a third", more(req(4, 9, 10, 500)), "unclassified-status",
			"1 answer has a status"},
	})
	run(t, Expect{Denials: []DenialBound{{Phase: "p", Max: 3}}},
		[]row{{"one lost is within the bound", more(req(4, 9, 0, 0), req(5, 9, 10, 200)), "pass",
			""}})
	for by, want := range map[time.Duration]result.Verdict{60 * ms: result.Fail,
		61 * ms: result.Inconclusive} {
		c := judge(more(late(req(4, 90, 91, 200), by)), nil,
			Expect{Denials: []DenialBound{{Phase: "p", Max: 1}}, LateP99: 60 * ms}, noWaits)[0]
		if c.Verdict != want {
			t.Errorf("%v late, 60 ms expected: got %s (%s), want %s", by, c.Verdict, c.Text, want)
		}
	}
}

// TestDenialsThatTheLimitExplains: on a busy machine, requests that were sent in time are decided together. A
// denial that the limit then explains is no fault. A denial that it cannot explain at any instant is.
func TestDenialsThatTheLimitExplains(t *testing.T) {
	limit, err := spec.Parse("leaky-bucket,rate=100/s,burst=1")
	if err != nil {
		t.Fatal(err)
	}
	bound := Expect{Denials: []DenialBound{{Phase: "p", Max: 0}}}
	for name, c := range map[string]struct {
		second timeline.Observation
		want   result.Verdict
	}{
		"9 ms apart at the least, and 10 ms refill one": {req(2, 11, 12, 429), result.Inconclusive},
		"10 ms apart at the least":                      {req(2, 12, 13, 429), result.Fail},
	} {
		tl := record(req(1, 0, 2, 200), c.second)
		if got := Judge(tl, limit, bound)[0]; got.Verdict != c.want || got.Verdict == result.Inconclusive &&
			got.Reason != result.ScheduleMissed {
			t.Errorf("%s: got %s %s (%s), want %s", name, got.Verdict, got.Reason, got.Text, c.want)
		}
	}
}
