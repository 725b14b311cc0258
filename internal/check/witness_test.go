package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// alone returns the observations of tl with the given request numbers.
func alone(tl *timeline.Timeline, seqs []int) *timeline.Timeline {
	out := &timeline.Timeline{Header: tl.Header}
	out.Header.Ended = tl.End()
	for _, o := range tl.Observations {
		if slices.Contains(seqs, o.Seq) {
			out.Observations = append(out.Observations, o)
		}
	}
	return out
}

// TestWitnessFailsAlone: every witness of a random small history FAILs when it is judged on its own. That of
// an over-admission whose requests cost the same passes as soon as any request is left out.
func TestWitnessFailsAlone(t *testing.T) {
	for name, pol := range smallPolicies() {
		t.Run(name, func(t *testing.T) {
			lim, err := reference.New(pol)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(7, 11))
			seen := map[result.Kind]int{}
			for range fewer(t, 400) {
				tl := randomHistory(r, lim, smallShape(r, []int{0, 3, 10, 30}[r.IntN(4)], false))
				j := judged(t, tl, pol)
				if len(j.Partitions) == 0 || j.Verdict != result.Fail {
					continue
				}
				for _, f := range j.Partitions[0].Findings {
					seen[f.Kind]++
					holds(t, tl, pol, f)
				}
			}
			if seen[result.OverAdmission]+seen[result.UnderAdmission]+seen[result.NoExplanation] == 0 {
				t.Fatal("no finding at all")
			}
			t.Log(seen)
		})
	}
}

func judged(t *testing.T, tl *timeline.Timeline, pol spec.Policy) *result.Judgement {
	t.Helper()
	j, err := Judge(tl, spec.Limit{pol}, Options{SkipMeasure: true})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// holds checks what a witness promises.
func holds(t *testing.T, tl *timeline.Timeline, pol spec.Policy, f result.Finding) {
	t.Helper()
	if !slices.IsSorted(f.Observations) || len(f.Observations) == 0 || f.Text == "" || f.From > f.To {
		t.Fatalf("finding out of shape: %+v", f)
	}
	if j := judged(t, alone(tl, f.Observations), pol); j.Verdict != result.Fail {
		t.Fatalf("the witness does not fail alone:\n%s%+v", draw(tl), f)
	}
	// a proof that depends on how the bucket was created needs the first requests, and may not be the fewest
	created := limiter.RemembersStart(pol) || pol.Refill == spec.RefillInterval
	if f.Kind != result.OverAdmission || pol.Count == spec.CountAll || pol.TTL > 0 || created ||
		limiter.Placed(pol) {
		return
	}
	o := Options{SkipMeasure: true}
	if pol.Refresh == spec.RefreshAll {
		// its denials keep the window open, and the witness does not have what explains them
		o.Conformance = result.UpperBound
	}
	for i := range f.Observations {
		less := slices.Delete(slices.Clone(f.Observations), i, i+1)
		if j, err := Judge(alone(tl, less), spec.Limit{pol}, o); err != nil || j.Verdict == result.Fail {
			t.Fatalf("the witness still fails without #%d:\n%s%+v", f.Observations[i], draw(tl), f)
		}
	}
}

// TestWitnessOfSeveralFailsAlone: the witness against several policies together fails on its own, and the
// oracle agrees.
func TestWitnessOfSeveralFailsAlone(t *testing.T) {
	together := 0
	for name, limit := range smallLimits() {
		if len(limit) == 1 {
			continue
		}
		r := rand.New(rand.NewPCG(7, 13))
		for range 120 {
			lim, err := reference.NewLimit(knownLimit(r, limit))
			if err != nil {
				t.Fatal(err)
			}
			tl := randomHistory(r, lim, smallShape(r, []int{3, 10, 30}[r.IntN(3)], r.IntN(2) == 0))
			j, err := Judge(tl, limit, Options{SkipMeasure: true})
			if err != nil {
				t.Fatal(err)
			}
			if j.Verdict != result.Fail {
				continue
			}
			for _, f := range j.Partitions[0].Findings {
				if f.Kind == result.NoExplanation {
					together++
				}
				own := alone(tl, f.Observations)
				if again, _ := Judge(own, limit, Options{SkipMeasure: true}); again.Verdict != result.Fail ||
					feasible(t, own, limit...) {
					t.Fatalf("%s: the witness does not fail alone:\n%s%+v", name, draw(tl), f)
				}
			}
		}
	}
	if together == 0 {
		t.Error("no history was refuted by several policies together")
	}
}

// TestWitnessProvesWhatWasFound: denied requests are counted. The witness of an admission that found no room
// includes denials, but not the requests that explain them. It must not become a witness against one of these
// denials.
func TestWitnessProvesWhatWasFound(t *testing.T) {
	over, under, rounds := 0, 0, max(fewer(t, 100), 40)
	for name, limit := range smallLimits() {
		box, _ := PhasesOf(limit[0], timeline.Header{})
		if len(limit) > 1 || !search.Counted(limit) || box.From != box.To || limiter.Anchored(limit[0]) {
			continue
		}
		for round := range rounds {
			r := rand.New(rand.NewPCG(soakSeed+11, uint64(round)))
			tl := randomPartitions(t, r, limit,
				shape{requests: 10 + r.IntN(40), gap: 1 + r.IntN(40), late: r.IntN(30)})
			found := NewCase(history.RecordingOf(tl), limit, Options{SkipMeasure: true})
			found.Quick, found.BoundsOnly = true, true
			found.Judge()
			want, got := kindsOf(found.Judgement()), byBounds(tl, limit, Options{SkipMeasure: true})
			if kindsOf(got) != want {
				t.Fatalf("%s, round %d: found %s, proved %s\n%+v\n%s", name, round, want, kindsOf(got),
					got.Partitions, draw(tl))
			}
			if strings.Contains(want, string(result.OverAdmission)) {
				over++
			}
			for k, p := range byBounds(tl, limit,
				Options{SkipMeasure: true, Conformance: result.LowerBound}).Partitions {
				if len(p.Findings) == 0 {
					continue
				}
				under++
				br := JudgeOne(found.Parts[k].Histories[0],
					limiter.NewBound(found.Limit[0], box.From, box.To),
					result.LowerBound)
				asked := fmt.Sprintf("request #%d ", br.Asked)
				if br.Kind != result.NoExplanation && !strings.HasPrefix(p.Findings[0].Text, asked) {
					t.Fatalf("%s, round %d: %sis not explained, but the witness says %s\n%s", name, round,
						asked, p.Findings[0].Text, draw(tl))
				}
			}
		}
	}
	if over < 100 || under < 100 {
		t.Errorf("only %d admissions were too many, and %d denials", over, under)
	}
}
