package trial

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Explain looks for limits that explain all recordings of a failing limiter together. It first tries the
// limits that explain a single failure. If none of those is the declared limit with other numbers, it also
// tries the limits that identify finds in all recordings together. think is the time for that search, which
// is most of the work. Each recording is checked only on the side (upper, lower, exact) that its scenario
// judges.
//
// With fewer than two recordings of a failing limiter, the hint is nil, unless a queue was declared as a
// bucket (see waiting). The single hints of these scenarios are removed from the scenarios returned. If no
// limit is found, those that name one stay.
func Explain(ctx context.Context, recorded []result.Scenario, think time.Duration) (*result.Hint,
	[]result.Scenario) {
	of := failing(recorded)
	if len(of) < 2 {
		return waiting(recorded), recorded
	}
	h, g := &result.Hint{}, &guesses{of: of}
	texts, work := map[string]string{}, hintWork
	try := func(all []verdict.Explanation) {
		for _, e := range all {
			if explains(e.Limit, of, &work) {
				h.Limits = append(h.Limits, e.Limit)
				texts[e.Limit.String()] = e.Text
			}
		}
	}
	g.units()
	g.ofFailures()
	if try(g.all); !slices.ContainsFunc(h.Limits, g.nearby) {
		tried := len(g.all)
		g.further(ctx, think)
		try(g.all[tried:])
		h.Limits = g.ordered(h.Limits)
	}
	for _, s := range of {
		h.From = append(h.From, s.ID)
	}
	h.Text = sentence(h.Limits, texts, len(g.all), len(of))
	if len(h.Limits) == 0 {
		if countsApart(of) {
			h.Text = apartText + h.Text
		}
	}
	out := slices.Clone(recorded)
	for i := range out {
		j := out[i].Judgement
		if j == nil || len(h.Limits) == 0 && len(j.Explanations) > 0 {
			continue
		}
		if j.Hint != "" && slices.Contains(h.From, out[i].ID) {
			without := *j
			without.Hint, without.Explanations = "", nil
			out[i].Judgement = &without
		}
	}
	return h, out
}

// apartText is what a reader should look at if a limiter admits too much, and denies nothing too early.
const apartText = "workers or replicas that count apart: each denial came after a whole quota was admitted; "

// countsApart tells whether several counters, which do not know of each other, may have made recordings. Each
// denial then comes after a whole quota was admitted within the window of one counter, wherever it began.
func countsApart(of []*result.Scenario) bool {
	own := of[0].Limit
	if p := own[0]; p.Fixed() {
		quota, window := whole(p)
		log, err := spec.Parse(fmt.Sprintf("sliding-window-log,rate=%d/%s,boundary=closed", quota, window))
		if err != nil {
			return false
		}
		own = log
	}
	work := hintWork
	return explainsSide(own, of, &work, verdict.LowerBound)
}

// waiting looks for a queue that was declared as a bucket. In that case nothing fails, but most recordings
// measure too little: answers that wait hide when their requests were decided. It returns nil if no queue
// explains all recordings.
func waiting(recorded []result.Scenario) *result.Hint {
	for _, g := range groupsOf(recorded, func(s *result.Scenario) bool { return !single(s.Timeline) }) {
		h, open := &result.Hint{}, 0
		for _, s := range g.of {
			if h.From = append(h.From, s.ID); Unresolved(s) {
				open++
			}
		}
		p := g.limit[0]
		if len(g.limit) > 1 || open < 2 || 2*open < len(g.of) || !p.Refills() || p.Queued() ||
			!g.measured.Burst.HiSet || slowToDeny(g.of) {
			continue
		}
		l, err := spec.Parse(fmt.Sprintf("leaky-bucket-queue,rate=%s,queue=%d", p.RateText(),
			int64(g.measured.Burst.Hi)-1))
		if work := hintWork; err == nil && explains(l, g.of, &work) {
			h.Limits = []spec.Limit{l}
			h.Text = sentence(h.Limits, map[string]string{l.String(): "a queue, which lets requests wait,"},
				1, len(g.of))
			return h
		}
	}
	return nil
}

// slowToDeny tells whether denials took half as long as admissions, or longer. A queue denies at once: such a
// target is slow with all.
func slowToDeny(of []*result.Scenario) bool {
	var took [3][]time.Duration // by outcome
	for _, s := range of {
		for o := range s.Timeline.All() {
			if o.Answered && !o.Origin {
				took[o.Outcome] = append(took[o.Outcome], o.FirstByte-o.Sent)
			}
		}
	}
	middle := func(d []time.Duration) time.Duration {
		slices.Sort(d)
		return d[len(d)/2]
	}
	allowed, denied := took[timeline.Allowed], took[timeline.Denied]
	return len(allowed) > 0 && len(denied) > 0 && 2*middle(denied) >= middle(allowed)
}

// hintWork is the ceiling on requests that are judged for one hint, summed over recordings and limits.
const hintWork = 1 << 21

// failing returns the scenarios of the limiter with the most failing recordings, including those that pass.
// It skips recordings that more than one policy or limit judges, those whose clients share a quota, and those
// without a denial: they met no limit. It returns nil if nothing fails.
func failing(recorded []result.Scenario) []*result.Scenario {
	of, fails, most := map[string][]*result.Scenario{}, map[string]int{}, ""
	for i := range recorded {
		s := &recorded[i]
		if j := s.Judgement; j == nil || j.Diagnosis != nil || len(s.Limit) != 1 || !single(s.Timeline) ||
			j.Verdict == verdict.Fail && !denies(s.Timeline) {
			continue
		}
		name := limiterOf(s)
		of[name] = append(of[name], s)
		if s.Judgement.Verdict == verdict.Fail {
			fails[name]++
		}
		if fails[name] > fails[most] {
			most = name
		}
	}
	return of[most] // none where nothing fails
}

// denies tells whether a recording in memory has a denial.
func denies(tl *timeline.Timeline) bool {
	denied := func(o timeline.Observation) bool { return o.Outcome == timeline.Denied }
	return slices.ContainsFunc(tl.Observations, denied)
}

// single tells whether a recording is in memory and one limit judges all of it.
func single(tl *timeline.Timeline) bool {
	if tl == nil || tl.Spool != nil || len(tl.Observations) == 0 {
		return false
	}
	t := tl.Header.Judged
	return len(t.Limits) == 1 && len(t.Limits[0].Phases)+len(t.Limits[0].Undecided) == 0 && !t.SingleUnits
}

// guesses are the limits to try as explanations, each once.
type guesses struct {
	of  []*result.Scenario
	all []verdict.Explanation
}

// add appends the limits that are new. Limits whose clock ticks go last among them, because they explain
// almost anything.
func (g *guesses) add(all ...verdict.Explanation) {
	from := len(g.all)
	for _, e := range all {
		known := func(o verdict.Explanation) bool { return o.Limit.String() == e.Limit.String() }
		if e.Limit.String() != g.of[0].Limit.String() && !slices.ContainsFunc(g.all, known) {
			g.all = append(g.all, e)
		}
	}
	slices.SortStableFunc(g.all[from:], func(a, b verdict.Explanation) int {
		return cmp.Compare(g.ticks(a.Limit), g.ticks(b.Limit))
	})
}

// ticks is 1 for a limit with a ticking clock where the declared limit has none, else 0. It is a sort key.
func (g *guesses) ticks(l spec.Limit) int {
	if l[0].TickSet && !g.of[0].Limit[0].TickSet {
		return 1
	}
	return 0
}

// ordered returns each limit once, ignoring limits that differ only in name. Queues come first, as they also
// explain how long answers wait. Limits whose clock ticks come last.
func (g *guesses) ordered(all []spec.Limit) (out []spec.Limit) {
	for _, l := range all {
		if !slices.ContainsFunc(out, func(o spec.Limit) bool { return alike(o, l) }) {
			out = append(out, l)
		}
	}
	rank := func(l spec.Limit) int {
		if l[0].Queued() {
			return -1
		}
		return g.ticks(l)
	}
	slices.SortStableFunc(out, func(a, b spec.Limit) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// alike tells whether two limits describe the same limiter: buckets with the same rate and burst under
// different names, or counters that round down and counters that do not round.
func alike(a, b spec.Limit) bool {
	if len(a) != 1 || len(b) != 1 {
		return false
	}
	p, q := a[0], b[0]
	if p.Rounding == spec.RoundDown {
		p.Rounding = spec.RoundNone
	}
	if q.Rounding == spec.RoundDown {
		q.Rounding = spec.RoundNone
	}
	if p.Bucketed() && q.Bucketed() && p.Rate.N*int64(q.Rate.Per) == q.Rate.N*int64(p.Rate.Per) {
		q.Rate, q.Algorithm = p.Rate, p.Algorithm
	}
	return p == q
}

// nearby tells whether l is the declared limit with another rate or burst. No other explanation is closer.
func (g *guesses) nearby(l spec.Limit) bool {
	p, q := g.of[0].Limit[0], l[0]
	if len(l) != 1 {
		return false
	}
	q.Rate, q.Burst = p.Rate, p.Burst
	return p == q
}

// units adds the declared limit per another unit of time, such as 10 a second for 10 a minute.
func (g *guesses) units() {
	units := map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour"}
	p := g.of[0].Limit[0]
	if units[p.Rate.Per] == "" || len(g.of[0].Limit) > 1 {
		return
	}
	for _, per := range []time.Duration{time.Second, time.Minute, time.Hour} {
		p.Rate.Per = per
		g.add(verdict.Explanation{Text: "the declared limit, but per " + units[per], Limit: spec.Limit{p}})
	}
}

// ofFailures adds the limits that explain at least one failure.
func (g *guesses) ofFailures() {
	var all []verdict.Explanation
	for _, s := range g.of {
		all = append(all, s.Judgement.Explanations...)
	}
	g.add(all...)
}

// further adds the limits that identify finds in all recordings within think, and variants that identify does
// not try.
func (g *guesses) further(ctx context.Context, think time.Duration) {
	var recordings []*timeline.Timeline
	fresh := true
	for _, s := range g.of {
		recordings = append(recordings, s.Timeline)
		fresh = fresh && s.Timeline.Header.CompleteFrom == 0
	}
	all := forms(g.of)
	for _, c := range identify.Recorded(ctx, recordings, identify.Options{Fresh: fresh, Think: think}).Found {
		all = append(all, verdict.Explanation{Text: c.Text, Limit: c.Limit})
	}
	g.add(slices.Concat(all, bans(g.of), seconds(g.of), lives(g.of),
		batches(g.of[0].Limit))...)
}

// forms returns the declared quota under each algorithm, with the readings that products are known to use.
// The most specific forms come first: a queue predicts how long each answer waits, a fixed window where it
// begins.
func forms(of []*result.Scenario) (out []verdict.Explanation) {
	quota, window := whole(of[0].Limit[0])
	add := func(text, algorithm, keys string) {
		limit, err := spec.Parse(fmt.Sprintf("%s,rate=%d/%s%s", algorithm, quota, window, keys))
		if err == nil { // else there is no such SPEC
			out = append(out, verdict.Explanation{Text: text, Limit: limit})
		}
	}
	if slices.ContainsFunc(of, func(s *result.Scenario) bool { return identify.Waits(s.Timeline) }) {
		const most = 8
		for n := range min(most, max(1, quota-1)) {
			add("a queue", "leaky-bucket-queue", fmt.Sprintf(",queue=%d,undelayed=%d", quota-1, n))
		}
	}
	add("a token bucket", "token-bucket", fmt.Sprintf(",burst=%d", quota))
	for _, refresh := range []string{"", ",refresh=admitted", ",refresh=all"} {
		add("a fixed window that the first request opens", "fixed-window", ",align=first"+refresh)
	}
	add("a sliding window log", "sliding-window-log", "")
	for _, count := range []string{"", ",count=all"} {
		for _, align := range []string{"first", "shared", "unknown"} {
			for _, rounding := range []string{"", ",rounding=up", ",rounding=nearest"} {
				add("a sliding window counter", "sliding-window-counter", ",align="+align+count+rounding)
			}
		}
	}
	add("a sliding window log", "sliding-window-log", ",count=all")
	for _, align := range []string{"clock", "shared", "unknown"} {
		add("a fixed window", "fixed-window", ",align="+align)
	}
	return out
}

// bans returns limits with a ban after a denial. The ban lasts as long as the longest Retry-After of a
// denial. It is added to the declared limit and to a bucket, windows and a log of the same quota. The result
// is nil if no denial had a Retry-After.
func bans(of []*result.Scenario) []verdict.Explanation {
	longest := time.Duration(0)
	for _, s := range of {
		for i := range s.Timeline.Observations {
			o := &s.Timeline.Observations[i]
			v, has := o.Fields.Get("Retry-After")
			if !has || o.Outcome != timeline.Denied {
				continue
			}
			if told, err := headers.ParseRetryAfter(v); err == nil {
				longest = max(longest, told.Wait(s.Timeline.Header.Started.Add(o.FirstByte)))
			}
		}
	}
	longest = longest.Round(time.Second)
	var out []verdict.Explanation
	if longest == 0 {
		return nil
	}
	quota, window := whole(of[0].Limit[0])
	rate := fmt.Sprintf("%d/%s", quota, window)
	first := "fixed-window,rate=" + rate + ",align=first"
	for _, text := range []string{of[0].Limit.String(), of[0].Limit.String() + ",align=first",
		fmt.Sprintf("token-bucket,rate=%s,burst=%d", rate, quota), first, "fixed-window,rate=" + rate,
		"sliding-window-log,rate=" + rate} {
		if l, err := spec.Parse(fmt.Sprintf("%s,ban=%s", text, longest)); err == nil { // has a ban already
			out = append(out, verdict.Explanation{Limit: l,
				Text: "a ban of " + quantity.Brief(longest) + " after a denial"})
		}
	}
	return out
}

// seconds returns limiters with the declared quota whose clock counts whole seconds, as in some products. It
// keeps those for which one clock explains each recording. It returns nil for windows of 30 s or more: there
// a second explains little.
func seconds(of []*result.Scenario) []verdict.Explanation {
	const longest = 30 * time.Second
	quota, window := whole(of[0].Limit[0])
	if window >= longest {
		return nil
	}
	return slices.DeleteFunc(identify.OfWholeSeconds(quota, window), func(e verdict.Explanation) bool {
		return slices.ContainsFunc(of, func(s *result.Scenario) bool {
			return !identify.ByOneClock(s.Timeline, e.Limit)
		})
	})
}

// whole returns how many units a policy admits at once, and the time in which that many units come back.
func whole(p spec.Policy) (quota int64, window time.Duration) {
	return p.Full(), time.Duration(float64(p.Rate.Per) * float64(p.Full()) / float64(p.Rate.N))
}

// lives returns the declared limit with a TTL: the limiter forgets a client after a silence. Each TTL lies
// between two neighbouring lengths of the silences in the recordings, so that it divides them differently.
func lives(of []*result.Scenario) (out []verdict.Explanation) {
	const most = 30
	lengths := []time.Duration{0}
	for _, s := range of {
		last := map[string]time.Duration{}
		for i := range s.Timeline.Observations {
			o := &s.Timeline.Observations[i]
			if since, seen := last[o.Partition]; seen {
				lengths = append(lengths, max(0, o.Sent-since))
			}
			last[o.Partition] = max(last[o.Partition], o.FirstByte, o.Sent)
		}
	}
	slices.Sort(lengths)
	for i := len(lengths) - 1; i > 0 && len(out) < most; i-- { // the longest TTL forgets least
		from, to := lengths[i-1], lengths[i]
		if to-from < to/20 {
			continue
		}
		ttl := to
		for _, unit := range []time.Duration{time.Hour, time.Minute, 10 * time.Second, time.Second,
			100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
			if ttl = to.Truncate(unit); ttl > from {
				break
			}
		}
		if l, err := spec.Parse(fmt.Sprintf("%s,ttl=%s", of[0].Limit, ttl)); err == nil && ttl > from {
			out = append(out, verdict.Explanation{Limit: l,
				Text: fmt.Sprintf("state that is forgotten %s to %s after the last request",
					quantity.Brief(from), quantity.Brief(to))})
		}
	}
	return out
}

// batches returns the bucket l with a refill in batches: of a full bucket, or of the units of its rate.
func batches(l spec.Limit) (out []verdict.Explanation) {
	for _, n := range []int64{l[0].Full(), l[0].Rate.N} {
		batch, err := spec.Parse(fmt.Sprintf("%s,refill=interval,fill=%d", l, n))
		if err == nil && n > 1 {
			out = append(out, verdict.Explanation{Limit: batch,
				Text: fmt.Sprintf("a bucket that gains %s at a time", quantity.Plural(int(n), "unit"))})
		}
	}
	return out
}

// explains tells whether no recording refutes l. The shortest recording is judged first. work is lowered by
// each request judged; below 0 the answer is false.
func explains(l spec.Limit, of []*result.Scenario, work *int) bool {
	return explainsSide(l, of, work, "")
}

// explainsSide does so on one side of the limit; "" is the side that each scenario judges.
func explainsSide(l spec.Limit, of []*result.Scenario, work *int, side verdict.Conformance) bool {
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(a, b *result.Scenario) int {
		return cmp.Compare(len(a.Timeline.Observations), len(b.Timeline.Observations))
	})
	for _, s := range of {
		if *work -= len(s.Timeline.Observations); *work < 0 {
			return false
		}
		t := s.Timeline.Header.Judged
		if !check.Explains(s.Timeline, l, check.Options{Shared: t.Shared,
			Conformance: cmp.Or(side, verdict.Conformance(t.Conformance), verdict.Exact)}) {
			return false
		}
	}
	return true
}

// sentence says which limits explain n recordings, or that none of the limits tried does.
func sentence(limits []spec.Limit, texts map[string]string, tried, n int) string {
	if len(limits) == 0 {
		return fmt.Sprintf("none of the %s tried explains all %s together",
			quantity.Plural(tried, "other limit"), quantity.Plural(n, "recording"))
	}
	const most = 3
	var names []string
	for _, l := range limits[1:] {
		names = append(names, l.String())
	}
	first := limits[0].String()
	text := fmt.Sprintf("%s would explain all %s (%s)", texts[first], quantity.Plural(n, "recording"), first)
	switch more := len(names); {
	case more > most:
		text += fmt.Sprintf("; so would %s and %d more", strings.Join(names[:most], "; "), more-most)
	case more > 0:
		text += "; so would " + strings.Join(names, "; ")
	}
	return text
}
