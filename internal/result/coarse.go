package result

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Coarse says what limits how closely the recording of s measures its limit, and what would mend that. Both
// are empty if only the number of requests limits it, or if the recording is not at hand. Requests that time
// out tell nothing. A limit gives back units while a request is under way, while a clock stands still, and
// between two steps of a log:
//
//	sent             answered
//	|-- decided here, --|   and the limit gives back rate x wait units meanwhile: so many bursts look alike
func (s *Scenario) Coarse() (why, mend string) {
	if s.Timeline == nil || len(s.Limit) == 0 {
		return "", ""
	}
	wait, denied := s.usualWait()
	rate, tick := s.refill()
	less := "accept a coarser measurement (--set expect.resolution.burst=10%)"
	if s.Header.Judged.Burst >= 0.1 { // it is accepted already
		less = "let other scenarios measure it (--set expect.resolution.burst=none)"
	}
	back := func(d time.Duration) string { return givenBack(rate, d) }
	late, all := s.timedOut()
	switch cost := s.leastCost(); {
	case cost > 1:
		return s.dear(cost, less)
	case late*scarce > all:
		return fmt.Sprintf("%d of %s got no answer in time", late, text.Plural(all, "request")),
			"find out why the target does not answer: it may serve few clients at a time"
	case !denied && s.Target != "" && rate*max(wait, tick).Seconds() >= noticed:
		why = "an answer took " + back(wait)
		if tick > wait {
			why = "a clock ticks every " + back(tick)
		}
		return "nothing was denied, and " + why, "check whether this route is limited; if so, " +
			nearer + ", or with more clients"
	case rate*tick.Seconds() >= noticed:
		return "a clock ticks every " + back(tick), "say if the clock is finer (tick=10us), or " + less
	case rate*wait.Seconds() < noticed && denied && s.Target != "" && slices.ContainsFunc(s.Limit, locksOut):
		return "a client that keeps asking stays locked out, so its answers reveal little",
			"run more scenarios with it, or accept a coarser measurement (--set expect.resolution.rate=50%)"
	case rate*wait.Seconds() < noticed:
		return "", ""
	case s.Target == "":
		return "a decision is known to within " + back(wait), recordedFiner
	case rate*wait.Seconds() < 1:
		return "an answer took " + back(wait), "repeat it (--retries 3), " + nearer + ", or " + less
	default: // each recording of it shows the same
		return "an answer took " + back(wait), nearer + ", run more scenarios with it, or " + less
	}
}

// leastCost returns the least cost of an admitted request, 0 without one in memory. The cost of a denied
// request may not be told.
func (s *Scenario) leastCost() (least int64) {
	for i := range s.Timeline.Observations {
		o := &s.Timeline.Observations[i]
		if o.Outcome == timeline.Allowed && (least == 0 || o.Cost < least) {
			least = o.Cost
		}
	}
	return least
}

// scarce is one in how many requests may time out without a word of it.
const scarce = 20

// timedOut returns how many requests timed out, and how many there are in memory.
func (s *Scenario) timedOut() (late, all int) {
	for i := range s.Timeline.Observations {
		if s.Timeline.Observations[i].Error == "timeout" {
			late++
		}
	}
	return late, len(s.Timeline.Observations)
}

// locksOut tells whether denied requests delay the next admission of p.
func locksOut(p spec.Policy) bool { return p.Count == spec.CountAll || p.Ban > 0 }

// Slow returns the remedy if the target is too far away: a client that sends one request after the other is
// hardly denied, as the limit gives back a unit during an answer. Or even the fastest answer takes long.
// Empty: neither is so.
func (s *Scenario) Slow() string {
	if s.Timeline == nil || s.Target == "" {
		return ""
	}
	wait, _ := s.usualWait()
	rate, _ := s.refill()
	if rate*wait.Seconds() >= 1 {
		return nearer + ": an answer took " + givenBack(rate, wait)
	}
	if s.Far() {
		return nearer + ": no answer took less than " + text.Brief(s.fastest())
	}
	return ""
}

// Far tells whether each answer took so long that the target is far away.
func (s *Scenario) Far() bool { return s.Timeline != nil && s.fastest() >= farFrom }

// delayed is how many times as long as a denial an admission takes, from which the target delays it.
const delayed = 10

// Delays returns the remedy if the target lets admitted requests wait, as a queue does, and no limit has a
// queue. Empty: it does not, or it denies nothing at once.
func (s *Scenario) Delays() string {
	admitted, denied := s.Latency.Allowed.Service, s.Latency.Denied.Service
	at := slices.IndexFunc(s.Limit, spec.Policy.Bucketed)
	if s.Target == "" || at < 0 || slices.ContainsFunc(s.Limit, spec.Policy.Queued) ||
		admitted.Count == 0 || denied.Count == 0 || admitted.P50 < delayed*denied.P50 ||
		s.Limit[at].Rate.PerSecond()*admitted.P50.Seconds() < 1 {
		return ""
	}
	p := s.Limit[at]
	return fmt.Sprintf("the target seems to delay what it admits (admissions took %s, denials %s): declare "+
		"that (leaky-bucket-queue,rate=%s,queue=%d), or turn it off (nodelay of nginx)",
		text.Brief(admitted.P50), text.Brief(denied.P50), p.RateText(), p.Full()-1)
}

// farFrom is the time of the fastest answer from which a target is far away. The first requests are sent as
// long before a boundary.
const farFrom = 25 * time.Millisecond

// fastest returns how long the fastest answer took; 0: there is none, or the recording is not in memory.
func (s *Scenario) fastest() (d time.Duration) {
	for i := range s.Timeline.Observations {
		if o := &s.Timeline.Observations[i]; o.Answered && (d == 0 || o.FirstByte-o.Sent < d) {
			d = o.FirstByte - o.Sent
		}
	}
	return d
}

// refill returns the highest rate of the buckets and queues, per second, and their coarsest clock.
func (s *Scenario) refill() (rate float64, tick time.Duration) {
	for _, p := range s.Limit {
		if p.Refills() {
			step := p.Tick
			if !p.TickSet {
				step = max(step, s.Timeline.Header.Tick)
			}
			rate, tick = max(rate, p.Rate.PerSecond()), max(tick, step)
		}
	}
	return rate, tick
}

// givenBack says how many units a rate gives back within d.
func givenBack(rate float64, d time.Duration) string {
	units := text.PerSecond(rate*d.Seconds(), false) + " units"
	if units == "1 units" {
		units = "1 unit"
	}
	return fmt.Sprintf("%s, in which the limit gives back %s", text.Brief(d), units)
}

const (
	nearer        = "send from nearer to the target"
	recordedFiner = "record or log in finer steps, or accept a coarser measurement " +
		"(--burst-resolution 0.1, --rate-resolution 0.1)"
)

// noticed is how many units a limit must give back for two bursts to look alike.
const noticed = 0.5

// usualWait returns the median time from sending to answer, and whether there was a denial.
func (s *Scenario) usualWait() (wait time.Duration, denied bool) {
	tl := s.Timeline
	most := int64(0)
	if s.Excerpt != "" || tl.Spool != nil { // the median of the most frequent outcome
		l := &s.Latency
		for _, d := range []*timeline.Latencies{&l.Allowed, &l.Denied, &l.Unknown} {
			if d.Service.Count > most {
				wait, most = d.Service.P50, d.Service.Count
			}
		}
		return wait, s.Counts.Denied > 0
	}
	all := make([]time.Duration, 0, len(tl.Observations))
	for i := range tl.Observations {
		o := &tl.Observations[i]
		denied = denied || o.Outcome == timeline.Denied
		if o.Answered {
			all = append(all, o.FirstByte-o.Sent)
		}
	}
	if len(all) == 0 {
		return 0, denied
	}
	slices.Sort(all)
	return all[len(all)/2], denied
}
