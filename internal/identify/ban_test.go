package identify

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// randomBan returns a random limit, no queue, with a ban after each denial. The ban lasts from a bit more
// than a tenth of the window, or a unit, to three windows. Requests prolong one ban in three, which no SPEC
// can state.
func randomBan(t *testing.T, r *rand.Rand) (limit spec.Limit, prolongs bool) {
	const most, least = 6, 60 * time.Millisecond
	for limit == nil || limit[0].Queued() {
		limit = randomLimit(r, most)
	}
	p := limit[0]
	shortest := float64(least + p.Rate.Per/time.Duration(min(p.Full(), 10)))
	ban := time.Duration(shortest * math.Pow(float64(least+3*p.Rate.Per)/shortest, r.Float64()))
	prolongs = r.IntN(3) == 0
	if prolongs && ban > p.Rate.Per*9/10 && ban < p.Rate.Per*11/10 { // some windows are such bans themselves
		ban += p.Rate.Per / 2
	}
	return parsed(t, fmt.Sprintf("%s,ban=%s", limit, ban.Round(time.Millisecond))), prolongs
}

// renewed is a limiter with a ban that every request prolongs.
func renewed(inside spec.Policy, ban time.Duration) *evasive {
	inside.Ban = 0
	return &evasive{prolonged: prolonged{inside: inside, ban: ban}}
}

// TestNoLimitIsNamedWithoutItsBan: one in 20 s, with a ban of 25 s that requests prolong, was named a counter
// of 21.7 s (seed 19). Two in 100 ms with a ban of 296 ms was named a window of 441 ms. The search stops at
// rare kinds, since bans are among them. RLCHECK_SOAK runs 300 seeds.
func TestNoLimitIsNamedWithoutItsBan(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of planning")
	}
	from, to := uint64(19), uint64(19)
	if os.Getenv("RLCHECK_SOAK") != "" {
		first, last, _ := strings.Cut(cmp.Or(os.Getenv("RLCHECK_SEED"), "0-299"), "-")
		from, _ = strconv.ParseUint(first, 10, 64)
		to, _ = strconv.ParseUint(cmp.Or(last, first), 10, 64)
	}
	for seed := from; seed <= to; seed++ {
		limit, prolongs := randomBan(t, rand.New(rand.NewPCG(seed, 5)))
		s := simulate(t, limit, seed)
		if prolongs {
			s.limiter = renewed(limit[0], limit[0].Ban)
			s.state = s.limiter.Init()
		}
		var x *search
		x = begun(s, budget(limit), func() bool { return x.stage > 0 })
		res := x.answer(t.Context())
		said := fmt.Sprintf("seed %d: %s (requests prolong it: %v): %s after %d", seed, limit, prolongs,
			res.Summary(), len(res.Timeline.Observations))
		if t.Log(said); res.Verdict == identity.Identified {
			t.Error("WRONG " + said)
		}
	}
}

// unbannedAfter is a search that knows a limit without its ban, and has made the experiments that tell of
// bans.
func unbannedAfter(t *testing.T, k *space.Kind, b space.Box, ban time.Duration, prolongs bool,
	seed uint64) *search {
	t.Helper()
	inside := space.Complete(k.Policy(b))
	banned := inside
	if banned.Ban = ban; prolongs {
		banned.Ban = 0
	}
	s := simulate(t, spec.Limit{banned}, seed)
	if prolongs {
		s.limiter = renewed(inside, ban)
		s.state = s.limiter.Init()
	}
	x := begun(s, usualBudget(), func() bool { return false })
	x.regions, x.every = []*space.Region{{Kind: k, Live: []space.Box{b}}}, x.o.Every
	x.send(t.Context(), plan.Phase{Requests: int(inside.Full()) + 3, Every: x.every, Denials: 2})
	if !k.Counts() { // otherwise none is ever admitted
		x.send(t.Context(), plan.Phase{Rest: x.every, Requests: 100, Every: 60 * time.Millisecond, Admits: 1})
	}
	for x.usualExperiment(t.Context(), ofAny) {
	}
	alone := func() bool {
		return !refute.Asker(nil).Refuted(x.shown(), spec.Limit{inside}, verdict.Exact, true)
	}
	for x.try(t.Context(), &unbanned) && alone() {
	}
	return x
}

// TestABanIsToldByOneExperiment: for each kind, a ban of a fifth of its time or more is refuted by the
// experiment. A limit without a ban is not, nor is there room for a ban left. Some kinds that count denied
// requests act like bans that requests prolong.
func TestABanIsToldByOneExperiment(t *testing.T) {
	const window = 2 * time.Second
	for i, k := range space.Kinds() {
		for j, quota := range []int64{1, 5} {
			b := space.Box{Q1: quota, Q2: quota, T1: window, T2: window}
			if k.Paced {
				b.T1, b.T2 = window/time.Duration(quota), window/time.Duration(quota)
			}
			if k.Counts() && k.Base.Weighs() && quota == 1 { // may stay open
				continue
			}
			for _, part := range k.Each() {
				c := identity.Candidate{Limit: spec.Limit{space.Complete(part.Policy(b))}}
				seed := uint64(2*i + j)
				told := func(x *search) bool {
					return refute.Asker(nil).Refuted(x.shown(), c.Limit, verdict.Exact, true) ||
						x.banned(c) != nil
				}
				if x := unbannedAfter(t, part, b, 0, false, seed); told(x) {
					t.Errorf("%s: got a ban of up to %s, want none", c.Limit, longestBan(x.shown()))
				}
				for _, share := range []time.Duration{20, 90, 300} {
					prolongs := share == 90 && !(part.Counts() && (part.Paced || quota == 1))
					x := unbannedAfter(t, part, b, window*share/100, prolongs, seed)
					if !told(x) {
						t.Errorf("%s, ban %s (requests prolong it: %v): it is not seen", c.Limit,
							window*share/100, prolongs)
					}
				}
			}
		}
	}
}

// TestTheRestBeforeABanIsAskedForIsNoLongerThanItMustBe: the rest was twice the window for any kind. So the 5
// minutes of a log of 100 a minute ended before a ban was asked for, and it stayed open.
func TestTheRestBeforeABanIsAskedForIsNoLongerThanItMustBe(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		limit string
		back  time.Duration // from a denial to the next admission
		want  time.Duration
	}{
		{"sliding-window-log,rate=5/1m", 58 * s, 60 * s},
		{"sliding-window-log,rate=5/1m", 90 * s, 90 * s}, // a ban may last as long
		{"sliding-window-log,rate=5/1m", 500 * s, 120 * s},
		{"sliding-window-counter,rate=5/1m,align=first", 58 * s, 120 * s}, // it remembers two windows
	} {
		x := &search{regions: []*space.Region{known(parsed(t, tt.limit)[0])}, tl: &timeline.Timeline{}}
		x.tl.Observations = append(bursts(0, 1), bursts(1, 0)...)
		x.tl.Observations[1].Sent, x.tl.Observations[1].FirstByte = tt.back, tt.back
		if got := x.recovers(); got != tt.want {
			t.Errorf("%s, back after %s: got a rest of %s, want %s", tt.limit, tt.back, got, tt.want)
		}
	}
}
