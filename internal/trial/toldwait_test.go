package trial

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestWaitsThatOtherFieldsTell runs the scenario retry-after at targets without Retry-After: right ones, and
// ones that tell too little or too much.
func TestWaitsThatOtherFieldsTell(t *testing.T) {
	const bucket, window = "token-bucket,rate=10/s,burst=11", "fixed-window,rate=20/20s,align=first"
	field := func(name, value string) func(http.Header) string {
		return func(h http.Header) string { h.Set(name, value); return "" }
	}
	body := func(text string) func(http.Header) string { return func(http.Header) string { return text } }
	for name, c := range map[string]struct {
		limit   string
		dialect lab.Dialect
		body    lab.DenyBody
		// edit changes the fields of a denial, and returns another body, if it is not empty.
		edit func(http.Header) string
		want result.Verdict
		says string
	}{
		"milliseconds":             {bucket, lab.RetryAfterMS, lab.DenyText, nil, result.Pass, ""},
		"milliseconds of a window": {window, lab.RetryAfterMS, lab.DenyText, nil, result.Pass, ""},
		"2,000 of 19,950 ms": {window, lab.RetryAfterMS, lab.DenyText, field("Retry-After-Ms", "2000"),
			result.Fail, "was denied with Retry-After-Ms: 2000"},
		"60,000 of 100 ms": {bucket, lab.RetryAfterMS, lab.DenyText, field("Retry-After-Ms", "60000"),
			result.Fail, "was denied with Retry-After-Ms: 60000"},
		"RateLimit":           {bucket, lab.RateLimitDraft, lab.DenyText, nil, result.Pass, ""},
		"RateLimit, a window": {window, lab.RateLimitDraft, lab.DenyText, nil, result.Pass, ""},
		"RateLimit, too early": {window, lab.RateLimitDraft, lab.DenyText, field("Ratelimit",
			`"default";r=0;t=2`), result.Fail, "was denied with reset (ratelimit-08): 2.000 s"},
		"RateLimit, too late": {window, lab.RateLimitDraft, lab.DenyText, field("Ratelimit",
			`"default";r=0;t=60`), result.Fail, "states a reset in 60.000 s"},
		"X-RateLimit-Reset":           {bucket, lab.XRateLimit, lab.DenyText, nil, result.Pass, ""},
		"X-RateLimit-Reset, a window": {window, lab.XRateLimit, lab.DenyText, nil, result.Pass, ""},
		"X-RateLimit-Reset, too early": {window, lab.XRateLimitDelta, lab.DenyText,
			field("X-Ratelimit-Reset", "2"), result.Fail, "was denied with reset (x-ratelimit): 2.000 s"},
		"X-RateLimit-Reset, too late": {window, lab.XRateLimitDelta, lab.DenyText,
			field("X-Ratelimit-Reset", "3600"), result.Fail, "states a reset in 3600.000 s"},
		"a body":             {bucket, lab.None, lab.DenyJSON, nil, result.Pass, ""},
		"a body of a window": {window, lab.None, lab.DenyJSON, nil, result.Pass, ""},
		"RetryInfo":          {window, lab.None, lab.DenyRetryInfo, nil, result.Pass, ""},
		"a body, too early": {window, lab.None, lab.DenyJSON, body(`{"retry_after":2}`), result.Fail,
			"was denied with retry_after: 2"},
		"a body, too late": {bucket, lab.None, lab.DenyJSON, body(`{"retry_after_seconds":60}`), result.Fail,
			"was denied with retry_after_seconds: 60"},
		"a body in milliseconds": {bucket, lab.RetryAfterMS, lab.DenyText, milliseconds(1), result.Pass, ""},
		"a body in milliseconds, too early": {window, lab.None, lab.DenyText,
			body(`{"retryAfterMs":2000}`), result.Fail, "was denied with retryAfterMs: 2000"},
		"a body in milliseconds, too late": {bucket, lab.None, lab.DenyText,
			body(`{"retry_after_ms":60000}`), result.Fail, "was denied with retry_after_ms: 60000"},
		"a body in milliseconds of whole seconds": {bucket, lab.RetryAfterMS, lab.DenyText,
			milliseconds(1000), result.Pass, ""},
		"milliseconds of whole seconds": {bucket, lab.RetryAfterMS, lab.DenyText,
			field("Retry-After-Ms", "1000"), result.Pass, ""},
		"nothing": {bucket, lab.None, lab.DenyText, nil, result.Inconclusive,
			"none of"},
	} {
		t.Run(name, func(t *testing.T) {
			var out result.Scenario
			synctest.Test(t, func(t *testing.T) {
				l, err := spec.Parse(c.limit)
				if err != nil {
					t.Fatal(err)
				}
				target, err := lab.New(lab.Options{Limit: l, Dialect: []lab.Dialect{c.dialect},
					DenyBody: c.body})
				if err != nil {
					t.Fatal(err)
				}
				n := new(lab.PipeNetwork)
				url, stop, err := n.Listen(edited{target, c.edit})
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				s := bundled(t, scenario.ParseOptions{Target: url, Limit: c.limit}, "retry-after")[0]
				out = Scenario(context.Background(), s, Options{ID: "m", Seed: 1, Embed: embedded, Network: n,
					Pacer: transport.SleepingPacer()})
				time.Sleep(time.Minute)
			})
			if out.Verdict != c.want || out.Uncounted() != (c.want == result.Inconclusive) {
				t.Fatalf("got %s, want %s: %s", out.Verdict, c.want, explain(out))
			}
			text := explain(out)
			for _, k := range out.Claims {
				for _, f := range k.Findings {
					text += f.Text
				}
			}
			if !strings.Contains(text, c.says) {
				t.Errorf("got %q, want %q", text, c.says)
			}
		})
	}
}

// milliseconds moves Retry-After-Ms into the body, rounded up to a step.
func milliseconds(step int) func(http.Header) string {
	return func(h http.Header) string {
		n, _ := strconv.Atoi(h.Get("Retry-After-Ms"))
		h.Del("Retry-After-Ms")
		return fmt.Sprintf(`{"retry_after_ms":%d}`, (n+step-1)/step*step)
	}
}

// edited is a handler whose denials are edited.
type edited struct {
	http.Handler
	edit func(http.Header) string
}

func (e edited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.edit == nil {
		e.Handler.ServeHTTP(w, r)
		return
	}
	kept := httptest.NewRecorder()
	e.Handler.ServeHTTP(kept, r)
	for name, v := range kept.Header() {
		w.Header()[name] = v
	}
	text := kept.Body.String()
	if kept.Code == http.StatusTooManyRequests {
		if of := e.edit(w.Header()); of != "" {
			text = of
		}
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(kept.Code)
	_, _ = w.Write([]byte(text))
}
