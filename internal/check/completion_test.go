package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// completionOracle decides by exhaustion whether a limiter that is told of completions can give the observed
// outcomes. It tries all orders, all decision times inside the intervals, and all completion times after
// them. It walks through time nanosecond by nanosecond, with the set of all nodes that can be reached. It
// shares no code with the bounds or the search. Its machines are those of oracle.
type completionOracle struct {
	m    machine
	reqs []served
	seen map[servedNode]bool
	list []servedNode
}

// served is a request as the oracle sees it. It is decided in [s, e]. If admitted, it is complete in
// [d+least, d+most] for a decision at d, and no later than by.
type served struct {
	s, e, cost      int64
	least, most, by int64
	// answer is the instant by which a queue must have let it through.
	answer  int64
	outcome timeline.Outcome
}

// servedNode is all of the past that matters for the future. It holds the memory of the machine (or the units
// in flight) and which requests were decided. For those in flight, from and until hold 1 + the first and the
// last instant at which they may be complete. A first instant that has come is stored as 1.
type servedNode struct {
	m           memory
	decided     uint8
	from, until [8]int16
}

// servedOf returns the observations as all policies of a SPEC together see them. Its `never` lies far beyond
// all times.
func servedOf(tl *timeline.Timeline, limit spec.Limit) []served {
	const never = 1 << 12
	var out []served
	for _, o := range tl.Observations {
		r := served{s: int64(o.Sent), e: int64(tl.End()), cost: o.Cost, most: never, by: never,
			outcome: o.Outcome}
		if o.Outcome != timeline.Unknown {
			r.e = int64(o.FirstByte)
		}
		r.answer = r.e
		for _, p := range limit {
			if !p.Completes() {
				continue
			}
			switch {
			case p.HoldMost > 0 && o.Done > 0 && o.Done-o.Sent > p.HoldMost:
				r.by = min(r.by, int64(o.Done+p.HoldMost))
			case p.HoldMost > 0:
				r.most = min(r.most, int64(p.HoldMost))
			}
			if p.LingerSet && o.Done > 0 {
				r.by = min(r.by, int64(o.Done+p.Linger))
			}
			if o.Outcome == timeline.Allowed && o.Done > 0 && o.Done-p.HoldLeast >= o.Sent {
				r.e = min(r.e, int64(o.Done-p.HoldLeast))
				r.least = max(r.least, int64(p.HoldLeast))
			}
		}
		out = append(out, r)
	}
	return out
}

func (o *completionOracle) explains(reqs []served, end int64) bool {
	o.reqs, o.seen, o.list = reqs, map[servedNode]bool{}, nil
	o.list = append(o.list, servedNode{m: o.m.newborn()})
	for t := int64(0); t <= end; t++ {
		old := o.list
		o.list = nil
		clear(o.seen)
		for _, n := range old {
			o.add(o.renewed(n, t))
		}
		for i := 0; i < len(o.list); i++ {
			o.step(o.list[i], t)
		}
		o.list = slices.DeleteFunc(o.list, func(n servedNode) bool { return o.dead(n, t) })
	}
	return len(o.list) > 0
}

// renewed returns n without the part of the past that no longer matters at t.
func (o *completionOracle) renewed(n servedNode, t int64) servedNode {
	n.m = o.m.settle(n.m, t)
	for i := range n.from {
		if n.from[i] != 0 && int64(n.from[i])-1 <= t {
			n.from[i] = 1
		}
	}
	return n
}

func (o *completionOracle) add(n servedNode) {
	if !o.seen[n] {
		o.seen[n] = true
		o.list = append(o.list, n)
	}
}

// step adds the nodes to which one decision or one completion at t leads from n.
func (o *completionOracle) step(n servedNode, t int64) {
	for i, r := range o.reqs {
		bit := uint8(1) << i
		switch {
		case n.decided&bit == 0 && t >= r.s && t <= r.e && !o.earlier(n, i, t):
			allow := o.m.admits(n.m, t, max(r.cost, 1))
			if r.outcome != timeline.Unknown && allow != (r.outcome == timeline.Allowed) {
				continue
			}
			next := n
			next.decided |= bit
			if allow && r.outcome == timeline.Allowed && t+o.m.delay(n.m, t) > r.answer {
				continue
			}
			if allow {
				next.from[i], next.until[i] = int16(1+t+r.least), int16(1+min(t+r.most, max(r.by, t+r.least)))
				if r.least == 0 {
					next.from[i] = 1
				}
			}
			next.m = o.m.after(n.m, t, max(r.cost, 1), allow)
			o.add(next)
		case n.from[i] != 0 && int64(n.from[i])-1 <= t && !o.sooner(n, i, t):
			next := n
			next.from[i], next.until[i] = 0, 0
			costs := []int64{r.cost}
			if r.cost == timeline.CostUnknown {
				costs = anyCosts
			}
			for _, cost := range costs {
				next.m = finished(o.m, n.m, t, cost)
				o.add(next)
			}
		}
	}
}

// anyCosts are the costs that are tried where an answer did not tell its own.
var anyCosts = []int64{0, 1, 2, 3, 4, 5, 6, 40}

// earlier tells whether an undecided request waits at t that is like i but ends earlier.
func (o *completionOracle) earlier(n servedNode, i int, t int64) bool {
	like := o.reqs[i]
	for j, r := range o.reqs {
		e := r.e
		if r.answer > like.answer {
			continue
		}
		if r.s, r.e, r.answer = like.s, like.e, like.answer; n.decided&(1<<j) != 0 || o.reqs[j].s > t ||
			r != like {
			continue
		}
		if e < like.e || e == like.e && j < i {
			return true
		}
	}
	return false
}

// sooner tells whether another request of the same cost as i may be complete at t and must be complete
// earlier.
func (o *completionOracle) sooner(n servedNode, i int, t int64) bool {
	for j, r := range o.reqs {
		if n.from[j] == 0 || int64(n.from[j])-1 > t || r.cost != o.reqs[i].cost {
			continue
		}
		if n.until[j] < n.until[i] || n.until[j] == n.until[i] && j < i {
			return true
		}
	}
	return false
}

// dead tells whether something that had to happen by t has not.
func (o *completionOracle) dead(n servedNode, t int64) bool {
	for i, r := range o.reqs {
		if n.decided&(1<<i) == 0 && r.outcome != timeline.Unknown && t >= r.e {
			return true
		}
		if n.from[i] != 0 && t >= int64(n.until[i])-1 {
			return true
		}
	}
	return false
}

// completionSpecs are the limits whose small histories are judged.
var completionSpecs = []string{
	"concurrency,limit=1,hold=4ns..9ns",
	"concurrency,limit=2,hold=6ns..10ns",
	"concurrency,limit=2,hold=6ns..,linger=2ns",
	"concurrency,limit=2,hold=3ns..",
	"concurrency,limit=2,hold=0s..,linger=3ns",
	"concurrency,limit=3,hold=5ns..12ns,linger=0s",
	"concurrency,limit=2,hold=0s..6ns",
	"concurrency,limit=1,hold=2ns..14ns,linger=5ns",
	"fixed-window,rate=2/14ns,phase=3ns,charge=completion,hold=2ns..5ns",
	"fixed-window,rate=1/14ns,phase=3ns,charge=completion,hold=2ns..,linger=1ns",
	"fixed-window,rate=2/14ns,align=unknown,charge=completion,hold=2ns..5ns",
	"sliding-window-log,rate=2/12ns,charge=completion,hold=2ns..5ns",
	"sliding-window-log,rate=1/12ns,charge=completion,hold=0s..,linger=1ns",
	"sliding-window-log,rate=3/14ns,charge=completion,hold=0s..4ns",
	"sliding-window-log,rate=2/12ns,boundary=closed,charge=completion,hold=3ns..",
	"sliding-window-counter,rate=2/14ns,phase=3ns,charge=completion,hold=2ns..5ns",
	"sliding-window-counter,rate=3/14ns,phase=3ns,rounding=up,charge=completion,hold=2ns..5ns,linger=1ns",
	"sliding-window-counter,rate=2/14ns,align=unknown,charge=completion,hold=2ns..5ns",
	"token-bucket,rate=1/9ns,burst=2,charge=completion,hold=2ns..5ns",
	"token-bucket,rate=3/25ns,burst=2,charge=completion,hold=2ns..",
	"gcra,rate=2/15ns,burst=1,charge=completion,hold=1ns..4ns,linger=1ns",
	"leaky-bucket,rate=1/12ns,burst=3,charge=completion,hold=0s..,linger=3ns",
	"concurrency,limit=2,hold=4ns..9ns + token-bucket,rate=1/9ns,burst=2",
	"concurrency,limit=2,hold=4ns..9ns + leaky-bucket-queue,rate=1/5ns,queue=2",
	"concurrency,limit=2,hold=3ns.. + fixed-window,rate=2/14ns,phase=3ns,count=all",
	"concurrency,limit=1,hold=2ns..6ns + sliding-window-log,rate=2/12ns,charge=completion,hold=1ns..5ns",
	"token-bucket,rate=1/9ns,burst=2,charge=completion,hold=2ns..5ns + " +
		"fixed-window,rate=2/14ns,align=unknown",
	"fixed-window,rate=3/16ns,phase=3ns,charge=completion,hold=0s..4ns,linger=1ns",
	"token-bucket,rate=2/9ns,burst=4,charge=completion,hold=0s..4ns,linger=1ns",
	"token-bucket,rate=1/4ns,burst=4,reserve=2,hold=1ns..6ns",
	"gcra,rate=2/9ns,burst=5,reserve=3,hold=0s..,linger=1ns",
	"leaky-bucket,rate=1/3ns,burst=3,reserve=3,hold=2ns..4ns",
	"fixed-window,rate=4/16ns,phase=3ns,reserve=2,hold=1ns..6ns",
	"fixed-window,rate=5/18ns,align=unknown,reserve=3,hold=0s..5ns,linger=1ns",
	"fixed-window,rate=2/14ns,align=first,charge=completion,hold=2ns..5ns",
	"fixed-window,rate=3/16ns,align=first,charge=completion,hold=0s..,linger=1ns",
	"fixed-window,rate=4/16ns,align=first,reserve=2,hold=1ns..6ns",
	"fixed-window,rate=5/18ns,align=first,reserve=3,hold=0s..,linger=1ns",
	"fixed-window,rate=2/14ns,phase=3ns,unit=request + token-bucket,rate=1/3ns,burst=3," +
		"charge=completion,hold=1ns..5ns",
	"token-bucket,rate=1/9ns,burst=2,unit=request + fixed-window,rate=3/16ns,phase=3ns,reserve=2," +
		"hold=1ns..5ns",
	"sliding-window-log,rate=2/12ns,unit=request,charge=completion,hold=2ns..5ns",
}

// settlesAll tells whether no policy of a limit needs the cost of a request to decide it. Then costs may be
// 0, larger than the quota or unknown.
func settlesAll(limit spec.Limit) bool {
	return !slices.ContainsFunc(limit, func(p spec.Policy) bool {
		return p.Charge != spec.ChargeCompletion && p.Unit != spec.UnitRequest
	})
}

// servedHistory records a limiter under random traffic whose requests take as long as the limit says. It
// falsifies some outcomes in half of the histories.
func servedHistory(r *rand.Rand, lim reference.Limiter, limit spec.Limit, late int,
	costs bool) *timeline.Timeline {
	return servedApart(r, lim, limit, late, costs, func() int { return r.IntN(7) * r.IntN(2) })
}

// servedApart is servedHistory with another time between two requests.
func servedApart(r *rand.Rand, lim reference.Limiter, limit spec.Limit, late int, costs bool,
	gap func() int) *timeline.Timeline {
	n := 3 + r.IntN(6)
	if late > 10 { // the oracle tries all orders of two instants for each request
		n = 3 + r.IntN(3)
	}
	tl := &timeline.Timeline{}
	type moment struct {
		at   int
		i    int
		done bool
	}
	var queue []moment
	at := 0
	for i := range n {
		at += gap()
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: time.Duration(at),
			Answered: true}
		switch {
		case costs && settlesAll(limit):
			o.Cost = []int64{0, 1, 2, 2, 3, 5}[r.IntN(6)]
		case costs && r.IntN(3) == 0:
			o.Cost = 2
		}
		tl.Observations = append(tl.Observations, o)
		queue = append(queue, moment{at + r.IntN(late+1), i, false})
	}
	state := lim.Init()
	for len(queue) > 0 {
		next := 0
		for k := range queue {
			if queue[k].at < queue[next].at || queue[k].at == queue[next].at && r.IntN(2) == 0 {
				next = k
			}
		}
		m := queue[next]
		queue = slices.Delete(queue, next, next+1)
		o := &tl.Observations[m.i]
		if m.done {
			state = reference.Complete(lim, state, time.Duration(m.at), o.Cost)
			continue
		}
		var d reference.Decision
		state, d = lim.Step(state, time.Duration(m.at), max(o.Cost, 1))
		if !d.Allow {
			o.Outcome, o.FirstByte = timeline.Denied, time.Duration(m.at+r.IntN(late+1))
			o.Done = o.FirstByte
			continue
		}
		done := m.at + serve(r, promised(limit), late, m.at, o)
		o.FirstByte = max(o.FirstByte, time.Duration(m.at)+d.Delay)
		o.Done = max(o.Done, o.FirstByte)
		queue = append(queue, moment{done, m.i, true})
	}
	falsify(r, tl)
	for i := range tl.Observations {
		if settlesAll(limit) && r.IntN(30) == 0 {
			tl.Observations[i].Cost = timeline.CostUnknown
		}
	}
	return tl
}

// promised is what all policies of a limit together say of completions.
func promised(limit spec.Limit) spec.Policy {
	var out spec.Policy
	for _, p := range limit {
		if !p.Completes() {
			continue
		}
		out.HoldLeast = max(out.HoldLeast, p.HoldLeast)
		if out.HoldMost == 0 || p.HoldMost > 0 && p.HoldMost < out.HoldMost {
			out.HoldMost = p.HoldMost
		}
		if p.LingerSet && (!out.LingerSet || p.Linger < out.Linger) {
			out.Linger, out.LingerSet = p.Linger, true
		}
	}
	return out
}

// serve answers an admitted request and returns when it is complete.
func serve(r *rand.Rand, p spec.Policy, late, at int, o *timeline.Observation) int {
	most := int(p.HoldMost)
	if most == 0 {
		most = int(p.HoldLeast) + 6
	}
	took := int(p.HoldLeast) + r.IntN(most-int(p.HoldLeast)+1)
	least := at + int(p.HoldLeast) // the last byte is not sent before this
	if p.LingerSet {
		least = max(least, at+took-int(p.Linger))
	}
	done := least + r.IntN(late+1)
	o.Outcome, o.Done = timeline.Allowed, time.Duration(done)
	o.FirstByte = o.Done
	if r.IntN(3) == 0 {
		o.FirstByte = time.Duration(at + r.IntN(done-at+1))
	}
	return took
}

// falsify turns some outcomes in half of the histories, and drops some answers and last bytes.
func falsify(r *rand.Rand, tl *timeline.Timeline) {
	flip := r.IntN(2) == 0
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if flip && r.IntN(4) == 0 {
			o.Outcome = 3 - o.Outcome
		}
		switch r.IntN(25) {
		case 0:
			o.Outcome = timeline.Unknown
		case 1:
			o.Outcome, o.Answered, o.FirstByte, o.Done = timeline.Unknown, false, 0, 0
		case 2:
			o.Done = 0
		}
	}
	tl.Header.Ended = tl.End()
}

// servedBands are the longest latencies that are tried, in nanoseconds. They reach four times a window, or
// the time for which a place is held. The first four are narrow.
var servedBands = []int{0, 1, 2, 5, 10, 20, 40}

// TestCompletionsNeverAccuseWhatTheOracleExplains is the hard bar for policies that are told of completions:
// no false alarm. It also demands a share of the infeasible histories that must be caught. RLCHECK_SOAK=1
// tries many more.
func TestCompletionsNeverAccuseWhatTheOracleExplains(t *testing.T) {
	rounds, seeds := soakRounds(t, 4, 3000)
	for _, text := range completionSpecs {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			limit, err := spec.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			var narrow, all catches
			var line strings.Builder
			for k, late := range servedBands {
				var band catches
				for seed := range seeds {
					for round := range rounds {
						r := rand.New(rand.NewPCG(soakSeed+uint64(seed), uint64(late)<<32|uint64(round)))
						lim, err := reference.NewLimit(knownLimit(r, limit))
						if err != nil {
							t.Fatal(err)
						}
						costs := round%4 == 0 || round%2 == 0 && settlesAll(limit)
						band.add(judgeServed(t, servedHistory(r, lim, limit, late, costs), limit,
							rounds < 100 || round%32 == 0 || round%32 == 17))
					}
				}
				if all.add(band); k < 4 {
					narrow.add(band)
				}
				fmt.Fprintf(&line, "  %d: %s", late, band)
			}
			t.Logf("caught of the infeasible: %s: up to half %s, all %s of %d histories; by latency%s", text,
				narrow, all, all.histories, line.String())
			enough(t, text, demandedOf(limit), narrow, all)
		})
	}
}

// judgeServed judges one history. For a history that is accused it always asks the oracle whether there is an
// explanation. For the others it asks only if share is set, as that takes long.
func judgeServed(t *testing.T, tl *timeline.Timeline, limit spec.Limit, share bool) catches {
	t.Helper()
	caught := accused(t, tl, limit)
	if !caught && !share {
		return catches{histories: 1}
	}
	explained := explainedServed(t, tl, limit)
	if caught && explained {
		t.Fatalf("false alarm: %s", falseAlarmServed(t, tl, limit))
	}
	if caught {
		proveAlone(t, tl, limit)
	}
	c := catches{histories: 1}
	if !share {
		return c
	}
	if !explained {
		c.infeasible = 1
	}
	if caught {
		c.caught = 1
	}
	return c
}

func explainedServed(t *testing.T, tl *timeline.Timeline, limit spec.Limit) bool {
	reqs := servedOf(tl, limit)
	return slices.ContainsFunc(machinesOf(t, limit,
		func(p spec.Policy) (from, to int64) { return phaseBox(p, tl.Header) }), func(m machine) bool {
		o := completionOracle{m: m}
		return o.explains(reqs, int64(tl.End()))
	})
}

// falseAlarmServed prints the fewest requests that are accused although an explanation exists.
func falseAlarmServed(t *testing.T, tl *timeline.Timeline, limit spec.Limit) string {
	t.Helper()
	small := *tl
	for i := 0; i < len(small.Observations); {
		less := small
		less.Observations = slices.Delete(slices.Clone(small.Observations), i, i+1)
		if len(less.Observations) > 0 && accused(t, &less, limit) && explainedServed(t, &less, limit) {
			small, i = less, 0
			continue
		}
		i++
	}
	j, _ := Judge(&small, limit, Options{SkipMeasure: true}) // it was judged before
	text := fmt.Sprintf("%s\nended %d\n", limit, small.Header.Ended)
	for _, o := range small.Observations {
		text += fmt.Sprintf("#%d [%d,%d] done %d cost %d %s\n", o.Seq, o.Sent, o.FirstByte, o.Done, o.Cost,
			o.Outcome)
	}
	return text + fmt.Sprintf("%+v", j.Partitions)
}

// TestStreamsKeepTheLastByte: a stream that keeps no observation as it was gives the verdict of Judge. That
// includes verdicts that depend on when the last byte was read.
func TestStreamsKeepTheLastByte(t *testing.T) {
	t.Parallel()
	told := 0
	for _, text := range completionSpecs {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		fails := 0
		for round := range max(fewer(t, 40), 26) {
			r := rand.New(rand.NewPCG(9, uint64(round)))
			tl := servedHistory(r, lim, limit, 3, round%4 == 0)
			want, err := Judge(tl, limit, Options{SkipMeasure: true})
			if err != nil {
				t.Fatal(err)
			}
			got := streamed(t, tl, limit, Options{SkipMeasure: true}, caps{whole: 1 << 30})
			if kindsOf(got) != kindsOf(want) {
				t.Fatalf("%s, round %d: got %s, want %s", text, round, kindsOf(got), kindsOf(want))
			}
			if want.Verdict == result.Fail {
				fails++
			}
			for i := range tl.Observations {
				tl.Observations[i].Done = 0
			}
			if blind, err := Judge(tl, limit, Options{SkipMeasure: true}); err == nil &&
				kindsOf(blind) != kindsOf(want) {
				told++
			}
		}
		if fails == 0 && !strings.Contains(text, "reserve") {
			t.Errorf("%s: no history failed: the test says too little", text)
		}
	}
	if told < fewer(t, 100)/4 {
		t.Errorf("the last byte changed the verdict on %d histories, want at least %d: the test says too "+
			"little", told, fewer(t, 100)/4)
	}
}

// proveAlone checks that the witness of each finding fails by itself.
func proveAlone(t *testing.T, tl *timeline.Timeline, limit spec.Limit) {
	t.Helper()
	j, err := Judge(tl, limit, Options{SkipMeasure: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range j.Partitions[0].Findings {
		alone := &timeline.Timeline{Header: tl.Header}
		for _, o := range tl.Observations {
			if slices.Contains(f.Observations, o.Seq) {
				alone.Observations = append(alone.Observations, o)
			}
		}
		if !accused(t, alone, limit) {
			t.Fatalf("the witness %v of %q passes alone, under %s", f.Observations, f.Text, limit)
		}
	}
}

// TestAStalledServerIsNotAccused: a request that visibly took longer than the policy's hold may have held its
// place as long. One that did not take longer may not.
func TestAStalledServerIsNotAccused(t *testing.T) {
	limit, err := spec.Parse("concurrency,limit=1,hold=1ms..10ms")
	if err != nil {
		t.Fatal(err)
	}
	const ms = time.Millisecond
	for done, want := range map[time.Duration]result.Verdict{30 * ms: result.Pass, 10 * ms: result.Fail} {
		tl := &timeline.Timeline{Observations: []timeline.Observation{
			{Arrival: timeline.Arrival{Cost: 1}, FirstByte: 2 * ms, Done: done, Answered: true,
				Outcome: timeline.Allowed},
			{Arrival: timeline.Arrival{Seq: 1, Cost: 1}, Sent: 25 * ms, FirstByte: 26 * ms, Done: 26 * ms,
				Answered: true, Outcome: timeline.Denied},
		}}
		j, err := Judge(tl, limit, Options{SkipMeasure: true})
		if err != nil || j.Verdict != want {
			t.Errorf("a last byte after %s: got %v, %v, want %v", done, j.Verdict, err, want)
		}
	}
}

// TestAPlaceIsHeldForAnInstant: a request without an outcome, whose last byte was read long before, may have
// been admitted late and complete at once. Another request may have been denied in between.
func TestAPlaceIsHeldForAnInstant(t *testing.T) {
	limit, err := spec.Parse("concurrency,limit=2,hold=6ns..,linger=2ns")
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline.Timeline{}
	for i, o := range []timeline.Observation{
		{Sent: 11, FirstByte: 11, Done: 11, Outcome: timeline.Unknown},
		{Sent: 16, FirstByte: 24, Outcome: timeline.Denied},
		{Sent: 22, FirstByte: 28, Done: 28, Outcome: timeline.Unknown},
	} {
		o.Arrival, o.Answered = timeline.Arrival{Seq: i, Cost: 1}, true
		tl.Observations = append(tl.Observations, o)
	}
	tl.Header.Ended = tl.End()
	if accused(t, tl, limit) || !explainedServed(t, tl, limit) {
		t.Errorf("accused %v, explained %v: want false and true", accused(t, tl, limit),
			explainedServed(t, tl, limit))
	}
}

// TestAPlaceThatWasNeverFree: the requests that block an admission may follow each other. At no instant were
// there more in flight than the limit allows.
func TestAPlaceThatWasNeverFree(t *testing.T) {
	tl := &timeline.Timeline{}
	for i, x := range []struct{ sent, first, done, cost int64 }{{0, 10, 50_010, 1},
		{25_000, 25_010, 75_020, 1}, {25_020, 100_000, 160_000, 2},
		{60_000, 60_010, 110_020, 1}, {80_000, 80_010, 130_020, 1}} {
		us := time.Microsecond
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: x.cost}, Answered: true,
				Outcome: timeline.Allowed,
				Sent:    time.Duration(x.sent) * us, FirstByte: time.Duration(x.first) * us,
				Done: time.Duration(x.done) * us})
	}
	j := byBounds(tl, mustLimit(t, "concurrency,limit=2,hold=50ms.."), Options{SkipMeasure: true})
	if j.Verdict != result.Fail {
		t.Fatalf("got %s, want fail", j.Verdict)
	}
	want := "request #2 was admitted although at least 1 of 2 places were taken at every instant when it " +
		"may have been"
	if got := j.Partitions[0].Findings[0].Text; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
