package check

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestWitnessOfPlacedWindows checks witnesses where requests place the windows. The witness fails alone. The
// recording is infeasible whatever its other requests were answered. No request can be left out of the
// witness of an over-admission if it is still to refute the recording.
func TestWitnessOfPlacedWindows(t *testing.T) {
	policies := smallPolicies()
	maps.Copy(policies, anchoredPolicies())
	tried := 0
	for name, pol := range policies {
		if !limiter.Placed(pol) {
			continue
		}
		tried++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lim, err := reference.New(pol)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(17, 19))
			seen, dropped := map[result.Kind]int{}, 0
			for range fewer(t, 300) {
				tl := randomHistory(r, lim,
					shape{requests: 4 + r.IntN(6), gap: 1 + refillTime(spec.Limit{pol}),
						late: []int{0, 3, 10, 30}[r.IntN(4)]})
				j := judged(t, tl, pol)
				if j.Verdict != result.Fail {
					continue
				}
				for _, f := range j.Partitions[0].Findings {
					seen[f.Kind]++
					dropped += len(tl.Observations) - len(f.Observations)
					isHonest(t, tl, limiter.Lasting(spec.Limit{pol})[0], f)
				}
			}
			if len(seen) == 0 || dropped == 0 {
				t.Errorf("%v: %d requests were dropped", seen, dropped)
			}
		})
	}
	if tried < 5 {
		t.Errorf("only %d policies", tried)
	}
}

// isHonest checks what a witness promises where requests place the windows.
func isHonest(t *testing.T, tl *timeline.Timeline, pol spec.Policy, f result.Finding) {
	t.Helper()
	own := alone(tl, f.Observations)
	if j := judged(t, own, pol); j.Verdict != result.Fail || feasible(t, own, pol) {
		t.Fatalf("the witness is judged %s alone:\n%s%+v\n%s", j.Verdict, draw(tl), f, pol)
	}
	// That other requests were denied, and so opened no window, may be part of the proof.
	deniedElsewhere := pol.Count == spec.CountAll &&
		(f.Kind == result.UnderAdmission || pol.Algorithm == spec.FixedWindow)
	if !deniedElsewhere && amidOthers(t, tl, pol, f.Observations) {
		t.Fatalf("the witness is explained by what the others may have been answered:\n%s%+v\n%s", draw(tl),
			f, pol)
	}
	if f.Kind != result.OverAdmission {
		return
	}
	mode := result.Exact
	if search.Counted(spec.Limit{pol}) {
		mode = result.UpperBound
	}
	for i := range f.Observations {
		less := slices.Delete(slices.Clone(f.Observations), i, i+1)
		if stillRefuted(tl, pol, less, f, mode) {
			t.Fatalf("the witness still fails without #%d:\n%s%+v\n%s", f.Observations[i], draw(tl), f, pol)
		}
	}
}

// amidOthers asks the oracle whether a recording is feasible with other answers to some requests. Only the
// known requests keep their answers.
func amidOthers(t *testing.T, tl *timeline.Timeline, pol spec.Policy, known []int) bool {
	t.Helper()
	reqs := requestsOf(tl.Observations, tl.End(), 0)
	var kept []request
	var open []int
	for i, o := range tl.Observations {
		if !slices.Contains(known, o.Seq) && o.Outcome != timeline.Unknown {
			if o.Outcome == timeline.Denied && !search.Counted(spec.Limit{pol}) {
				continue
			}
			open = append(open, len(kept))
		}
		kept = append(kept, reqs[i])
	}
	machines := machinesOf(t, spec.Limit{pol},
		func(p spec.Policy) (from, to int64) { return phaseBox(p, tl.Header) })
	var o oracle
	for answers := range 1 << len(open) {
		for k, i := range open {
			if kept[i].outcome = timeline.Allowed; answers&(1<<k) != 0 {
				kept[i].outcome = timeline.Denied
			}
		}
		if slices.ContainsFunc(machines, func(m machine) bool { return o.explains(m, kept) }) {
			return true
		}
	}
	return false
}

// stillRefuted tells whether a part of a witness would be a witness too.
func stillRefuted(tl *timeline.Timeline, pol spec.Policy, known []int, f result.Finding,
	mode result.Conformance) bool {
	h := NewCase(history.RecordingOf(tl), spec.Limit{pol}, Options{}).Parts[0].Histories[0]
	var less, all []history.Event
	for _, ev := range h.All {
		if slices.Contains(f.Observations, ev.Seq) {
			all = append(all, ev)
		}
		if slices.Contains(known, ev.Seq) {
			less = append(less, ev)
		}
	}
	pr := &Proof{H: h, Tries: ProofTries,
		Judge: func(h *history.History, _ int) ([]Refutation, int, bool) {
			return RefutePlaced(h, pol, mode, 0)
		}}
	pr.Amid = func(events []history.Event) *history.History {
		return h.Before(history.LastEnd(all)).MaskOutcomes(events, search.Counted(spec.Limit{pol}))
	}
	again := pr.Refute(less)
	return again != nil && pr.Honest(less, again)
}

// TestWitnessKeepsWhatOpensItsWindow: two windows of two admissions each are right. A third admission in the
// last window is not. Its witness must include the request that opened the window. Without it, the other
// three would lie in a window that no request opened.
func TestWitnessKeepsWhatOpensItsWindow(t *testing.T) {
	pol := smallPolicies()["fixed window, first request"] // 2 each 20 ns
	tl := &timeline.Timeline{}
	for i, at := range []time.Duration{0, 19, 20, 21, 39} {
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at,
				Answered: true, Outcome: timeline.Allowed})
	}
	j := judged(t, tl, pol)
	if j.Verdict != result.Fail {
		t.Fatalf("got %s, want fail", j.Verdict)
	}
	if got, want := j.Partitions[0].Findings[0].Observations, []int{0, 2, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("the witness is %v, want %v", got, want)
	}
}
