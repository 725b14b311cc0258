package spec

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// longest is the longest window, tick or ban of a Policy. With it and Most, every sum of two times of a
// limiter fits into a time.Duration.
const longest = 3650 * day

// checkMissing reports the keys that the algorithm cannot do without.
func (b *builder) checkMissing(in family) {
	missing := func(name, why, mend string) {
		if _, found := b.given[name]; !found && !b.bad[name] {
			b.fail(name, false, Problem{fmt.Sprintf("%s has no %s", b.policy.Algorithm, name), why, mend})
		}
	}
	if in&inConcurrency != 0 {
		missing("limit", "it says how many requests may be in flight at once", `add "limit=10"`)
	} else {
		missing("rate", "every limit has a rate N/PER", `add "rate=10/s"`)
	}
	if in&inBuckets != 0 {
		missing("burst", "it says how many a full start admits at once", `add "burst=1" for an even flow`)
	}
	if in&inQueue != 0 {
		missing("queue", "it says how many requests may wait", `add "queue=0" for none`)
	}
	_, filled := b.given["fill"]
	if b.policy.Refill == RefillInterval && !filled && !b.bad["fill"] {
		p := Problem{`refill "interval"`, "it needs the number of units added at a time", ""}
		if b.policy.Rate.N > 0 {
			p.Mend = fmt.Sprintf(`add "fill=%d" for that many every %s`, b.policy.Rate.N,
				durationText(b.policy.Rate.Per))
		}
		b.fail("refill", true, p)
	}
}

// checkTogether reports keys that contradict each other, and products over Most.
func (b *builder) checkTogether(in family) {
	b.checkPlaced()
	b.checkAmounts()
	b.checkSpans()
	b.checkGrowth()
	b.checkRefresh()
	b.checkCharge(in)
	b.checkCalendar(in)
	if b.bad["rate"] || b.policy.Rate.N == 0 || in&inConcurrency != 0 || !b.checkWindow(in) {
		return
	}
	b.checkSlots()
	if b.policy.Align == AlignPhase && !b.bad["phase"] {
		b.checkPhase()
	}
	b.checkProducts(in)
}

// refuse reports a key that was given and that does not go with others.
func (b *builder) refuse(name string, odd bool, why, mend string) {
	if _, given := b.given[name]; given && odd && !b.bad[name] {
		b.fail(name, false, Problem{fmt.Sprintf("key %q", name), why, mend})
	}
}

// refuseValue reports a value that does not go with others.
func (b *builder) refuseValue(name, value, why, mend string) {
	if !b.bad[name] {
		b.fail(name, true, Problem{fmt.Sprintf("%s %q", name, value), why, mend})
	}
}

// checkPlaced reports a phase beside an alignment.
func (b *builder) checkPlaced() {
	align, aligned := b.given["align"]
	phase, phased := b.given["phase"]
	later := "align"
	if phase > align {
		later = "phase"
	}
	b.refuse(later, aligned && phased, "phase says where windows start, but align leaves it to the limiter",
		"remove one of them")
}

// checkAmounts reports units that have no use or no room.
func (b *builder) checkAmounts() {
	p := &b.policy
	b.refuse("fill", p.Refill != RefillInterval && !b.bad["refill"],
		"units are added at a time only with refill=interval", `add "refill=interval"`)
	if p.Undelayed > p.Queue && !b.bad["queue"] {
		b.refuseValue("undelayed", fmt.Sprint(p.Undelayed),
			fmt.Sprintf("no more than the queue of %d can be let through without waiting", p.Queue),
			fmt.Sprintf("write \"%d\"", p.Queue))
	}
	most := max(p.Level, p.LevelTo)
	if p.Start == StartLevel && most > p.Full() && !b.bad["burst"] && !b.bad["queue"] {
		b.refuseValue("start", fmt.Sprint(most), fmt.Sprintf("there is room for no more than %d", p.Full()),
			`write "full"`)
	}
}

// checkSpans reports ranges of times that begin at 0s, which is the word for none.
func (b *builder) checkSpans() {
	p := &b.policy
	check := func(name string, from, to time.Duration) {
		if from == 0 && to > 0 {
			b.refuseValue(name, "0s.."+durationText(to),
				"0s means that there is none; a range must begin above it",
				fmt.Sprintf("write \"1ns..%s\"", durationText(to)))
		}
	}
	check("ban", p.Ban, p.BanTo)
	check("ttl", p.TTL, p.TTLTo)
}

// checkGrowth reports what does not go with bans that grow.
func (b *builder) checkGrowth() {
	p := &b.policy
	_, grows := b.given["growth"]
	_, most := b.given["max"]
	if b.bad["growth"] || b.bad["max"] || b.bad["ban"] || !grows && !most {
		return
	}
	b.refuse("max", !grows, "only a ban that grows has a longest", `add "growth=2"`)
	b.refuse("growth", p.Ban == 0, "it says how many times longer each ban is", `add "ban=1s"`)
	b.refuse("growth", !most, "bans do not grow for ever", `add "max=1m"`)
	if grows && most && p.Ban > 0 && (p.BanTo > 0 || p.BanMost < p.Ban) {
		b.refuseValue("max", durationText(p.BanMost),
			"the first ban is one value, and the longest is no shorter", "")
	}
	for _, name := range []string{"ttl", "charge"} {
		b.refuse(name, true, "no client with a ban that grows is forgotten", "remove one of them")
	}
	if p.Count != CountAdmitted {
		b.refuseValue("count", string(p.Count), "with bans that grow, admitted requests are counted",
			"remove it")
	}
	if p.Align == AlignFirst && p.Weighs() {
		b.refuseValue("align", "first", "bans grow beside windows of a known phase", "remove it")
	}
}

// checkWindow reports a window that is too long, or a range of lengths where only the rate may be a range. It
// tells whether there was nothing to report.
func (b *builder) checkWindow(in family) bool {
	p := &b.policy
	switch {
	case p.LongestWindow() > longest:
		b.fail("rate", true, Problem{fmt.Sprintf("rate %q", p.Rate),
			"its window is longer than " + durationText(longest), ""})
	case p.PerTo > 0 && in&(inWindows|inLog) == 0:
		b.fail("rate", true, Problem{fmt.Sprintf("rate %q", p.Rate.String()+".."+durationText(p.PerTo)),
			"only windows and logs have a window; of a rate, the units are the range",
			fmt.Sprintf(`write "%d..%d/%s"`, p.Rate.N, p.Rate.N+1, durationText(p.Rate.Per))})
	default:
		return true
	}
	return false
}

// checkRefresh reports a refresh of a window that no request opens, and a ttl beside refresh=all, which is a
// time to live itself.
func (b *builder) checkRefresh() {
	p := &b.policy
	if !p.Refreshes() || b.bad["refresh"] {
		return
	}
	if p.Align != AlignFirst && !b.bad["align"] {
		wrong := Problem{`key "refresh"`, "a request restarts a window only if a request opens it",
			`add "align=first"`}
		if _, aligned := b.given["align"]; aligned {
			wrong.Mend = `write "align=first"`
		} else if _, phased := b.given["phase"]; phased {
			wrong.Mend = `write "align=first" for the phase`
		}
		b.fail("refresh", false, wrong)
	}
	b.refuse("ttl", p.Refresh == RefreshAll, "with refresh=all the window is the time for which an idle "+
		"client is remembered", "remove it")
}

// mostSlots is the largest number of slots of a window.
const mostSlots = 1000

// checkSlots reports slots that a window cannot be divided into.
func (b *builder) checkSlots() {
	if b.slots <= 1 || b.bad["slots"] {
		return
	}
	wrong := Problem{What: fmt.Sprintf("slots \"%d\"", b.slots)}
	switch per, tick, n := b.policy.Rate.Per, b.policy.Tick, time.Duration(b.slots); {
	case b.slots > mostSlots:
		wrong.Why = fmt.Sprintf("a window has at most %d slots", mostSlots)
	case per%n != 0:
		wrong.Why = fmt.Sprintf("a window of %s does not divide into that many slots of whole nanoseconds",
			durationText(per))
	case b.policy.PerTo > 0:
		wrong.Why = "a window that is divided into slots has one length"
	case tick > 0 && per/n%tick != 0 && tick%(per/n) != 0:
		wrong.Why = fmt.Sprintf("slots of %s and ticks of %s do not end together", per/n, tick)
	default:
		return
	}
	b.fail("slots", true, wrong)
}

// checkPhase reports a phase outside the window, or a range that runs backwards.
func (b *builder) checkPhase() {
	p := &b.policy
	text := durationText(p.PhaseFrom)
	if p.PhaseTo != p.PhaseFrom {
		text += ".." + durationText(p.PhaseTo)
	}
	wrong := Problem{What: fmt.Sprintf("phase %q", text)}
	switch per := p.Rate.Per; {
	case max(p.PhaseFrom, p.PhaseTo) >= per:
		wrong.Why = "a phase is less than the window of " + durationText(per)
		if p.PhaseTo == p.PhaseFrom {
			wrong.Mend = fmt.Sprintf("write %q", durationText(p.PhaseFrom%per))
		}
	case p.PhaseTo < p.PhaseFrom:
		wrong.Why = "a range runs from the smaller phase to the larger"
		wrong.Mend = fmt.Sprintf("write %q", durationText(p.PhaseTo)+".."+durationText(p.PhaseFrom))
	default:
		return
	}
	b.fail("phase", true, wrong)
}

// checkProducts reports products over Most that exact arithmetic would need. A fixed window and a log only
// count, so they need none.
func (b *builder) checkProducts(in family) {
	p := &b.policy
	product := func(name, declared string, n int64) {
		if b.bad[name] || b.bad["rate"] || !over(n, p.LongestWindow()) {
			return
		}
		wrong := Problem{
			What: fmt.Sprintf("%s %q", name, declared),
			Why: fmt.Sprintf("its units times a window of %s in nanoseconds are over 2^62, too much for "+
				"exact arithmetic", durationText(p.Rate.Per)),
		}
		if r := reduced(p.Rate); in&(inBuckets|inQueue) != 0 && r != p.Rate &&
			!over(max(n, p.Rate.N), r.Per) {
			wrong.Mend = fmt.Sprintf("write the same rate as %q", r)
		}
		b.fail(name, true, wrong)
	}
	if in&(inBuckets|inQueue|inCounter) != 0 {
		product("rate", p.Rate.String(), max(p.Rate.N, p.RateTo))
	}
	switch {
	case in&inBuckets != 0:
		product("burst", strconv.FormatInt(p.Burst, 10), max(p.Burst, p.BurstTo))
	case in&inQueue != 0:
		product("queue", strconv.FormatInt(p.Queue, 10), max(p.Queue+1, p.BurstTo))
	}
	if p.Refill == RefillInterval && !b.bad["burst"] {
		product("fill", strconv.FormatInt(p.Fill, 10), p.Fill+p.Burst)
	}
}

// over tells whether n windows of per are over Most nanoseconds.
func over(n int64, per time.Duration) bool {
	hi, lo := bits.Mul64(uint64(n), uint64(per))
	return hi != 0 || lo > uint64(Most)
}

// reduced returns the pair with the smallest window that has the same slope as r. It is the same limit for a
// bucket, and another limit for a window.
func reduced(r Rate) Rate {
	a, b := r.N, int64(r.Per)
	for b != 0 {
		a, b = b, a%b
	}
	return Rate{N: r.N / a, Per: r.Per / time.Duration(a)}
}

// readHold reads hold=A..B, or hold=A.. if the most is not known.
func readHold(p *Policy, value string) *Problem {
	from, to, found := strings.Cut(value, "..")
	what := fmt.Sprintf("hold %q", value)
	if !found {
		wrong := &Problem{What: what, Why: "it is the shortest and the longest time from the decision to " +
			"the completion, A..B, or A.. if the longest is not known"}
		if _, why := duration(value); why == "" {
			wrong.Mend = fmt.Sprintf("write %q", value+"..")
		}
		return wrong
	}
	var wrong *Problem
	if p.HoldLeast, wrong = readDuration("hold", from); wrong == nil && to != "" {
		p.HoldMost, wrong = readDuration("hold", to)
	}
	switch {
	case wrong != nil:
		return &Problem{What: what, Why: wrong.Why}
	case to == "":
		return nil
	case p.HoldMost < p.HoldLeast:
		return &Problem{What: what, Why: "a range runs from the smaller time to the larger"}
	case p.HoldMost == 0:
		return &Problem{What: what, Why: "no request is complete at once",
			Mend: `write the longest time that it takes, or "0s.." if that is not known`}
	}
	return nil
}

// holdText prints the range that readHold reads.
func (p Policy) holdText() string {
	text := durationText(p.HoldLeast) + ".."
	if p.HoldMost > 0 {
		text += durationText(p.HoldMost)
	}
	return text
}

// servedIn returns the time in which as many requests as may be in flight are surely served, as far as it is
// known; otherwise a second.
func servedIn(p Policy) time.Duration {
	switch {
	case p.HoldMost > 0:
		return p.HoldMost
	case p.HoldLeast > 0:
		return p.HoldLeast
	}
	return time.Second
}

// checkCharge reports keys that contradict when requests are charged.
func (b *builder) checkCharge(in family) {
	p := &b.policy
	if in&inCharged == 0 || b.bad["charge"] {
		return
	}
	if p.Charge != ChargeCompletion {
		for _, name := range []string{"reserve", "hold", "linger"} {
			b.refuse(name, true, "it is about the completion of requests, but they are charged at the "+
				"decision", `add "charge=completion" or remove it`)
		}
		return
	}
	refuse := func(name string, odd bool, why string) {
		b.refuse(name, odd, "with charge=completion "+why, "remove one of them")
	}
	refuse("count", p.Count != CountAdmitted, "only admitted requests are counted")
	refuse("start", p.Start != StartFull, "a bucket starts full")
	refuse("refresh", p.Refreshes(), "no request restarts a window")
	refuse("zone", p.Align == AlignCalendar, "windows have one length")
	refuse("rate", p.Align == AlignCalendar, "windows have one length")
	refuse("slots", b.slots > 1, "a window is counted as a whole")
	refuse("refill", p.Refill != RefillContinuous, "a bucket refills continuously")
	refuse("ban", p.Ban != 0, "there is no ban")
	refuse("ttl", p.TTL != 0, "no partition is forgotten")
	refuse("clear", true, "no count is cleared")
	refuse("rate", p.RateTo != 0, "a rate is one value")
	refuse("burst", p.BurstTo != 0, "a burst is one value")
	refuse("unit", p.Reserve > 0 && p.Unit == UnitRequest, "and a reserve costs are counted")
	if p.Reserve > p.Full() && !b.bad["reserve"] && !b.bad["rate"] && !b.bad["burst"] {
		b.fail("reserve", true, Problem{fmt.Sprintf("reserve %d", p.Reserve),
			fmt.Sprintf("it is more than the limit has, %d: nothing would be admitted", p.Full()), ""})
	}
}
