package check

import (
	"fmt"
	"testing"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// memory is what a machine remembers of a partition: a few numbers, whose meaning each machine defines. Times
// in it are absolute, so that waiting changes nothing.
type memory [8]int64

// machine is a limiter written once more from its definition, for small numbers. The oracle steps through it
// millions of times. It shares no code with the bounds or with internal/reference.
// TestOracleAgreesWithThePlainOne compares it with the latter.
type machine interface {
	newborn() memory
	// admits tells whether a request of this cost is admitted at t. No earlier call had a later t.
	admits(m memory, t, cost int64) bool
	// after returns the memory after a request was admitted or denied at t.
	after(m memory, t, cost int64, allow bool) memory
	// delay is how long, in nanoseconds, a request admitted at t waits.
	delay(m memory, t int64) int64
	// counts tells that a denial may change the memory, now or later.
	counts() bool
	// settle returns a memory that requests at or after t cannot tell from m. It maps as many memories to the
	// same one as is easy to see.
	settle(m memory, t int64) memory
	// width is how many words it uses.
	width() int
}

// unborn marks a memory without a past.
const unborn = int64(-1) << 40

// tats is a bucket. Word 0 is n times the theoretical arrival time. The level of a new bucket is included in
// it.
type tats struct {
	n, per, burst int64
	// birth is what is in use at creation, in units times per.
	birth int64
	all   bool
	queue bool
	// undelayed is the number of places of a queue that are let through at once.
	undelayed int64
}

func (tats) width() int { return 1 }

func (b tats) newborn() memory { return memory{unborn} }

func (b tats) tat(m memory, t int64) int64 {
	if m[0] == unborn {
		return t*b.n + b.birth
	}
	return max(m[0], t*b.n)
}

func (b tats) admits(m memory, t, cost int64) bool {
	return b.tat(m, t)+cost*b.per <= t*b.n+b.burst*b.per
}

func (b tats) after(m memory, t, cost int64, allow bool) memory {
	tat := b.tat(m, t)
	if allow || b.all {
		tat = min(tat+cost*b.per, t*b.n+b.burst*b.per)
	}
	return memory{tat}
}

func (b tats) delay(m memory, t int64) int64 {
	if !b.queue {
		return 0
	}
	behind := b.tat(m, t) - t*b.n - b.undelayed*b.per
	return max(0, (behind+b.n-1)/b.n)
}

func (b tats) counts() bool { return b.all }

func (b tats) settle(m memory, t int64) memory {
	if m[0] == unborn && b.birth == 0 || m[0] != unborn && m[0] <= t*b.n {
		return memory{t * b.n}
	}
	return m
}

// batches is a bucket that gets fill units every fill*per/n. Word 0 is its creation, word 1 its units, word 2
// the batches it had.
type batches struct {
	n, per, burst, fill int64
	level               int64
	all                 bool
}

func (batches) width() int { return 3 }

func (b batches) newborn() memory { return memory{unborn} }

func (b batches) at(m memory, t int64) memory {
	if m[0] == unborn {
		return memory{t, b.level, 0}
	}
	had := (t - m[0]) * b.n / (b.fill * b.per)
	return memory{m[0], min(b.burst, m[1]+(had-m[2])*b.fill), had}
}

func (b batches) admits(m memory, t, cost int64) bool { return b.at(m, t)[1] >= cost }

func (b batches) after(m memory, t, cost int64, allow bool) memory {
	m = b.at(m, t)
	if allow || b.all {
		m[1] = max(0, m[1]-cost)
	}
	return m
}

func (b batches) delay(memory, int64) int64 { return 0 }

func (b batches) counts() bool { return b.all }

func (b batches) settle(m memory, t int64) memory {
	if m[0] == unborn {
		return m
	}
	return b.at(m, t)
}

// units is a sliding log. Word 0 holds the times of the last quota units, ten bits each, the oldest in the
// highest bits. Each is stored as time + before.
type units struct {
	quota, keep int64
	all         bool
}

// before is the distance from zero to an instant earlier than any that a log remembers.
const before = 32

func (units) width() int { return 1 }

func (l units) newborn() memory { return memory{} }

// inside returns the log without the units that have left the window at t, and how many are left.
func (l units) inside(m memory, t int64) (log int64, n int64) {
	for k := l.quota - 1; k >= 0; k-- { // the newest is in the lowest bits
		if at := m[0] >> (10 * k) & 1023; at != 0 && at-before+l.keep > t {
			return m[0] & (1<<(10*(k+1)) - 1), k + 1
		}
	}
	return 0, 0
}

func (l units) admits(m memory, t, cost int64) bool {
	_, n := l.inside(m, t)
	return n+cost <= l.quota
}

func (l units) after(m memory, t, cost int64, allow bool) memory {
	log, _ := l.inside(m, t)
	if allow || l.all {
		for range min(cost, l.quota) {
			log = (log<<10 | (t + before)) & (1<<(10*l.quota) - 1)
		}
	}
	return memory{log}
}

func (l units) delay(memory, int64) int64 { return 0 }

func (l units) counts() bool { return l.all }

func (l units) settle(m memory, t int64) memory {
	log, _ := l.inside(m, t)
	return memory{log}
}

// fixedCount is a fixed window: word 0 is when the window began, word 1 its count.
type fixedCount struct {
	quota, size, phase int64
	first, all         bool
}

func (fixedCount) width() int { return 2 }

func (f fixedCount) newborn() memory { return memory{unborn} }

func (f fixedCount) at(m memory, t int64) memory {
	if !f.first {
		if begin := t - history.Mod(t-f.phase, f.size); begin != m[0] {
			return memory{begin}
		}
		return m
	}
	if m[0] != unborn && t >= m[0]+f.size {
		return memory{unborn}
	}
	return m
}

func (f fixedCount) admits(m memory, t, cost int64) bool { return f.at(m, t)[1]+cost <= f.quota }

func (f fixedCount) after(m memory, t, cost int64, allow bool) memory {
	m = f.at(m, t)
	if allow || f.all {
		if m[0] == unborn {
			m[0] = t
		}
		m[1] = min(f.quota, m[1]+cost)
	}
	return m
}

func (f fixedCount) delay(memory, int64) int64 { return 0 }
func (f fixedCount) counts() bool              { return f.all }

func (f fixedCount) settle(m memory, t int64) memory { return f.at(m, t) }

// twoCounts is a sliding window counter: word 0 is when the window began, word 1 the count of the one before,
// word 2 its own.
type twoCounts struct {
	quota, size, phase int64
	first, all         bool
	rounding           spec.Rounding
}

func (twoCounts) width() int { return 3 }

func (c twoCounts) newborn() memory { return memory{unborn} }

func (c twoCounts) at(m memory, t int64) memory {
	if !c.first {
		begin := t - history.Mod(t-c.phase, c.size)
		switch m[0] {
		case begin:
			return m
		case begin - c.size:
			return memory{begin, m[2], 0}
		}
		return memory{begin}
	}
	switch {
	case m[0] == unborn || t >= m[0]+2*c.size:
		return memory{unborn}
	case t >= m[0]+c.size:
		return memory{m[0] + c.size, m[2], 0}
	}
	return m
}

func (c twoCounts) admits(m memory, t, cost int64) bool {
	m = c.at(m, t)
	if cost > c.quota {
		return false
	}
	if m[0] == unborn {
		return true
	}
	weight := m[1] * (c.size - (t - m[0])) // times size
	rest := (c.quota - m[2] - cost + 1) * c.size
	switch c.rounding {
	case spec.RoundUp:
		weight = (weight + c.size - 1) / c.size * c.size
	case spec.RoundDown:
		weight = weight / c.size * c.size
	case spec.RoundNearest:
		weight = (2*weight + c.size) / (2 * c.size) * c.size
	}
	return weight < rest
}

func (c twoCounts) after(m memory, t, cost int64, allow bool) memory {
	if !allow && !c.all {
		if c.first && m[0] != unborn && t >= m[0]+2*c.size {
			return memory{unborn}
		}
		return m // a window turns when something is counted
	}
	m = c.at(m, t)
	if m[0] == unborn {
		m[0] = t
	}
	m[2] += cost
	return m
}

func (c twoCounts) delay(memory, int64) int64 { return 0 }

func (c twoCounts) counts() bool { return c.all }

func (c twoCounts) settle(m memory, t int64) memory {
	if c.first && m[0] != unborn && t < m[0]+2*c.size {
		return m
	}
	return c.at(m, t)
}

// era is the distance from zero to an instant earlier than any that a clock shows. With it added, no instant
// is stored as 0.
const era = 64

// punishes denies for a time after a denial. Its word follows those of the machine inside, and is era + the
// end of the ban.
type punishes struct {
	machine
	ban int64
}

func (b punishes) width() int { return b.machine.width() + 1 }

func (b punishes) admits(m memory, t, cost int64) bool {
	until, m := own(b.machine, m)
	return t >= until-era && b.machine.admits(m, t, cost)
}

func (b punishes) after(m memory, t, cost int64, allow bool) memory {
	until, inside := own(b.machine, m)
	if t < until-era {
		return m
	}
	until = 0
	if !b.machine.admits(inside, t, cost) {
		until = era + t + b.ban
	}
	return with(b.machine, b.machine.after(inside, t, cost, allow), until)
}

func (punishes) counts() bool { return true }

func (b punishes) settle(m memory, t int64) memory {
	until, m := own(b.machine, m)
	if t >= until-era {
		until = 0
	}
	return with(b.machine, b.machine.settle(m, t), until)
}

// own splits the memory of a machine around another one into its own word and the memory of the inner
// machine.
func own(inside machine, m memory) (word int64, rest memory) {
	word = m[inside.width()]
	m[inside.width()] = 0
	return word, m
}

// with is the inverse of own.
func with(inside machine, m memory, word int64) memory {
	m[inside.width()] = word
	return m
}

// forgets loses the memory of a partition that was not asked for as long as ttl. Its word is era + the time
// of the last request.
type forgets struct {
	machine
	ttl int64
}

func (f forgets) width() int { return f.machine.width() + 1 }

func (f forgets) at(m memory, t int64) memory {
	last, m := own(f.machine, m)
	if last == 0 || t-(last-era) >= f.ttl {
		return f.newborn()
	}
	return m
}

func (f forgets) admits(m memory, t, cost int64) bool { return f.machine.admits(f.at(m, t), t, cost) }

func (f forgets) after(m memory, t, cost int64, allow bool) memory {
	return with(f.machine, f.machine.after(f.at(m, t), t, cost, allow), era+t)
}

func (f forgets) delay(m memory, t int64) int64 { return f.machine.delay(f.at(m, t), t) }

func (forgets) counts() bool { return true }

func (f forgets) settle(m memory, t int64) memory {
	last, m := own(f.machine, m)
	if last == 0 || t-(last-era) >= f.ttl {
		return f.newborn()
	}
	return with(f.machine, f.machine.settle(m, t), last)
}

// stale reads a clock that may stand still for as long as lag: at t it shows an instant of [t-lag, t], and
// never runs backwards. Its word is 1 + what it showed last. A clock that ticks is such a clock, whatever its
// phase. So is one that is read once for several requests.
type stale struct {
	machine
	lag int64
}

func (c stale) width() int { return c.machine.width() + 1 }

// earliest returns the earliest instant that the clock may show at t.
func (c stale) earliest(m memory, t int64) int64 {
	shown, _ := own(c.machine, m)
	return max(t-c.lag, shown-1)
}

// shows returns the memory for a clock that showed the instant.
func (c stale) shows(m memory, reading int64) memory { return with(c.machine, m, 1+reading) }

func (c stale) admits(m memory, reading, cost int64) bool {
	_, m = own(c.machine, m)
	return c.machine.admits(m, reading, cost)
}

func (c stale) after(m memory, reading, cost int64, allow bool) memory {
	_, m = own(c.machine, m)
	return c.shows(c.machine.after(m, reading, cost, allow), reading)
}

func (c stale) newborn() memory { return c.shows(c.machine.newborn(), unborn) }

func (c stale) settle(m memory, t int64) memory {
	from := c.earliest(m, t)
	_, m = own(c.machine, m)
	return c.shows(c.machine.settle(m, from), from)
}

// owns counts what it admits itself, even if another machine denies it.
type owns struct{ machine }

func (o owns) counts() bool { return true }

func (o owns) after(m memory, t, cost int64, _ bool) memory {
	return o.machine.after(m, t, cost, o.machine.admits(m, t, cost))
}

// pair is two machines that must both admit. The words of the second follow those of the first.
type pair struct{ a, b machine }

func (p pair) width() int { return p.a.width() + p.b.width() }

func (p pair) halves(m memory) (a, b memory) {
	n := p.a.width()
	copy(a[:n], m[:])
	copy(b[:p.b.width()], m[n:])
	return a, b
}

func (p pair) whole(a, b memory) memory {
	copy(a[p.a.width():], b[:p.b.width()])
	return a
}

func (p pair) newborn() memory { return p.whole(p.a.newborn(), p.b.newborn()) }

func (p pair) admits(m memory, t, cost int64) bool {
	a, b := p.halves(m)
	return p.a.admits(a, t, cost) && p.b.admits(b, t, cost)
}

func (p pair) after(m memory, t, cost int64, allow bool) memory {
	a, b := p.halves(m)
	return p.whole(p.a.after(a, t, cost, allow), p.b.after(b, t, cost, allow))
}

func (p pair) delay(m memory, t int64) int64 {
	a, b := p.halves(m)
	return max(p.a.delay(a, t), p.b.delay(b, t))
}

func (p pair) counts() bool { return p.a.counts() || p.b.counts() }

func (p pair) settle(m memory, t int64) memory {
	a, b := p.halves(m)
	return p.whole(p.a.settle(a, t), p.b.settle(b, t))
}

// machineOf returns the machine of a policy with one phase. At creation, birth units times per are in use.
func machineOf(t *testing.T, p spec.Policy, phase, birth int64) machine {
	t.Helper()
	per, all := int64(p.Rate.Per), p.Count == spec.CountAll
	var m machine
	switch p.Algorithm {
	case spec.SlidingWindowLog:
		keep := per
		if p.Boundary == spec.Closed {
			keep++
		}
		m = units{p.Rate.N, keep, all}
	case spec.FixedWindow:
		if p.Refreshes() {
			m = renewed{p.Rate.N, per, all, p.Refresh == spec.RefreshAll}
			break
		}
		m = fixedCount{p.Rate.N, per, phase, p.Align == spec.AlignFirst, all}
	case spec.SlidingWindowCounter:
		m = twoCounts{p.Rate.N, per, phase, p.Align == spec.AlignFirst, all, p.Rounding}
	case spec.LeakyBucketQueue:
		m = tats{n: p.Rate.N, per: per, burst: p.Full(), birth: birth, queue: true, undelayed: p.Undelayed}
	case spec.TokenBucket, spec.GCRA, spec.LeakyBucket:
		m = tats{n: p.Rate.N, per: per, burst: p.Burst, birth: birth, all: all}
		if p.Refill == spec.RefillInterval {
			m = batches{p.Rate.N, per, p.Burst, p.Fill, p.Burst - birth/per, all}
		}
	case spec.Concurrency:
		m = seats{p.Rate.N}
	default:
		t.Fatalf("no machine for %s", p.Algorithm)
	}
	if p.Charge == spec.ChargeCompletion {
		m = settlesLate{m, p.Asks(1), p.Reserve}
	}
	if p.Unit == spec.UnitRequest {
		m = countsRequests{m}
	}
	if p.TTL > 0 {
		m = forgets{m, int64(p.TTL)}
	}
	if p.Ban > 0 {
		m = punishes{m, int64(p.Ban)}
	}
	if p.Tick > 0 {
		m = stale{m, int64(p.Tick)}
	}
	if p.Count == spec.CountOwn {
		m = owns{m}
	}
	if m.width() > len(memory{}) {
		t.Fatalf("%s: too much to remember", p)
	}
	return m
}

// machinesOf returns a machine for every combination of phases and start levels that a limit leaves open. box
// returns the phases of a policy.
func machinesOf(t *testing.T, limit spec.Limit, box func(spec.Policy) (from, to int64)) []machine {
	t.Helper()
	var out []machine
	for i, p := range limit {
		var own []machine
		from, to := box(p)
		for phase := from; phase <= to; phase++ {
			least, most := p.StartLevels()
			per := int64(p.Rate.Per)
			for birth := (p.Full() - most) * per; birth <= (p.Full()-least)*per; birth++ {
				for ban := p.Ban; ban <= p.LongestBan(); ban++ {
					for ttl := p.TTL; ttl <= max(p.TTL, p.TTLTo); ttl++ {
						one := p
						one.Ban, one.TTL, one.BanTo, one.TTLTo = ban, ttl, 0, 0
						own = append(own, machineOf(t, one, phase, birth))
					}
				}
			}
		}
		if i == 0 {
			out = own
			continue
		}
		if i == 1 {
			out = apart(out)
		}
		own = apart(own)
		var pairs []machine
		for _, a := range out {
			for _, b := range own {
				pairs = append(pairs, pair{a, b})
			}
		}
		out = pairs
	}
	if len(out) == 0 {
		panic(fmt.Sprintf("no machine for %s", limit))
	}
	return out
}
