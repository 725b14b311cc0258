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
		"\n  known, if it is one of these: quota 5\n", "\n  open: which of 2 kinds it is, rate 5..9/s\n",
		"\n    token-bucket,rate=5/s,burst=5  quota 5, rate 5..5.1/s\n",
		"\n  this would tell more: 1 request\n",
		"\n  next: rlcheck identify http://127.0.0.1/ --max-requests 800 --max-time 10m\n"} {
		if text := res.Text(a); !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant it to have %q", text, want)
		}
	}
	const nearer = "\n  next, from nearer: rlcheck identify http://127.0.0.1/\n"
	if res.Nearer = true; !strings.Contains(res.Text(a), nearer) || strings.Contains(res.Text(a), "800") {
		t.Errorf("from far away got\n%s\nwant it to have %q", res.Text(a), nearer)
	}
}

// TestAnOpenAnswerSaysWhatALargerBudgetTells: it said that no experiment within the budget tells more, and
// not what is open.
func TestAnOpenAnswerSaysWhatALargerBudgetTells(t *testing.T) {
	const s = time.Second
	wide := func(k *space.Kind, q2 int64, t2 time.Duration) *space.Region {
		return &space.Region{Kind: k, Live: []space.Box{{Q1: 5, Q2: q2, T1: s, T2: t2}}}
	}
	all := space.Kinds()
	for want, left := range map[string][]*space.Region{
		"what is left is told apart":      {wide(all[1], 5, s), wide(all[3], 5, s)},
		"its quota is known well enough":  {wide(all[1], 6, 2*s)},
		"its window is known well enough": {wide(all[1], 5, 2*s)},
		"its rate is known well enough":   {wide(all[0], 5, 2*s)},
		"its rounding is known":           {wide(all[4], 5, s)},
		unplanned:                         {wide(all[1], 5, s)},
	} {
		x := begun(simulate(t, parsed(t, "fixed-window,rate=5/s"), 1), usualBudget(), never)
		if got := x.tooShort(classes(left)); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAnOpenAnswerSaysInWhatItsLimitsDiffer: it counted kinds that differ in one word.
func TestAnOpenAnswerSaysInWhatItsLimitsDiffer(t *testing.T) {
	for want, all := range map[string][]string{
		"whether a denial begins a ban": {"fixed-window,rate=5/s", "fixed-window,rate=5/s,ban=7s"},
		"how it rounds": {"sliding-window-counter,rate=5/s",
			"sliding-window-counter,rate=5/s,rounding=nearest"},
		"which of 2 kinds it is": {"fixed-window,rate=5/s", "sliding-window-log,rate=5/s"},
	} {
		res := &identity.Result{Verdict: identity.Open, Timeline: &timeline.Timeline{}}
		for _, text := range all {
			res.Found = append(res.Found, identity.Candidate{Limit: parsed(t, text)})
		}
		if text := res.Text(identity.About{}); !strings.Contains(text, "\n  open: "+want) {
			t.Errorf("got\n%s\nwant it to have %q", text, want)
		}
	}
}
