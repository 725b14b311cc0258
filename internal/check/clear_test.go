package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// clearedLimits have a count that a success clears.
var clearedLimits = []string{
	"token-bucket,rate=1/30ns,burst=2,clear=200",
	"sliding-window-log,rate=2/40ns,clear=200",
	"fixed-window,rate=2/35ns,phase=4ns,clear=200..299",
	"fixed-window,rate=2/35ns,align=first,clear=200",
	"sliding-window-counter,rate=3/25ns,phase=3ns,clear=200",
	"fixed-window,rate=2/30ns,align=first,count=all,clear=200",
	"gcra,rate=1/20ns,burst=1,ban=15ns,growth=2,max=60ns,clear=200",
	"fixed-window,rate=2/30ns,align=first,ttl=20ns,clear=200",
}

// logins records requests, some of which are right passwords. A right one that is admitted makes the state a
// new one, at some time until its answer, if it is cleared at all. flip changes some outcomes.
func logins(r *rand.Rand, lim reference.Limiter, n, gap, late int, clears, flip bool) *timeline.Timeline {
	type step struct {
		at   time.Duration
		i    int
		done bool
	}
	var steps []step
	tl, at := &timeline.Timeline{}, time.Duration(0)
	right := make([]bool, n)
	for i := range n {
		if r.IntN(4) > 0 {
			at += time.Duration(r.IntN(gap))
		}
		took := time.Duration(r.IntN(late + 1))
		decided := time.Duration(r.Int64N(int64(took) + 1))
		right[i] = r.IntN(4) == 0
		tl.Observations = append(tl.Observations, timeline.Observation{Sent: at, FirstByte: at + took,
			Answered: true, Arrival: timeline.Arrival{Seq: i, At: at, Cost: 1}})
		cleared := decided + time.Duration(r.Int64N(int64(took-decided)+1))
		steps = append(steps, step{at + decided, i, false}, step{at + cleared, i, true})
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		x, y := &tl.Observations[a.i], &tl.Observations[b.i]
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(x.Sent, y.Sent),
			cmp.Compare(x.FirstByte, y.FirstByte))
	})
	state := lim.Init()
	for _, s := range steps {
		o := &tl.Observations[s.i]
		switch {
		case s.done && clears && right[s.i] && o.Outcome == timeline.Allowed:
			state = lim.Init()
		case !s.done:
			var d reference.Decision
			state, d = lim.Step(state, s.at, 1)
			if o.Outcome = timeline.Denied; d.Allow {
				o.Outcome = timeline.Allowed
			}
		}
	}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if flip && r.IntN(5) == 0 {
			o.Outcome = 3 - o.Outcome
		}
		switch {
		case o.Outcome == timeline.Denied:
			o.Status = 429
		case right[i]:
			o.Status = 200
		default:
			o.Status = 401
		}
		switch {
		case r.IntN(40) == 0:
			o.Outcome = timeline.Unknown
		case r.IntN(60) == 0:
			o.FirstByte, o.Answered, o.Outcome, o.Status = 0, false, timeline.Unknown, 0
		}
	}
	tl.Header.Ended = tl.End()
	return tl
}

// clearing explains a recording by brute force: all orders and times of decisions and of clearings, on a
// reference limiter. What was answered when another request was sent came before it.
type clearing struct {
	lim  reference.Limiter
	reqs []request
	// clears are the requests that cleared the count, lost those that may have at any time.
	clears, lost uint32
	seen         map[clearingNode]bool
}

type clearingNode struct {
	done, cleared uint32
	at            int64
	state         reference.State
}

func (o *clearing) search(n clearingNode) bool {
	if all := uint32(1)<<len(o.reqs) - 1; n.done == all && n.cleared&o.clears == o.clears {
		return true
	}
	if o.seen[n] || n.at > 2000 {
		return false
	}
	o.seen[n] = true
	for i, r := range o.reqs {
		bit := uint32(1) << i
		open := n.done&bit == 0 || o.clears&bit != 0 && n.cleared&bit == 0
		if open && r.outcome == timeline.Unknown && n.done&bit == 0 && o.clears&bit == 0 &&
			o.search(clearingNode{n.done | bit, n.cleared | bit, n.at, n.state}) {
			return true // it never arrived
		}
		if open && r.e < n.at {
			return false
		}
		if r.s > n.at || o.waits(n, i) {
			continue
		}
		if n.done&bit != 0 && n.cleared&bit == 0 && (o.clears|o.lost)&bit != 0 &&
			o.search(clearingNode{n.done, n.cleared | bit, n.at, o.lim.Init()}) {
			return true
		}
		if n.done&bit != 0 {
			continue
		}
		s, d := o.lim.Step(n.state, time.Duration(n.at), r.cost)
		if (r.outcome == timeline.Unknown || d.Allow == (r.outcome == timeline.Allowed)) &&
			o.search(clearingNode{n.done | bit, n.cleared, n.at, s}) {
			return true
		}
	}
	n.at++
	return o.search(n)
}

// waits tells whether request i was sent after another one was answered that is still open.
func (o *clearing) waits(n clearingNode, i int) bool {
	for k, r := range o.reqs {
		bit := uint32(1) << k
		open := n.done&bit == 0 || o.clears&bit != 0 && n.cleared&bit == 0
		if k != i && open && r.e <= o.reqs[i].s && r.s < o.reqs[i].e {
			return true
		}
	}
	return false
}

// TestClearedCountsAgainstTheOracle: no false alarm, and most of what is infeasible is caught.
func TestClearedCountsAgainstTheOracle(t *testing.T) {
	rounds, seeds := soakRounds(t, 400, 20000)
	var c catches
	for _, text := range clearedLimits {
		limit := mustLimit(t, text)
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		for round := range rounds * seeds {
			r := rand.New(rand.NewPCG(soakSeed+43, uint64(round)))
			late := []int{0, 2, 5, 9}[r.IntN(4)]
			tl := logins(r, lim, 4+r.IntN(5), 12, late, r.IntN(4) > 0, r.IntN(2) == 0)
			j, err := Judge(tl, limit, Options{SkipMeasure: true})
			if err != nil {
				t.Fatal(err)
			}
			o := &clearing{lim: lim, reqs: requestsOf(tl.Observations, tl.End(), 0),
				seen: map[clearingNode]bool{}}
			for i := range tl.Observations {
				switch x := &tl.Observations[i]; {
				case !x.Answered:
					o.lost |= 1 << i
				case x.Outcome != timeline.Denied && limit[0].Clears(x.Status):
					o.clears |= 1 << i
					o.reqs[i].e = int64(x.FirstByte)
				}
			}
			possible := o.search(clearingNode{state: lim.Init()})
			c.take(t, fmt.Sprintf("%s, round %d", text, round), j, tl, possible, late <= 2)
		}
	}
	c.caughtMost(t, rounds/10, 0.9)
}

// TestRightClearedCountsAreNeverAccused judges right limiters on some hundred requests, whole and as streams,
// in every mode.
func TestRightClearedCountsAreNeverAccused(t *testing.T) {
	rounds, seeds := soakRounds(t, 200, 20000)
	verdicts := map[result.Verdict]int{}
	for round := range rounds * seeds {
		r := rand.New(rand.NewPCG(soakSeed+44, uint64(round)))
		limit := mustLimit(t, clearedLimits[r.IntN(len(clearedLimits))])
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		tl := logins(r, lim, 20+r.IntN(150), 12, []int{0, 2, 9, 40}[r.IntN(4)], true, false)
		if r.IntN(4) == 0 {
			cutAmid(r, tl)
		}
		o := Options{SkipMeasure: r.IntN(4) > 0, Hint: r.IntN(9) == 0, Shared: r.IntN(9) == 0,
			Conformance: []result.Conformance{"", "", result.UpperBound, result.LowerBound}[r.IntN(4)]}
		j, err := Judge(tl, limit, o)
		if err != nil {
			t.Fatal(err)
		}
		if verdicts[j.Verdict]++; j.Verdict == result.Fail || len(j.Partitions) > 1 {
			t.Errorf("round %d, %s: accused: %+v", round, limit, j.Partitions)
		}
		if s := streamed(t, tl, limit, o, anyBeginning(r)); s.Verdict == result.Fail {
			t.Errorf("round %d, %s: the stream accused: %+v", round, limit, s.Partitions)
		}
	}
	t.Logf("%v", verdicts)
}
