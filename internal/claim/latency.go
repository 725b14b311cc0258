package claim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// waits is how often the recorder may keep a request waiting within its service time: once before it writes,
// as the clock is read first, and once before it reads the answer. These waits are not recorded. A recorder
// that sends late is assumed to read as late.
const waits = 2

// judgeLatency judges a quantile of the service time (FirstByte - Sent) by nearest rank, exactly: no
// histogram rounds it. It does not fail if there are so few answers that less than one is expected above the
// quantile, which is then only their largest. It does not fail either for what the way there and back may
// take (way).
func judgeLatency(r *Recording, b LatencyBound) result.Claim {
	name := quantileName(b.Quantile)
	kind := result.ClaimLatency
	if b.SLO {
		kind = result.ClaimSLO
	}
	id := kind.ID(b.Outcome.String() + "-" + name)
	if !(b.Quantile > 0 && b.Quantile <= 1) {
		return result.Claim{ID: id, Reason: result.SetupFailed,
			Text: "a quantile must be above 0 and at most 1"}
	}
	obs := Only(r.Target, func(o *timeline.Observation) bool { return o.Outcome == b.Outcome })
	chances := result.Of(len(obs), b.Outcome.String()+" answers that were timed")
	if len(obs) == 0 {
		return result.Settle(id, "no answer was "+b.Outcome.String(), chances)
	}
	slices.SortStableFunc(obs,
		func(x, y *timeline.Observation) int { return cmp.Compare(service(x), service(y)) })
	rank := nearestRank(b.Quantile, len(obs))
	seen := service(obs[rank-1])
	text := fmt.Sprintf("%s of the service time of %s is %s, bound %s", name,
		text.Plural(len(obs), b.Outcome.String()+" answer"), Millis(seen), Millis(b.Max))
	if seen <= b.Max {
		return result.Settle(id, text, chances)
	}
	if why := r.overloaded(); why != "" {
		return result.Claim{ID: id, Reason: result.ScheduleMissed, Text: text + "; but " + why +
			", so rlcheck may have taken the time"}
	}
	way := r.way()
	if seen <= b.Max+way {
		return TooFew(id, fmt.Sprintf("%s; but the fastest of all answers took %s, which may "+
			"be the round trip", text, Millis(way)))
	}
	if late, _ := r.lateP99(); seen <= b.Max+way+waits*late {
		return result.Claim{ID: id, Reason: result.ScheduleMissed,
			Text: fmt.Sprintf("%s; but one request in a hundred was sent %s late or more, and may wait "+
				"as long again before it is written and before its answer is read, so rlcheck may have "+
				"taken the time",
				text, Millis(late))}
	}
	away := timeline.Apart(append(r.stalls(), r.standstills(b.Max+way, b.Outcome)...))
	if over := slowerThan(b.Max+way, obs, away); over <= len(obs)-rank {
		return result.Claim{ID: id, Reason: result.ScheduleMissed,
			Text: fmt.Sprintf("%s; but without the times in which requests were sent late, the "+
				"recorder stood still, or nothing was answered, only %d are over it, so a busy machine "+
				"may have taken the time", text, over)}
	}
	if b.Quantile < 1 && rank == len(obs) {
		return TooFew(id,
			fmt.Sprintf("%s; but there are too few answers for a %s below their maximum", text, name))
	}
	first := slices.IndexFunc(obs, func(o *timeline.Observation) bool { return service(o) > b.Max })
	over := obs[first:]
	slices.Reverse(over)
	slowest := over[0]
	return result.Settle(id, text, chances, Witness(result.Finding{Kind: result.Latency,
		Seen:  int64(seen),
		Bound: int64(b.Max),
		Text: fmt.Sprintf("%s: %d of %d took longer than %s, at most %d may; the slowest is #%d with %s",
			text, len(over), len(obs),
			Millis(b.Max), len(obs)-rank, slowest.Seq, Millis(service(slowest)))},
		over...))
}

// way returns the service time of the fastest answer. Each answer may take as long on its way there and back,
// which the target cannot shorten. r.Target is not empty.
func (r *Recording) way() time.Duration {
	fastest := service(r.Target[0])
	for _, o := range r.Target[1:] {
		fastest = min(fastest, service(o))
	}
	return fastest
}

// standstills returns times in which the target answered nothing, whatever the requests were. For a fifth of
// most or longer there was no answer at all. Then answers came at once to requests sent over some time. A
// standstill lasts until everything that came meanwhile is answered. A process that does not run, or only now
// and then, looks so, while a slow limiter lets each request wait. A target that hangs looks so too, so there
// are standstills only if the machine of the recorder was busy.
//
//	sent       | | | | | |
//	answered                ||||||
//	           |-- nothing -|
//
// The wait of an answer with another outcome than `of` is part of the standstill that it meets. That leaves
// out queues, which let admitted requests wait. Alone it is no standstill: a target that is slow with every
// request is slow.
func (r *Recording) standstills(most time.Duration, of timeline.Outcome) []timeline.Stall {
	heard := slices.SortedFunc(slices.Values(r.Target),
		func(a, b *timeline.Observation) int { return cmp.Compare(a.FirstByte, b.FirstByte) })
	if !r.busy() {
		return nil
	}
	var stood []timeline.Stall
	width := most / 5
	for i, o := range heard {
		if i == 0 || o.FirstByte-heard[i-1].FirstByte <= width || !atOnce(heard[i:], width) {
			continue
		}
		s := timeline.Stall{From: heard[i-1].FirstByte, To: o.FirstByte}
		for _, x := range heard[i:] {
			if x.Sent < o.FirstByte {
				s.To = x.FirstByte
			}
		}
		stood = append(stood, s)
	}
	if slices.ContainsFunc(r.Limit, spec.Policy.Queued) {
		return stood
	}
	out := slices.Clone(stood)
	for _, o := range heard {
		meets := func(s timeline.Stall) bool { return s.From <= o.FirstByte && o.Sent <= s.To }
		if o.Outcome != of && service(o) > most && slices.ContainsFunc(stood, meets) {
			out = append(out, timeline.Stall{From: o.Sent, To: o.FirstByte})
		}
	}
	return out
}

// busy tells whether the machine of the recorder, which may also be the target's, did other work. It stood
// still, or sent one request in a hundred over a millisecond late, ten times as late as on a quiet machine.
func (r *Recording) busy() bool {
	late, _ := r.lateP99()
	return late > time.Millisecond || len(r.Header.Stalls) > 0
}

// atOnce tells whether the answers within width of the first belong to requests that were sent over at least
// twice as long. heard is not empty and ascends by FirstByte.
func atOnce(heard []*timeline.Observation, width time.Duration) bool {
	first, last := heard[0].Sent, heard[0].Sent
	for _, o := range heard {
		if o.FirstByte > heard[0].FirstByte+width {
			break
		}
		first, last = min(first, o.Sent), max(last, o.Sent)
	}
	return last-first >= 2*width
}

// slowerThan counts the observations whose service time is over most even without the times in which the
// recorder or the target was away. A recorder that cannot send what is due cannot read answers either, and a
// target on the same machine may not run.
func slowerThan(most time.Duration, obs []*timeline.Observation, away []timeline.Stall) int {
	n := 0
	for _, o := range obs {
		took := service(o)
		first, _ := slices.BinarySearchFunc(away, o.Sent,
			func(s timeline.Stall, t time.Duration) int { return cmp.Compare(s.To, t) })
		for _, s := range away[first:] {
			if s.From >= o.FirstByte {
				break
			}
			took -= min(o.FirstByte, s.To) - max(o.Sent, s.From)
		}
		if took > most {
			n++
		}
	}
	return n
}

func service(o *timeline.Observation) time.Duration { return o.FirstByte - o.Sent }

// nearestRank returns the rank, from 1 to n, of the quantile q of n values: the smallest k with k >= q*n. A
// float64 holds the decimal q only nearly, so a product within a billionth of a whole number counts as whole.
func nearestRank(q float64, n int) int {
	k := math.Ceil(q*float64(n) - 1e-9*float64(n))
	return min(max(int(k), 1), n)
}

// quantileName prints 0.99 as p99, 0.999 as p99.9 and 1 as max.
func quantileName(q float64) string {
	if q == 1 {
		return "max"
	}
	return "p" + strconv.FormatFloat(math.Round(q*1e8)/1e6, 'f', -1, 64)
}

// suspectLateness is how late the 99th percentile of requests may be sent before the recorder counts as
// overloaded, if a scenario does not say.
const suspectLateness = 5 * time.Millisecond

// latest is how late the 99th percentile may be before the recorder itself is suspect.
func (r *Recording) latest() time.Duration { return cmp.Or(r.LateP99, suspectLateness) }

// lateness returns how late against the plan o was sent; 0: it was early.
func lateness(o *timeline.Observation) time.Duration { return max(0, o.Sent-o.At) }

// lateP99 returns how late the 99th percentile of all requests was sent, and the request at that rank; nil:
// there are no requests. A request that follows an answer is planned when it is due, so it counts like the
// others.
func (r *Recording) lateP99() (time.Duration, *timeline.Observation) {
	if len(r.Observations) == 0 {
		return 0, nil
	}
	obs := make([]*timeline.Observation, len(r.Observations))
	for i := range obs {
		obs[i] = &r.Observations[i]
	}
	slices.SortStableFunc(obs,
		func(a, b *timeline.Observation) int { return cmp.Compare(lateness(a), lateness(b)) })
	at := obs[nearestRank(0.99, len(obs))-1]
	return lateness(at), at
}

// stalls returns the times in which the recorder did not run, or a due request was not yet sent.
func (r *Recording) stalls() []timeline.Stall {
	all := slices.Clone(r.Header.Stalls)
	for i := range r.Observations {
		if o := &r.Observations[i]; lateness(o) > 0 {
			all = append(all, timeline.Stall{From: o.At, To: o.Sent})
		}
	}
	return all
}

// judgeSchedule judges that the plan was kept. A missed plan is never the target's fault, so it is never a
// Fail.
func judgeSchedule(r *Recording) result.Claim {
	late, at := r.lateP99()
	of := ""
	if at != nil {
		of = fmt.Sprintf(" (#%d)", at.Seq)
	}
	return Schedule(&r.Header, len(r.Observations), late, of, r.LateP99)
}

// Schedule returns the claim that a plan was kept. n requests were sent, the 99th percentile of them so late.
// of says which request that is.
func Schedule(h *timeline.Header, n int, late time.Duration, of string, bound time.Duration) result.Claim {
	c := result.Claim{ID: string(result.ClaimSchedule)}
	switch {
	case h.Interrupted:
		c.Reason = result.Interrupted
		c.Text = fmt.Sprintf("the recording stopped after %s", text.Plural(n, "request"))
	case h.Unsent > 0:
		c.Reason = result.ScheduleMissed
		c.Text = fmt.Sprintf("%d of %s could not be sent", h.Unsent,
			text.Plural(h.Unsent+n, "planned request"))
	case late > bound:
		c.Reason = result.ScheduleMissed
		c.Text = fmt.Sprintf("the 99th percentile of %s was sent %s late%s, over %s",
			text.Plural(n, "request"), Millis(late), of, Millis(bound))
	default:
		c = result.Settle(c.ID, fmt.Sprintf("the 99th percentile of %s was sent %s late, at most %s is "+
			"allowed", text.Plural(n, "request"), Millis(late), Millis(bound)),
			result.Of(n, "requests whose sending was timed"))
	}
	c.Kind = result.ClaimSchedule
	return c
}

// overloaded says why the recorder itself is suspect: it could not send all requests, or sent them late.
// Empty: it is not.
func (r *Recording) overloaded() string {
	if n := r.Header.Unsent; n > 0 {
		return text.Plural(n, "planned request") + " could not be sent"
	}
	if late, _ := r.lateP99(); late > r.latest() {
		return "the 99th percentile of requests was sent " + Millis(late) + " late"
	}
	return ""
}
