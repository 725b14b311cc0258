package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
)

// TestDialectsReadBack reads each dialect back with the parser of the fields, 0.4 s into a second. It reads
// what is left after one of two requests, and then a denial.
func TestDialectsReadBack(t *testing.T) {
	said := map[Dialect][2]string{
		None: {"", ""},
		// An epoch is a whole second, and never too early.
		XRateLimit: {"x-ratelimit: left 1 of 2 in 4s (epoch-seconds)",
			"x-ratelimit: left 0 of 2 in 4s (epoch-seconds)"},
		XRateLimitDelta: {"x-ratelimit: left 1 of 2 in 3s (delta-seconds)",
			"x-ratelimit: left 0 of 2 in 3s (delta-seconds)"},
		RateLimitDraft: {"ratelimit-08: left 1 of 2 in 3s (delta-seconds) per 6s",
			"ratelimit-08: left 0 of 2 in 3s (delta-seconds) per 6s"},
		RateLimitLegacy: {"ratelimit-00-06: left 1 of 2 in 3s (delta-seconds)",
			"ratelimit-00-06: left 0 of 2 in 3s (delta-seconds)"},
		RetryAfterField: {"", "retry after 3s"},
		RetryAfterMS:    {"", ""},
		OpenAI: {"x-ratelimit: left 1 of 2 in 3s (duration)",
			"x-ratelimit: left 0 of 2 in 6s (duration)"},
		// A time is a whole second, and never too early.
		Anthropic: {"x-ratelimit: left 1 of 2 in 4s (other-date)",
			"x-ratelimit: left 0 of 2 in 7s (other-date)"},
	}
	for _, d := range dialects {
		t.Run(string(d), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(400 * time.Millisecond)
				target := open(t, Options{Limit: parse(t, "gcra,rate=1/3s,burst=2"), Dialect: []Dialect{d}})
				first := readBack(t, ask(target, request{}))
				ask(target, request{})
				if got, want := [2]string{first, readBack(t, ask(target, request{}))}, said[d]; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		})
	}
}

// readBack returns what the parser of the fields reads from an answer.
func readBack(t *testing.T, r *http.Response) string {
	t.Helper()
	get := func(name string) (string, bool) {
		v := r.Header.Values(name)
		return strings.Join(v, ", "), len(v) > 0
	}
	date, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	quotas, problems := headers.Quotas(get, date)
	for _, p := range problems {
		t.Errorf("%v", p.Error())
	}
	for _, q := range quotas {
		said = append(said, quotaText(q))
	}
	if v, ok := get("Retry-After"); ok {
		after, err := headers.ParseRetryAfter(v)
		if err != nil {
			t.Error(err)
		}
		text := fmt.Sprint("retry after ", after.Wait(date))
		if after.IsDate {
			text += " at a date"
		}
		said = append(said, text)
	}
	return strings.Join(said, ", ")
}

// quotaText prints one quota.
func quotaText(q headers.Quota) string {
	text := fmt.Sprintf("%s: left %d of %d in %v (%s)", q.Dialect, q.Remaining, q.Limit, q.Reset, q.Form)
	if q.Window > 0 {
		text += fmt.Sprint(" per ", q.Window)
	}
	return text
}

// TestDenialsReadBack reads every body and status of a denial back, and Retry-After as a date.
func TestDenialsReadBack(t *testing.T) {
	for _, body := range []DenyBody{"", DenyQuotaExceeded, DenyReducedCapacity, DenyAbnormalUsage, DenyText,
		DenyEmpty} {
		for _, status := range []int{429, 503, 403, 200} {
			t.Run(fmt.Sprint(body, status), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					target := open(t, Options{Limit: parse(t, "fixed-window,rate=1/3s"), DenyBody: body,
						DenyStatus: status,
						RetryAfter: RetryAfterDate, Dialect: []Dialect{RetryAfterField, RateLimitDraft}})
					if r := ask(target, request{}); r.StatusCode != http.StatusOK || textOf(t, r) != okBody {
						t.Fatalf("allowed: got %d, want 200", r.StatusCode)
					}
					r := ask(target, request{})
					if r.StatusCode != status {
						t.Errorf("got status %d, want %d", r.StatusCode, status)
					}
					if got, want := readBack(t, r),
						"ratelimit-08: left 0 of 1 in 3s (delta-seconds) per 3s, retry after 3s at a "+
							"date"; got != want {
						t.Errorf("got %q, want %q", got, want)
					}
					checkDenial(t, r, body)
				})
			})
		}
	}
	if _, err := New(Options{Limit: parse(t, window), DenyBody: "html"}); err == nil ||
		!strings.Contains(err.Error(), `"text"`) {
		t.Errorf("a body that does not exist: got error %v, want one that lists what there is", err)
	}
}

// checkDenial reads the body of a denial.
func checkDenial(t *testing.T, r *http.Response, body DenyBody) {
	t.Helper()
	text, media := textOf(t, r), strings.Join(r.Header["Content-Type"], "|")
	const detail = "At most 1 units; this request needs 1. Try again in 3 s."
	switch body {
	case DenyText:
		if media != plainType[0] || text != detail+"\n" {
			t.Errorf("got %q of type %q", text, media)
		}
		return
	case DenyEmpty:
		if media != "" || text != "" {
			t.Errorf("got %q of type %q, want nothing", text, media)
		}
		return
	case "":
		body = DenyQuotaExceeded
	}
	var problem struct {
		Type, Title, Detail string
		Status              int
		Violated            []string `json:"violated-policies"`
	}
	if err := json.Unmarshal([]byte(text), &problem); err != nil || media != "application/problem+json" {
		t.Fatalf("got %q of type %q, %v", text, media, err)
	}
	if want := "https://iana.org/assignments/http-problem-types#" + string(body); problem.Type != want ||
		problem.Title == "" {
		t.Errorf("got type %q, title %q, want %q", problem.Type, problem.Title, want)
	}
	if problem.Status != r.StatusCode || problem.Detail != detail ||
		strings.Join(problem.Violated, ",") != "default" {
		t.Errorf("got %+v, want status %d and the policy of RateLimit-Policy", problem, r.StatusCode)
	}
}

func textOf(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDialectsThatContradict: two dialects that write the same fields are refused.
func TestDialectsThatContradict(t *testing.T) {
	for _, ds := range [][]Dialect{{XRateLimit, XRateLimitDelta}, {None, XRateLimit}, {"x-ratelimits"}} {
		if _, err := New(Options{Limit: parse(t, window), Dialect: ds}); err == nil {
			t.Errorf("%v: got no error", ds)
		}
	}
}
