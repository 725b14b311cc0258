package claim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestTruthToSeveralClientsIsNeverAccused: a limiter of a random SPEC tells the truth to several clients of
// one partition. Their requests overlap, or touch in an instant, and some are lost.
func TestTruthToSeveralClientsIsNeverAccused(t *testing.T) {
	e := Expect{Quota: QuotaExpect{Counts: true, Fresh: true},
		RetryAfter: RetryAfterExpect{Honored: true, NotLonger: true}}
	passed := map[string]int{}
	for round := range 1500 {
		r := rand.New(rand.NewPCG(12, uint64(round)))
		text, limit, lim := tellingLimiter(t, r, 0)
		if lim == nil {
			continue
		}
		notAccused(t, fmt.Sprintf("round %d, %s", round, text),
			Judge(toldToSeveral(r, lim, limit[0]), limit, e), passed)
	}
	if len(passed) != 3 {
		t.Errorf("got passes of %v, want some of each claim", passed)
	}
}

// TestTruthToSeveralObserversIsNeverAccused: the same clients are seen by one to three observers, whose
// clocks are wrong by a random offset and drift. What one observer saw can still be compared: a client that
// sends when it is answered does not compete with itself.
func TestTruthToSeveralObserversIsNeverAccused(t *testing.T) {
	e := Expect{Quota: QuotaExpect{Counts: true, Fresh: true},
		RetryAfter: RetryAfterExpect{Honored: true, NotLonger: true}}
	passed, apart := map[string]int{}, 0
	for round := range fewer(4000) {
		r := rand.New(rand.NewPCG(13, uint64(round)))
		text, limit, lim := tellingLimiter(t, r, 0)
		if lim == nil {
			continue
		}
		tl := toldToSeveral(r, lim, limit[0])
		observe(r, tl, 1+r.IntN(3))
		claims := Judge(tl, limit, e)
		notAccused(t, fmt.Sprintf("round %d, %s", round, text), claims, passed)
		for i := range tl.Observations {
			tl.Observations[i].Observer = 0
		}
		for i, c := range Judge(tl, limit, e) {
			if c.Verdict == result.Inconclusive && claims[i].Verdict == result.Pass {
				apart++
			}
		}
	}
	if len(passed) != 3 || apart < fewer(100) {
		t.Errorf("got passes of %v, %d of them by what one observer saw; want some of each claim", passed,
			apart)
	}
}

// observe gives each client one of several observers, whose clock is wrong.
func observe(r *rand.Rand, tl *timeline.Timeline, several int) {
	e := []time.Duration{ms / 1000, ms, 50 * ms}[r.IntN(3)]
	wrong := func() time.Duration { return time.Duration(r.Int64N(int64(2*e)+1)) - e }
	type clock struct{ first, last time.Duration }
	clocks := make([]clock, several)
	for i := range clocks {
		clocks[i] = clock{wrong(), wrong()}
	}
	tl.Header.ClockError = e
	for i := range tl.Observations {
		o := &tl.Observations[i]
		o.Observer = (o.Observer-1)%int32(several) + 1
		c := clocks[o.Observer-1]
		see := func(at time.Duration) time.Duration {
			share := float64(at) / float64(tl.Header.Ended)
			return at + e + c.first + time.Duration(share*float64(c.last-c.first))
		}
		o.At, o.Sent = see(o.At), see(o.Sent)
		if o.Answered {
			o.FirstByte = see(o.FirstByte)
		}
	}
	slices.SortStableFunc(tl.Observations,
		func(a, b timeline.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
	for i := range tl.Observations {
		tl.Observations[i].Seq = i
	}
	tl.Header.Started = tl.Header.Started.Add(-e)
	tl.Header.Ended = tl.End() + e
}

// toldToSeveral returns 60 requests of two to four clients of one partition. An answer comes at least a step
// after its decision.
func toldToSeveral(r *rand.Rand, lim reference.Limiter, p spec.Policy) *timeline.Timeline {
	tl := &timeline.Timeline{Header: timeline.Header{Started: time.Unix(1_700_000_000, 0)}}
	even, step := p.Rate.Per/time.Duration(p.Rate.N), []time.Duration{1, 100 * ms, 500 * ms}[r.IntN(3)]
	some := func(d time.Duration) time.Duration {
		return time.Duration(r.Int64N(int64(d) +
			1)).Truncate(step)
	}
	type client struct {
		number        int
		sent, decided time.Duration
	}
	clients, slow := make([]client, 2+r.IntN(3)),
		[]time.Duration{even / 100, even / 3, even, p.Rate.Per}[r.IntN(4)]
	for i := range clients {
		sent := some(p.Rate.Per)
		clients[i] = client{i, sent, sent + some(slow)}
	}
	state := lim.Init()
	for range 60 {
		r.Shuffle(len(clients), func(i, j int) { clients[i], clients[j] = clients[j], clients[i] })
		slices.SortStableFunc(clients, func(a, b client) int { return cmp.Compare(a.decided, b.decided) })
		c := &clients[0]
		var d reference.Decision
		state, d = lim.Step(state, time.Duration(tl.Header.Started.UnixNano())+c.decided, 1)
		o := timeline.Observation{Arrival: timeline.Arrival{Cost: 1, Partition: "k", At: c.sent},
			Sent: c.sent, Observer: int32(c.number) + 1, FirstByte: c.decided + d.Delay + some(slow) + step,
			Answered: true, Status: 200, Outcome: timeline.Allowed}
		o.Fields = timeline.Fields{{Name: "X-Ratelimit-Remaining", Value: strconv.FormatInt(d.Remaining, 10)}}
		next := o.FirstByte + []time.Duration{0, 0, some(2 * even), some(2 * p.Rate.Per)}[r.IntN(4)]
		if !d.Allow {
			o.Status, o.Outcome = 429, timeline.Denied
		}
		if !d.Allow && d.RetryAfter != reference.Never {
			wait := (d.RetryAfter + time.Second - 1).Truncate(time.Second)
			o.Fields = append(o.Fields,
				timeline.Field{Name: "Retry-After", Value: strconv.Itoa(int(wait / time.Second))})
			if r.IntN(3) > 0 {
				next = o.FirstByte + wait + p.Tick*time.Duration(r.IntN(2))
			}
		}
		if r.IntN(20) == 0 {
			o.Answered, o.Outcome, o.Status, o.Fields, o.FirstByte = false, timeline.Unknown, 0, nil, 0
		}
		tl.Observations = append(tl.Observations, o)
		*c = client{c.number, next, next + some(slow)}
	}
	slices.SortStableFunc(tl.Observations,
		func(a, b timeline.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
	for i := range tl.Observations {
		tl.Observations[i].Seq = i
	}
	tl.Header.Ended = tl.End()
	return tl
}
