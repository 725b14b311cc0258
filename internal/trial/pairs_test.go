package trial

import (
	"os"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestHintsOfPairs measures hints on pairs of a declared limit and the one that decided: how often the true
// limit comes first, how often it is offered at all, and how many limits are offered together. RLCHECK_SOAK
// takes all pairs.
func TestHintsOfPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds of processor time")
	}
	const bucket, log = "token-bucket,rate=10/s,burst=20", "sliding-window-log,rate=20/2s"
	const clock, first = "fixed-window,rate=20/2s", "fixed-window,rate=20/2s,align=first"
	const counter = "sliding-window-counter,rate=20/2s"
	truths := []string{bucket, "token-bucket,rate=10/s,burst=21", "token-bucket,rate=8/s,burst=20",
		bucket + ",count=all", bucket + ",ttl=700ms", bucket + ",refill=interval,fill=10", clock, first,
		"fixed-window,rate=21/2s,align=first", "fixed-window,rate=20/3s,align=first",
		first + ",refresh=admitted", first + ",refresh=all", log, "sliding-window-log,rate=19/2s",
		log + ",count=all", counter, counter + ",rounding=up", counter + ",align=first"}
	pairs, firsts, among, offered, took := 0, 0, 0, 0, time.Duration(0)
	all := []string{bucket, first, clock, log, counter}
	if os.Getenv("RLCHECK_SOAK") == "" {
		all = all[:1]
	}
	for _, declared := range all {
		for _, truth := range truths {
			began := time.Now()
			h, _ := Explain(decided(t, declared, truth))
			if took += time.Since(began); h == nil {
				continue
			}
			pairs++
			offered += len(h.Limits)
			place := 0
			for i, l := range h.Limits {
				if want, _ := spec.Parse(truth); place == 0 && alike(l, want) {
					place = i + 1
				}
			}
			if place > 0 {
				among++
			}
			if place == 1 {
				firsts++
			} else {
				t.Logf("%s for %s: place %d of %v", truth, declared, place, h.Limits)
			}
		}
	}
	if t.Logf("%d pairs: the truth is first in %d, offered in %d; %d limits in all, in %s", pairs, firsts,
		among, offered, took); firsts*10 < 7*pairs || among*10 < 8*pairs || offered*10 > 16*pairs {
		t.Error("want the truth first in 7 of 10 pairs, offered in 8, and at most 16 limits for them")
	}
}

// decided returns recordings as scenarios make them, of a limiter that declares one limit and decides by
// another.
func decided(t *testing.T, declared, truth string) (out []result.Scenario) {
	t.Helper()
	const ms = time.Millisecond
	for id, at := range map[string][]time.Duration{
		"burst":    append(every(45, 0, 0), every(45, 1300*ms, 0)...),
		"paced":    every(120, 0, 70*ms),
		"overload": append(every(100, 0, 20*ms), every(60, 5100*ms, 90*ms)...),
	} {
		limit, _ := spec.Parse(declared)
		tl := &timeline.Timeline{Header: timeline.Header{Started: time.Unix(0, 0), Judged: timeline.Terms{
			Limits: []timeline.PhaseLimit{{Limit: declared}}}}}
		decide(t, tl, truth, id, at)
		j, err := check.Judge(tl, limit, check.Options{Hint: true})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, result.Scenario{ID: id, Limit: limit, Target: "http://here/", Timeline: tl,
			Judgement: j, Verdict: j.Verdict})
	}
	return out
}

// decide appends requests that a limiter decided.
func decide(t *testing.T, tl *timeline.Timeline, truth, partition string, at []time.Duration) {
	t.Helper()
	l, err := spec.Parse(truth)
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := reference.NewLimit(l)
	if err != nil {
		t.Fatal(err)
	}
	state := limiter.Init()
	for i, at := range at {
		o := timeline.Observation{Sent: at, FirstByte: at + time.Duration(150+i%7*20)*time.Microsecond,
			Answered: true, Status: 200, Outcome: timeline.Allowed}
		o.Seq, o.Partition, o.Cost = i, partition, 1
		var d reference.Decision
		if state, d = limiter.Step(state, at+50*time.Microsecond, 1); !d.Allow {
			o.Status, o.Outcome = 429, timeline.Denied
		}
		tl.Observations = append(tl.Observations, o)
	}
	tl.Header.Ended = tl.End()
}

// every returns n instants after one another; without a gap as fast as they leave.
func every(n int, at, gap time.Duration) (out []time.Duration) {
	for i := range time.Duration(n) {
		out = append(out, at)
		at += gap + i%3*gap/8 + 30*time.Microsecond
	}
	return out
}

// alike tells whether two limits describe the same limiter: buckets with the same rate and burst under
// different names, or counters that round down and counters that do not round.
func alike(a, b spec.Limit) bool {
	if len(a) != 1 || len(b) != 1 {
		return false
	}
	p, q := a[0], b[0]
	if p.Rounding == spec.RoundDown {
		p.Rounding = spec.RoundNone
	}
	if q.Rounding == spec.RoundDown {
		q.Rounding = spec.RoundNone
	}
	if p.Bucketed() && q.Bucketed() && p.Rate.N*int64(q.Rate.Per) == q.Rate.N*int64(p.Rate.Per) {
		q.Rate, q.Algorithm = p.Rate, p.Algorithm
	}
	return p == q
}
