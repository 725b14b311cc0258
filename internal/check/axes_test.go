package check

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAxesHoldTheirOwnLimiter: a limiter with an axis is never accused under its own SPEC, but is under the
// SPEC without the axis.
func TestAxesHoldTheirOwnLimiter(t *testing.T) {
	cases := []struct{ right, wrong string }{
		{"token-bucket,rate=1..2/20ns,burst=2..3,ban=25ns", "token-bucket,rate=1..2/20ns,burst=2..3"},
		{"token-bucket,rate=1/20ns,burst=2,ban=25ns,growth=2,max=100ns",
			"token-bucket,rate=1/20ns,burst=2,ban=25ns"},
		{"token-bucket,rate=1/20ns,burst=2,ban=25ns",
			"token-bucket,rate=1/20ns,burst=2,ban=25ns,growth=2,max=100ns"},
		{"token-bucket,rate=1/20ns,burst=3,ttl=15ns", "token-bucket,rate=1/20ns,burst=3"},
		{"sliding-window-log,rate=3/60ns,ttl=15ns", "sliding-window-log,rate=3/60ns"},
		{"fixed-window,rate=3/60ns,phase=10ns,ttl=15ns", "fixed-window,rate=3/60ns,phase=10ns"},
		{"fixed-window,rate=3/60ns,align=first,ttl=15ns", "fixed-window,rate=3/60ns,align=first"},
		{"sliding-window-counter,rate=3/60ns,phase=10ns,ttl=15ns",
			"sliding-window-counter,rate=3/60ns,phase=10ns"},
		{"token-bucket,rate=1/20ns,burst=3,start=empty,ttl=15ns", "token-bucket,rate=1/20ns,burst=3"},
		{"token-bucket,rate=1/20ns,burst=2,count=own + fixed-window,rate=3/90ns,phase=10ns,count=own",
			"token-bucket,rate=1/20ns,burst=2 + fixed-window,rate=3/90ns,phase=10ns"},
		{"token-bucket,rate=1/20ns,burst=2,count=own + sliding-window-log,rate=3/90ns",
			"token-bucket,rate=1/20ns,burst=2 + sliding-window-log,rate=3/90ns"},
		{"sliding-window-log,rate=2/30ns,count=own + fixed-window,rate=4/200ns,align=unknown,count=own",
			"sliding-window-log,rate=2/30ns + fixed-window,rate=4/200ns,phase=0s"},
	}
	for _, c := range cases {
		t.Run(c.right, func(t *testing.T) {
			right, err := spec.Parse(c.right)
			if err != nil {
				t.Fatal(err)
			}
			wrong, err := spec.Parse(c.wrong)
			if err != nil {
				t.Fatal(err)
			}
			lim, err := reference.NewLimit(right)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(5, 5))
			caught := 0
			for range fewer(t, 500) {
				tl := honestHistory(r, lim, 30)
				if j, err := Judge(tl, right, Options{SkipMeasure: true}); err != nil ||
					j.Verdict == result.Fail {
					t.Fatalf("accused under its own SPEC: %v\n%s%+v", err, draw(tl), j.Partitions[0].Findings)
				}
				if j, err := Judge(tl, wrong, Options{SkipMeasure: true}); err == nil &&
					j.Verdict == result.Fail {
					caught++
				}
			}
			if caught == 0 {
				t.Error("never told from a limiter without the axis")
			}
			t.Logf("told from %s in %d of %d histories", c.wrong, caught, fewer(t, 500))
		})
	}
}

// TestForgottenBucketMayBeLow: a bucket that was forgotten is created anew, with as little as its start level
// allows.
func TestForgottenBucketMayBeLow(t *testing.T) {
	lim, err := reference.NewLimit(mustLimit(t, "token-bucket,rate=1/20ns,burst=2,start=empty,ttl=15ns"))
	if err != nil {
		t.Fatal(err)
	}
	for _, start := range []string{"empty", "unknown", "0..1", "0..2"} {
		limit := mustLimit(t, "token-bucket,rate=1/20ns,burst=2,ttl=15ns,start="+start)
		r := rand.New(rand.NewPCG(5, 6))
		for range fewer(t, 500) {
			tl := honestHistory(r, lim, 30)
			if j, err := Judge(tl, limit, Options{SkipMeasure: true}); err != nil ||
				j.Verdict == result.Fail {
				t.Fatalf("accused under start=%s: %v\n%s%+v", start, err, draw(tl), j.Partitions[0].Findings)
			}
		}
	}
}

func mustLimit(t *testing.T, text string) spec.Limit {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

// TestLasting: a time to live changes nothing where the silence alone makes the policy as good as new.
func TestLasting(t *testing.T) {
	for spec, want := range map[string]bool{
		"token-bucket,rate=10/1s,burst=20,ttl=3s": true,
		// of which the last nanosecond is not asked
		"token-bucket,rate=10/1s,burst=20,ttl=2s":               false,
		"token-bucket,rate=10/1s,burst=20..40,ttl=3s":           false,
		"token-bucket,rate=5..10/1s,burst=20,ttl=3s":            false,
		"token-bucket,rate=10/1s,burst=20,ttl=1s..3s":           false,
		"token-bucket,rate=10/1s,burst=20,start=empty,ttl=3s":   false, // a new one is empty
		"token-bucket,rate=10/1s,burst=20,start=unknown,ttl=3s": false,
		"token-bucket,rate=10/1s,burst=20..30,start=20,ttl=9s":  false, // of 30 it has 20
		"token-bucket,rate=10/1s,burst=20,ban=5s,ttl=6s":        false,
		// a new one places its batches
		"token-bucket,rate=10/1s,burst=20,refill=interval,fill=10,ttl=3s":   false,
		"fixed-window,rate=10/1s,align=first,ttl=1001ms":                    true,
		"fixed-window,rate=10/1s,align=first,ttl=999ms":                     false,
		"sliding-window-counter,rate=10/1s,align=first,ttl=2001ms":          true,
		"sliding-window-counter,rate=10/1s,align=first,ttl=1500ms":          false,
		"leaky-bucket-queue,rate=10/1s,queue=20,ttl=3s":                     true,
		"sliding-window-log,rate=10/1s,boundary=closed,ttl=1000000001ns":    false,
		"sliding-window-log,rate=10/1s..2s,ttl=1500ms":                      false,
		"token-bucket,rate=10/1s,burst=20,ttl=3s + fixed-window,rate=9/10s": true,
	} {
		limit := mustLimit(t, spec)
		if got := limiter.Lasting(limit)[0].TTL == 0; got != want {
			t.Errorf("%s: got %t, want %t", spec, got, want)
		}
		if limit[0].TTL == 0 {
			t.Errorf("%s: was changed", spec)
		}
	}
}

// TestRequestsAcrossASilenceAreNotCounted: a request that may have been decided before or after its partition
// was forgotten is counted on neither side.
func TestRequestsAcrossASilenceAreNotCounted(t *testing.T) {
	for _, keys := range []string{"sliding-window-log,rate=2/3ms", "fixed-window,rate=2/3ms,phase=0s",
		"fixed-window,rate=2/3ms,slots=3,phase=0s",
		"sliding-window-counter,rate=2/3ms,phase=0s"} {
		tl := &timeline.Timeline{}
		// decided at 1, 304 and 310 us
		for i, at := range [][2]time.Duration{{1, 308}, {302, 306}, {310, 311}} {
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1},
					Sent: at[0] * time.Microsecond, FirstByte: at[1] * time.Microsecond, Answered: true,
					Outcome: timeline.Allowed})
		}
		if j := byBounds(tl, mustLimit(t, keys+",count=all,ttl=300us"),
			Options{SkipMeasure: true}); j.Verdict == result.Fail {
			t.Errorf("%s: accused: %+v", keys, j.Partitions)
		}
	}
}

// TestACountedDenialMayBeForgotten: a counted denial counts against an admission, even if it proves nothing
// itself. It does not where a silence may lie between the two.
func TestACountedDenialMayBeForgotten(t *testing.T) {
	for _, c := range []struct {
		from int64
		over bool
	}{{0, false}, {11, true}} {
		h := &history.History{All: []history.Event{{Start: c.from, End: 20, Cost: 1,
			Outcome: timeline.Unknown, Unprovable: true, Seq: 0},
			{Start: 15, End: 15, Cost: 1, Outcome: timeline.Allowed, Seq: 1},
			{Start: 22, End: 22, Cost: 1, Outcome: timeline.Allowed, Seq: 2}}}
		h.Split()
		b := limiter.NewBound(mustPolicy(t, "sliding-window-log,rate=2/100ns,count=all,ttl=10ns"), 0, 0)
		if br := b.Over(h); (br != nil) != c.over {
			t.Errorf("a denial counted at %d to 20, admissions at 15 and 22: got %+v", c.from, br)
		}
	}
}
