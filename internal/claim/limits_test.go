package claim

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// login returns 6 requests of a partition in phase login. A limit of 1 in 10 s admits a burst of 3 of them.
// If told is set, the answers tell what remains.
func login(partition string, from int, told bool) []timeline.Observation {
	var out []timeline.Observation
	for i := range 6 {
		at := time.Duration(from+i) * ms
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: from + i, Cost: 1, Partition: partition,
			Phase: "login", At: at}, Sent: at,
			FirstByte: at + 1, Answered: true, Status: 200, Outcome: timeline.Allowed}
		if told {
			o.Fields = timeline.Fields{{Name: "X-Ratelimit-Remaining",
				Value: string(rune('0' + max(2-i, 0)))}}
		}
		if i >= 3 {
			o.Status, o.Outcome = 429, timeline.Denied
			o.Fields = append(o.Fields, timeline.Field{Name: "Retry-After", Value: "10"})
		}
		out = append(out, o)
	}
	return out
}

// TestPhasesAreJudgedByTheirOwnLimit: claims that follow from a limit are checked for the phases that it
// counts, and for no others.
func TestPhasesAreJudgedByTheirOwnLimit(t *testing.T) {
	limit, own := parse(t, "token-bucket,rate=100/s,burst=20"), parse(t, "token-bucket,rate=1/10s,burst=3")
	const lower = "token-bucket,rate=1/5s,burst=2" // under this limit all of it would be wrong
	mixed := login("b", 0, true)
	mixed[0].Phase = "other"
	for _, x := range []struct {
		name   string
		obs    []timeline.Observation
		limits map[string]spec.Limit
		fails  int
	}{
		{"its own", login("b", 0, true), map[string]spec.Limit{"login": own}, 0},
		{"the scenario's", login("b", 0, true), nil, 2},
		{"another", login("b", 0, true), map[string]spec.Limit{"login": parse(t, lower)}, 2},
		{"none", login("b", 0, true), map[string]spec.Limit{"login": nil}, 0},
		{"that of a phase that is named so", login("b", 0, true),
			map[string]spec.Limit{"login": own, "login-aim": limit}, 0},
		{"two, of which the waits follow and the units do not", mixed, map[string]spec.Limit{"login": own},
			0},
	} {
		e := Expect{Quota: QuotaExpect{Counts: true, Fresh: true},
			RetryAfter: RetryAfterExpect{NotLonger: true}, Limits: x.limits}
		failed := 0
		for _, c := range Judge(&timeline.Timeline{Observations: x.obs}, limit, e) {
			if c.Verdict == result.Fail {
				failed++
			}
		}
		if failed != x.fails {
			t.Errorf("%s limit: %d claims failed, want %d", x.name, failed, x.fails)
		}
	}
}

// TestDenialsUnderAnotherLimitAreNoneOfThisOne: the bound on the denials of a phase is checked against what
// its own limit counts.
func TestDenialsUnderAnotherLimitAreNoneOfThisOne(t *testing.T) {
	limit, own := parse(t, "token-bucket,rate=1/s,burst=2"), parse(t, "token-bucket,rate=1/10s,burst=3")
	tl := &timeline.Timeline{Observations: login("b", 0, false)}
	for i := range 3 {
		o := login("b", 1000+i, false)[0]
		o.Phase = "rest"
		if i == 2 {
			o.Status, o.Outcome = 429, timeline.Denied
		}
		tl.Observations = append(tl.Observations, o)
	}
	e := Expect{Denials: []DenialBound{{Phase: "rest"}}, Limits: map[string]spec.Limit{"login": own}}
	if c := Judge(tl, limit, e)[0]; c.Verdict == result.Fail {
		t.Error(c.Text)
	}
	// a denial of the second request, though the burst is 2
	tl.Observations[7].Status, tl.Observations[7].Outcome = 429, timeline.Denied
	if c := Judge(tl, limit, e)[0]; c.Verdict != result.Fail {
		t.Errorf("got %s (%s), want a failure", c.Verdict, c.Text)
	}
}
