package claim

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var fieldsReq, fieldsWith, fieldsRecord = sampleRequest, With, sampleRecording

// fieldsOne judges a group of fields of a target that promised some things.
func fieldsOne(t *testing.T, tl *timeline.Timeline, g Group, promised []result.Promise) result.Claim {
	t.Helper()
	c := judgeFields(newRecording(tl, nil, Expect{Promised: promised}, NoWaits), g)
	Sound(t, tl, c)
	return c
}

// fieldsRow is one row of a table: what is expected of one claim.
type fieldsRow struct {
	name string
	tl   *timeline.Timeline
	want string // verdict, or reason of an inconclusive one
	text string // a part of the claim's text, or of that of its first finding
}

// fieldsRun judges a group of fields in each recording of a table.
func fieldsRun(t *testing.T, g Group, promised []result.Promise, rows []fieldsRow) {
	t.Helper()
	for _, x := range rows {
		got, text := sampleVerdict(fieldsOne(t, x.tl, g, promised))
		if got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.name, got, text, x.want, x.text)
		}
	}
}

func TestRetryAfterField(t *testing.T) {
	fieldsRun(t, RetryAfter, result.Promises(), []fieldsRow{
		{"all have it", fieldsRecord(fieldsReq(1, 0, 1, 429, "Retry-After: 1"),
			fieldsReq(2, 2, 3, 429, "Retry-After: 0")),
			"pass", "2 of 2 denials have a valid Retry-After"},
		{"one lacks it", fieldsRecord(fieldsReq(1, 0, 1, 429, "Retry-After: 1"),
			fieldsReq(2, 2, 3, 429, someDate)), "fail",
			"1 of 2 denials lack Retry-After: #2"},
		{"all lack it", fieldsRecord(fieldsReq(1, 0, 1, 429, someDate), fieldsReq(2, 2, 3, 429, someDate)),
			"fail",
			"2 of 2 denials lack Retry-After: #1, #2"},
		{"an admission needs none",
			fieldsRecord(fieldsReq(1, 0, 1, 200, someDate), fieldsReq(2, 2, 3, 429, "Retry-After: 1")),
			"pass", "1 of 1 denial"},
		{"a lost answer needs none",
			fieldsRecord(fieldsReq(1, 0, 0, 0), fieldsReq(2, 2, 3, 429, "Retry-After: 1")), "pass",
			"1 of 1 denial"},
		{"an answer of unknown outcome needs none",
			fieldsRecord(fieldsReq(1, 0, 1, 500, someDate), fieldsReq(2, 2, 3, 429, "Retry-After: 1")),
			"pass",
			"1 of 1 denial"},
		{"called denied without an answer",
			fieldsRecord(fieldsWith(fieldsReq(1, 0, 1, 429),
				func(o *timeline.Observation) { o.Answered = false }),
				fieldsReq(2, 2, 3, 429, "Retry-After: 1")), "pass", "1 of 1 denial"},
		{"the origin needs none",
			fieldsRecord(fieldsWith(fieldsReq(1, 0, 1, 429, someDate),
				func(o *timeline.Observation) { o.Origin = true }),
				fieldsReq(2, 2, 3, 429, "Retry-After: 1")), "pass", "1 of 1 denial"},
		{"none denied", fieldsRecord(fieldsReq(1, 0, 1, 200, someDate)), "too-few",
			"there are no denials read"},
		{"no fields were kept", fieldsRecord(fieldsReq(1, 0, 1, 200), fieldsReq(2, 2, 3, 429)), "too-few",
			"the recording has no header fields"},
		{"a fraction", fieldsRecord(fieldsReq(1, 0, 1, 429, "Retry-After: 1.5")), "fail",
			`1 of 1 denial break RA-SYNTAX in Retry-After: #1; #1 has Retry-After: "1.5": a wait is ` +
				`a whole number of seconds (round up: write "2")`},
		{"sent twice", fieldsRecord(fieldsReq(1, 0, 1, 429, "Retry-After: 60, 60")), "fail", "RA-SINGLE"},
		{"an obsolete date", fieldsRecord(fieldsReq(1, 0, 1, 429,
			"Retry-After: Friday, 20-Nov-26 09:55:29 GMT")), "fail",
			"RA-IMF"},
		{"flask-limiter: an admission has one too",
			fieldsRecord(fieldsReq(1, 0, 1, 200, "Retry-After: 2"),
				fieldsReq(2, 2, 3, 429, "Retry-After: 1")), "pass",
			"only its syntax was judged: Retry-After in 1 admitted answer"},
		{"an admission has a broken one",
			fieldsRecord(fieldsReq(1, 0, 1, 200, "Retry-After: -1484742195"),
				fieldsReq(2, 2, 3, 429, "Retry-After: 1")),
			"fail",
			"1 of 1 admitted answer break RA-SYNTAX in Retry-After: #1"},
		{"a date", fieldsRecord(fieldsReq(1, 0, 1, 429, "Retry-After: Fri, 20 Nov 2026 09:55:29 GMT")),
			"pass", ""},
	})
}

// TestADenialWithoutAnAnswerLacksNothing: a target that declares to deny by closing the connection sends no
// answer. So no field, body or status is missing.
func TestADenialWithoutAnAnswerLacksNothing(t *testing.T) {
	const quota = "X-Ratelimit-Limit: 5"
	dropped := fieldsWith(fieldsReq(2, 2, 3, 0), func(o *timeline.Observation) {
		o.Answered, o.FirstByte, o.Outcome = true, 3*ms, timeline.Denied
	})
	never := fieldsRecord(fieldsReq(1, 0, 1, 200, quota, someDate), dropped)
	once := fieldsRecord(fieldsReq(1, 0, 1, 200, quota, someDate), dropped, fieldsReq(3, 4, 5, 429, someDate))
	for name, e := range map[Group]struct{ never, once string }{
		RateLimit: {"pass", "fail"}, DateField: {"pass", "pass"}, Explanation: {"needs-failed", "fail"},
		NoStore: {"needs-failed", "pass"}, RetryAfter: {"needs-failed", "fail"},
	} {
		promised := []result.Promise{result.PromiseRetryAfter}
		fieldsRun(t, name, promised, []fieldsRow{{string(name) + ", never", never, e.never, ""},
			{string(name) + ", once", once, e.once, ""}})
	}
}

func TestMissingFieldsNameSomeAndCountAll(t *testing.T) {
	var obs []timeline.Observation
	for i := range 20 {
		obs = append(obs, fieldsReq(i, i, i, 429, someDate))
	}
	c := fieldsOne(t, fieldsRecord(obs...), RetryAfter, result.Promises())
	f := c.Findings[0]
	if f.Seen != 20 || f.Bound != 0 || len(f.Observations) != MostFindings ||
		f.Text != "20 of 20 denials lack Retry-After: #0, #1, #2, #3, #4 and 15 more" {
		t.Errorf("got %+v", f)
	}
}

func TestMissingFieldsNameAnOutcomeOnlyIfItIsThat(t *testing.T) {
	c := fieldsOne(t, fieldsRecord(fieldsReq(1, 0, 1, 200, "X-Ratelimit-Limit: 5"),
		fieldsReq(3, 1, 1, 200, someDate),
		fieldsReq(2, 2, 3, 429, "X-Ratelimit-Limit: 5")), RateLimit, result.Promises())
	if got := c.Findings[0].Text; got != "1 of 3 answers lack fields that state the quota: #3" {
		t.Errorf("got %q, want no outcome", got)
	}
}

func TestRateLimitFields(t *testing.T) {
	const x = "X-Ratelimit-Limit: 5"
	fieldsRun(t, RateLimit, result.Promises(), []fieldsRow{
		{"every answer tells", fieldsRecord(fieldsReq(1, 0, 1, 200, x), fieldsReq(2, 2, 3, 429, x)), "pass",
			"2 of 2 answers have a valid"},
		{"an answer of unknown outcome need not", fieldsRecord(fieldsReq(1, 0, 1, 500, someDate),
			fieldsReq(3, 1, 2, 200, x), fieldsReq(2, 2, 3, 429, x)), "pass", "2 of 2 answers"},
		{"nobody was denied", fieldsRecord(fieldsReq(1, 0, 1, 200, x)), "too-few",
			"no answers of the rarer outcome"},
		{"only denials tell", fieldsRecord(fieldsReq(1, 0, 1, 200, someDate), fieldsReq(2, 2, 3, 429, x)),
			"fail",
			"1 of 2 answers lack fields that state the quota: #1 (all that were allowed, none that was " +
				"denied)"},
		{"only admissions tell", fieldsRecord(fieldsReq(1, 0, 1, 200, x), fieldsReq(2, 2, 3, 429, someDate)),
			"fail",
			"#2 (all that were denied, none that was allowed)"},
		{"some tell", fieldsRecord(fieldsReq(1, 0, 1, 200, x), fieldsReq(3, 1, 1, 200, someDate),
			fieldsReq(2, 2, 3, 429, x)), "fail",
			"1 of 3 answers lack fields that state the quota: #3"},
		{"a negative number tells nothing",
			fieldsRecord(fieldsReq(1, 0, 1, 200, "X-Ratelimit-Remaining: -1")), "fail",
			"1 of 1 answer break XR-SET"},
		{"a reset alone tells no quota", fieldsRecord(fieldsReq(1, 0, 1, 200, "X-Ratelimit-Reset: 5")),
			"fail", "lack"},
		{"a must of a draft is broken",
			fieldsRecord(fieldsReq(1, 0, 1, 200, "Ratelimit-Limit: 5", "Ratelimit-Reset: 1795176060")),
			"fail",
			"R3-RESET-DELTA"},
		{"a convention is broken", fieldsRecord(fieldsReq(1, 0, 1, 200, x, "X-Ratelimit-Remaining: 6"),
			fieldsReq(2, 1, 2, 429, x)), "pass",
			"; note convention XR-REM-RANGE in 1: X-RateLimit-Remaining: \"6\": more remains"},
		{"nothing can be read", fieldsRecord(fieldsReq(1, 0, 1, 200, "X-Ratelimit-Limit: many")), "fail",
			"XR-SET"},
		{"a name that is a token", fieldsRecord(fieldsReq(1, 0, 1, 200, "Ratelimit: q;r=1")), "fail",
			"RP-NAME"},
		{"no answers", fieldsRecord(fieldsReq(1, 0, 0, 0)), "too-few", "there are no answers"},
	})
}

func TestDateField(t *testing.T) {
	fieldsRun(t, DateField, result.Promises(), []fieldsRow{
		{"there", fieldsRecord(fieldsReq(1, 0, 1, 200, someDate), fieldsReq(2, 0, 1, 429, someDate)), "pass",
			"2 of 2 answers"},
		{"missing", fieldsRecord(fieldsReq(1, 0, 1, 200, someDate), fieldsReq(2, 0, 1, 429, "Server: x")),
			"fail",
			"1 of 2 answers lack Date: #2"},
		{"broken", fieldsRecord(fieldsReq(1, 0, 1, 200, "Date: Fri, 20 Nov 2026 12:00:00 UTC")), "fail",
			"ST-DATE"},
		{"obsolete", fieldsRecord(fieldsReq(1, 0, 1, 200, "Date: Fri Nov 20 12:00:00 2026")), "fail",
			"RA-IMF"},
	})
}

func TestProblemBody(t *testing.T) {
	const media = "Content-Type: application/problem+json"
	body := func(s string, fields ...string) *timeline.Timeline {
		return fieldsRecord(fieldsWith(fieldsReq(1, 0, 1, 429, fields...),
			func(o *timeline.Observation) { o.Body = s }))
	}
	fieldsRun(t, ProblemBody, result.Promises(), []fieldsRow{
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
		{"only an admission", fieldsRecord(fieldsReq(1, 0, 1, 200, media)), "too-few",
			"there are no denials read"},
	})
}

func TestDenialsAreNotStored(t *testing.T) {
	const d = "Date: Fri, 20 Nov 2026 10:00:00 GMT"
	fieldsRun(t, NoStore, result.Promises(), []fieldsRow{
		{"nothing is said", fieldsRecord(fieldsReq(1, 0, 1, 429, d)), "pass", "1 of 1 denial"},
		{"no-store", fieldsRecord(fieldsReq(1, 0, 1, 429, d, "Cache-Control: max-age=60, no-store")), "pass",
			""},
		{"a lifetime", fieldsRecord(fieldsReq(1, 0, 1, 429, d, "Cache-Control: private, max-age=60")), "fail",
			"ST-429-NOSTORE"},
		{"no lifetime", fieldsRecord(fieldsReq(1, 0, 1, 429, d, "Cache-Control: max-age=0, no-cache")),
			"pass", ""},
		{"public", fieldsRecord(fieldsReq(1, 0, 1, 429, d, "Cache-Control: PUBLIC")), "fail",
			"ST-429-NOSTORE"},
		{"expires later", fieldsRecord(fieldsReq(1, 0, 1, 429, d, "Expires: Fri, 20 Nov 2026 10:00:01 GMT")),
			"fail",
			"Expires"},
		{"expires later, but not for caches",
			fieldsRecord(fieldsReq(1, 0, 1, 429, d, "Cache-Control: max-age=0",
				"Expires: Fri, 20 Nov 2026 10:00:01 GMT")), "pass", ""},
		{"has expired", fieldsRecord(fieldsReq(1, 0, 1, 429, d, "Expires: 0")), "pass", ""},
		{"an admission", fieldsRecord(fieldsReq(1, 0, 1, 200, d, "Cache-Control: public"),
			fieldsReq(2, 2, 3, 429, d)), "pass",
			""},
		{"another status", fieldsRecord(fieldsReq(1, 0, 1, 503, d, "Cache-Control: public")), "pass", ""},
	})
	body := func(text string) *timeline.Timeline {
		return fieldsRecord(fieldsWith(fieldsReq(1, 0, 1, 429, d),
			func(o *timeline.Observation) { o.Body = text }))
	}
	fieldsRun(t, Explanation, result.Promises(), []fieldsRow{
		{"a text", body("slow down"), "pass", ""},
		{"white space", body(" \n"), "fail", "lack body that explains it"},
	})
	head := body("")
	head.Observations = append(head.Observations,
		fieldsWith(fieldsReq(2, 2, 3, 429, d, "Content-Type: application/problem+json"),
			func(o *timeline.Observation) { o.Phase, o.Body = "gets", "{}" }))
	for _, g := range []Group{Explanation, ProblemBody} {
		r := newRecording(head, nil, Expect{Bodiless: []string{"p"}}, NoWaits)
		if c := judgeFields(r, g); c.Verdict != result.Pass ||
			!strings.Contains(c.Text, "1 of 1 denial") {
			t.Errorf("%s, HEAD and GET: got %+v", g, c)
		}
		r.Bodiless = []string{"p", "gets"}
		if c := judgeFields(r, g); c.Reason != result.TooFew {
			t.Errorf("%s, HEAD only: got %+v", g, c)
		}
	}
}

// TestWhatIsSentIsHeldToItsRules: a target that sends a field once, or a broken one, is asked for it wherever
// it belongs.
func TestWhatIsSentIsHeldToItsRules(t *testing.T) {
	const wait = "Retry-After: 1"
	denied := fieldsReq(2, 2, 3, 429, someDate)
	fieldsRun(t, RetryAfter, nil, []fieldsRow{
		{"on some denials", fieldsRecord(fieldsReq(1, 0, 1, 429, wait), denied), "fail",
			"1 of 2 denials lack"},
		{"broken on all", fieldsRecord(fieldsReq(1, 0, 1, 429, "Retry-After: soon")), "fail", "RA-SYNTAX"},
		{"on admissions only", fieldsRecord(fieldsReq(1, 0, 1, 200, wait), denied), "fail",
			"1 of 1 denial lack"},
		{"nobody was denied", fieldsRecord(fieldsReq(1, 0, 1, 200, someDate)), "too-few",
			"there are no denials read"},
		{"no fields were kept", fieldsRecord(fieldsReq(1, 0, 1, 200), fieldsReq(2, 2, 3, 429)), "too-few",
			"no header fields"},
	})
	limit := fieldsReq(2, 2, 3, 429, "X-Ratelimit-Limit: 5")
	fieldsRun(t, RateLimit, nil, []fieldsRow{
		{"on denials only", fieldsRecord(fieldsReq(1, 0, 1, 200, someDate), limit), "fail", "1 of 2 answers"},
		{"broken on all", fieldsRecord(fieldsReq(1, 0, 1, 200, "X-Ratelimit-Limit: many")), "fail", "XR-SET"},
	})
	fieldsRun(t, DateField, nil, []fieldsRow{
		{"a standard asks for it", fieldsRecord(fieldsReq(1, 0, 1, 200, "Server: x")), "fail",
			"1 of 1 answer lack Date"},
	})
}

// TestAServerWithoutAnyFieldSendsNone: Puma sends not even a date. Then the scenario was INCONCLUSIVE, since
// the recording might keep no fields. rlcheck's own do.
func TestAServerWithoutAnyFieldSendsNone(t *testing.T) {
	tl := fieldsRecord(fieldsReq(1, 0, 1, 200), fieldsReq(2, 2, 3, 429))
	for kept, want := range map[bool]result.Reason{true: result.NeedsFailed, false: result.TooFew} {
		c := judgeFields(newRecording(tl, nil, Expect{Kept: kept}, NoWaits), RetryAfter)
		if c.Reason != want || (c.Unpromised != "") != kept {
			t.Errorf("fields kept: %v: got %s %q (%s), want %s", kept, c.Reason, c.Unpromised, c.Text, want)
		}
	}
}
