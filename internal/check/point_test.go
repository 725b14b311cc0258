package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestAModelAtAPointIsTheReference is the contract between the two ways in which a limiter is written. A
// model of the exact search, run on a zone that is one point, decides as the reference does. The first
// instant at which it admits is the RetryAfter of the reference. For several policies the model may hold more
// than one state, and one of them must agree. SPECs are random, with every key but those that ask when
// requests are complete, and without clocks that tick.
func TestAModelAtAPointIsTheReference(t *testing.T) {
	rounds, seeds := soakRounds(t, 3000, 40_000)
	keys := map[string]int{}
	for round := range rounds * seeds {
		r := rand.New(rand.NewPCG(soakSeed+43, uint64(round)))
		text := pointSPEC(r)
		parsed, err := spec.Parse(text)
		ticks := func(p spec.Policy) bool { return p.Tick > 0 } // as windows in slots do
		if err != nil || parsed.Completes() || slices.ContainsFunc(parsed, ticks) {
			continue
		}
		limit := chosen(r, parsed)
		lim, err := reference.NewLimit(limit)
		if err != nil {
			continue
		}
		for key := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
			name, _, _ := strings.Cut(key, "=")
			if keys[name]++; name == "refill" || name == "refresh" || name == "count" || name == "align" {
				keys[key]++
			}
		}
		walkBoth(t, r, limit, lim, text)
	}
	t.Logf("%v", keys)
	for _, key := range []string{"ban", "ttl", "rounding", "boundary", "undelayed", "start", "fill",
		"+", "refresh=all", "refresh=admitted", "count=all", "count=own", "align=first", "align=unknown"} {
		if keys[key] < rounds*seeds/400 {
			t.Errorf("%s was tried in %d of %d rounds", key, keys[key], rounds*seeds)
		}
	}
}

// pointSPEC is a random SPEC in nanoseconds whose clock does not tick.
func pointSPEC(r *rand.Rand) string {
	text := randomSPEC(r)
	if r.IntN(3) == 0 {
		text = strings.Replace(text, ",count=own", "", 1)
	}
	plain := !strings.Contains(text, "+") && !strings.Contains(text, "align")
	if plain && strings.HasPrefix(text, "fixed-window") && r.IntN(2) == 0 {
		text += ",align=first,refresh=" + []string{"admitted", "all"}[r.IntN(2)] // rare otherwise
	}
	for _, tick := range []string{",tick=50us", ",tick=1ms"} {
		text = strings.ReplaceAll(text, tick, "")
	}
	return strings.NewReplacer("7777us", "777ns", "us", "ns", "ms", "00ns", "..1ms", "..100ns").Replace(text)
}

// walkBoth lets a model and a limiter decide the same requests.
func walkBoth(t *testing.T, r *rand.Rand, limit spec.Limit, lim reference.Limiter, text string) {
	t.Helper()
	at, costs := make([]int64, len(limit)), []int64{1, 2, 3}
	gap := int64(1 + limit[0].Rate.Per/time.Duration(1+r.IntN(12)))
	for i := range limit {
		at[i] = int64(limit[i].PhaseFrom)
	}
	if len(limit) == 1 && limit[0].Count == spec.CountOwn {
		limit = spec.Limit{limit[0]}
		limit[0].Count = spec.CountAdmitted
	}
	m := search.NewProduct(limit, at, costs, 1_000_000, nil)
	if m == nil {
		return
	}
	scale, clock := m.Traits().Scale, int64(1000)
	states, s := []limiter.State{m.Start(clock * scale)}, lim.Init()
	for range 40 {
		clock += r.Int64N(gap)
		a := limiter.Request{Cost: costs[r.IntN(len(costs))], End: history.MaxTime}
		where := fmt.Sprintf("%s (%s) at %d cost %d", text, limit, clock, a.Cost)
		var d reference.Decision
		s, d = lim.Step(s, time.Duration(clock), a.Cost)
		var next []limiter.State
		for _, state := range states {
			state.Zone.Set(limiter.ZoneNow, 0, clock*scale) // the present is one point
			other, alike := m.Admit(state.Clone(), a), m.Deny(state.Clone(), a)
			if d.Allow {
				other, alike = alike, other
			}
			if next = append(next, alike...); len(limit) == 1 && (len(alike) != 1 || len(other) > 0) {
				t.Fatalf("%s: the reference answers %v; %d states of the model do, %d do not", where, d.Allow,
					len(alike), len(other))
			}
		}
		if states = next[:min(len(next), 8)]; len(next) == 0 {
			t.Fatalf("%s: the reference answers %v, and no state of the model does", where, d.Allow)
		}
		if d.Allow || d.RetryAfter > 2000 || relapses(limit) {
			continue
		}
		agrees := func(state limiter.State) bool {
			return firstAdmission(m, state, a, clock, scale) == d.RetryAfter
		}
		if !slices.ContainsFunc(states, agrees) { // several policies may have more states: see passing
			t.Fatalf("%s: RetryAfter is %d by the reference, by no state of the model", where, d.RetryAfter)
		}
	}
}

// relapses tells whether one of several policies may deny again what it would have admitted before. That
// happens where it was forgotten and a new bucket is not full. RetryAfter of the reference is the longest
// wait of all policies, and does not see this.
func relapses(limit spec.Limit) bool {
	low := func(p spec.Policy) bool { return p.TTL > 0 && limiter.StartsLow(p) }
	return len(limit) > 1 && slices.ContainsFunc(limit, low)
}

// firstAdmission lets time pass, window by window, until the model admits. It returns the wait, Never if it
// does not admit in 2,001 units of time.
func firstAdmission(m limiter.Model, state limiter.State, a limiter.Request, clock,
	scale int64) time.Duration {
	from, to, gap := clock*scale, (clock+2001)*scale, int64(0)
	if m.Traits().Windowed {
		gap = scale
	}
	for _, begin := range append(m.Boundaries(from+1, to), to+gap) {
		one, first := state.Clone(), history.MaxTime
		one.Zone.Elapse()
		if one.Zone.Limit(0, limiter.ZoneNow, -from) && one.Zone.Limit(limiter.ZoneNow, 0, begin-gap) {
			for _, x := range m.Admit(one, a) {
				lo, _ := x.Zone.Present()
				first = min(first, lo)
			}
		}
		if first < history.MaxTime {
			return time.Duration(-history.FloorDiv(-first, scale) - clock)
		}
		from = begin
	}
	return reference.Never
}
