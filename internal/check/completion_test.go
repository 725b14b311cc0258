package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// completionOracle decides by exhaustion whether decision times inside the intervals, completion times after them and an
// order let a limiter that is told of completions give the observed outcomes. It goes through time one nanosecond after the
// other with the set of all nodes that can be reached. It shares no code with the bounds; its machines are those of oracle.
type completionOracle struct {
	places int64   // of a limit on requests in flight, 0 for none
	m      machine // of a policy that is charged late, and charge of one that is told of its charges
	charge machine
	reqs   []served
	seen   map[servedNode]bool
	list   []servedNode
}

func newCompletionOracle(t *testing.T, p reference.Policy) *completionOracle {
	o := &completionOracle{}
	if p.Algorithm == reference.Concurrency {
		o.places = p.Rate.N
		return o
	}
	p.Charge = reference.ChargeDecision
	o.m = machineOf(t, p, int64(p.PhaseFrom), 0)
	p.Count = reference.CountAll
	o.charge = machineOf(t, p, int64(p.PhaseFrom), 0)
	return o
}

// served is a request as the oracle sees it: decided in [s, e], and if admitted complete in [d+least, d+most], and no later
// than by.
type served struct {
	s, e, cost      int64
	least, most, by int64
	outcome         timeline.Outcome
}

// servedNode is what the past means to the future: the memory of the machine (or the units in flight), which requests were
// decided, and of those in flight when they may be complete, as 1 + the first and the last instant; a first instant that
// has come is 1.
type servedNode struct {
	m           memory
	decided     uint8
	from, until [6]int16
}

// servedOf reads the observations as the words of a SPEC say; never is far beyond them.
func servedOf(tl *timeline.Timeline, p reference.Policy) []served {
	const never = 1 << 12
	var out []served
	for _, o := range tl.Observations {
		r := served{s: int64(o.Sent), e: int64(tl.End()), cost: o.Cost, most: never, by: never, outcome: o.Outcome}
		if o.Outcome != timeline.Unknown {
			r.e = int64(o.FirstByte)
		}
		if p.HoldMost > 0 {
			r.most = int64(p.HoldMost)
		}
		if p.HoldMost > 0 && o.Done > 0 && o.Done-o.Sent > p.HoldMost {
			r.most, r.by = never, int64(o.Done+p.HoldMost)
		}
		if p.LingerSet && o.Done > 0 {
			r.by = min(r.by, int64(o.Done+p.Linger))
		}
		if o.Outcome == timeline.Allowed && o.Done > 0 && o.Done-p.HoldLeast >= o.Sent {
			r.e = min(r.e, int64(o.Done-p.HoldLeast))
			r.least = int64(p.HoldLeast)
		}
		out = append(out, r)
	}
	return out
}

func (o *completionOracle) explains(reqs []served, end int64) bool {
	o.reqs, o.seen, o.list = reqs, map[servedNode]bool{}, nil
	first := servedNode{}
	if o.m != nil {
		first.m = o.m.newborn()
	}
	o.list = append(o.list, first)
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

// renewed forgets what the past no longer matters for.
func (o *completionOracle) renewed(n servedNode, t int64) servedNode {
	if o.m != nil {
		n.m = o.m.settle(n.m, t)
	}
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

func (o *completionOracle) admits(n servedNode, t, cost int64) bool {
	if o.m == nil {
		return n.m[0]+cost <= o.places
	}
	return o.m.admits(n.m, t, cost)
}

// step adds what one decision or one completion at t makes of a node.
func (o *completionOracle) step(n servedNode, t int64) {
	for i, r := range o.reqs {
		bit := uint8(1) << i
		switch {
		case n.decided&bit == 0 && t >= r.s && t <= r.e:
			allow := o.admits(n, t, r.cost)
			if r.outcome != timeline.Unknown && allow != (r.outcome == timeline.Allowed) {
				continue
			}
			next := n
			next.decided |= bit
			if allow {
				next.from[i], next.until[i] = int16(1+t+r.least), int16(1+min(t+r.most, max(r.by, t+r.least)))
				if r.least == 0 {
					next.from[i] = 1
				}
				if o.m == nil {
					next.m[0] += r.cost
				}
			}
			o.add(next)
		case n.from[i] != 0 && int64(n.from[i])-1 <= t:
			next := n
			next.from[i], next.until[i] = 0, 0
			if o.m == nil {
				next.m[0] -= r.cost
			} else {
				next.m = o.charge.after(n.m, t, r.cost, false)
			}
			o.add(next)
		}
	}
}

// dead tells whether something that must happen by t has not.
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

// completionSpecs are the limits whose small histories are judged, with the share that must be caught of the infeasible ones.
var completionSpecs = []struct {
	spec  string
	share float64
}{
	{"concurrency,limit=1,hold=4ns..9ns", 0.98},
	{"concurrency,limit=2,hold=6ns..10ns", 0.98},
	{"concurrency,limit=2,hold=6ns..,linger=2ns", 0.98},
	{"concurrency,limit=3,hold=5ns..12ns,linger=0s", 0.98},
	{"concurrency,limit=2,hold=0s..6ns", 0.98},
	{"fixed-window,rate=2/14ns,phase=3ns,charge=completion,hold=2ns..5ns", 0.98},
	{"fixed-window,rate=1/14ns,phase=3ns,charge=completion,hold=2ns..,linger=1ns", 0.98},
	{"sliding-window-log,rate=2/12ns,charge=completion,hold=2ns..5ns", 0.98},
	{"sliding-window-log,rate=1/12ns,charge=completion,hold=0s..,linger=1ns", 0.98},
	{"sliding-window-counter,rate=2/14ns,phase=3ns,charge=completion,hold=2ns..5ns", 0.98},
	{"token-bucket,rate=1/9ns,burst=2,charge=completion,hold=2ns..5ns", 0.98},
	{"gcra,rate=2/15ns,burst=1,charge=completion,hold=1ns..4ns,linger=1ns", 0.98},
}

// servedHistory runs a limiter under random traffic whose requests take as long as p says, and falsifies some outcomes
// of half of the histories.
func servedHistory(r *rand.Rand, lim reference.Limiter, p reference.Policy, late int, costs bool) *timeline.Timeline {
	n := 3 + r.IntN(3)
	tl := &timeline.Timeline{}
	type moment struct {
		at   int
		i    int
		done bool
	}
	var queue []moment
	at := 0
	for i := range n {
		at += r.IntN(7) * r.IntN(2)
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: time.Duration(at), Answered: true}
		if costs && r.IntN(3) == 0 {
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
		state, d = lim.Step(state, time.Duration(m.at), o.Cost)
		if !d.Allow {
			o.Outcome, o.FirstByte = timeline.Denied, time.Duration(m.at+r.IntN(late+1))
			o.Done = o.FirstByte
			continue
		}
		done := m.at + serve(r, p, late, m.at, o)
		queue = append(queue, moment{done, m.i, true})
	}
	falsify(r, tl)
	return tl
}

// serve answers an admitted request and returns how long it takes to be complete.
func serve(r *rand.Rand, p reference.Policy, late, at int, o *timeline.Observation) int {
	most := int(p.HoldMost)
	if most == 0 {
		most = int(p.HoldLeast) + 6
	}
	took := int(p.HoldLeast) + r.IntN(most-int(p.HoldLeast)+1)
	least := at + int(p.HoldLeast) // the last byte is not sent before
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

// falsify turns some outcomes around in half of the histories, and loses some answers and last bytes.
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

// TestCompletionsNeverAccuseWhatTheOracleExplains is the hard bar for the policies that are told of completions, and asks
// for the share of the infeasible histories that is caught. RLCHECK_SOAK=1 tries many more.
func TestCompletionsNeverAccuseWhatTheOracleExplains(t *testing.T) {
	rounds, seeds := soakRounds(24, 1000)
	for _, c := range completionSpecs {
		t.Run(c.spec, func(t *testing.T) {
			t.Parallel()
			limit, err := reference.Parse(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			lim, err := reference.NewLimit(limit)
			if err != nil {
				t.Fatal(err)
			}
			var all, mixed catches
			var line strings.Builder
			for _, late := range []int{0, 1, 2, 4, 8} {
				var band catches
				for seed := range seeds {
					for round := range rounds {
						r := rand.New(rand.NewPCG(soakSeed+uint64(seed), uint64(late)<<32|uint64(round)))
						costs := round%4 == 0
						one := judgeServed(t, servedHistory(r, lim, limit[0], late, costs), limit)
						if costs {
							mixed.add(one)
						} else {
							band.add(one)
						}
					}
				}
				all.add(band)
				fmt.Fprintf(&line, "  %d: %s", late, band)
			}
			t.Logf("caught of the infeasible: %s: %s of %d histories, mixed costs %s; by latency%s", c.spec, all, all.histories, mixed, line.String())
			atLeast(t, c.spec, all, c.share)
		})
	}
}

// judgeServed judges one history, and asks the oracle.
func judgeServed(t *testing.T, tl *timeline.Timeline, limit reference.Limit) catches {
	t.Helper()
	caught, explained := accused(t, tl, limit), explainedServed(t, tl, limit)
	if caught && explained {
		t.Fatalf("false alarm: %s", falseAlarmServed(t, tl, limit))
	}
	if caught {
		proveAlone(t, tl, limit)
	}
	c := catches{histories: 1}
	if !explained {
		c.infeasible = 1
	}
	if caught {
		c.caught = 1
	}
	return c
}

func explainedServed(t *testing.T, tl *timeline.Timeline, limit reference.Limit) bool {
	return newCompletionOracle(t, limit[0]).explains(servedOf(tl, limit[0]), int64(tl.End()))
}

// falseAlarmServed prints the fewest requests that are accused although they are explained.
func falseAlarmServed(t *testing.T, tl *timeline.Timeline, limit reference.Limit) string {
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
		text += fmt.Sprintf("#%d [%d,%d] done %d cost %d %s\n", o.Seq, o.Sent, o.FirstByte, o.Done, o.Cost, o.Outcome)
	}
	return text + fmt.Sprintf("%+v", j.Partitions)
}

// atLeast fails where a smaller share is caught than promised, as far as the number of histories can tell.
func atLeast(t *testing.T, spec string, c catches, share float64) {
	t.Helper()
	missed, allowed := float64(c.infeasible-c.caught), (1-share)*float64(c.infeasible)
	if c.infeasible == 0 && c.histories > 100 || missed > allowed+3*math.Sqrt(allowed)+2 {
		t.Errorf("%s: caught %s, want %.1f %%", spec, c, 100*share)
	}
}

// TestStreamsKeepTheLastByte: a stream that keeps nothing as it was gives the verdict of Judge, also where that depends on
// when the last byte was read.
func TestStreamsKeepTheLastByte(t *testing.T) {
	told := 0
	for _, c := range completionSpecs {
		limit, err := reference.Parse(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		fails := 0
		for round := range 200 {
			r := rand.New(rand.NewPCG(9, uint64(round)))
			tl := servedHistory(r, lim, limit[0], 3, round%4 == 0)
			want, err := Judge(tl, limit, Options{SkipMeasure: true})
			if err != nil {
				t.Fatal(err)
			}
			got := streamed(t, tl, limit, Options{SkipMeasure: true}, everything(r))
			if kindsOf(got) != kindsOf(want) {
				t.Fatalf("%s, round %d: got %s, want %s", c.spec, round, kindsOf(got), kindsOf(want))
			}
			if want.Verdict == Fail {
				fails++
			}
			for i := range tl.Observations {
				tl.Observations[i].Done = 0
			}
			if blind, err := Judge(tl, limit, Options{SkipMeasure: true}); err == nil && kindsOf(blind) != kindsOf(want) {
				told++
			}
		}
		if fails == 0 {
			t.Errorf("%s: no history failed: the test says too little", c.spec)
		}
	}
	if told < 50 {
		t.Errorf("the last byte changed the verdict on %d histories, want at least 50: the test says too little", told)
	}
}

// proveAlone checks that the witness of each finding fails by itself.
func proveAlone(t *testing.T, tl *timeline.Timeline, limit reference.Limit) {
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

// TestAStalledServerIsNotAccused: a place may be held for longer than the policy says by a request that visibly took longer;
// by one that did not, it may not.
func TestAStalledServerIsNotAccused(t *testing.T) {
	limit, err := reference.Parse("concurrency,limit=1,hold=1ms..10ms")
	if err != nil {
		t.Fatal(err)
	}
	const ms = time.Millisecond
	for done, want := range map[time.Duration]Verdict{30 * ms: Pass, 10 * ms: Fail} {
		tl := &timeline.Timeline{Observations: []timeline.Observation{
			{Arrival: timeline.Arrival{Cost: 1}, FirstByte: 2 * ms, Done: done, Answered: true, Outcome: timeline.Allowed},
			{Arrival: timeline.Arrival{Seq: 1, Cost: 1}, Sent: 25 * ms, FirstByte: 26 * ms, Done: 26 * ms, Answered: true, Outcome: timeline.Denied},
		}}
		j, err := Judge(tl, limit, Options{SkipMeasure: true})
		if err != nil || j.Verdict != want {
			t.Errorf("a last byte after %s: got %v, %v, want %v", done, j.Verdict, err, want)
		}
	}
}
