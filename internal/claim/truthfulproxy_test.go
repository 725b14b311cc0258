package claim

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestProxiesThatChangeNothingAreNeverAccused: a limiter of a random SPEC answers a burst at the origin. It
// answers another one, with other delays, through a proxy that passes on what it says.
func TestProxiesThatChangeNothingAreNeverAccused(t *testing.T) {
	passed := map[string]int{}
	e := Expect{Intact: &IntactExpect{Fields: []string{"Retry-After", "Date", "X-Ratelimit*"}, Status: true}}
	for round := range fewer(2000) {
		r := rand.New(rand.NewPCG(11, uint64(round)))
		text, limit, lim := tellingLimiter(t, r, 2)
		if lim == nil {
			continue
		}
		notAccused(t, fmt.Sprintf("round %d, %s", round, text), Judge(twoBursts(r, lim), limit, e)[:1],
			passed)
	}
	if passed["intact"] < fewer(500) {
		t.Errorf("only %v passed", passed)
	}
}

// twoBursts returns a burst of one client at the origin, and one of another client through a proxy that
// changes nothing.
func twoBursts(r *rand.Rand, lim reference.Limiter) *timeline.Timeline {
	tl := &timeline.Timeline{Header: timeline.Header{Started: time.Unix(1_700_000_000,
		r.Int64N(int64(time.Second)))}}
	ahead, old, at := time.Duration(r.Int64N(10e9))-5*time.Second, time.Duration(r.Int64N(1e9)),
		time.Duration(0)
	dates, n := r.IntN(2) == 0, 3+r.IntN(40)
	for side := range 2 {
		state := lim.Init()
		for i := range n {
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: n*side + i, Cost: 1,
				Partition: strconv.Itoa(side), Phase: strconv.Itoa(side), At: at, Origin: side == 0},
				Sent: at, Answered: true, Status: 200, Outcome: timeline.Allowed}
			took := time.Duration(r.Int64N(50e6))
			decided := at + time.Duration(r.Int64N(int64(took)+1))
			var d reference.Decision
			state, d = lim.Step(state, time.Duration(tl.Header.Started.UnixNano())+decided, 1)
			o.FirstByte = at + took + d.Delay
			at = o.FirstByte + 1
			now := tl.Header.Started.Add(decided + ahead)
			o.Fields = timeline.Fields{{Name: "Date", Value: now.Add(-old).UTC().Format(http.TimeFormat)},
				{Name: "X-Ratelimit-Remaining", Value: strconv.FormatInt(d.Remaining, 10)}}
			if d.Allow {
				tl.Observations = append(tl.Observations, o)
				continue
			}
			o.Status, o.Outcome = 429, timeline.Denied
			value := strconv.FormatInt(int64((d.RetryAfter+time.Second-1)/time.Second), 10)
			if dates {
				value = now.Add(d.RetryAfter + time.Second - 1).UTC().Format(http.TimeFormat)
			}
			o.Fields = append(o.Fields, timeline.Field{Name: "Retry-After", Value: value})
			tl.Observations = append(tl.Observations, o)
		}
		at += time.Duration(r.Int64N(20e9))
	}
	tl.Header.Ended = tl.End()
	return tl
}
