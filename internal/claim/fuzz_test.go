package claim

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// FuzzAnswer lets a target say anything in the fields and the body of its denials. Each claim has a verdict,
// and the same one when judged again. An inconclusive claim has a reason. The request numbers that claims
// name exist.
func FuzzAnswer(f *testing.F) {
	f.Add("Retry-After: 5\nDate: Fri, 20 Nov 2026 09:55:29 GMT\nRatelimit: \"a\";r=0;t=5",
		`{"status":429,"retry_after":5}`)
	f.Add("Content-Type: application/problem+json\nRatelimit-Policy: \"a\";q=10;w=1",
		`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","status":503}`)
	f.Add("Retry-After: 5", "{}0")
	f.Add("X-Ratelimit-Limit: 10\nX-Ratelimit-Remaining: -1\nX-Ratelimit-Reset: 1e99", "Retry in 1.5s")
	f.Add("Cache-Control: max-age=9223372036854775808\nVary: *\nAge: 1", `{"limit":1e400,"reset":{}}`)
	limit, err := spec.Parse("token-bucket,rate=10/s,burst=2")
	if err != nil {
		f.Fatal(err)
	}
	e := Expect{Fields: []Group{RetryAfter, RateLimit, DateField, ProblemBody,
		NoStore, Explanation},
		RetryAfter: RetryAfterExpect{Honored: true, NotLonger: true}, DeniedStatus: []int{429},
		Quota: QuotaExpect{Conventions: true, Agree: true, Stable: true, Counts: true, Limit: true,
			Denials: true,
			Reset:   true, Body: true, Fresh: true},
		Intact:   &IntactExpect{Fields: []string{"Retry-After", "Ratelimit*"}, Status: true, Body: true},
		Promised: result.Promises()}
	f.Fuzz(func(t *testing.T, fields, body string) {
		tl := answering(fields, body)
		claims := Judge(tl, limit, e)
		for _, c := range claims {
			if c.Verdict == result.Inconclusive && c.Reason == "" || c.Verdict == result.Fail &&
				len(c.Findings) == 0 {
				t.Errorf("got %+v", c)
			}
			for _, x := range c.Findings {
				for _, seq := range x.Observations {
					if seq < 0 || seq >= len(tl.Observations) {
						t.Errorf("%s: there is no request #%d", c.ID, seq)
					}
				}
			}
		}
		if d := cmp.Diff(claims, Judge(tl, limit, e)); d != "" {
			t.Errorf("judged again: %s", d)
		}
	})
}

// answering is a recording of six requests; the last two are the origin's. The target denies those after the
// second, with these fields, one a line, and this body.
func answering(fields, body string) *timeline.Timeline {
	var set timeline.Fields
	for line := range strings.SplitSeq(fields, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		set = append(set, timeline.Field{Name: name, Value: value})
	}
	tl := &timeline.Timeline{Header: timeline.Header{Started: time.Unix(1_795_168_529, 0), Ended: 7e9}}
	for i := range 6 {
		at := time.Duration(i) * time.Second / 10
		a := timeline.Arrival{Seq: i, Partition: "k", Phase: "p", At: at, Cost: 1, Origin: i > 3}
		o := timeline.Observation{Arrival: a, Sent: at, FirstByte: at + time.Millisecond, Answered: true,
			Status: 429, Outcome: timeline.Denied, Fields: set, Body: body}
		if i < 2 {
			o.Status, o.Outcome = 200, timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	return tl
}
