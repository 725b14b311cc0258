package identify

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestALimitThatForgetsIdleClientsHasNoOtherName: Traefik forgets a client after 1 to 2 s and was named a
// bucket, since no experiment rested for less than the time in which its bucket fills. The search stops at
// rare kinds.
func TestALimitThatForgetsIdleClientsHasNoOtherName(t *testing.T) {
	all := []string{"token-bucket,rate=150/1m,burst=5,ttl=1500ms", "fixed-window,rate=4/6s,ttl=3s",
		"sliding-window-counter,rate=5/2s,ttl=1500ms"}
	if os.Getenv("RLCHECK_SOAK") == "" {
		all = all[:1]
	}
	for _, text := range all {
		for _, forgets := range []bool{true, false} {
			limit := parsed(t, text)
			if !forgets {
				limit[0].TTL = 0
			}
			var x *search
			x = begun(simulate(t, limit, 1), usualBudget(), func() bool { return x.stage > 0 })
			res := x.answer(t.Context())
			if (res.Verdict == identity.Identified) == forgets {
				t.Errorf("%s: got %s", limit, res.Summary())
			}
			said := res.Text(identity.About{Budget: usualBudget().Budget})
			if told := strings.Contains(said, " was not forgotten (no shorter ttl)"); told == forgets {
				t.Errorf("%s: got %s", limit, said)
			}
		}
	}
}

// knows is a search that knows the policies of a box and has used their quota up. The limit forgets idle
// clients after ttl; 0: it forgets none.
func knows(t *testing.T, k *space.Kind, b space.Box, ttl time.Duration) *search {
	t.Helper()
	limit := spec.Limit{space.Complete(k.Policy(b))}
	limit[0].TTL = ttl
	x := begun(simulate(t, limit, uint64(b.Q1)), usualBudget(), never)
	x.regions, x.every = []*space.Region{{Kind: k, Live: []space.Box{b}}}, x.o.Every
	x.send(t.Context(), plan.Phase{Requests: int(b.Q1) + 3, Every: x.every, Denials: 2})
	return x
}

// TestOneExperimentTellsWhetherAClientIsForgotten: for each kind and quota, at any time to live that an
// experiment can tell. A limit without one is not refuted.
func TestOneExperimentTellsWhetherAClientIsForgotten(t *testing.T) {
	const window = 2 * time.Second
	quotas, percents := []int64{2, 8}, []time.Duration{0, 95}
	if os.Getenv("RLCHECK_SOAK") != "" {
		quotas, percents = []int64{1, 2, 5, 8, 20}, []time.Duration{0, 10, 50, 80, 95}
	}
	for _, k := range space.Kinds() {
		if k.Base.Align == spec.AlignUnknown { // where its windows begin is known later
			continue
		}
		for _, quota := range quotas {
			b := space.Box{Q1: quota, Q2: quota, T1: window, T2: window}
			if k.Paced {
				b.T1, b.T2 = window/time.Duration(quota), window/time.Duration(quota)
			}
			for _, part := range k.Each() {
				_, lasting := knows(t, part, b, 0).idling()
				if always := part.Base.Refresh == spec.RefreshAll; always || lasting < window/2 {
					if always != (lasting == 0) { // its window is a time to live
						t.Errorf("%s of %d: got %s", part.Text, quota, lasting)
					}
					continue
				}
				for _, percent := range percents {
					x, asked := knows(t, part, b, lasting*percent/100), 0
					c := identity.Candidate{Limit: spec.Limit{space.Complete(part.Policy(b))}}
					for ; !x.fails(c) && x.try(t.Context(), &idle); asked++ {
					}
					gone := x.fails(c)
					if gone != (percent > 0) || asked > 2 || !gone && x.expires(c) != nil {
						t.Errorf("%s, ttl %d %% of %s: got it refuted: %v, after %d experiments", c.Limit,
							percent, lasting, gone, asked)
					}
				}
			}
		}
	}
}

// TestAClientThatIsForgottenSoonerOrLaterIsTold: after 1 to 2 s, as by a clock of whole seconds. That does
// not explain free admissions.
func TestAClientThatIsForgottenSoonerOrLaterIsTold(t *testing.T) {
	const s = time.Second
	limit := parsed(t, "token-bucket,rate=150/1m,burst=5")
	for _, free := range []bool{false, true} {
		sim, last := simulate(t, limit, 1), time.Duration(0)
		after := []time.Duration{11 * s / 10, 19 * s / 10}
		sim.limiter = &stranger{right: sim.limiter,
			step: func(st *stranger, n int, at time.Duration) reference.Decision {
				if n > 1 && at-last > after[n%2] {
					st.state[0] = st.right.Init()
				}
				if last = at; free && n%9 == 0 {
					return reference.Decision{Allow: true}
				}
				return st.ask(0, at)
			}}
		x := begun(sim, usualBudget(), never)
		for _, rest := range []time.Duration{0, 15, 16, 17, 13, 5, 15, 14, 12, 17, 5, 30} {
			x.send(t.Context(), plan.Phase{Rest: rest * s / 10, Requests: 8, Every: 15 * ms, Denials: 2})
		}
		x.trail, x.stage = []*space.Region{known(limit[0])}, 1
		res := &identity.Result{Verdict: identity.None}
		x.mayForget(res)
		told := strings.Contains(res.Stopped, "not always after the same time: "+limit.String()+",ttl=1.")
		if told == free || told != (res.Verdict == identity.Open) {
			t.Errorf("some are free: %v: got %s", free, res.Summary())
		}
	}
}
