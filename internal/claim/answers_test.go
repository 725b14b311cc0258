package claim

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// in puts an observation into a phase.
func in(phase string, o timeline.Observation) timeline.Observation { o.Phase = phase; return o }

func TestAnswersOfAPhase(t *testing.T) {
	run(t, Expect{Answers: []AnswerBound{{Phase: "gone", Status: []int{200, 204}}}}, []row{
		{"as expected", record(in("gone", req(1, 0, 1, 200)), in("gone", req(2, 2, 3, 204)),
			req(3, 4, 5, 500)), "pass", `2 of 2 answers of phase "gone" have status 200 or 204`},
		{"otherwise", record(in("gone", req(1, 0, 1, 200)), in("gone", req(2, 2, 3, 500))), "fail",
			`1 of 2 answers of phase "gone" have status 500, expected is 200 or 204: #2`},
		{"some not answered", record(in("gone", req(1, 0, 1, 200)), in("gone", req(2, 2, 3, 0))), "too-few",
			"1 request not answered"},
		{"otherwise, and some not answered",
			record(in("gone", req(1, 0, 1, 429)), in("gone", req(2, 2, 3, 0))), "fail", "#1"},
		{"nothing", record(req(1, 0, 1, 500)), "too-few", "there are no answers of phase"},
		{"at the origin", record(in("gone", req(1, 0, 1, 200)),
			with(in("gone", req(2, 2, 3, 500)), func(o *timeline.Observation) { o.Origin = true })), "pass",
			""},
	})
}

func TestBarredPhasesAdmitNothing(t *testing.T) {
	run(t, Expect{Barred: []string{"barred"}}, []row{
		{"none", record(in("barred", req(1, 0, 1, 429)), in("barred", req(2, 2, 3, 403)), req(3, 4, 5, 200)),
			"pass", `0 of 2 requests of phase "barred" were admitted`},
		{"one", record(in("barred", req(1, 0, 1, 429)), in("barred", req(2, 2, 3, 200))), "fail",
			`1 of 2 requests of phase "barred" were admitted, expected none: #2`},
		{"one, and some not answered", record(in("barred", req(1, 0, 1, 0)), in("barred", req(2, 2, 3, 200))),
			"fail", "#2"},
		{"some not answered", record(in("barred", req(1, 0, 1, 429)), in("barred", req(2, 2, 3, 0))),
			"too-few", "1 request not answered"},
		{"nothing", record(req(1, 0, 1, 429)), "too-few", "there are no answers of phase"},
		{"at the origin", record(in("barred", req(1, 0, 1, 429)),
			with(in("barred", req(2, 2, 3, 200)), func(o *timeline.Observation) { o.Origin = true })), "pass",
			""},
	})
}

func TestParityOfPhases(t *testing.T) {
	const x, y = "X-Ratelimit-Limit: 5", "Retry-After: 1"
	get, head := func(o timeline.Observation) timeline.Observation { return in("get", o) },
		func(o timeline.Observation) timeline.Observation { return in("head", o) }
	run(t, Expect{Parity: []ParityExpect{{Phase: "head", Like: "get"}}}, []row{
		{"the same", record(get(req(1, 0, 1, 200, x)), get(req(2, 2, 3, 429, x, y)),
			head(req(3, 4, 5, 200, x)), head(req(4, 6, 7, 429, x, y))), "pass",
			`2 answers of phase "head" have what those of phase "get" have: status, Retry-After, X-Ratelimit-Limit`},
		{"a field less", record(get(req(1, 0, 1, 429, x, y)), head(req(3, 4, 5, 429, x))), "fail",
			`Retry-After is in all 1 answer of phase "get" to denied requests (#1), but missing in 1 of 1 of phase "head": #3`},
		{"a field more", record(get(req(1, 0, 1, 429, x)), head(req(3, 4, 5, 429, x, y))), "pass", ""},
		{"a field that not all have", record(get(req(1, 0, 1, 429, x, y)), get(req(2, 2, 3, 429, x)),
			head(req(3, 4, 5, 429, x))), "pass", ""},
		{"a field of the content", record(get(req(1, 0, 1, 200, "Content-Type: text/plain", x)),
			head(req(3, 4, 5, 200, x))), "pass", ""},
		{"another status", record(get(req(1, 0, 1, 429, x)), head(req(3, 4, 5, 403, x))), "fail",
			`denied requests of phase "get" are answered 429, those of phase "head" 403: #3`},
		{"nothing in common", record(get(req(1, 0, 1, 429, x)), head(req(3, 4, 5, 200, x))), "too-few",
			"there are no outcomes that both"},
	})
}

func TestStorms(t *testing.T) {
	storm := func(drained bool) Expect {
		return Expect{Storms: []StormExpect{{Phase: "p", Clients: 3, Drained: drained}}}
	}
	late := with(req(9, 50, 51, 429), func(o *timeline.Observation) { o.At = 0 })
	all := record(req(1, 0, 1, 200), req(2, 0, 1, 429), req(3, 0, 1, 429), req(4, 100, 101, 200),
		req(5, 105, 106, 429), req(6, 200, 201, 200))
	run(t, storm(true), []row{
		{"all were served", all, "pass",
			"3 of 3 clients admitted with 6 requests, 3 in vain, the last after 0.201 s; after the first, " +
				"at most 2 came within 10.000 ms"},
		{"one was not", record(all.Observations[:5]...), "fail",
			"1 client never admitted; the last denial is #5"},
		{"one was not, by our fault", record(append(all.Observations[:5:5], late)...), "schedule-missed",
			"late"},
		{"nothing was answered", record(req(1, 0, 1, 0)), "too-few", ""},
	})
	run(t, storm(false),
		[]row{{"one was not, and need not", record(all.Observations[:5]...), "pass", "2 of 3 clients"}})
}

func TestDenialsThatNoLimitCounts(t *testing.T) {
	late := with(req(1, 50, 51, 429), func(o *timeline.Observation) { o.At = 0 })
	run(t, Expect{Denials: []DenialBound{{Phase: "p", Unlimited: true}}}, []row{
		{"a denial that is late", record(late), "fail", "1 of 1 request"},
		{"none", record(req(1, 0, 1, 200)), "pass", ""},
	})
	tl := record(req(1, 0, 1, 200), req(2, 2, 3, 429))
	limit := parse(t, "token-bucket,rate=1/s,burst=9")
	for own, want := range map[string]string{"token-bucket,rate=1/s,burst=1": "schedule-missed",
		"token-bucket,rate=1/s,burst=2": "fail"} {
		c := judge(tl, limit,
			Expect{Denials: []DenialBound{{Phase: "p"}}, Limits: map[string]spec.Limit{"p": parse(t, own)}},
			noWaits)[0]
		if got, text := verdictOf(c); got != want {
			t.Errorf("with %s of its own: got %s, want %s: %s", own, got, want, text)
		}
	}
}

func TestErrorsHaveABound(t *testing.T) {
	lost := func(seq int, word string) timeline.Observation {
		return with(req(seq, 2, 3, 0), func(o *timeline.Observation) {
			o.Answered, o.Outcome, o.Error = false, timeline.Unknown, word
		})
	}
	run(t, Expect{Errors: []int{0}}, []row{
		{"none", record(req(1, 0, 1, 200), req(2, 2, 3, 429)), "pass",
			"0 of 2 requests had an error, bound 0"},
		{"a status", record(req(1, 0, 1, 200), req(2, 2, 3, 500)), "fail",
			"1 of 2 requests had an error, bound 0: #2"},
		{"no answer", record(req(1, 0, 1, 200), lost(2, "timeout")), "fail", "#2"},
		{"not reached", record(req(1, 0, 1, 200), lost(2, "interrupted")), "too-few",
			"1 more request did not reach the target"},
		{"nothing sent", record(), "too-few", ""},
	})
	run(t, Expect{Errors: []int{1}}, []row{
		{"as many as may", record(req(1, 0, 1, 200), req(2, 2, 3, 500)), "pass", "bound 1"},
		{"one more", record(req(1, 0, 1, 500), req(2, 2, 3, 500), req(3, 4, 5, 200)), "fail", "#1, #2"},
	})
}
