package report

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestRemarksOnTheRoute(t *testing.T) {
	type answers = []timeline.StatusCount
	one := func(status int, o timeline.Outcome, n int) timeline.StatusCount {
		return timeline.StatusCount{Status: status, Outcome: o, Answers: n}
	}
	ok := func(n int) timeline.StatusCount { return one(200, timeline.Allowed, n) }
	lost := func(n int) timeline.StatusCount { return one(404, timeline.Unknown, n) }
	unknown := func(status int) timeline.StatusCount { return one(status, timeline.Unknown, 9) }
	const open = result.Inconclusive
	redirect := one(302, timeline.Allowed, 9)
	redirect.Location = "/login"
	for _, x := range []struct {
		name    string
		in      answers
		verdict result.Verdict
		want    string
	}{
		{"nothing but 404", answers{lost(9)}, open, "the route answers 404 Not Found: is the path right?"},
		{"mostly 404", answers{ok(4), lost(5)}, open, "most answers are 404 Not Found: is the path right?"},
		{"half 404", answers{ok(5), lost(5)}, open, ""},
		{"404 behind a limiter", answers{lost(3), one(429, timeline.Denied, 20)}, open,
			"requests that are not denied are answered 404 Not Found: is the path right?"},
		{"404 beside admissions", answers{ok(1), lost(3), one(429, timeline.Denied, 20)}, open, ""},
		{"404 that is called a denial", answers{ok(1), one(404, timeline.Denied, 9)}, result.Fail, ""},
		{"no key", answers{unknown(401)}, open, "the route answers 401 Unauthorized: is a key missing?"},
		{"a page to a call of gRPC", answers{unknown(200)}, open, "the route answers 200 OK: is this the " +
			"limited route?"},
		{"no password", answers{unknown(407)}, open, "the route answers 407 Proxy Authentication Required: " +
			"does the proxy want a password?"},
		{"the wrong method", answers{unknown(405)}, open,
			"the route answers 405 Method Not Allowed: is the method right?"},
		{"a ban after denials", answers{ok(2), one(429, timeline.Denied, 3), unknown(403)}, open,
			"most answers are 403 Forbidden: does the gateway ban a client that keeps asking?"},
		{"no denial before", answers{ok(2), unknown(403)}, open,
			"most answers are 403 Forbidden: is a field missing, or is that a denial?"},
		{"denials by another status", answers{ok(2), unknown(503)}, open,
			"most answers are 503 Service Unavailable: is the target broken, or is that a denial?"},
		{"a redirect", answers{redirect}, result.Fail,
			"the route answers 302 Found, a redirect to /login: is this the limited route?"},
		{"a redirect of what is limited", answers{redirect, one(429, timeline.Denied, 20)}, result.Fail, ""},
		{"a redirect that passes", answers{redirect}, result.Pass, ""},
		{"nothing but 503", answers{one(503, timeline.Denied, 9)}, open,
			"the route answers 503 Service Unavailable: is the target broken?"},
		{"503 behind a limiter", answers{one(429, timeline.Denied, 20), one(503, timeline.Denied, 9)}, open,
			"requests that are not denied are answered 503 Service Unavailable: is the target broken?"},
		{"denials by 503", answers{ok(2), one(503, timeline.Denied, 9)}, result.Fail, ""},
		{"nothing but 429", answers{one(429, timeline.Denied, 9)}, result.Fail, ""},
		{"a status without a name", answers{unknown(599)}, open,
			"the route answers 599: is the target broken, or is that a denial?"},
		{"no answer", nil, open, ""},
	} {
		scenario := &result.Scenario{Verdict: x.verdict, Answers: result.Answers{Statuses: x.in}}
		for _, one := range x.in {
			if one.Outcome == timeline.Denied {
				scenario.Counts.Denied += one.Answers
			}
		}
		got, _ := remarkOn(scenario, false)
		if got.text != x.want {
			t.Errorf("%s: got %q, want %q", x.name, got.text, x.want)
		}
		if (got.text == "") != (got.mend == "") {
			t.Errorf("%s: got the mend %q for %q", x.name, got.mend, got.text)
		}
	}
}

// TestACertificateIsMissing: a target may ask for a certificate and answer as it does to a client that it
// does not know. Then a certificate is missing, not a field.
func TestACertificateIsMissing(t *testing.T) {
	for status, want := range map[int]bool{400: true, 403: true, 496: true, 404: false} {
		s := &result.Scenario{Verdict: result.Inconclusive,
			Answers: result.Answers{Statuses: []timeline.StatusCount{
				{Status: status, Outcome: timeline.Unknown, Answers: 9}}}}
		if got, _ := remarkOn(s, false); got.mend == transport.CauseCertify {
			t.Errorf("%d: got %q where none was asked for", status, got.mend)
		}
		s.Header.Notes = []string{transport.CauseNoCertificate}
		if got, _ := remarkOn(s, false); (got.mend == transport.CauseCertify) != want {
			t.Errorf("%d: got %q", status, got.mend)
		}
	}
}

// TestNeverDenied: a target that denies nothing may not be the limited route. One that denies at all is.
func TestNeverDenied(t *testing.T) {
	s := Failing(t)
	s.Statuses = []timeline.StatusCount{{Status: 200, Outcome: timeline.Allowed, Answers: 680}}
	s.Counts = timeline.Counts{Sent: 680, Allowed: 680}
	const want = "nothing was ever denied: is this the limited route?"
	if got, _ := remarkOn(&s, false); got.text != want || got.of != 680 || got.all != 680 {
		t.Errorf("got %+v, want %q of 680 of 680", got, want)
	}
	s.Title = "Requests without a key are limited too"
	got, _ := remarkOn(&s, true)
	if !strings.HasSuffix(got.text, "unlike in other scenarios; this one says: "+s.Title) || got.mend != "" {
		t.Errorf("where other scenarios were denied: got %+v", got)
	}
	s.Counts.Denied = 1
	if got, ok := remarkOn(&s, false); ok {
		t.Errorf("with a denial: got %+v, want nothing", got)
	}
	under := Claimed("x", result.ConformanceID, result.UnderAdmission, "too few")
	under.Counts.Allowed = 5
	if got, ok := remarkOn(&under, false); ok {
		t.Errorf("where too few were admitted: got %+v, want nothing", got)
	}
}

// TestNothingDeniedMayBeACache: the answers of a cache that does not say so count as admissions.
func TestNothingDeniedMayBeACache(t *testing.T) {
	s := &result.Scenario{Verdict: result.Fail, Target: "http://127.0.0.1/",
		Answers: result.Answers{Counts: timeline.Counts{Allowed: 9}},
		Claims:  []result.Claim{{Findings: []result.Finding{{Kind: result.OverAdmission}}}}}
	if r, ok := remarkOn(s, false); !ok || !strings.Contains(r.mend, "--past-caches") {
		t.Errorf("got the mend %q", r.mend)
	}
}
