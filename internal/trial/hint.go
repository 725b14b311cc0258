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

// Explain looks for limits that explain all recordings of a limiter that fails: those that explain some of
// its failures; where none of these is the declared limit with other numbers, also those that identify finds
// in all of them together, for about think, which is most of the work. Each recording is asked about each,
// on the side that its scenario judges. It returns nil where nothing fails, but for a queue that is declared
// as a bucket, or there is one recording alone, which has a hint of its own. Otherwise the hint is the only
// one: the scenarios are returned without those that do not explain the others.
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
		return h, recorded
	}
	out := slices.Clone(recorded)
	for i := range out {
		if j := out[i].Judgement; j != nil && j.Hint != "" && slices.Contains(h.From, out[i].ID) {
			without := *j
			without.Hint, without.Explanations = "", nil
			out[i].Judgement = &without
		}
	}
	return h, out
}

// waiting looks for a queue where nothing fails and most recordings of a bucket measure too little: answers
// that wait hide when their requests were decided. It returns nil where no queue makes all of them wait so.
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
			!g.measured.Burst.HiSet {
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

// hintWork is how many requests are judged for a hint, over all recordings and limits.
const hintWork = 1 << 21

// failing are the scenarios of the limiter of which most recordings contradict its limit, those that do and
// those that do not; of clients that share no quota, and whose recording one limit of one policy judges.
func failing(recorded []result.Scenario) []*result.Scenario {
	of, fails, most := map[string][]*result.Scenario{}, map[string]int{}, ""
	for i := range recorded {
		s := &recorded[i]
		if j := s.Judgement; j == nil || j.Diagnosis != nil || len(s.Limit) != 1 || !single(s.Timeline) {
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

// single tells whether a recording is in memory and one limit judges all of it.
func single(tl *timeline.Timeline) bool {
	if tl == nil || tl.Spool != nil || len(tl.Observations) == 0 {
		return false
	}
	t := tl.Header.Judged
	return len(t.Limits) == 1 && len(t.Limits[0].Phases)+len(t.Limits[0].Undecided) == 0 && !t.SingleUnits
}

// guesses are limits worth trying to explain recordings, each once.
type guesses struct {
	of  []*result.Scenario
	all []verdict.Explanation
}

// add adds those that are not known, clocks that tick last, as they explain much.
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

// ticks is 1 for a limit whose clock ticks where that of the declared one is not said to, else 0.
func (g *guesses) ticks(l spec.Limit) int {
	if l[0].TickSet && !g.of[0].Limit[0].TickSet {
		return 1
	}
	return 0
}

// ordered has each limit once, whatever its name: queues first, as they explain how long answers wait, and
// clocks that tick last.
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

// alike tells whether two limits differ by their names alone: buckets of one speed, and counters that do not
// round or round down.
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

// nearby tells whether a limit is the declared one with other numbers: nothing is nearer.
func (g *guesses) nearby(l spec.Limit) bool {
	p, q := g.of[0].Limit[0], l[0]
	if len(l) != 1 {
		return false
	}
	q.Rate, q.Burst = p.Rate, p.Burst
	return p == q
}

// ofFailures adds what explains some failure.
func (g *guesses) ofFailures() {
	var all []verdict.Explanation
	for _, s := range g.of {
		all = append(all, s.Judgement.Explanations...)
	}
	g.add(all...)
}

// further adds what identify finds in all recordings, for about think, and what it does not look for.
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

// forms are the declared quota under each algorithm, and as products are known to read it. The first say the
// most: a queue how long each answer waits, a window where it begins.
func forms(of []*result.Scenario) (out []verdict.Explanation) {
	quota, window := whole(of[0].Limit[0])
	add := func(text, algorithm, keys string) {
		limit, err := spec.Parse(fmt.Sprintf("%s,rate=%d/%s%s", algorithm, quota, window, keys))
		if err == nil { // else no SPEC says so
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

// bans are the declared limit with a ban after a denial, for as long as denials told at most, the same with
// windows by the first request, and a bucket, windows and a log of its quota. None where no denial told
// anything.
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
		if l, err := spec.Parse(fmt.Sprintf("%s,ban=%s", text, longest)); err == nil { // else it says so
			out = append(out, verdict.Explanation{Limit: l,
				Text: "a ban of " + quantity.Brief(longest) + " after a denial"})
		}
	}
	return out
}

// seconds are the limiters of the declared quota whose clock has whole seconds, as some products have one,
// where one such clock explains each recording. None for a window of half a minute or more: a second of that
// explains little.
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

// whole is how much a policy admits at once, and how long that takes to come back.
func whole(p spec.Policy) (quota int64, window time.Duration) {
	return p.Full(), time.Duration(float64(p.Rate.Per) * float64(p.Full()) / float64(p.Rate.N))
}

// lives are the declared limit where a client is forgotten early: after a silence that is longer than some
// of those in the recordings, and no longer than the next.
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
	for i := len(lengths) - 1; i > 0 && len(out) < most; i-- { // the longest forget the least
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

// batches are a bucket of l whose units come back several at a time: all of it, or those of its rate.
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

// explains tells whether no recording refutes a limit: the shortest is asked first.
func explains(l spec.Limit, of []*result.Scenario, work *int) bool {
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(a, b *result.Scenario) int {
		return cmp.Compare(len(a.Timeline.Observations), len(b.Timeline.Observations))
	})
	for _, s := range of {
		if *work -= len(s.Timeline.Observations); *work < 0 {
			return false
		}
		t := s.Timeline.Header.Judged
		j, err := check.Judge(s.Timeline, l, check.Options{SkipMeasure: true, Shared: t.Shared,
			Conformance: cmp.Or(verdict.Conformance(t.Conformance), verdict.Exact)})
		if err != nil || j.Verdict == verdict.Fail {
			return false
		}
	}
	return true
}

// sentence says what explains n recordings, of the limits that were tried.
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
