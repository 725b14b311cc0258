package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestRightLimitersAreNeverAccused records limiters of random SPECs, with every key, under random traffic of
// some hundred requests. It judges them as declared, whole and as streams: no FAIL, ever. The oracle cannot
// reach recordings of this, the real size. RLCHECK_SOAK=1 tries five thousand.
func TestRightLimitersAreNeverAccused(t *testing.T) {
	rounds, seeds := soakRounds(t, 40, 5000)
	verdicts := map[result.Verdict]int{}
	for seed := range seeds {
		for round := range rounds {
			r := rand.New(rand.NewPCG(soakSeed+uint64(seed), uint64(round)))
			text := randomSPEC(r)
			limit, err := spec.Parse(text)
			if err != nil || contradictory(limit) {
				continue // keys that do not go together
			}
			lim, err := reference.NewLimit(knownLimit(r, limit))
			if err != nil {
				t.Fatal(err)
			}
			tl := honestTraffic(r, lim, limit)
			if r.IntN(4) == 0 {
				cutAmid(r, tl)
			}
			where := fmt.Sprintf("seed %d, round %d, %s", seed, round, text)
			j, err := Judge(tl, limit, Options{SkipMeasure: true})
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			verdicts[j.Verdict]++
			if j.Verdict == result.Fail {
				t.Errorf("%s: accused: %+v%s", where, j.Partitions[0].Findings, small(tl, limit))
			}
			if s := streamed(t, tl, limit, Options{SkipMeasure: true},
				anyBeginning(r)); s.Verdict == result.Fail {
				t.Errorf("%s: the stream accused: %+v", where, s.Partitions[0].Findings)
			}
		}
	}
	t.Logf("%v", verdicts)
	if verdicts[result.Pass] < rounds*seeds/3 {
		t.Errorf("%v: want a third of %d to pass", verdicts, rounds*seeds)
	}
}

// cutAmid turns tl into a recording cut out of traffic, at its beginning, its end or both. Outside of what is
// left, it drops a quarter or more of the requests that were surely decided and complete there.
func cutAmid(r *rand.Rand, tl *timeline.Timeline) {
	end := int64(tl.End())
	from, until := time.Duration(1+r.Int64N(end/2+1)), time.Duration(end-r.Int64N(end/2+1))
	switch r.IntN(4) {
	case 0:
		from = 0
	case 1:
		until = 0
	}
	tl.Header.CompleteFrom, tl.Header.CompleteUntil = from, until
	missing := 1 + r.IntN(4)
	tl.Observations = slices.DeleteFunc(tl.Observations, func(o timeline.Observation) bool {
		before := from > 0 && o.Answered && max(o.FirstByte, o.Done) < from
		return (before || until > 0 && o.Sent > until) && r.IntN(4) < missing
	})
}

// small prints tl for a table of cases, without the denials that the accusation does not need.
func small(tl *timeline.Timeline, limit spec.Limit) string {
	kept := *tl
	for again := true; again; {
		again = false
		for i := len(kept.Observations) - 1; i >= 0; i-- {
			less := kept
			less.Observations = slices.Delete(slices.Clone(kept.Observations), i, i+1)
			if kept.Observations[i].Outcome != timeline.Denied || len(less.Observations) == 0 {
				continue // without an admission a recording may be infeasible
			}
			if j, err := Judge(&less, limit, Options{SkipMeasure: true}); err == nil &&
				j.Verdict == result.Fail {
				kept, again = less, true
				break
			}
		}
	}
	return "\n" + draw(&kept)
}

// randomSPEC returns a SPEC of one policy or two. Some do not parse.
func randomSPEC(r *rand.Rand) string {
	one := randomPolicy(r)
	if r.IntN(5) == 0 {
		one += " + " + randomPolicy(r)
	}
	return one
}

// randomPolicy returns one policy with a few keys. Its times are microseconds to milliseconds.
func randomPolicy(r *rand.Rand) string {
	algorithms := spec.Algorithms()
	a := algorithms[r.IntN(len(algorithms))]
	per := []string{"1ms", "3ms", "10ms", "7777us", "100us"}[r.IntN(5)]
	hold := []string{"hold=0s..200us", "hold=100us..3ms", "hold=1ms..1ms", "hold=2ms.."}[r.IntN(4)]
	if r.IntN(3) == 0 {
		hold += ",linger=" + []string{"0s", "500us"}[r.IntN(2)]
	}
	if a == spec.Concurrency {
		return fmt.Sprintf("concurrency,limit=%s,%s", []string{"1", "2", "3", "5", "2..4"}[r.IntN(5)], hold)
	}
	keys := []string{string(a), fmt.Sprintf("rate=%d/%s", 1+r.IntN(12), per)}
	add := func(chance int, key string, values ...string) {
		if r.IntN(chance) == 0 {
			keys = append(keys, key+"="+values[r.IntN(len(values))])
		}
	}
	switch a {
	case spec.LeakyBucketQueue:
		add(1, "queue", "0", "1", "3", "9", "1..3")
		add(3, "undelayed", "1", "2")
		add(4, "start", "empty", "unknown", "1", "0..1")
	case spec.FixedWindow, spec.SlidingWindowCounter:
		add(2, "align", "first", "unknown", "clock", "shared")
		add(4, "slots", "2", "5", "10")
		add(4, "align=first,refresh", "admitted", "all")
		add(3, "rounding", "down", "up", "nearest")
	case spec.SlidingWindowLog:
		add(3, "boundary", "closed")
	case spec.TokenBucket, spec.GCRA, spec.LeakyBucket:
		add(1, "burst", "1", "2", "5", "13", "2..5")
		add(4, "start", "empty", "unknown", "1", "0..1")
		if r.IntN(4) == 0 {
			keys = append(keys, "refill=interval", fmt.Sprint("fill=", 1+r.IntN(4)))
		}
	}
	if r.IntN(8) == 0 {
		keys = append(keys, "charge=completion", hold)
		switch { // without another draw, so that the corpus stays
		case strings.HasSuffix(hold, "linger=0s"):
			keys = append(keys, "unit=request")
		case strings.HasSuffix(hold, "linger=500us"):
			keys = append(keys, "reserve=1")
		}
		return strings.Join(keys, ",")
	}
	add(4, "count", "all", "own")
	add(5, "tick", "50us", "1ms")
	add(6, "ban", "200us", "4ms", "200us..4ms")
	add(6, "ttl", "300us", "5ms", "300us..5ms")
	return strings.Join(keys, ",")
}

// TestEveryKeyIsDrawn: every key of a SPEC occurs among the random right limiters. Phases are drawn where
// they place windows, calendars, bans that grow and successes by tests of their own.
func TestEveryKeyIsDrawn(t *testing.T) {
	drawn := map[string]bool{"phase": true, "zone": true, "growth": true, "max": true, "clear": true}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		for pair := range strings.SplitSeq(randomPolicy(r), ",") {
			key, _, _ := strings.Cut(pair, "=")
			drawn[key] = true
		}
	}
	for _, key := range spec.Keys("") {
		if !drawn[key] {
			t.Errorf("no honest limiter has the key %q", key)
		}
	}
}

// honestTraffic records what lim answers to up to 150 requests of one or two partitions. The load has bursts,
// an even flow and silences. Latencies reach from nothing to several windows, and a few answers are lost.
func honestTraffic(r *rand.Rand, lim reference.Limiter, limit spec.Limit) *timeline.Timeline {
	return trafficBy(r, lim, limit, func(at time.Duration) time.Duration { return at })
}

// trafficBy is honestTraffic for a limiter whose clock shows, at an instant, what reads returns. That must
// not decrease.
func trafficBy(r *rand.Rand, lim reference.Limiter, limit spec.Limit,
	reads func(time.Duration) time.Duration) *timeline.Timeline {
	type request struct {
		s, d, e time.Duration
		o       timeline.Observation
	}
	window := cmp.Or(limit[0].Rate.Per, 3*time.Millisecond) // a limit on requests in flight has none
	late := window / time.Duration([]int{1000, 50, 10, 2, 1}[r.IntN(5)])
	even := window / time.Duration(limit[0].Full())
	if limit[0].Rate.Per > 0 {
		even = window / time.Duration(limit[0].Rate.N)
	}
	requests := make([]request, 20+r.IntN(131))
	parts, costs, lost := 1+r.IntN(2), r.IntN(3) == 0, r.IntN(3) == 0
	var at time.Duration
	for i := range requests {
		switch r.IntN(12) {
		case 0:
			at += time.Duration(r.Int64N(int64(3 * window)))
		case 1, 2, 3, 4:
			at += time.Duration(r.Int64N(int64(2*even) + 1))
		}
		took := time.Duration(r.Int64N(int64(late) + 1))
		requests[i] = request{s: at, d: at + time.Duration(r.Int64N(int64(took)+1)), e: at + took}
		cost := int64(1)
		if costs {
			cost += r.Int64N(3)
		}
		requests[i].o.Arrival = timeline.Arrival{Seq: i, At: at, Cost: cost,
			Partition: fmt.Sprint("p", r.IntN(parts))}
	}
	slices.SortStableFunc(requests, func(a, b request) int { return cmp.Compare(a.d, b.d) })
	states, held := map[string]reference.State{}, map[string][]stayed{}
	for i := range requests {
		q := &requests[i]
		state, ok := states[q.o.Partition]
		if !ok {
			state = lim.Init()
		}
		state, held[q.o.Partition] = completeUntil(lim, state, held[q.o.Partition], reads(q.d))
		var d reference.Decision
		state, d = lim.Step(state, reads(q.d), q.o.Cost)
		states[q.o.Partition] = state
		q.o.Outcome = timeline.Denied
		if d.Allow {
			q.o.Outcome, q.e = timeline.Allowed, max(q.e, q.d+d.Delay)
		}
		q.o.Sent, q.o.FirstByte, q.o.Answered = q.s, q.e, true
		if limit.Completes() && d.Allow {
			done := completed(r, limit, q.d, q.o.Cost)
			held[q.o.Partition] = append(held[q.o.Partition], done)
			q.o.Done = max(q.e, done.seen)
		}
		if lost && r.IntN(40) == 0 {
			q.o.FirstByte, q.o.Done, q.o.Answered, q.o.Outcome = 0, 0, false, timeline.Unknown
		}
	}
	slices.SortFunc(requests, func(a, b request) int { return cmp.Compare(a.o.Seq, b.o.Seq) })
	tl := &timeline.Timeline{}
	for _, q := range requests {
		tl.Observations = append(tl.Observations, q.o)
	}
	tl.Header.Ended = tl.End()
	return tl
}

// contradictory tells whether no completion time satisfies every policy.
func contradictory(limit spec.Limit) bool {
	least, most := time.Duration(0), time.Duration(history.MaxTime)
	for _, p := range limit {
		if least = max(least, p.HoldLeast); p.HoldMost > 0 {
			most = min(most, p.HoldMost)
		}
	}
	return most < least
}

// stayed is a request that is complete at the instant at. Its answer was whole at the instant seen.
type stayed struct {
	at, seen time.Duration
	cost     int64
}

// completed returns the completion of a request decided at d, as the policies of the limit promise it.
func completed(r *rand.Rand, limit spec.Limit, d time.Duration, cost int64) stayed {
	var least, most, linger time.Duration
	most = 20 * time.Millisecond
	for _, p := range limit {
		if !p.Completes() {
			continue
		}
		if least = max(least, p.HoldLeast); p.HoldMost > 0 {
			most = min(most, p.HoldMost)
		}
		linger = p.Linger
	}
	if len(limit) > 1 {
		linger = 0 // the shortest one
	}
	stay := max(least, least+time.Duration(r.Int64N(int64(max(most-least, 0))+1)))
	return stayed{at: d + stay, seen: d + max(least, stay-time.Duration(r.Int64N(int64(linger)+1))),
		cost: cost}
}

// completeUntil completes the requests due by the instant until, and returns the others.
func completeUntil(lim reference.Limiter, state reference.State, held []stayed,
	until time.Duration) (reference.State, []stayed) {
	slices.SortStableFunc(held, func(a, b stayed) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for ; n < len(held) && held[n].at <= until; n++ {
		state = reference.Complete(lim, state, held[n].at, held[n].cost)
	}
	return state, held[n:]
}
