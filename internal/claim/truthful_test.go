package claim

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// fewer is n, or a quarter of it under -short.
func fewer(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

// TestTruthfulFieldsAreNeverAccused: a limiter of a random SPEC tells what the reference knows: what remains,
// and the wait rounded up to a second. It passes all claims about its fields.
func TestTruthfulFieldsAreNeverAccused(t *testing.T) {
	e := Expect{Quota: QuotaExpect{Counts: true, Fresh: true},
		RetryAfter: RetryAfterExpect{Honored: true, NotLonger: true}}
	passed := map[string]int{}
	for round := range fewer(3000) {
		r := rand.New(rand.NewPCG(7, uint64(round)))
		text, limit, lim := tellingLimiter(t, r, 6)
		if lim == nil {
			continue
		}
		tl, declared := toldTruly(r, lim, limit, false), limit
		if wider, err := spec.Parse(widened(r, text)); err == nil && r.IntN(4) == 0 {
			limit, declared = wider, wider
		}
		if e.Limits = nil; round%2 == 0 { // the limit of the phase, beside another declared one
			declared, e.Limits = parse(t, "token-bucket,rate=1000/s,burst=3"),
				map[string]spec.Limit{"": limit}
		}
		notAccused(t, fmt.Sprintf("round %d, %s", round, text), Judge(tl, declared, e), passed)
	}
	t.Logf("%v", passed)
	for _, id := range []string{"quota-counts", "retry-after-honored", "retry-after-not-longer"} {
		if passed[id] < fewer(100) {
			t.Errorf("%s: only %d passed", id, passed[id])
		}
	}
}

// tellingLimiter returns a random SPEC, its limit and its limiter. One in `several` has two policies, none if
// that is 0. The limit and the limiter are nil where keys do not go together.
func tellingLimiter(t *testing.T, r *rand.Rand, several int) (text string, limit spec.Limit,
	lim reference.Limiter) {
	t.Helper()
	text = tellingSPEC(r)
	if several > 0 && r.IntN(several) == 0 {
		text += " + " + tellingSPEC(r)
	}
	limit, err := spec.Parse(text)
	if err != nil {
		return text, nil, nil
	}
	if lim, err = reference.NewLimit(limit); err != nil {
		t.Fatal(err)
	}
	return text, limit, lim
}

// notAccused fails if a claim does. It counts the claims that pass by their ids.
func notAccused(t *testing.T, where string, claims []result.Claim, passed map[string]int) {
	t.Helper()
	for _, c := range claims {
		switch c.Verdict {
		case result.Fail:
			t.Errorf("%s: %s: %s: %s", where, c.ID, c.Text, c.Findings[0].Text)
		case result.Pass:
			passed[c.ID]++
		}
	}
}

// TestForgottenBehindABanAccusesNobody: the limiter behind a ban does not see requests within the ban. It may
// therefore forget its client earlier than one time to live after the last denial.
func TestForgottenBehindABanAccusesNobody(t *testing.T) {
	limit := parse(t, "gcra,rate=2/3s,burst=1,start=empty,ban=4s,ttl=5s")
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 1000 {
		tl := toldTruly(rand.New(rand.NewPCG(9, uint64(round))), lim, limit, false)
		for _, c := range Judge(tl, limit, Expect{RetryAfter: RetryAfterExpect{Honored: true}}) {
			if c.Verdict == result.Fail {
				t.Fatalf("round %d: %s: %s", round, c.Text, c.Findings[0].Text)
			}
		}
	}
}

// tellingSPEC returns one policy with a few keys, in seconds. Some do not parse.
func tellingSPEC(r *rand.Rand) string {
	algorithms := spec.Algorithms()
	a := algorithms[r.IntN(len(algorithms))]
	if a == spec.Concurrency { // it tells no wait
		a = spec.TokenBucket
	}
	keys := []string{string(a),
		fmt.Sprintf("rate=%d/%s", 1+r.IntN(12), []string{"1s", "3s", "10s", "7777ms"}[r.IntN(4)])}
	add := func(chance int, key string, values ...string) {
		if r.IntN(chance) == 0 {
			keys = append(keys, key+"="+values[r.IntN(len(values))])
		}
	}
	switch a {
	case spec.LeakyBucketQueue:
		add(1, "queue", "0", "1", "3", "9")
		add(3, "undelayed", "1", "2")
		add(4, "start", "empty", "1")
	case spec.FixedWindow, spec.SlidingWindowCounter:
		add(1, "align", "first", "clock", "first")
		if a == spec.FixedWindow {
			add(4, "slots", "2", "4")
		}
		add(4, "refresh", "admitted", "all")
		add(3, "rounding", "down", "up", "nearest")
	case spec.SlidingWindowLog:
		add(3, "boundary", "closed")
	default:
		add(1, "burst", "1", "2", "5", "13")
		add(4, "start", "empty", "1")
		add(5, "refill=interval,fill", "1", "2", "4")
	}
	add(6, "count", "all", "own")
	add(8, "ban", "1s", "4s", "500ms")
	add(8, "ttl", "1s", "100ms", "5s")
	add(6, "tick", "1s", "700ms", "300ms")
	return strings.Join(keys, ",")
}

// TestForeignTrafficAccusesNobody: where others may use the partitions, what they took does not count against
// a limiter that tells the truth. How long a wait may be does not depend on them.
func TestForeignTrafficAccusesNobody(t *testing.T) {
	blamed := map[string]int{}
	for round := range fewer(400) {
		r := rand.New(rand.NewPCG(8, uint64(round)))
		text := tellingSPEC(r)
		limit, err := spec.Parse(text)
		if err != nil {
			continue // keys that do not go together
		}
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		tl := toldTruly(r, lim, limit, true)
		for _, shared := range []bool{false, true} {
			e := Expect{Shared: shared, RetryAfter: RetryAfterExpect{Honored: true, NotLonger: true},
				Quota:   QuotaExpect{Counts: true, Fresh: true},
				Denials: []DenialBound{{}}, Storms: []StormExpect{{Clients: 41, Drained: true}}}
			for _, c := range Judge(tl, limit, e) {
				switch {
				case c.Verdict != result.Fail:
				case shared:
					t.Errorf("round %d, %s: %s: %s: %s", round, text, c.ID, c.Text, c.Findings[0].Text)
				default:
					blamed[c.ID]++
				}
			}
		}
	}
	for _, id := range []string{"quota-counts", "retry-after-honored", "denials-", "storm-"} {
		if blamed[id] == 0 {
			t.Errorf("%s: foreign traffic would not have failed it: %v", id, blamed)
		}
	}
}

// widened returns a SPEC with ranges that hold the rate, burst, queue and other values of text.
func widened(r *rand.Rand, text string) string {
	return regexp.MustCompile(`(rate|burst|queue|start)=([0-9]+)|(ban|ttl)=([0-9]+)(m?s)`).ReplaceAllStringFunc(text, func(pair string) string {
		key, value, _ := strings.Cut(pair, "=")
		digits := strings.TrimRight(value, "ms")
		n, _ := strconv.Atoi(digits)
		unit := value[len(digits):]
		return fmt.Sprintf("%s=%d%s..%d%s", key, max(1, n-r.IntN(3)), unit, n+1+r.IntN(3), unit)
	})
}

// toldTruly returns 40 requests of one client, some of which wait as they were told. If others is set,
// requests of others come in between and are not recorded.
func toldTruly(r *rand.Rand, lim reference.Limiter, limit spec.Limit, others bool) *timeline.Timeline {
	tl := &timeline.Timeline{Header: timeline.Header{Started: time.Unix(1_700_000_000, 0)}}
	var tick time.Duration
	for _, p := range limit {
		tick = max(tick, p.Tick)
	}
	epoch := time.Duration(tl.Header.Started.UnixNano())
	state, window := lim.Init(), limit[0].Rate.Per
	dates := r.IntN(3) == 0 // the server tells dates, and makes its Date once a second
	even := window / time.Duration(limit[0].Rate.N)
	at, costs := time.Duration(1+r.Int64N(int64(window))), r.IntN(3) == 0
	for i := range 40 {
		took := time.Duration(r.Int64N(int64(even)/[]int64{10, 3, 1000}[r.IntN(3)] + 1))
		decided, cost := at+time.Duration(r.Int64N(int64(took)+1)), int64(1)
		if costs {
			cost += r.Int64N(3)
		}
		var d reference.Decision
		if others && r.IntN(2) == 0 {
			state, _ = lim.Step(state, epoch+at, 1+r.Int64N(2))
		}
		state, d = lim.Step(state, epoch+decided, cost)
		took += d.Delay + d.Delay/20
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: cost, Partition: "k", At: at},
			Sent: at, FirstByte: at + took,
			Answered: true, Status: 200, Outcome: timeline.Allowed}
		o.Fields = timeline.Fields{{Name: "X-Ratelimit-Remaining", Value: strconv.FormatInt(d.Remaining, 10)}}
		at += took + 1
		switch r.IntN(6) {
		case 0:
			at += time.Duration(r.Int64N(int64(2 * window)))
		case 1, 2, 3:
			at += time.Duration(r.Int64N(int64(2*even) + 1))
		}
		if !d.Allow {
			o.Status, o.Outcome = 429, timeline.Denied
			if d.RetryAfter != reference.Never {
				wait := (d.RetryAfter + time.Second - 1).Truncate(time.Second)
				value := strconv.Itoa(int(wait / time.Second))
				if dates {
					now := tl.Header.Started.Add(decided)
					date := now.Add(-time.Duration(r.Int64N(int64(time.Second)))).Truncate(time.Second)
					until := now.Add(d.RetryAfter + time.Second - 1).Truncate(time.Second)
					wait, value = until.Sub(date), until.UTC().Format(http.TimeFormat)
					o.Fields = append(o.Fields,
						timeline.Field{Name: "Date", Value: date.UTC().Format(http.TimeFormat)})
				}
				o.Fields = append(o.Fields, timeline.Field{Name: "Retry-After", Value: value})
				if r.IntN(2) == 0 {
					at = o.FirstByte + wait + tick*time.Duration(r.IntN(2))
				}
			}
		}
		tl.Observations = append(tl.Observations, o)
	}
	tl.Header.Ended = tl.End()
	return tl
}
