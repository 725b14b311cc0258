package claim_test

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// whatIsTold are the claims about what answers say.
var whatIsTold = claim.Expect{
	Fields:     []claim.Group{claim.RateLimit, claim.DateField},
	RetryAfter: claim.RetryAfterExpect{Honored: true, NotLonger: true},
	Quota: claim.QuotaExpect{Conventions: true, Agree: true, Stable: true, Counts: true, Limit: true,
		Reset: true, Denials: true, Body: true,
		Fresh: true},
}

// tellings are sets of dialects that a limiter may use alone.
var tellings = [][]lab.Dialect{
	{lab.XRateLimit, lab.RetryAfterField}, {lab.XRateLimitDelta, lab.RetryAfterField},
	{lab.RateLimitDraft, lab.RetryAfterField}, {lab.RateLimitLegacy, lab.RetryAfterField},
	{lab.XRateLimit}, {lab.RateLimitDraft}, {lab.RateLimitLegacy},
	{lab.XRateLimit, lab.RateLimitDraft, lab.RateLimitLegacy, lab.RetryAfterField},
}

// TestRightTargetsAreNeverAccused: our own target of a random SPEC passes all claims about what it says. It
// uses each dialect, each form of Retry-After and each body of a denial.
func TestRightTargetsAreNeverAccused(t *testing.T) {
	passed := map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		for round := range claim.Fewer(3000) {
			r := rand.New(rand.NewPCG(21, uint64(round)))
			text, limit, lim := claim.TellingLimiter(t, r, 5)
			if lim == nil {
				continue
			}
			forms := []string{lab.RetryAfterSeconds, lab.RetryAfterDate}
			bodies := []lab.DenyBody{lab.DenyQuotaExceeded, lab.DenyJSON, lab.DenyJSON,
				lab.DenyText}
			o := lab.Options{Limit: limit, Dialect: tellings[r.IntN(len(tellings))],
				RetryAfter: forms[r.IntN(2)],
				DenyBody:   bodies[r.IntN(len(bodies))]}
			tl := askTarget(t, r, o, []int{0, 25}[r.IntN(2)])
			if wider, err := spec.Parse(claim.Widened(r, text)); err == nil && r.IntN(4) == 0 {
				limit = wider
			}
			where := fmt.Sprintf("round %d, %s, %v %s %s", round, text, o.Dialect, o.RetryAfter, o.DenyBody)
			claim.NotAccused(t, where, claim.Judge(tl, limit, whatIsTold), passed)
		}
	})
	t.Logf("%v", passed)
	for _, kind := range []result.ClaimKind{result.ClaimQuotaLimit, result.ClaimQuotaReset,
		result.ClaimQuotaDenials,
		result.ClaimQuotaBody} {
		if passed[string(kind)] < claim.Fewer(1000) {
			t.Errorf("%s: only %d passed", kind, passed[string(kind)])
		}
	}
}

// askTarget returns 40 requests of one client to a target. The first ones come as a burst. Others come after
// a pause, or are on their way for a while.
func askTarget(t *testing.T, r *rand.Rand, o lab.Options, burst int) *timeline.Timeline {
	t.Helper()
	time.Sleep(time.Duration(r.Int64N(int64(2 * time.Second)))) // another phase of seconds and windows
	h, err := lab.New(o)
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	tl := &timeline.Timeline{Header: timeline.Header{Started: started}}
	window := o.Limit[0].Rate.Per
	even := window / time.Duration(o.Limit[0].Rate.N)
	slow := int64(even) / []int64{10, 3, 1000}[r.IntN(3)]
	for i := range 40 {
		sent := time.Since(started)
		if i >= burst {
			time.Sleep(time.Duration(r.Int64N(slow + 1)))
		}
		q, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		q.Header.Set("X-Api-Key", "k")
		h.ServeHTTP(w, q)
		time.Sleep(time.Duration(r.Int64N(slow + 1)))
		x := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1, Partition: "k", At: sent},
			Sent:      sent,
			FirstByte: time.Since(started), Answered: true, Status: w.Code, Outcome: timeline.Allowed}
		for name, values := range w.Header() {
			x.Fields = append(x.Fields, timeline.Field{Name: name, Value: values[0]})
		}
		if x.Status != 200 {
			body := w.Body.String()
			x.Outcome, x.Body = timeline.Denied, body[:min(len(body), 512)]
		}
		tl.Observations = append(tl.Observations, x)
		time.Sleep(time.Nanosecond)
		if i < burst {
			continue
		}
		switch r.IntN(6) {
		case 0:
			time.Sleep(time.Duration(r.Int64N(int64(2 * window))))
		case 1, 2, 3:
			time.Sleep(time.Duration(r.Int64N(int64(2*even) + 1)))
		}
	}
	tl.Header.Ended = tl.End()
	return tl
}

// TestLiesAreToldInEachDialect: a fault in what is told is found in every dialect that tells it, used alone.
func TestLiesAreToldInEachDialect(t *testing.T) {
	for _, c := range []struct {
		fault string
		kind  result.ClaimKind
		// dialects are those that can show the fault, nil for all that tell a quota.
		dialects []lab.Dialect
		body     lab.DenyBody
	}{
		{"limit-scaled", result.ClaimQuotaLimit, nil, ""},
		{"reset-hour-late", result.ClaimQuotaReset, nil, ""},
		{"denial-tells-other-limit", result.ClaimQuotaDenials, nil, ""},
		{"reset-past", result.ClaimQuotaReset, []lab.Dialect{lab.XRateLimit}, ""},
		{"body-wait-in-ms", result.ClaimQuotaBody, []lab.Dialect{lab.RetryAfterField}, ""},
		{"body-wait-in-ms", result.ClaimQuotaBody, nil, ""},
		{"body-limit-scaled", result.ClaimQuotaBody, nil, lab.DenyJSON},
		{"body-reset-hour-late", result.ClaimQuotaBody, nil, ""},
	} {
		dialects := c.dialects
		if dialects == nil {
			dialects = []lab.Dialect{lab.XRateLimit, lab.XRateLimitDelta, lab.RateLimitDraft,
				lab.RateLimitLegacy}
		}
		for _, d := range dialects {
			for _, text := range []string{"token-bucket,rate=10/s,burst=20", "fixed-window,rate=10/10s",
				"sliding-window-counter,rate=7/3s,align=first", "gcra,rate=100/1m,burst=5 + " +
					"fixed-window,rate=50/10s"} {
				synctest.Test(t, func(t *testing.T) {
					o := lab.Options{Limit: claim.Parse(t, text), Fault: c.fault, DenyBody: c.body,
						Dialect: []lab.Dialect{d}}
					// A wait in a body is compared with Retry-After, and needs that field.
					if c.fault == "body-wait-in-ms" && d != lab.RetryAfterField {
						o.Dialect = append(o.Dialect, lab.RetryAfterField)
					}
					claims := claim.Judge(askTarget(t, rand.New(rand.NewPCG(1, 1)), o, 25), o.Limit,
						whatIsTold)
					i := slices.IndexFunc(claims, func(x result.Claim) bool { return x.Kind == c.kind })
					if claims[i].Verdict != result.Fail {
						t.Errorf("%s in %s under %s: got %s: %s, want fail", c.fault, d, text,
							claims[i].Verdict, claims[i].Text)
					}
				})
			}
		}
	}
}
