package identify

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestAnOpenAnswerSaysWhatIsKnown: each thing on a line of its own, and first why it is open.
func TestAnOpenAnswerSaysWhatIsKnown(t *testing.T) {
	one := func(limit string, most float64) identity.Candidate {
		c := identity.Candidate{Limit: parsed(t, limit), Class: space.BucketClass, Least: time.Second,
			Most: time.Second}
		c.Measured.Burst = verdict.Interval{Lo: 5, Hi: 5, LoSet: true, HiSet: true}
		c.Measured.Rate = verdict.Interval{Lo: 5, Hi: most, LoSet: true, HiSet: true}
		return c
	}
	res := &identity.Result{Verdict: identity.Open,
		Stopped:  "the budget ends: one, or a; or two; the judge was stopped",
		Timeline: &timeline.Timeline{}, Next: "1 request",
		Found: []identity.Candidate{one("token-bucket,rate=5/s,burst=5", 5.1),
			one("sliding-window-log,rate=5/s", 9)}}
	a := identity.About{Again: "rlcheck identify http://127.0.0.1/",
		Budget: identity.Budget{MaxRequests: 400, MaxTime: 5 * time.Minute}}
	for _, want := range []string{"OPEN  the budget ends: one, or a; or two\n",
		"\n  also: the judge was stopped\n",
		"\n  known: quota 5..5\n", "\n  open: which of 2 kinds it is, rate 5..9/s\n",
		"\n    token-bucket,rate=5/s,burst=5  quota 5..5, rate 5..5.1/s\n",
		"\n  this would tell more: 1 request\n",
		"\n  next: rlcheck identify http://127.0.0.1/ --max-requests 800 --max-time 10m\n"} {
		if text := res.Text(a); !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant it to have %q", text, want)
		}
	}
}
