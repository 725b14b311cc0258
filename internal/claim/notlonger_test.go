package claim

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestNotLonger(t *testing.T) {
	const date = "Date: Fri, 20 Nov 2026 12:00:00 GMT"
	limit := parse(t, "token-bucket,rate=1/s,burst=1")
	seconds := func(v string) *timeline.Timeline { return record(req(7, 5, 6, 429, "Retry-After: "+v, date)) }
	info := func(delay string) *timeline.Timeline {
		return record(with(req(7, 5, 6, 429), func(o *timeline.Observation) {
			o.Body = `{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo",` +
				`"retryDelay":` + delay + `}]}}`
		}))
	}
	for _, test := range []struct {
		name string
		tl   *timeline.Timeline
		wait time.Duration // of #7; negative: not known
		want result.Verdict
		text string
	}{
		{"rounded up", seconds("3"), 2001 * ms, result.Pass, "0 of 1 denial stated a longer wait"},
		{"one second more", seconds("4"), 2001 * ms, result.Fail,
			"#7 was denied with Retry-After: 4 (sent 0.005 s, first byte 0.006 s); at most 2.001000 s " +
				"could be needed, so at most 3 s may be stated"},
		{"a whole second", seconds("2"), 2000 * ms, result.Pass, ""},
		{"a whole second and one more", seconds("3"), 2000 * ms, result.Fail, ""},
		{"less than a second", seconds("1"), 1, result.Pass, ""},
		{"no wait at all is one second too", seconds("1"), 0, result.Pass, ""},
		{"milliseconds by mistake", seconds("1500"), 1500 * ms, result.Fail, ""},
		{"too short is another claim", seconds("0"), 2000 * ms, result.Pass, ""},
		{"a date may round up twice", seconds("Fri, 20 Nov 2026 12:00:04 GMT"), 2001 * ms, result.Pass, ""},
		{"a date, beside one that was kept for a second", seconds("Fri, 20 Nov 2026 12:00:05 GMT"), 2001 * ms,
			result.Pass, ""},
		{"a date, too late", seconds("Fri, 20 Nov 2026 12:00:06 GMT"), 2001 * ms, result.Fail,
			"6.000 s after its Date"},
		{"a date without a Date", record(req(7, 5, 6, 429, "Retry-After: Fri, 20 Nov 2026 12:00:04 GMT")), ms,
			result.Inconclusive, "there are no denials whose wait was compared"},
		{"for ever", seconds("9223372036854775807"), time.Hour, result.Fail, ""},
		{"for ever is needed", seconds("9223372036854775807"), reference.Never, result.Inconclusive,
			"there are no denials whose wait was compared"},
		{"the need is not known", seconds("60"), -1, result.Inconclusive,
			"there are no denials whose wait was compared"},
		{"a broken value", seconds("60.5"), ms, result.Inconclusive,
			"there are no denials whose wait was compared"},
		{"a RetryInfo", info(`"3s"`), 2001 * ms, result.Pass, "0 of 1 denial stated a longer wait"},
		{"a RetryInfo of parts of a second", info(`"0.5s"`), 400 * ms, result.Pass, ""},
		{"a RetryInfo that is too long", info(`"42s"`), 2001 * ms, result.Fail, "denied with retryDelay: 42s"},
		{"a number without a unit in a body, maybe of milliseconds", info("42"), 2001 * ms, result.Pass, ""},
		{"none denied", record(req(7, 5, 6, 200, "Retry-After: 60")), ms, result.Inconclusive,
			"there are no denials whose wait was compared"},
		{"denied by the origin",
			record(with(req(7, 5, 6, 429, "Retry-After: 60"),
				func(o *timeline.Observation) { o.Origin = true })), ms, result.Inconclusive,
			"there are no denials whose wait was compared"},
		{"not known to be denied", record(req(7, 5, 6, 500, "Retry-After: 60")), ms, result.Inconclusive,
			"there are no denials whose wait was compared"},
	} {
		waits := func(*timeline.Timeline, spec.Limit, bool) map[int]time.Duration {
			if test.wait < 0 {
				return nil
			}
			return map[int]time.Duration{7: test.wait}
		}
		c := judge(test.tl, limit, Expect{RetryAfter: RetryAfterExpect{NotLonger: true}}, waits)[0]
		sound(t, test.tl, c)
		text := c.Text
		for _, f := range c.Findings {
			text += "\n" + f.Text
		}
		if c.Verdict != test.want || !strings.Contains(text, test.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", test.name, c.Verdict, text, test.want, test.text)
		}
	}
	if c := one(t, seconds("60"),
		Expect{RetryAfter: RetryAfterExpect{NotLonger: true}}); c.Reason != result.NeedsFailed {
		t.Errorf("no limit: got %s %s, want needs-failed", c.Verdict, c.Reason)
	}
}

// TestNotLongerHoldsWithTheReferences plays right limiters that round waits up, and wrong ones that add two
// seconds. It uses the bounds of the judge.
func TestNotLongerHoldsWithTheReferences(t *testing.T) {
	plus := func(d time.Duration) string { return roundUp(d + 2*time.Second) }
	caught := 0
	for seed := range uint64(50) {
		for _, spec := range specs {
			limit := parse(t, spec)
			e := Expect{RetryAfter: RetryAfterExpect{NotLonger: true}}
			if c := Judge(play(t, seed, spec, roundUp), limit, e)[0]; c.Verdict != result.Pass {
				t.Fatalf("%s, seed %d: got %s (%s), want pass", spec, seed, c.Verdict, c.Text)
			}
			if c := Judge(play(t, seed, spec, plus), limit, e)[0]; c.Verdict == result.Fail {
				caught++
			}
		}
	}
	if caught < 120 {
		t.Errorf("limiters that add two seconds: got %d of 200 caught, want at least 120", caught)
	}
}
