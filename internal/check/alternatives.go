package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// A family returns policies of one kind to try, the likeliest first. The first that explains everything
// stands for the family.
type family func(*inquiry) []spec.Policy

// tiers are all alternatives to a declared policy, the nearest tier first. What predicts more stands before
// what explains nearly everything: windows that may begin anywhere, and clocks that tick.
var tiers = [][]family{
	{otherUnits, roundings, numbers, starts, countings},
	{queues, form("token-bucket,burst=%d"), form("fixed-window"), form("fixed-window,align=first"),
		form("fixed-window,align=first,refresh=admitted"), form("fixed-window,align=first,refresh=all"),
		form("sliding-window-log"), counters("clock", "admitted"), counters("first", "admitted"),
		form("token-bucket,burst=%d,count=all"), form("sliding-window-log,count=all"),
		counters("clock", "all"), counters("first", "all")},
	{ban, banned("token-bucket,burst=%d"), banned("fixed-window,align=first"), banned("fixed-window"),
		banned("sliding-window-log"), shared, form("fixed-window,align=unknown"),
		counters("unknown", "admitted"), counters("unknown", "all")},
	{idle, timerFilled},
	{otherNumbers, fitted("token-bucket,burst=%d"), fitted("fixed-window"),
		fitted("fixed-window,align=first"), fitted("sliding-window-log"), fitted("sliding-window-counter"),
		fitted("fixed-window,align=first,refresh=admitted")},
	{wholeSeconds("fixed-window,align=first"), wholeSeconds("fixed-window,align=first,refresh=admitted"),
		wholeSeconds("sliding-window-counter,align=first,count=all,rounding=down"),
		wholeSeconds("sliding-window-counter,align=first,count=all,rounding=up"), slots, clocks},
}

// policy returns the policy of a SPEC without its rate, with a quota in a time and the clock of the declared
// policy. It is the zero policy, which nothing explains, where there is no such SPEC.
func (q *inquiry) policy(form string, quota int64, window time.Duration) spec.Policy {
	if strings.Contains(form, "%d") {
		form = fmt.Sprintf(form, quota)
	}
	limit, err := spec.Parse(fmt.Sprintf("%s,rate=%d/%s", form, quota, window))
	if err != nil {
		return spec.Policy{}
	}
	p := limit[0]
	if !p.TickSet {
		p.Tick, p.TickSet = q.declared.Tick, q.declared.TickSet
	}
	if p.Refills() && q.declared.Refills() && quota == q.declared.Full() {
		p.Rate = q.declared.Rate // as it is written
	}
	return p
}

// quotas returns the policies of some forms with the declared quota. Of a bucket, that is its burst in the
// time that it takes to fill, and its rate as it is written.
func (q *inquiry) quotas(forms ...string) (out []spec.Policy) {
	rates := []spec.Rate{q.declared.Rate}
	if p := q.declared; p.Refills() {
		rates = []spec.Rate{{N: p.Full(), Per: p.Recovery()}, p.Rate}
	}
	for _, form := range forms {
		for _, rate := range rates {
			out = append(out, q.policy(form, rate.N, rate.Per))
		}
	}
	return out
}

// form is the family of one form with the declared quota.
func form(words string) family { return func(q *inquiry) []spec.Policy { return q.quotas(words) } }

// counters is the family of sliding window counters with one alignment, of all roundings.
func counters(align, count string) family {
	words := "sliding-window-counter,align=" + align + ",count=" + count
	return func(q *inquiry) []spec.Policy {
		return q.quotas(words, words+",rounding=up", words+",rounding=nearest")
	}
}

// fitted is the family of one form with a quota and a time that were measured together.
func fitted(words string) family {
	return func(q *inquiry) (out []spec.Policy) {
		for _, p := range q.quotas(words) {
			if p.Algorithm != "" && len(out) == 0 {
				out = q.fitted(p)
			}
		}
		return out
	}
}

// changed is the declared policy with a change.
func (q *inquiry) changed(change func(p *spec.Policy)) spec.Policy {
	p := q.declared
	change(&p)
	return p
}

// otherUnits are the declared limit per another unit of time, such as 10 a second for 10 a minute.
func otherUnits(q *inquiry) (out []spec.Policy) {
	if _, ok := unitNames[q.declared.Rate.Per]; !ok || q.declared.Completes() {
		return nil
	}
	for _, per := range []time.Duration{time.Second, time.Minute, time.Hour} {
		out = append(out, q.changed(func(p *spec.Policy) { p.Rate.Per = per }))
	}
	return out
}

var unitNames = map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour"}

// roundings are other roundings of the weighted count. Without rounding, rounding down admits the same.
func roundings(q *inquiry) (out []spec.Policy) {
	if !q.declared.Weighs() {
		return nil
	}
	for _, r := range []spec.Rounding{spec.RoundUp, spec.RoundNearest, spec.RoundDown} {
		if r != spec.RoundDown || q.declared.Rounding != spec.RoundNone {
			out = append(out, q.changed(func(p *spec.Policy) { p.Rounding = r }))
		}
	}
	return out
}

// numbers are another burst, or another rate.
func numbers(q *inquiry) (out []spec.Policy) {
	for _, b := range bursts(q.declared, q.burst(q.declared)) {
		out = append(out, q.declared.WithFull(b))
	}
	if q.declared.Completes() {
		return out
	}
	if p, ok := withRate(q.declared, q.rate(q.declared), q.declared.Rate.Per); ok {
		out = append(out, p)
	}
	return out
}

// otherNumbers are another burst together with another rate.
func otherNumbers(q *inquiry) []spec.Policy { return q.fitted(q.declared) }

// bursts returns the least burst that was measured, and the neighbours of the declared one.
func bursts(p spec.Policy, m result.Interval) []int64 {
	out := []int64{p.Full() + 1, p.Full() - 1}
	if m.LoSet && m.HiSet && m.Lo <= m.Hi {
		out = append([]int64{int64(m.Lo)}, out...)
	}
	return slices.DeleteFunc(out, func(b int64) bool { return b < 1 || b == p.Full() })
}

// starts are other levels at which a partition starts.
func starts(q *inquiry) (out []spec.Policy) {
	for _, start := range []spec.Start{spec.StartEmpty, spec.StartUnknown} {
		out = append(out, q.changed(func(p *spec.Policy) { p.Start, p.Level, p.LevelTo = start, 0, 0 }))
	}
	return out
}

// countings count denied requests too.
func countings(q *inquiry) []spec.Policy {
	return []spec.Policy{q.changed(func(p *spec.Policy) { p.Count = spec.CountAll })}
}

// queues let as many requests wait as the burst admits at once, or one less.
func queues(q *inquiry) (out []spec.Policy) {
	for _, places := range []int64{q.declared.Full() - 1, q.declared.Full()} {
		for _, undelayed := range []int64{0, 1, 2, 3, 4, 8, places / 2} {
			if places >= 0 && undelayed <= places {
				out = append(out, q.quotas(fmt.Sprintf("leaky-bucket-queue,queue=%d,undelayed=%d", places,
					undelayed))...)
			}
		}
	}
	return out
}

// shared are windows that one timer ends for all clients, of which there are several.
func shared(q *inquiry) []spec.Policy {
	several := func(x evidence) bool { return len(x.rec.Parts) > 1 }
	if !slices.ContainsFunc(q.of, several) {
		return nil
	}
	return q.quotas("fixed-window,align=shared")
}

// ban is the declared limit with a ban that lasts as long as a denial asked the client to wait.
func ban(q *inquiry) []spec.Policy {
	return []spec.Policy{q.changed(func(p *spec.Policy) { p.Ban = q.told })}
}

// banned is the family of one form with such a ban.
func banned(words string) family {
	return func(q *inquiry) []spec.Policy {
		if q.told == 0 {
			return nil
		}
		return q.quotas(words + ",ban=" + q.told.String())
	}
}

// idle forgets a client after a silence. Each time to live lies between two neighbouring lengths of the
// silences in the recordings, so that it divides them differently.
func idle(q *inquiry) (out []spec.Policy) {
	const most = 30
	lengths := []time.Duration{0}
	for _, x := range q.of {
		for _, p := range x.rec.Parts {
			lengths = append(lengths, silencesOf(p.Obs)...)
		}
	}
	slices.Sort(lengths)
	for i := len(lengths) - 1; i > 0 && len(out) < most; i-- { // the longest forgets least
		from, to := lengths[i-1], lengths[i]
		if ttl := roundedDown(from, to); to-from >= to/20 && ttl > from {
			out = append(out, q.changed(func(p *spec.Policy) { p.TTL = ttl }))
		}
	}
	return out
}

// silencesOf returns how long nothing was under way before each observation but the first.
func silencesOf(obs []history.Observation) (out []time.Duration) {
	last := time.Duration(0)
	for i, o := range obs {
		if i > 0 {
			out = append(out, max(0, o.Sent-last))
		}
		last = max(last, o.FirstByte, o.Sent)
	}
	return out
}

// roundedDown returns the roundest time of at most `to` that is above from, or less where there is none.
func roundedDown(from, to time.Duration) (out time.Duration) {
	for _, unit := range []time.Duration{time.Hour, time.Minute, 10 * time.Second, time.Second,
		100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
		if out = to.Truncate(unit); out > from {
			break
		}
	}
	return out
}

// timerFilled are buckets of the declared quota that a timer fills with so many units at a time: those of the
// rate, or a part of the quota that fits it a whole number of times, the larger first.
func timerFilled(q *inquiry) (out []spec.Policy) {
	const most, parts = 12, 1000
	full := q.declared.Full()
	fills := []int64{q.declared.Rate.N}
	for k := int64(1); k <= min(full, parts) && len(fills) < most; k++ {
		if n := full / k; full%k == 0 && n != q.declared.Rate.N {
			fills = append(fills, n)
		}
	}
	for _, n := range fills {
		out = append(out, q.quotas(fmt.Sprintf("token-bucket,burst=%d,refill=interval,fill=%d", full, n))...)
	}
	return out
}

// wholeSeconds is the family of a limiter of some products, whose clock counts whole seconds. In windows of
// 30 s or more a second explains little.
func wholeSeconds(words string) family {
	return func(q *inquiry) []spec.Policy {
		all := q.quotas(words + ",tick=1s")
		if all[0].Rate.Per >= 30*time.Second {
			return nil
		}
		return all
	}
}

// slots are windows that are counted in so many parts.
func slots(q *inquiry) (out []spec.Policy) {
	for _, n := range []int{10, 60, 5, 4, 2} {
		out = append(out, q.quotas(fmt.Sprintf("fixed-window,align=unknown,slots=%d", n))...)
	}
	return out
}

// clocks are coarser clocks. A tick is at most a twentieth of the window, since a coarser one explains nearly
// everything.
func clocks(q *inquiry) (out []spec.Policy) {
	for tick := time.Millisecond; tick <= time.Second; tick *= 10 {
		if tick <= min(q.declared.Rate.Per, q.declared.Recovery())/20 && tick > q.declared.Tick {
			out = append(out, q.changed(func(p *spec.Policy) { p.Tick, p.TickSet = tick, true }))
		}
	}
	return out
}

// named says what is different from the declared policy, in a few words.
func (q *inquiry) named(p spec.Policy) string {
	d := q.declared
	if d.Algorithm != p.Algorithm || d.Align != p.Align || d.Refresh != p.Refresh {
		return strings.Join(append([]string{kindText(p)}, otherKeys(p, spec.Policy{Tick: d.Tick,
			Start: spec.StartFull, Count: spec.CountAdmitted, Rounding: spec.RoundNone})...), ", ")
	}
	var out []string
	if p.Full() != d.Full() {
		out = append(out, fmt.Sprintf("a %s of %d", burstWord(p), p.Full()))
	}
	unit := unitNames[p.Rate.Per]
	switch {
	case p.Rate == d.Rate, p.InFlight():
	case p.Rate.N == d.Rate.N && unit != "" && unitNames[d.Rate.Per] != "" && p.Full() == d.Full():
		out = append(out, "the declared limit, but per "+unit)
	case p.HasWindow() && p.Rate.Per != d.Rate.Per:
		out = append(out, fmt.Sprintf("a window of %s", p.Rate.Per))
	case p.Refills():
		out = append(out, fmt.Sprintf("a rate of %s", p.Rate))
	}
	if out = append(out, otherKeys(p, d)...); len(out) == 0 {
		return kindText(p)
	}
	return strings.Join(out, " and ")
}

// otherKeys names what differs from d beside numbers and windows.
func otherKeys(p, d spec.Policy) (out []string) {
	add := func(differs bool, format string, x ...any) {
		if differs {
			out = append(out, fmt.Sprintf(format, x...))
		}
	}
	rounded := map[spec.Rounding]string{spec.RoundUp: "up", spec.RoundDown: "down",
		spec.RoundNearest: "to the nearest"}
	add(p.Rounding != d.Rounding, "a weighted count that is rounded %s", rounded[p.Rounding])
	add(p.Start != d.Start && p.Start == spec.StartEmpty, "a start with no quota")
	add(p.Start != d.Start && p.Start == spec.StartUnknown, "a start with an unknown part of the quota")
	add(p.Count != d.Count, "counting denied requests too")
	add(p.Ban != d.Ban, "a ban of %s after a denial", p.Ban)
	add(p.TTL != d.TTL, "state that is forgotten %s after the last request", p.TTL)
	add(p.Fill != d.Fill, "a timer that adds %s at a time", text.Plural(int(p.Fill), "unit"))
	add(p.Tick != d.Tick, "a clock that ticks every %s", p.Tick)
	return out
}

// kindText names an algorithm with its numbers and its windows.
func kindText(p spec.Policy) string {
	switch {
	case p.Bucketed():
		return fmt.Sprintf("a token bucket of %s, burst %d", p.Rate, p.Full())
	case p.Queued():
		return fmt.Sprintf("a queue of %d at %s", p.Queue, p.Rate)
	case p.Weighs() && p.Align == spec.AlignFirst:
		return fmt.Sprintf("a sliding window counter of %s opened by the first request", p.Rate)
	case p.Weighs():
		return fmt.Sprintf("a sliding window counter of %s", p.Rate)
	case !p.Fixed():
		return fmt.Sprintf("a sliding window log of %s", p.Rate)
	}
	how := map[spec.Align]string{spec.AlignClock: "aligned to the clock", spec.AlignFirst: "opened by the " +
		"first request", spec.AlignShared: "that one timer ends for all clients",
		spec.AlignUnknown: "of unknown alignment"}[p.Align]
	switch p.Refresh {
	case spec.RefreshAdmitted:
		how = "that every admitted request restarts"
	case spec.RefreshAll:
		how = "that every request restarts, denied or not"
	}
	return fmt.Sprintf("a fixed window of %s %s", p.Rate, how)
}

func burstWord(p spec.Policy) string {
	if p.InFlight() {
		return "limit"
	}
	if p.HasWindow() {
		return "quota"
	}
	return "burst"
}
