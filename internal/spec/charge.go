package spec

import (
	"fmt"
	"strings"
	"time"
)

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
			if _, given := b.given[name]; given {
				b.fail(name, false, Problem{fmt.Sprintf("key %q", name), "it is about the completion of " +
					"requests, but they are charged at the decision", `add "charge=completion" or remove it`})
			}
		}
		return
	}
	refuse := func(name string, odd bool, why string) {
		if _, given := b.given[name]; given && odd && !b.bad[name] {
			b.fail(name, false, Problem{fmt.Sprintf("key %q", name), "with charge=completion " + why,
				"remove one of them"})
		}
	}
	refuse("count", p.Count != CountAdmitted, "only admitted requests are counted")
	refuse("start", p.Start != StartFull, "a bucket starts full")
	refuse("refresh", p.Refreshes(), "no request restarts a window")
	refuse("zone", p.Align == AlignCalendar, "windows have one length")
	refuse("rate", p.Align == AlignCalendar, "windows have one length")
	refuse("slots", p.Slots > 1, "a window is counted as a whole")
	refuse("refill", p.Refill != RefillContinuous, "a bucket refills continuously")
	refuse("ban", p.Ban != 0, "there is no ban")
	refuse("ttl", p.TTL != 0, "no partition is forgotten")
	refuse("rate", p.RateTo != 0, "a rate is one value")
	refuse("burst", p.BurstTo != 0, "a burst is one value")
	refuse("unit", p.Reserve > 0 && p.Unit == UnitRequest, "and a reserve costs are counted")
	if p.Reserve > p.Full() && !b.bad["reserve"] && !b.bad["rate"] && !b.bad["burst"] {
		b.fail("reserve", true, Problem{fmt.Sprintf("reserve %d", p.Reserve),
			fmt.Sprintf("it is more than the limit has, %d: nothing would be admitted", p.Full()), ""})
	}
}
