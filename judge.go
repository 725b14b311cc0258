package rlcheck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Option changes how a recording is judged.
type Option func(*options)

type options struct {
	sameClock, atMost, shared bool
}

// SameClock says that the limiter reads the clock that stamped the requests, as in one process or on one
// machine. Without it the limiter's clock may be half a second off, and may run 200 ppm faster or slower. It
// matters most to windows that are aligned to the clock.
func SameClock() Option { return func(o *options) { o.sameClock = true } }

// AtMost judges only that no more was admitted than the limit can admit: a denial proves nothing then.
func AtMost() Option { return func(o *options) { o.atMost = true } }

// Shared says that requests which are not in the recording may have used the same quotas. A denial that
// nothing explains is then Inconclusive ([ForeignTraffic]); what was admitted too much still fails.
func Shared() Option { return func(o *options) { o.shared = true } }

// otherClock and otherDrift are how far the clock of another machine may be off, and how far it may drift.
const (
	otherClock = 500 * time.Millisecond
	otherDrift = 200
	sameClock  = time.Millisecond
)

// Judge decides whether the limit can have given these outcomes. The requests may stand in any order. It does
// not change them, and needs memory for some 100 bytes each.
//
// An hour of requests takes milliseconds, a Fail some more, since Judge then looks for a limit that would
// explain the recording (Hint). Where requests overlap so much that trying all orders takes too long, it
// gives up (SearchLimit) and does not guess.
func (l Limit) Judge(requests []Request, how ...Option) Judgement {
	var o options
	for _, f := range how {
		f(&o)
	}
	tl, err := recording(requests, o)
	if err != nil {
		return Judgement{Limit: l, Reason: Malformed, Detail: err.Error()}
	}
	if len(l.kinds) == 0 {
		return Judgement{Limit: l, Reason: Malformed, Detail: "the limit is empty (ParseLimit makes one)"}
	}
	whole := o.checkOptions()
	if len(l.kinds) == 1 {
		whole.Hint = true
		return judged(l, tl, l.kinds[0], whole)
	}
	quick := whole // most kinds fail, and nothing is told of what they measure
	quick.SkipMeasure = true
	var all []Judgement
	for _, kind := range l.kinds {
		one := judged(l, tl, kind, quick)
		if one.Verdict != Fail {
			one = judged(l, tl, kind, whole)
		}
		if one.Verdict == Pass {
			return one
		}
		all = append(all, one)
	}
	return together(l, all)
}

// recording returns the requests as the judge reads them.
func recording(requests []Request, o options) (*timeline.Timeline, error) {
	tl := &timeline.Timeline{Header: timeline.Header{WallError: otherClock, DriftPPM: otherDrift}}
	if o.sameClock {
		tl.Header.WallError, tl.Header.DriftPPM = sameClock, 0
	}
	if len(requests) == 0 {
		return tl, nil
	}
	order := inOrder(requests)
	first := requests[order[0]].Sent
	tl.Header.Started = first.Round(0)
	for _, i := range order {
		if err := requests[i].flaw(); err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		one := requests[i].observation(i, first)
		tl.Header.Ended = max(tl.Header.Ended, one.Sent, one.FirstByte, one.Done)
		tl.Observations = append(tl.Observations, one)
	}
	return tl, nil
}

// together is the judgement on a limit of several kinds, none of which passes.
func together(l Limit, all []Judgement) Judgement {
	if i := slices.IndexFunc(all, func(j Judgement) bool { return j.Verdict == Inconclusive }); i >= 0 {
		return all[i]
	}
	out := Judgement{Limit: l, Verdict: Fail}
	text := []string{"no kind of limit explains the recording:"}
	for _, j := range all {
		text = append(text, "as "+j.Kind+": "+j.Proof.Text)
		out.Proof.Requests = append(out.Proof.Requests, j.Proof.Requests...)
	}
	slices.Sort(out.Proof.Requests)
	out.Proof.Requests = slices.Compact(out.Proof.Requests)
	out.Proof.Text = strings.Join(text, "\n  ")
	out.lines = []string{"FAIL  " + strings.Join(text, "\n        ")}
	return out
}

// checkOptions are those of the command, without its search for what would explain a FAIL.
func (o options) checkOptions() check.Options {
	out := check.Options{Conformance: result.Exact, Shared: o.shared}
	if o.atMost {
		out.Conformance = result.UpperBound
	}
	return out
}
