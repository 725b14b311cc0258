package lab

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestDialects lists the fields that each dialect has on an answer and on a denial.
func TestDialects(t *testing.T) {
	for _, c := range []struct {
		name     string
		dialects []Dialect
		allowed  string
		denied   string
	}{
		{"none", []Dialect{None}, "", ""},
		{"an empty list", []Dialect{}, "", ""},
		{"X-RateLimit", []Dialect{XRateLimit},
			"X-Ratelimit-Limit=2 X-Ratelimit-Remaining=1 X-Ratelimit-Reset=946684803",
			"X-Ratelimit-Limit=2 X-Ratelimit-Remaining=0 X-Ratelimit-Reset=946684803"},
		{"the draft", []Dialect{RateLimitDraft},
			`Ratelimit="default";r=1;t=3 Ratelimit-Policy="default";q=2;w=3`,
			`Ratelimit="default";r=0;t=3 Ratelimit-Policy="default";q=2;w=3`},
		{"the old drafts", []Dialect{RateLimitLegacy},
			"Ratelimit-Limit=2 Ratelimit-Remaining=1 Ratelimit-Reset=3",
			"Ratelimit-Limit=2 Ratelimit-Remaining=0 Ratelimit-Reset=3"},
		{"Retry-After", []Dialect{RetryAfterField}, "", "Retry-After=3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := open(t, Options{Limit: parse(t, "fixed-window,rate=2/3s"), Dialect: c.dialects})
				if got := told(ask(target, request{})); got != c.allowed {
					t.Errorf("allowed: got %s, want %s", got, c.allowed)
				}
				ask(target, request{})
				if got := told(ask(target, request{})); got != c.denied {
					t.Errorf("denied: got %s, want %s", got, c.denied)
				}
			})
		})
	}
}

// told returns the fields of an answer that tell its quota.
func told(r *http.Response) string {
	var fields []string
	for _, name := range []string{
		"Ratelimit", "Ratelimit-Limit", "Ratelimit-Policy", "Ratelimit-Remaining", "Ratelimit-Reset",
		"Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
	} {
		if v, ok := r.Header[name]; ok {
			fields = append(fields, name+"="+strings.Join(v, "|"))
		}
	}
	return strings.Join(fields, " ")
}

// TestPolicyField writes each kind of limit as RateLimit-Policy. A window that is not a whole number of
// seconds is left out.
func TestPolicyField(t *testing.T) {
	for spec, want := range map[string]string{
		"fixed-window,rate=100/1m":             `"default";q=100;w=60`,
		"sliding-window-log,rate=5/1500ms":     `"default";q=5`,
		"token-bucket,rate=10/s,burst=20":      `"default";q=20;w=2`,
		"token-bucket,rate=10/s,burst=25":      `"default";q=25`,
		"gcra,rate=100/s,burst=5":              `"default";q=5`,
		"leaky-bucket-queue,rate=10/s,queue=9": `"default";q=10;w=1`,
		"gcra,rate=10/s,burst=10 + " +
			"sliding-window-log,rate=100/1m": `"policy-1";q=10;w=1, "policy-2";q=100;w=60`,
	} {
		r := ask(open(t, Options{Limit: parse(t, spec)}), request{})
		if got := r.Header.Get("RateLimit-Policy"); got != want {
			t.Errorf("%s: got %s, want %s", spec, got, want)
		}
	}
}

// TestSeveralPoliciesTellTheTightest: fields name the policy with the smallest quota.
func TestSeveralPoliciesTellTheTightest(t *testing.T) {
	target := open(t, Options{Limit: parse(t, "sliding-window-log,rate=100/1m + gcra,rate=10/s,burst=10")})
	r := ask(target, request{})
	if got := r.Header.Get("RateLimit"); !strings.HasPrefix(got, `"policy-2";r=9;t=`) ||
		r.Header.Get("X-RateLimit-Limit") != "10" {
		t.Errorf("got RateLimit %s, X-RateLimit-Limit %s, want 9 left of the 10 of policy-2", got,
			r.Header.Get("X-RateLimit-Limit"))
	}
}

// TestRetryAfterDate: the date is rounded up, relative to Date. At 0.4 s into a second, with 1.7 s to wait,
// the window opens at 2.1 s. The date is then that of 3 s.
func TestRetryAfterDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := open(t, Options{Limit: parse(t, "sliding-window-log,rate=1/2100ms"),
			RetryAfter: RetryAfterDate})
		ask(target, request{})
		time.Sleep(400 * time.Millisecond)
		r := ask(target, request{})
		got := r.Header.Get("Date") + ", " + r.Header.Get("Retry-After")
		if want := "Sat, 01 Jan 2000 00:00:00 GMT, Sat, 01 Jan 2000 00:00:03 GMT"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		time.Sleep(2600 * time.Millisecond)
		if r := ask(target, request{}); r.StatusCode != http.StatusOK {
			t.Errorf("at the date: got status %d, want 200", r.StatusCode)
		}
	})
}

// TestProblemBody reads the body of a denial (RFC 9457).
func TestProblemBody(t *testing.T) {
	for _, c := range []struct {
		cost   int64
		detail string
	}{
		{1, "At most 2 units; this request needs 1. Try again in 3 s."},
		{3, "At most 2 units; this request needs 3."},
	} {
		synctest.Test(t, func(t *testing.T) {
			target := open(t, Options{Limit: parse(t, "fixed-window,rate=2/3s"), DenyStatus: 503})
			ask(target, request{cost: 2})
			r := ask(target, request{cost: c.cost})
			var got struct {
				Type, Title, Detail string
				Status              int
				Violated            []string `json:"violated-policies"`
			}
			decoder := json.NewDecoder(r.Body)
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&got); err != nil {
				t.Fatal(err)
			}
			if got.Type != problemTypes+"quota-exceeded" || got.Title == "" || got.Status != 503 ||
				r.StatusCode != 503 ||
				got.Detail != c.detail ||
				len(got.Violated) != 1 || got.Violated[0] != "default" {
				t.Errorf("cost %d: got status %d and %+v", c.cost, r.StatusCode, got)
			}
			if c.cost == 3 && r.Header.Get("Retry-After") != "" {
				t.Errorf("a request that never fits: got Retry-After %q, want none",
					r.Header.Get("Retry-After"))
			}
		})
	}
}

// TestHeadHasTheFieldsOfGet compares HEAD with GET on a real connection.
func TestHeadHasTheFieldsOfGet(t *testing.T) {
	target := open(t, Options{Limit: parse(t, "fixed-window,rate=1/1d,align=first")})
	server := httptest.NewServer(target)
	defer server.Close()
	for _, key := range []string{"allowed", "denied"} {
		var fields, bodies []string
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			r, err := http.NewRequest(method, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Api-Key", key+method)
			if key == "denied" {
				ask(target, request{key: key + method})
			}
			answer, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			answer.Header.Del("Date")
			answer.Header.Del("X-Ratelimit-Reset")
			answer.Header.Del("Ratelimit")
			answer.Header.Del("Retry-After")
			text, err := json.Marshal(answer.Header)
			if err != nil {
				t.Fatal(err)
			}
			fields, bodies = append(fields, answer.Status+string(text)), append(bodies, string(b))
		}
		// the seconds in the detail of the problem, and so their digits, may differ by one
		if fields[0] != fields[1] || bodies[0] == "" || bodies[1] != "" {
			t.Errorf("%s: got %s with %q, %s with %q, want equal fields and a body for GET only", key,
				fields[0], bodies[0], fields[1], bodies[1])
		}
	}
}

// TestHeadHasNoBody asks without a server, which would drop a body itself.
func TestHeadHasNoBody(t *testing.T) {
	target := open(t, Options{Limit: parse(t, "fixed-window,rate=1/1d,align=first")})
	if got := run(target, by(http.MethodHead), one, body, says("Content-Length"), one, body,
		status); got != "8, 429" {
		t.Errorf("got %s, want 8, 429 and no body", got)
	}
}

// TestCostIsRefused: a cost that is no positive integer is answered with 400 and not counted.
func TestCostIsRefused(t *testing.T) {
	target := open(t, Options{Limit: parse(t, "fixed-window,rate=1/1d,align=first"), CostHeader: "x-units",
		PartitionHeader: "authorization"})
	for _, cost := range []string{"", "0", "-1", "1.5", "many", "2147483649", "99999999999999999999"} {
		r := ask(target, request{fields: map[string]string{"X-Units": cost, "Authorization": "a"}})
		if r.StatusCode != http.StatusBadRequest || told(r) != "" {
			t.Errorf("cost %q: got status %d, %s, want 400 and no quota", cost, r.StatusCode, told(r))
		}
	}
	if r := ask(target, request{fields: map[string]string{"X-Units": "1",
		"Authorization": "a"}}); r.StatusCode != http.StatusOK {
		t.Errorf("cost 1 after them: got status %d, want 200", r.StatusCode)
	}
	if r := ask(target, request{fields: map[string]string{"X-Units": "2147483648",
		"Authorization": "b"}}); r.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the largest cost: got status %d, want 429", r.StatusCode)
	}
}

// TestOptionErrors: errors name what is wrong with options.
func TestOptionErrors(t *testing.T) {
	limit := parse(t, window)
	for want, o := range map[string]Options{
		`did you mean "ratelimit-draft"`: {Limit: limit, Dialect: []Dialect{"ratelimit-drafts"}},
		"it stands alone":                {Limit: limit, Dialect: []Dialect{None, XRateLimit}},
		`it is one of "seconds", "date"`: {Limit: limit, RetryAfter: "minutes"},
		"a final status is 200 to 599":   {Limit: limit, DenyStatus: 99},
		"needs at least one policy":      {},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
}
