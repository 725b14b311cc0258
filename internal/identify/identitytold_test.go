package identify

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestTheWindowOfANewClientIsTold: most products state when a quota comes back, and not its window.
func TestTheWindowOfANewClientIsTold(t *testing.T) {
	const minute = time.Minute
	date := time.Unix(1_800_000_000, 0).UTC()
	for name, tt := range map[string]struct {
		remaining string
		reset     time.Duration
		denial    string
		most      int64 // units of at least 21, the likeliest is 60
		paced     bool
		limit     int64
		window    time.Duration
	}{
		"exactly":             {"99", 900 * time.Second, "", 100, false, 100, 15 * minute},
		"a second late":       {"99", 901 * time.Second, "", 400, false, 100, 15 * minute},
		"a second early":      {"99", 3599 * time.Second, "", 100, false, 100, time.Hour},
		"not a new client":    {"42", 900 * time.Second, "", 100, false, 60, 0},
		"fewer were admitted": {"99", 900 * time.Second, "", 99, false, 60, 0},
		"of a denial":         {"99", 900 * time.Second, "50;w=1200", 100, false, 50, 20 * minute},
		"of another quota":    {"99", 900 * time.Second, "7;w=1200", 100, false, 60, 20 * minute},
		"a bucket":            {"99", 900 * time.Second, "", 100, true, 60, 0},
		"in a second":         {"99", time.Second, "", 100, false, 60, 0},
	} {
		field := func(name, value string) timeline.Field { return timeline.Field{Name: name, Value: value} }
		first := timeline.Fields{field("Date", date.Format("Mon, 02 Jan 2006 15:04:05 GMT")),
			field("X-Ratelimit-Limit", "100"), field("X-Ratelimit-Remaining", tt.remaining),
			field("X-Ratelimit-Reset", strconv.FormatInt(date.Add(tt.reset).Unix(), 10))}
		tl := &timeline.Timeline{Observations: []timeline.Observation{
			{Outcome: timeline.Allowed, Fields: first},
			{Outcome: timeline.Denied, Fields: timeline.Fields{field("Ratelimit-Policy", tt.denial)}}}}
		limit, window := ToldLimit(tl, 1, 21, 60, tt.most, tt.paced)
		if limit != tt.limit || window != tt.window {
			t.Errorf("%s: got %d in %v, want %d in %v", name, limit, window, tt.limit, tt.window)
		}
	}
}

// TestWhatComesNextIsSaidOnce: a larger budget with its cost, or that none helps. A run may believe the
// answers instead.
func TestWhatComesNextIsSaidOnce(t *testing.T) {
	budget := Budget{MaxRequests: 400, MaxTime: 5 * time.Minute, Every: 20 * time.Millisecond}
	p, err := spec.Parse("fixed-window,rate=100/15m")
	if err != nil {
		t.Fatal(err)
	}
	const believe = "  to believe what answers state: rlcheck run -t URL " +
		"--limit 'fixed-window,rate=100/15m'\n"
	for name, tt := range map[string]struct {
		raised Budget
		own    bool
		want   string
	}{
		"raised": {Budget{800, 5 * time.Millisecond, 46 * time.Minute}, false,
			"  next: rlcheck identify URL --budget requests=800,time=46m --max-rate 200/s\n" +
				"    (at most 800 requests, in at most 46m)\n" + believe},
		"too long": {Budget{800, 5 * time.Millisecond, 2 * time.Hour}, false, believe},
		"useless": {Budget{}, false, "  next: a larger budget would not tell more from here; " +
			"ask from nearer, or with --limit and rlcheck run\n" + believe},
	} {
		r := &Result{Verdict: Open, Timeline: &timeline.Timeline{}, Raised: tt.raised,
			Found: []Candidate{{Limit: p, Stated: true}}}
		text := r.Text(About{Again: "rlcheck identify URL", OwnRate: tt.own, Budget: budget,
			Run: func(string) string { return "rlcheck run -t URL" }})
		if !strings.HasSuffix(text, tt.want) {
			t.Errorf("%s: got\n%s\nwant it to end in\n%s", name, text, tt.want)
		}
	}
}
