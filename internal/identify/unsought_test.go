package identify

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ofWholeSeconds is a region of windows by the first request and a clock of whole seconds.
func ofWholeSeconds(t *testing.T, text string) *space.Region {
	t.Helper()
	limit := parsed(t, text)
	p := limit[0]
	k := &space.Kind{Class: []spec.Algorithm{p.Algorithm}, Text: coarseKinds[0].text + byTheSecond,
		Base: p, Seconds: true}
	box := space.Box{Q1: p.Rate.N, Q2: p.Rate.N, T1: p.Rate.Per, T2: p.Rate.Per}
	return &space.Region{Kind: k, Live: []space.Box{box}}
}

// TestAWindowInSlotsIsNoClockOfWholeSeconds: of 5 in 2 s, in two slots, each burst of the whole quota had the
// answers of a window by the first request and a clock of whole seconds, and that was its name.
func TestAWindowInSlotsIsNoClockOfWholeSeconds(t *testing.T) {
	for slots := 2; slots <= 4; slots++ {
		for _, quota := range []int64{2, 5} {
			for _, in := range []bool{true, false} {
				coarse := fmt.Sprintf("fixed-window,rate=%d/%ds,align=first,tick=1s", quota, slots)
				truth := coarse
				if in {
					truth = fmt.Sprintf("fixed-window,rate=%d/%ds,slots=%d", quota, slots, slots)
				}
				s := simulate(t, parsed(t, truth), uint64(slots))
				x := begun(s, usualBudget(), never)
				x.every, x.regions, x.stage = x.o.Every, []*space.Region{ofWholeSeconds(t, coarse)}, ofSeconds
				for range 6 {
					x.send(t.Context(), plan.Phase{Rest: time.Duration(slots)*time.Second + 370*ms,
						Requests: int(quota) + 2, Every: x.every, Denials: 2})
				}
				rival := x.slotted(x.candidate(x.regions[0]))
				if rival == nil {
					t.Errorf("%s: got no window in slots that explains bursts of the whole quota", truth)
				}
				for x.try(t.Context(), &partly) {
				}
				if gone := !refute.Asker(nil).Explains(x.judged(), parsed(t, coarse)) ||
					!refute.Asker(nil).BySeconds(x.judged(), parsed(t, coarse)); gone != in {
					t.Errorf("%s: got %s refuted: %v, want %v", truth, coarse, gone, in)
				}
				if rival = x.slotted(x.candidate(x.regions[0])); (rival != nil) != in {
					t.Errorf("%s: got the rival %v, want one: %v", truth, rival, in)
				}
			}
		}
	}
}

// TestWhatIsNotLookedForIsTold: a limit that a SPEC says was called none of these, as nobody had looked for
// it.
func TestWhatIsNotLookedForIsTold(t *testing.T) {
	all := []string{"fixed-window,rate=4/2400ms,slots=4", "sliding-window-counter,rate=5/3s,tick=1s",
		"sliding-window-log,rate=5/3s,tick=100ms", "sliding-window-log,rate=5/3s,tick=1s",
		"fixed-window,rate=5/2s,align=first,tick=100ms", "fixed-window,rate=10/3s,slots=3",
		"fixed-window,rate=6/4s,align=first,refresh=all,tick=1s", "token-bucket,rate=4/2s,burst=4,tick=1s"}
	if os.Getenv("RLCHECK_SOAK") == "" {
		all = all[:2]
	}
	for _, text := range all {
		limit := parsed(t, text)
		x := partsAsked(t, simulate(t, limit, 3), limit[0])
		all := x.unsought()
		truth := strings.NewReplacer(",slots", ",align=unknown,slots", "counter,rate=5/3s,",
			"counter,rate=5/3s,align=unknown,").Replace(text)
		if truth = parsed(t, truth).String(); !slices.ContainsFunc(all, func(c identity.Candidate) bool {
			return c.Limit.String() == truth
		}) {
			t.Errorf("%s: got %v", text, all)
		}
	}
	limit := parsed(t, "fixed-window,rate=6/1500ms,align=first")
	s := simulate(t, limit, 3)
	alone := func(s *stranger, n int, at time.Duration) reference.Decision { return s.ask(n%2, at) }
	s.limiter = &stranger{right: s.limiter, step: alone}
	if all := partsAsked(t, s, limit[0]).unsought(); len(all) > 0 {
		t.Errorf("replicas that count alone: got %v", all)
	}
}

// TestTwoLimitsAreNotNamedInPlaceOfSlots: of 5 in 2 s, in two slots, pairs of limits alone were left.
func TestTwoLimitsAreNotNamedInPlaceOfSlots(t *testing.T) {
	limit := parsed(t, "fixed-window,rate=5/2s,slots=2")
	for _, stage := range []int{ofBatches, ofBatches + 1} {
		x := partsAsked(t, simulate(t, limit, 3), limit[0])
		x.stage, x.regions = stage, []*space.Region{known(parsed(t, "sliding-window-log,rate=5/2s")[0])}
		res := &identity.Result{Verdict: identity.Identified}
		x.mayBeUnsought(res)
		inTwo := func(c identity.Candidate) bool { return c.Limit[0].Slots == 2 }
		told := slices.ContainsFunc(res.Found, inTwo)
		if told != (stage > ofBatches) || told != (res.Verdict == identity.Open) {
			t.Errorf("stage %d: got %s with %v", stage, res.Verdict, res.Found)
		}
	}
}

// partsAsked is a search that asked for parts of a quota at any time.
func partsAsked(t *testing.T, s *simulated, p spec.Policy) *search {
	x := begun(s, usualBudget(), never)
	x.every = x.o.Every
	r := rand.New(rand.NewPCG(7, 7))
	for range 24 {
		x.send(t.Context(), plan.Phase{Rest: time.Duration(r.Int64N(int64(p.Rate.Per) * 3 / 2)),
			Requests: 1 + r.IntN(int(p.Full())+2), Every: x.every, Denials: 1})
	}
	return x
}

// unsoughtLimits are random limits that are not looked for, of each axis.
var unsoughtLimits = map[string]func(r *rand.Rand) string{
	"slots": func(r *rand.Rand) string {
		n := []int{2, 3, 4, 5, 6, 12, 30, 60}[r.IntN(8)]
		w := time.Duration(n*(1+r.IntN(20))) * (600 * ms / time.Duration(n)).Truncate(10*ms)
		place := []string{"", fmt.Sprintf(",phase=%s", time.Duration(r.Int64N(int64(w)/int64(n))))}
		return fmt.Sprintf("fixed-window,rate=%d/%s,slots=%d%s", 3+r.IntN(28), w, n, place[r.IntN(2)])
	},
	"slots of seconds": func(r *rand.Rand) string {
		n := 2 + r.IntN(4)
		w := time.Duration(n*(1+r.IntN(max(1, 10/n)))) * time.Second
		return fmt.Sprintf("fixed-window,rate=%d/%s,slots=%d", 3+r.IntN(10), w, n)
	},
	"tick": func(r *rand.Rand) string {
		k := unsoughtKinds[r.IntN(len(unsoughtKinds))].spec
		return strings.Replace(fmt.Sprintf(k, 1+r.IntN(10), time.Duration(1+r.IntN(10))*time.Second),
			",align=unknown", "", 1)
	},
	"start": func(r *rand.Rand) string {
		q := 2 + r.IntN(12)
		refill := []string{"", fmt.Sprintf(",refill=interval,fill=%d", 1+r.IntN(q))}[r.IntN(2)]
		return fmt.Sprintf("token-bucket,rate=%d/%s,burst=%d,start=%d%s", 1+r.IntN(q),
			time.Duration(1+r.IntN(20))*400*ms, q, r.IntN(q), refill)
	},
	"ban": func(r *rand.Rand) string {
		q, w := 1+r.IntN(10), time.Duration(1+r.IntN(20))*200*ms
		inside := []string{"token-bucket,rate=%d/%s,burst=12,refill=interval,fill=2",
			"token-bucket,rate=%d/%s,burst=12,start=empty", "sliding-window-counter,rate=%d/%s",
			"sliding-window-counter,rate=%d/%s,align=first", "fixed-window,rate=%d/%s,slots=2",
			"fixed-window,rate=%d/%s,align=first,refresh=admitted",
			"token-bucket,rate=%[1]d/%[2]s,burst=%[1]d,count=all",
			"leaky-bucket-queue,rate=%[1]d/%[2]s,queue=%[1]d"}[r.IntN(8)]
		return fmt.Sprintf(inside+",ban=%[3]s", q, w, time.Duration(1+r.IntN(30))*200*ms)
	},
	"ttl": func(r *rand.Rand) string {
		q, w := 2+r.IntN(10), time.Duration(1+r.IntN(20))*500*ms
		inside := []string{"token-bucket,rate=%[1]d/%[2]s,burst=%[1]d", "sliding-window-log,rate=%d/%s",
			"token-bucket,rate=%[1]d/%[2]s,burst=%[1]d,start=empty", "sliding-window-counter,rate=%d/%s",
			"fixed-window,rate=%d/%s", "leaky-bucket-queue,rate=%[1]d/%[2]s,queue=%[1]d"}[r.IntN(6)]
		return fmt.Sprintf(inside+",ttl=%[3]s", q, w, w*time.Duration(1+r.IntN(9))/10)
	},
	"several": func(r *rand.Rand) string {
		one := func(q int, w time.Duration) string {
			return fmt.Sprintf([]string{"token-bucket,rate=%[1]d/%[2]s,burst=%[1]d",
				"fixed-window,rate=%d/%s", "fixed-window,rate=%d/%s,align=first",
				"sliding-window-log,rate=%d/%s",
				"sliding-window-log,rate=%d/%s,count=own", "sliding-window-counter,rate=%d/%s",
				"fixed-window,rate=%d/%s,slots=2", "token-bucket,rate=%[1]d/%[2]s,burst=%[1]d,start=empty",
				"sliding-window-log,rate=%d/%s,count=all"}[r.IntN(9)], q, w)
		}
		q, w, k := 1+r.IntN(8), time.Duration(1+r.IntN(10))*200*ms, 2+r.IntN(4)
		out := one(q, w) + " + " + one(q*k, w*time.Duration(k)*time.Duration(12+r.IntN(20))/10)
		if r.IntN(3) == 0 {
			out += " + " + one(q*k*3, w*time.Duration(k)*9)
		}
		return out
	},
	"queue": func(r *rand.Rand) string {
		q, w := 2+r.IntN(10), time.Duration(1+r.IntN(20))*200*ms
		return fmt.Sprintf("leaky-bucket-queue,rate=%d/%s,queue=%d%s", q, w, q,
			[]string{",start=empty", ",start=1", ",tick=20ms", ",tick=100ms"}[r.IntN(4)])
	},
}

// TestWhatIsNotSoughtHasNoOtherName: what is named in the place of a limit that is not looked for decides
// as that does, and no such limit is called unknown. RLCHECK_SEED names seeds, RLCHECK_AXIS an axis.
func TestWhatIsNotSoughtHasNoOtherName(t *testing.T) {
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("an hour: RLCHECK_SOAK")
	}
	first, last, _ := strings.Cut(cmp.Or(os.Getenv("RLCHECK_SEED"), "0-9"), "-")
	from, _ := strconv.ParseUint(first, 10, 64)
	to, _ := strconv.ParseUint(cmp.Or(last, first), 10, 64)
	for axis, random := range unsoughtLimits {
		if only := os.Getenv("RLCHECK_AXIS"); only != "" && only != axis {
			continue
		}
		for seed := from; seed <= to; seed++ {
			limit := parsed(t, random(rand.New(rand.NewPCG(seed, 77))))
			o := usualBudget()
			o.Fresh = seed%2 == 0
			s := simulate(t, limit, seed)
			res := Identify(t.Context(), s, o)
			said := fmt.Sprintf("%s, seed %d: %s: %s after %d requests: %s", axis, seed, limit, res.Summary(),
				len(res.Timeline.Observations), res.Stopped)
			t.Log(said)
			if res.Verdict == identity.None ||
				res.Verdict == identity.Identified && unlike(t, limit, res.Found[0].Limit, s.start) > 0.03 {
				t.Error("WRONG " + said)
			}
		}
	}
}

// unlike is the share of random requests that two limits decide differently.
func unlike(t *testing.T, a, b spec.Limit, start time.Time) float64 {
	all, different := 0, 0
	b = slices.Clone(b)
	for i := range b {
		if b[i].Align == spec.AlignUnknown {
			b[i].Align = spec.AlignClock
		}
	}
	for seed := range uint64(20) {
		one, other := simulate(t, a, seed), simulate(t, b, seed)
		one.start, other.start = start, start
		x := partsAsked(t, one, a[0])
		for _, o := range x.tl.Observations {
			var d reference.Decision
			at := o.Sent + (o.FirstByte-o.Sent)/2 + time.Duration(start.UnixNano())
			other.state, d = other.limiter.Step(other.state, at, 1)
			if all++; d.Allow != (o.Outcome == timeline.Allowed) {
				different++
			}
		}
	}
	return float64(different) / float64(max(1, all))
}
