package reference

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// definition decides by the definitions of the algorithms. It computes each question anew, in rational
// numbers, from the list of all requests that came before. It shares no arithmetic and no state with the
// limiters.
type definition struct {
	limit spec.Limit
	past  []asked
	ops   int
}

// asked is one request of the past.
type asked struct {
	at   time.Duration
	cost int64
	// allow is the outcome. refused tells for each policy whether it alone would have denied the request, and
	// banned whether its ban did.
	allow           bool
	refused, banned []bool
	// units are what was charged to each policy, nil if nothing was.
	units []*big.Rat
	// doneAt is when an admitted request was complete; done says whether it is.
	done   bool
	doneAt time.Duration
	// op and doneOp number the decision and the completion among all that happened.
	op, doneOp int
}

// event is what a request means to one algorithm: its time by the limiter's clock, and the units charged.
type event struct {
	at    *big.Rat
	units *big.Rat
	op    int
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// floor returns the largest whole number that is at most x.
func floor(x *big.Rat) *big.Int {
	q := new(big.Int)
	return q.Div(x.Num(), x.Denom()) // Euclidean division; denominators are positive.
}

// clock returns what the clock of p reads at the instant at.
func clock(p spec.Policy, at time.Duration) *big.Rat {
	x := rat(int64(at))
	if p.Tick == 0 {
		return x
	}
	tick := rat(int64(p.Tick))
	return x.Mul(tick, new(big.Rat).SetInt(floor(new(big.Rat).Quo(x, tick))))
}

// admits tells whether the limit admits a request at the instant at, and which of its policies do not.
func (d *definition) admits(at time.Duration, cost int64) (allow bool, refused, banned []bool) {
	allow = true
	for k := range d.limit {
		ban := d.inBan(k, at)
		no := !ban && !d.fits(k, at, d.limit[k].Asks(cost))
		banned, refused = append(banned, ban), append(refused, no || ban)
		allow = allow && !ban && !no
	}
	return allow, refused, banned
}

// ask decides a request and remembers it.
func (d *definition) ask(at time.Duration, cost int64) bool {
	d.ops++
	a := asked{at: at, cost: cost, op: d.ops}
	a.allow, a.refused, a.banned = d.admits(at, cost)
	for k := range d.limit {
		a.units = append(a.units, d.charged(k, a))
	}
	d.past = append(d.past, a)
	return a.allow
}

// complete notes that request i is complete, and charges it if the policy charges at completion.
func (d *definition) complete(i int, at time.Duration) {
	d.past[i].done = true
	d.charge(i, at)
}

// charge charges request i to the policies that did not charge it at its decision.
func (d *definition) charge(i int, at time.Duration) {
	d.ops++
	d.past[i].doneAt, d.past[i].doneOp = at, d.ops
	for k, p := range d.limit {
		if p.Charge == spec.ChargeCompletion {
			d.past[i].units[k] = rat(countedAs(p, d.past[i].cost))
		}
	}
}

// whole returns the units that policy k takes even if fewer are left.
func (d *definition) whole(k int, at time.Duration, cost int64) *big.Rat {
	p, units := d.limit[k], rat(cost)
	if p.Windowed() || p.Algorithm == spec.SlidingWindowLog {
		return units
	}
	// A bucket takes no more than is left.
	if left := new(big.Rat).Sub(rat(p.Full()), d.level(k, at)); left.Cmp(units) < 0 {
		return left
	}
	return units
}

// remaining counts how many requests of cost 1 would pass at the instant at, one after the other.
func (d *definition) remaining(at time.Duration) (n int64) {
	copied := definition{limit: d.limit, past: append([]asked(nil), d.past...), ops: d.ops}
	for copied.ask(at, 1) {
		n++
		copied.charge(len(copied.past)-1, at) // otherwise there is no end of what is charged later
	}
	return n
}

// inBan tells whether policy k bans at the instant at: less than its ban ago, it refused a request that was
// outside a ban.
func (d *definition) inBan(k int, at time.Duration) bool {
	p := d.limit[k]
	now := clock(p, at)
	length := p.Ban
	for _, a := range d.past {
		if a.refused[k] && !a.banned[k] {
			if age := new(big.Rat).Sub(now, clock(p, a.at)); age.Cmp(rat(int64(length))) < 0 {
				return true
			}
			if p.Growth > 0 {
				length = min(length*time.Duration(p.Growth), p.BanMost)
			}
		}
	}
	return false
}

// charged returns the units that a request is charged to policy k, nil for none.
func (d *definition) charged(k int, a asked) *big.Rat {
	p := d.limit[k]
	own := p.Count == spec.CountOwn && !a.refused[k]
	if p.Charge == spec.ChargeCompletion {
		return nil
	}
	if a.banned[k] || !a.allow && p.Count != spec.CountAll && !own {
		return nil
	}
	if a.allow || own {
		return rat(countedAs(p, a.cost))
	}
	return d.whole(k, a.at, countedAs(p, a.cost))
}

// alive returns the requests that policy k has not forgotten at the instant at. These are the ones after the
// last silence as long as its time to live.
func (d *definition) alive(k int, at time.Duration) []asked {
	p := d.limit[k]
	if p.TTL == 0 {
		return d.past
	}
	now := clock(p, at)
	for i := len(d.past) - 1; i >= 0; i-- {
		if d.past[i].banned[k] {
			continue // the policy did not see it
		}
		then := clock(p, d.past[i].at)
		if new(big.Rat).Sub(now, then).Cmp(rat(int64(p.TTL))) >= 0 {
			return d.past[i+1:]
		}
		now = then
	}
	return d.past
}

// events returns what was charged to policy k and not forgotten at the instant at.
func (d *definition) events(k int, at time.Duration) []event {
	p, past := d.limit[k], d.alive(k, at)
	var events []event
	if _, level := p.StartLevels(); len(past) > 0 && level < p.Full() {
		events = append(events, event{clock(p, past[0].at), rat(p.Full() - level), 0})
	}
	for _, a := range past {
		if p.Reserve > 0 && a.allow {
			events = append(events, event{clock(p, a.at), rat(p.Reserve), a.op})
		}
		switch {
		case a.units[k] == nil:
		case p.Charge == spec.ChargeCompletion:
			rest := new(big.Rat).Sub(a.units[k], rat(p.Reserve))
			events = append(events, event{clock(p, a.doneAt), rest, a.doneOp})
		default:
			events = append(events, event{clock(p, a.at), a.units[k], a.op})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(a.at.Cmp(b.at), a.op-b.op) })
	return events
}

// held returns the units in flight.
func (d *definition) held(p spec.Policy) (units int64) {
	for _, a := range d.past {
		if a.allow && !a.done {
			units += countedAs(p, a.cost)
		}
	}
	return units
}

// delay returns how long an admitted request waits. It waits until each queue's clock shows that its backlog
// has sunk to the places that are let through at once.
func (d *definition) delay(at time.Duration) time.Duration {
	var longest time.Duration
	for k, p := range d.limit {
		if p.Algorithm != spec.LeakyBucketQueue {
			continue
		}
		backlog := new(big.Rat).Sub(d.level(k, at), rat(p.Undelayed))
		if backlog.Sign() <= 0 {
			continue
		}
		step := rat(max(1, int64(p.Tick)))
		release := backlog.Mul(backlog, big.NewRat(int64(p.Rate.Per), p.Rate.N))
		release.Add(release, clock(p, at)).Quo(release, step).Neg(release)
		ceiling := new(big.Rat).SetInt(floor(release))
		ceiling.Neg(ceiling).Mul(ceiling, step).Sub(ceiling, rat(int64(at)))
		longest = max(longest, time.Duration(ceiling.Num().Int64()))
	}
	return longest
}

// fits tells whether policy k alone, outside a ban, admits a request at the instant at.
func (d *definition) fits(k int, at time.Duration, cost int64) bool {
	p := d.limit[k]
	switch p.Algorithm {
	case spec.Concurrency:
		return d.held(p)+cost <= p.Rate.N
	case spec.SlidingWindowLog:
		return d.logged(k, at).Cmp(rat(p.Rate.N-cost)) <= 0
	case spec.FixedWindow:
		if p.Refreshes() {
			return d.refreshed(k, at).Cmp(rat(p.Rate.N-cost)) <= 0
		}
		_, cur, _ := d.windows(k, at)
		return cur.Cmp(rat(p.Rate.N-cost)) <= 0
	case spec.SlidingWindowCounter:
		prev, cur, x := d.windows(k, at)
		sum := new(big.Rat).Add(weighted(p, prev, x), cur)
		return sum.Add(sum, rat(cost-1)).Cmp(rat(p.Rate.N)) < 0
	default:
		sum := new(big.Rat).Add(d.level(k, at), rat(cost))
		return sum.Cmp(rat(p.Full())) <= 0
	}
}

// level returns how full the meter of a bucket is at the instant at. By Reich's formula this is a maximum
// over all intervals that end now: what came in minus what drained.
func (d *definition) level(k int, at time.Duration) *big.Rat {
	if _, level := d.limit[k].StartLevels(); len(d.alive(k, at)) == 0 {
		return rat(d.limit[k].Full() - level)
	}
	events := d.events(k, at)
	most, sum, now := new(big.Rat), new(big.Rat), clock(d.limit[k], at)
	for i := len(events) - 1; i >= 0; i-- {
		sum.Add(sum, events[i].units)
		backlog := new(big.Rat).Sub(sum, d.drained(k, d.alive(k, at), events[i].at, now))
		if backlog.Cmp(most) > 0 {
			most = backlog
		}
	}
	return most
}

// drained returns the units that drain in (from, to]. That is the rate times the difference. For a refill in
// intervals it is fill times the number of multiples of the interval, counted from the creation, that lie in
// it.
func (d *definition) drained(k int, past []asked, from, to *big.Rat) *big.Rat {
	p := d.limit[k]
	perNano := big.NewRat(p.Rate.N, int64(p.Rate.Per))
	if p.Refill != spec.RefillInterval || len(past) == 0 {
		return perNano.Mul(perNano, new(big.Rat).Sub(to, from))
	}
	created, fill := clock(p, past[0].at), rat(p.Fill)
	fills := func(t *big.Rat) *big.Rat {
		x := new(big.Rat).Sub(t, created)
		x.Mul(x, perNano).Quo(x, fill)
		return new(big.Rat).SetInt(floor(x))
	}
	return fill.Mul(fill, new(big.Rat).Sub(fills(to), fills(from)))
}

// logged returns the units charged in the window that ends at the instant at.
func (d *definition) logged(k int, at time.Duration) *big.Rat {
	p := d.limit[k]
	begin := clock(p, at)
	begin.Sub(begin, rat(int64(p.Rate.Per)))
	sum := new(big.Rat)
	for _, e := range d.events(k, at) {
		if c := e.at.Cmp(begin); c > 0 || c == 0 && p.Boundary == spec.Closed {
			sum.Add(sum, e.units)
		}
	}
	return sum
}

// windows returns the units charged in the window before that of the instant at, and in that window itself. x
// is how far at is into its window.
func (d *definition) windows(k int, at time.Duration) (prev, cur, x *big.Rat) {
	p := d.limit[k]
	now, window := clock(p, at), rat(int64(p.Rate.Per))
	begin := new(big.Rat).Sub(now, rat(int64(p.PhaseFrom)))
	begin.Mul(window, new(big.Rat).SetInt(floor(begin.Quo(begin, window)))).Add(begin,
		rat(int64(p.PhaseFrom)))
	events := d.events(k, at)
	if p.Align == spec.AlignFirst {
		begin = firstWindow(p, events, now)
	}
	prev, cur = new(big.Rat), new(big.Rat)
	before := new(big.Rat).Sub(begin, window)
	for _, e := range events {
		switch {
		case e.at.Cmp(begin) >= 0:
			if cur.Add(cur, e.units); cur.Sign() < 0 { // more was given back than was taken in this window
				cur = new(big.Rat)
			}
		case e.at.Cmp(before) >= 0 && d.joined(k, events, e.at, begin):
			prev.Add(prev, e.units)
		}
	}
	return prev, cur, new(big.Rat).Sub(now, begin)
}

// refreshed returns the units charged since the window was last without a refresh for as long as it lasts.
func (d *definition) refreshed(k int, at time.Duration) *big.Rat {
	p, window := d.limit[k], rat(int64(d.limit[k].Rate.Per))
	var last *big.Rat // none open
	sum := new(big.Rat)
	forget := func(now *big.Rat) {
		if last != nil && new(big.Rat).Sub(now, last).Cmp(window) >= 0 {
			last, sum = nil, new(big.Rat)
		}
	}
	for _, a := range d.alive(k, at) {
		now := clock(p, a.at)
		forget(now)
		if a.banned[k] {
			continue
		}
		if a.units[k] != nil {
			sum.Add(sum, a.units[k])
		}
		opens := last == nil && a.units[k] != nil
		admits := a.allow || p.Count == spec.CountOwn && !a.refused[k]
		if opens || last != nil && (admits || p.Refresh == spec.RefreshAll) {
			last = now
		}
	}
	forget(clock(p, at))
	return sum
}

// TestSlotsAreALogThatTicks: a window divided into slots admits what the log of its SPEC does. Any run of as
// many slots as it has holds at most the quota.
func TestSlotsAreALogThatTicks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		slots, slot, quota := 2+r.Int64N(9), 1+r.Int64N(30), 1+r.Int64N(6)
		limit, err := spec.Parse(fmt.Sprintf("fixed-window,rate=%d/%dns,slots=%d", quota, slots*slot, slots))
		if err != nil {
			t.Fatal(err)
		}
		l, err := NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		state, at, counted := l.Init(), int64(0), map[int64]int64{} // units by slot
		for range 60 {
			at += r.Int64N(2 * slot)
			cost, used := 1+r.Int64N(2), int64(0)
			for k := range slots {
				used += counted[at/slot-k]
			}
			var d Decision
			if state, d = l.Step(state, time.Duration(at), cost); d.Allow != (used+cost <= quota) {
				t.Fatalf("%s at %d: got %v, and %d of %d units are counted", limit, at, d, used, quota)
			}
			if d.Allow {
				counted[at/slot] += cost
			}
		}
	}
}

// joined tells whether the window that starts at begin directly follows the window of an event at the instant
// at. It always does on a fixed grid. It does for windows opened by a request unless begin opened a series of
// its own.
func (d *definition) joined(k int, events []event, at, begin *big.Rat) bool {
	p := d.limit[k]
	if p.Align != spec.AlignFirst {
		return true
	}
	own := firstWindow(p, events, at)
	return new(big.Rat).Add(own, rat(int64(p.Rate.Per))).Cmp(begin) == 0
}

// firstWindow returns where the window of the instant now begins, or now if none is open. A fixed window ends
// after W. The windows of a counter follow each other W apart. That ends with an event that comes 2W or more
// after the last window with an event began.
func firstWindow(p spec.Policy, events []event, now *big.Rat) *big.Rat {
	window := rat(int64(p.Rate.Per))
	lasts := window
	if p.Algorithm == spec.SlidingWindowCounter {
		lasts = rat(2 * int64(p.Rate.Per))
	}
	var begin *big.Rat
	settle := func(t *big.Rat) {
		if begin == nil || new(big.Rat).Sub(t, begin).Cmp(lasts) >= 0 {
			begin = t
		} else if new(big.Rat).Sub(t, begin).Cmp(window) >= 0 {
			begin = new(big.Rat).Add(begin, window)
		}
	}
	for _, e := range events {
		if e.at.Cmp(now) > 0 {
			break
		}
		settle(e.at)
	}
	settle(now)
	return begin
}

// weighted returns the weight of the window before, rounded, at x into this window.
func weighted(p spec.Policy, prev, x *big.Rat) *big.Rat {
	window := rat(int64(p.Rate.Per))
	v := new(big.Rat).Sub(window, x)
	v.Mul(v, prev).Quo(v, window)
	one := rat(1)
	switch p.Rounding {
	case spec.RoundDown:
		return v.SetInt(floor(v))
	case spec.RoundUp:
		down := new(big.Rat).SetInt(floor(v))
		if down.Cmp(v) < 0 {
			down.Add(down, one)
		}
		return down
	case spec.RoundNearest:
		return v.SetInt(floor(v.Add(v, big.NewRat(1, 2))))
	}
	return v
}

// countedAs returns how many units a request of the cost is counted as in all.
func countedAs(p spec.Policy, cost int64) int64 {
	if p.Unit == spec.UnitRequest {
		return 1
	}
	return cost
}
