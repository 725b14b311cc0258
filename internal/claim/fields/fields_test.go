package fields

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/recorded"
	"github.com/rlcheck/rlcheck/internal/claim/sample"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

const someDate = "Date: Fri, 20 Nov 2026 12:00:00 GMT"

const ms = time.Millisecond

var req, with, record = sample.Request, sample.With, sample.Recording

// one judges a group of fields of a target that promised some things.
func one(t *testing.T, tl *timeline.Timeline, g Group, promised []verdict.Promise) verdict.Claim {
	t.Helper()
	c := Judge(recorded.New(tl, recorded.Terms{Promised: promised}, sample.NoWaits), g, nil)
	sample.Sound(t, tl, c)
	return c
}

// row is one row of a table: what is expected of one claim.
type row struct {
	name string
	tl   *timeline.Timeline
	want string // verdict, or reason of an inconclusive one
	text string // a part of the claim's text, or of that of its first finding
}

// run judges a group of fields in each recording of a table.
func run(t *testing.T, g Group, promised []verdict.Promise, rows []row) {
	t.Helper()
	for _, x := range rows {
		got, text := sample.Verdict(one(t, x.tl, g, promised))
		if got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.name, got, text, x.want, x.text)
		}
	}
}

func TestRetryAfterField(t *testing.T) {
	run(t, RetryAfter, verdict.Promises(), []row{
		{"all have it", record(req(1, 0, 1, 429, "Retry-After: 1"), req(2, 2, 3, 429, "Retry-After: 0")),
			"pass", "2 of 2 denials have a valid Retry-After"},
		{"one lacks it", record(req(1, 0, 1, 429, "Retry-After: 1"), req(2, 2, 3, 429, someDate)), "fail",
			"1 of 2 denials lack Retry-After: #2"},
		{"all lack it", record(req(1, 0, 1, 429, someDate), req(2, 2, 3, 429, someDate)), "fail",
			"2 of 2 denials lack Retry-After: #1, #2"},
		{"an admission needs none", record(req(1, 0, 1, 200, someDate), req(2, 2, 3, 429, "Retry-After: 1")),
			"pass", "1 of 1 denial"},
		{"a lost answer needs none", record(req(1, 0, 0, 0), req(2, 2, 3, 429, "Retry-After: 1")), "pass",
			"1 of 1 denial"},
		{"an answer of unknown outcome needs none",
			record(req(1, 0, 1, 500, someDate), req(2, 2, 3, 429, "Retry-After: 1")), "pass",
			"1 of 1 denial"},
		{"called denied without an answer",
			record(with(req(1, 0, 1, 429), func(o *timeline.Observation) { o.Answered = false }),
				req(2, 2, 3, 429, "Retry-After: 1")), "pass", "1 of 1 denial"},
		{"the origin needs none",
			record(with(req(1, 0, 1, 429, someDate), func(o *timeline.Observation) { o.Origin = true }),
				req(2, 2, 3, 429, "Retry-After: 1")), "pass", "1 of 1 denial"},
		{"none denied", record(req(1, 0, 1, 200, someDate)), "too-few", "there are no denials read"},
		{"no fields were kept", record(req(1, 0, 1, 200), req(2, 2, 3, 429)), "too-few",
			"the recording has no header fields"},
		{"a fraction", record(req(1, 0, 1, 429, "Retry-After: 1.5")), "fail",
			`1 of 1 denial break RA-SYNTAX in Retry-After: #1; #1 has Retry-After: "1.5": a wait is ` +
				`a whole number of seconds (round up: write "2")`},
		{"sent twice", record(req(1, 0, 1, 429, "Retry-After: 60, 60")), "fail", "RA-SINGLE"},
		{"an obsolete date", record(req(1, 0, 1, 429, "Retry-After: Friday, 20-Nov-26 09:55:29 GMT")), "fail",
			"RA-IMF"},
		{"flask-limiter: an admission has one too",
			record(req(1, 0, 1, 200, "Retry-After: 2"), req(2, 2, 3, 429, "Retry-After: 1")), "pass",
			"only its syntax was judged: Retry-After in 1 admitted answer"},
		{"an admission has a broken one",
			record(req(1, 0, 1, 200, "Retry-After: -1484742195"), req(2, 2, 3, 429, "Retry-After: 1")),
			"fail",
			"1 of 1 admitted answer break RA-SYNTAX in Retry-After: #1"},
		{"a date", record(req(1, 0, 1, 429, "Retry-After: Fri, 20 Nov 2026 09:55:29 GMT")), "pass", ""},
	})
}

// TestADenialWithoutAnAnswerLacksNothing: a target that declares to deny by closing the connection sends no
// answer. So no field, body or status is missing.
func TestADenialWithoutAnAnswerLacksNothing(t *testing.T) {
	const quota = "X-Ratelimit-Limit: 5"
	dropped := with(req(2, 2, 3, 0), func(o *timeline.Observation) {
		o.Answered, o.FirstByte, o.Outcome = true, 3*ms, timeline.Denied
	})
	never := record(req(1, 0, 1, 200, quota, someDate), dropped)
	once := record(req(1, 0, 1, 200, quota, someDate), dropped, req(3, 4, 5, 429, someDate))
	for name, e := range map[Group]struct{ never, once string }{
		RateLimit: {"pass", "fail"}, Date: {"pass", "pass"}, Explanation: {"needs-failed", "fail"},
		NoStore: {"needs-failed", "pass"}, RetryAfter: {"needs-failed", "fail"},
	} {
		promised := []verdict.Promise{verdict.PromiseRetryAfter}
		run(t, name, promised, []row{{string(name) + ", never", never, e.never, ""},
			{string(name) + ", once", once, e.once, ""}})
	}
}

func TestMissingFieldsNameSomeAndCountAll(t *testing.T) {
	var obs []timeline.Observation
	for i := range 20 {
		obs = append(obs, req(i, i, i, 429, someDate))
	}
	c := one(t, record(obs...), RetryAfter, verdict.Promises())
	f := c.Findings[0]
	if f.Seen != 20 || f.Bound != 0 || len(f.Observations) != finding.Most ||
		f.Text != "20 of 20 denials lack Retry-After: #0, #1, #2, #3, #4 and 15 more" {
		t.Errorf("got %+v", f)
	}
}

func TestMissingFieldsNameAnOutcomeOnlyIfItIsThat(t *testing.T) {
	c := one(t, record(req(1, 0, 1, 200, "X-Ratelimit-Limit: 5"), req(3, 1, 1, 200, someDate),
		req(2, 2, 3, 429, "X-Ratelimit-Limit: 5")), RateLimit, verdict.Promises())
	if got := c.Findings[0].Text; got != "1 of 3 answers lack fields that state the quota: #3" {
		t.Errorf("got %q, want no outcome", got)
	}
}

func TestRateLimitFields(t *testing.T) {
	const x = "X-Ratelimit-Limit: 5"
	run(t, RateLimit, verdict.Promises(), []row{
		{"every answer tells", record(req(1, 0, 1, 200, x), req(2, 2, 3, 429, x)), "pass",
			"2 of 2 answers have a valid"},
		{"an answer of unknown outcome need not", record(req(1, 0, 1, 500, someDate),
			req(3, 1, 2, 200, x), req(2, 2, 3, 429, x)), "pass", "2 of 2 answers"},
		{"nobody was denied", record(req(1, 0, 1, 200, x)), "too-few", "no answers of the rarer outcome"},
		{"only denials tell", record(req(1, 0, 1, 200, someDate), req(2, 2, 3, 429, x)), "fail",
			"1 of 2 answers lack fields that state the quota: #1 (all that were allowed, none that was " +
				"denied)"},
		{"only admissions tell", record(req(1, 0, 1, 200, x), req(2, 2, 3, 429, someDate)), "fail",
			"#2 (all that were denied, none that was allowed)"},
		{"some tell", record(req(1, 0, 1, 200, x), req(3, 1, 1, 200, someDate), req(2, 2, 3, 429, x)), "fail",
			"1 of 3 answers lack fields that state the quota: #3"},
		{"a negative number tells nothing", record(req(1, 0, 1, 200, "X-Ratelimit-Remaining: -1")), "fail",
			"1 of 1 answer break XR-SET"},
		{"a reset alone tells no quota", record(req(1, 0, 1, 200, "X-Ratelimit-Reset: 5")), "fail", "lack"},
		{"a must of a draft is broken",
			record(req(1, 0, 1, 200, "Ratelimit-Limit: 5", "Ratelimit-Reset: 1795176060")), "fail",
			"R3-RESET-DELTA"},
		{"a convention is broken", record(req(1, 0, 1, 200, x, "X-Ratelimit-Remaining: 6"),
			req(2, 1, 2, 429, x)), "pass",
			"; note convention XR-REM-RANGE in 1: X-RateLimit-Remaining: \"6\": more remains"},
		{"nothing can be read", record(req(1, 0, 1, 200, "X-Ratelimit-Limit: many")), "fail", "XR-SET"},
		{"a name that is a token", record(req(1, 0, 1, 200, "Ratelimit: q;r=1")), "fail", "RP-NAME"},
		{"no answers", record(req(1, 0, 0, 0)), "too-few", "there are no answers"},
	})
}

func TestDateField(t *testing.T) {
	run(t, Date, verdict.Promises(), []row{
		{"there", record(req(1, 0, 1, 200, someDate), req(2, 0, 1, 429, someDate)), "pass", "2 of 2 answers"},
		{"missing", record(req(1, 0, 1, 200, someDate), req(2, 0, 1, 429, "Server: x")), "fail",
			"1 of 2 answers lack Date: #2"},
		{"broken", record(req(1, 0, 1, 200, "Date: Fri, 20 Nov 2026 12:00:00 UTC")), "fail", "ST-DATE"},
		{"obsolete", record(req(1, 0, 1, 200, "Date: Fri Nov 20 12:00:00 2026")), "fail", "RA-IMF"},
	})
}

func TestProblemBody(t *testing.T) {
	const media = "Content-Type: application/problem+json"
	body := func(s string, fields ...string) *timeline.Timeline {
		return record(with(req(1, 0, 1, 429, fields...), func(o *timeline.Observation) { o.Body = s }))
	}
	run(t, ProblemBody, verdict.Promises(), []row{
		{"a problem", body(`{"type":"about:blank","status":429}`, media), "pass", ""},
		{"with parameters, in capitals",
			body(` {"status":429}`, "Content-Type: Application/Problem+JSON; charset=utf-8"), "pass", ""},
		{"a body that was not kept", body("", media), "pass", ""},
		{"a body that was cut", body(`{"type":"about:bl`, media), "pass", ""},
		{"another media type", body(`{"status":429}`, "Content-Type: application/json"), "fail",
			"lack body of type application/problem+json"},
		{"a broken media type", body(`{"status":429}`, "Content-Type: Application/Problem+JSON; charset"),
			"pass", ""},
		{"no media type", body(`{"status":429}`, someDate), "fail", "lack body"},
		{"an array", body(`[]`, media), "fail", "PD-TYPE"},
		{"markup", body(`<html>`, media), "fail", "PD-TYPE"},
		{"another status", body(`{"status":503}`, media), "fail",
			`PD-STATUS in body of type application/problem+json: #1; #1 has status: "503": it must be the status of the answer (write 429)`},
		{"the status, written otherwise", body(`{"status":429.0}`, media), "pass", ""},
		{"one that is compressed", body("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabV*.I,)-V\xb22", media),
			"pass", ""},
		{"no whole status", body(`{"status":429.5}`, media), "fail", "PD-STATUS"},
		{"a status that is no number", body(`{"status":"x"}`, media), "pass", ""},
		{"only an admission", record(req(1, 0, 1, 200, media)), "too-few", "there are no denials read"},
	})
}

func TestUnknownGroup(t *testing.T) {
	c := one(t, record(req(1, 0, 1, 429, someDate)), "cookies", verdict.Promises())
	if c.Reason != "setup-failed" || !strings.Contains(c.Text, `"cookies"`) {
		t.Errorf("got %+v, want setup-failed", c)
	}
}

func TestDenialsAreNotStored(t *testing.T) {
	const d = "Date: Fri, 20 Nov 2026 10:00:00 GMT"
	run(t, NoStore, verdict.Promises(), []row{
		{"nothing is said", record(req(1, 0, 1, 429, d)), "pass", "1 of 1 denial"},
		{"no-store", record(req(1, 0, 1, 429, d, "Cache-Control: max-age=60, no-store")), "pass", ""},
		{"a lifetime", record(req(1, 0, 1, 429, d, "Cache-Control: private, max-age=60")), "fail",
			"ST-429-NOSTORE"},
		{"no lifetime", record(req(1, 0, 1, 429, d, "Cache-Control: max-age=0, no-cache")), "pass", ""},
		{"public", record(req(1, 0, 1, 429, d, "Cache-Control: PUBLIC")), "fail", "ST-429-NOSTORE"},
		{"expires later", record(req(1, 0, 1, 429, d, "Expires: Fri, 20 Nov 2026 10:00:01 GMT")), "fail",
			"Expires"},
		{"expires later, but not for caches",
			record(req(1, 0, 1, 429, d, "Cache-Control: max-age=0",
				"Expires: Fri, 20 Nov 2026 10:00:01 GMT")), "pass", ""},
		{"has expired", record(req(1, 0, 1, 429, d, "Expires: 0")), "pass", ""},
		{"an admission", record(req(1, 0, 1, 200, d, "Cache-Control: public"), req(2, 2, 3, 429, d)), "pass",
			""},
		{"another status", record(req(1, 0, 1, 503, d, "Cache-Control: public")), "pass", ""},
	})
	body := func(text string) *timeline.Timeline {
		return record(with(req(1, 0, 1, 429, d), func(o *timeline.Observation) { o.Body = text }))
	}
	run(t, Explanation, verdict.Promises(), []row{
		{"a text", body("slow down"), "pass", ""},
		{"white space", body(" \n"), "fail", "lack body that explains it"},
	})
	head := body("")
	head.Observations = append(head.Observations,
		with(req(2, 2, 3, 429, d, "Content-Type: application/problem+json"),
			func(o *timeline.Observation) { o.Phase, o.Body = "gets", "{}" }))
	for _, g := range []Group{Explanation, ProblemBody} {
		r := recorded.New(head, recorded.Terms{}, sample.NoWaits)
		if c := Judge(r, g, []string{"p"}); c.Verdict != verdict.Pass ||
			!strings.Contains(c.Text, "1 of 1 denial") {
			t.Errorf("%s, HEAD and GET: got %+v", g, c)
		}
		if c := Judge(r, g, []string{"p", "gets"}); c.Reason != verdict.TooFew {
			t.Errorf("%s, HEAD only: got %+v", g, c)
		}
	}
}

// TestWhatIsSentIsHeldToItsRules: a target that sends a field once, or a broken one, is asked for it wherever
// it belongs.
func TestWhatIsSentIsHeldToItsRules(t *testing.T) {
	const wait = "Retry-After: 1"
	denied := req(2, 2, 3, 429, someDate)
	run(t, RetryAfter, nil, []row{
		{"on some denials", record(req(1, 0, 1, 429, wait), denied), "fail", "1 of 2 denials lack"},
		{"broken on all", record(req(1, 0, 1, 429, "Retry-After: soon")), "fail", "RA-SYNTAX"},
		{"on admissions only", record(req(1, 0, 1, 200, wait), denied), "fail", "1 of 1 denial lack"},
		{"nobody was denied", record(req(1, 0, 1, 200, someDate)), "too-few", "there are no denials read"},
		{"no fields were kept", record(req(1, 0, 1, 200), req(2, 2, 3, 429)), "too-few", "no header fields"},
	})
	limit := req(2, 2, 3, 429, "X-Ratelimit-Limit: 5")
	run(t, RateLimit, nil, []row{
		{"on denials only", record(req(1, 0, 1, 200, someDate), limit), "fail", "1 of 2 answers"},
		{"broken on all", record(req(1, 0, 1, 200, "X-Ratelimit-Limit: many")), "fail", "XR-SET"},
	})
	run(t, Date, nil, []row{
		{"a standard asks for it", record(req(1, 0, 1, 200, "Server: x")), "fail", "1 of 1 answer lack Date"},
	})
}

// TestAServerWithoutAnyFieldSendsNone: Puma sends not even a date. Then the scenario was INCONCLUSIVE, since
// the recording might keep no fields. rlcheck's own do.
func TestAServerWithoutAnyFieldSendsNone(t *testing.T) {
	tl := record(req(1, 0, 1, 200), req(2, 2, 3, 429))
	for kept, want := range map[bool]verdict.Reason{true: verdict.NeedsFailed, false: verdict.TooFew} {
		c := Judge(recorded.New(tl, recorded.Terms{Kept: kept}, sample.NoWaits), RetryAfter, nil)
		if c.Reason != want || (c.Unpromised != "") != kept {
			t.Errorf("fields kept: %v: got %s %q (%s), want %s", kept, c.Reason, c.Unpromised, c.Text, want)
		}
	}
}
