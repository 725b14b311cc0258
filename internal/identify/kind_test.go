package identify

import (
	"github.com/rlcheck/rlcheck/internal/identify/clients"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestTimesAreNamedAsPeopleWriteThem: nobody has 4/504ms, and a target of 4/500ms would fail it.
func TestTimesAreNamedAsPeopleWriteThem(t *testing.T) {
	for _, tt := range []struct{ from, to, want time.Duration }{
		{496, 514, 500}, // far rounder, though more than 2 % from one end
		{494, 509, 500}, // within 2 % of both ends
		{506, 523, 513}, // 510 is not much rounder
		{990, 1025, 1000},
		{2011, 2039, 2020},
	} {
		b := box{q1: 4, q2: 4, t1: tt.from * time.Millisecond, t2: tt.to * time.Millisecond}
		if got, want := b.usual().t1, tt.want*time.Millisecond; got != want {
			t.Errorf("%v..%v: got %v, want %v", b.t1, b.t2, got, want)
		}
	}
}

// TestABucketIsWrittenAsItIsConfigured: as a rate where that is round, else as its quota in the time in which
// it fills. Of several round times it is the one nearest to the middle.
func TestABucketIsWrittenAsItIsConfigured(t *testing.T) {
	k := kinds()[0]
	for _, tt := range []struct {
		q        int64
		from, to time.Duration
		want     string
	}{
		{5, 312, 330, "rate=5/1.6s"}, // and not 11250/1h
		{6, 329, 335, "rate=6/2s"},
		{20, 99, 101, "rate=10/s"},
		{5, 5900, 6100, "rate=10/1m"},
		{1, 1050, 1290, "rate=50/1m"}, // 1.2s, and not 1.1s
	} {
		b := box{q1: tt.q, q2: tt.q, t1: tt.from * time.Millisecond, t2: tt.to * time.Millisecond}
		if got := k.written(k.usual(b)).String(); !strings.Contains(got, tt.want) {
			t.Errorf("%v..%v of %d: got %s, want %s", b.t1, b.t2, tt.q, got, tt.want)
		}
	}
	const unit = 260 * time.Millisecond
	if got := queueKind(k).written(box{q1: 6, q2: 6, t1: unit, t2: unit}); got.Rate.N != 5 {
		t.Errorf("a queue with five places: got %s, want 5/1.3s", got)
	}
}

// TestWhatIsNamedIsNearBothEnds: a far rounder time is named only once both ends are near it. 37/1.85s was
// named 37/1.8s.
func TestWhatIsNamedIsNearBothEnds(t *testing.T) {
	for _, tt := range []struct {
		from, to time.Duration
		want     bool
	}{{1790, 1860, false}, {1796, 1830, true}, {496, 514, false}, {497, 509, true}} {
		b := box{q1: 37, q2: 37, t1: tt.from * time.Millisecond, t2: tt.to * time.Millisecond}
		if got := b.single(0); got != tt.want {
			t.Errorf("%v..%v: got known %v, want %v", b.t1, b.t2, got, tt.want)
		}
	}
}

// TestAnOpenAnswerSaysWhatIsKnown: each thing on a line of its own, and first why it is open.
func TestAnOpenAnswerSaysWhatIsKnown(t *testing.T) {
	one := func(limit string, most float64) Candidate {
		c := Candidate{Limit: parsed(t, limit), Class: bucketClass, least: time.Second, most: time.Second}
		c.Measured.Burst = verdict.Interval{Lo: 5, Hi: 5, LoSet: true, HiSet: true}
		c.Measured.Rate = verdict.Interval{Lo: 5, Hi: most, LoSet: true, HiSet: true}
		return c
	}
	res := &Result{Verdict: Open, Stopped: "the budget ends: one, or a; or two; the judge was stopped",
		Timeline: &timeline.Timeline{}, Next: "1 request",
		Found: []Candidate{one("token-bucket,rate=5/s,burst=5", 5.1), one("sliding-window-log,rate=5/s", 9)}}
	a := About{Again: "rlcheck identify http://127.0.0.1/",
		Budget: Budget{MaxRequests: 400, MaxTime: 5 * time.Minute}}
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

// TestARunHasTheKeysThatWereSeen: if no key was given and another key was seen to have a limit of its own,
// the clients of a run differ in it. If a key was given, the target may refuse another one.
func TestARunHasTheKeysThatWereSeen(t *testing.T) {
	row := func(plain, observed string) *clients.Found {
		return &clients.Found{Rows: []verdict.Comparison{{Attribute: "address", Plain: clients.NoKey,
			Observed: clients.Separate},
			{Attribute: "header X-Api-Key", Plain: plain, Observed: observed}}}
	}
	for _, tt := range []struct {
		told            *clients.Found
		partition, want string
	}{
		{nil, "none", "none"},
		{row(clients.NoKey, clients.Separate), "none", "header:X-Api-Key"},
		{row(clients.NoKey, clients.Shared), "none", "none"},
		{row("its own", clients.Separate), "none", "none"},
		{row(clients.NoKey, clients.Separate), "address", "address"},
	} {
		r := &Result{Clients: tt.told}
		if got := r.partition(About{Partition: tt.partition}); got != tt.want {
			t.Errorf("%+v of %s: got %s, want %s", tt.told, tt.partition, got, tt.want)
		}
	}
}
