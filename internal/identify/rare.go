package identify

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Rare kinds are rows of one table. They are asked only where every usual kind is refuted, so that no usual
// limit gets the name of a rare one. A row makes SPECs of numbers that people write. A replay of the
// recording ranks them, and the judge tells which stand.

// rarities is a search for rare kinds.
type rarities struct{ *search }

// row is a kind of the table.
type row struct {
	text string
	// form is a SPEC: %[1]d stands for the quota, %[2]s for the rate, and %[3]s for one of third.
	form  string
	third []string
	// paced tells that rates are those of buckets, else that they are quotas in a window. whole: windows are
	// whole seconds.
	paced, whole bool
}

// simpleForms are the SPECs of the simple kinds that a replay can follow.
var simpleForms = []row{
	{text: "a fixed window that the first request opens", form: "fixed-window,rate=%[2]s,align=first"},
	{text: "a sliding window log", form: "sliding-window-log,rate=%[2]s"},
	{text: "a token bucket", form: "token-bucket,rate=%[2]s,burst=%[1]d", paced: true},
}

// table returns the rows that suit the recording.
func (x rarities) table() (out []row) {
	for _, c := range coarseKinds {
		out = append(out, row{text: c.text + aSecond, form: c.form, whole: true})
	}
	all := x.shown().Observations
	if n := slices.IndexFunc(all, denied); x.o.Fresh && x.skip == 0 && n >= 0 {
		out = append(out, row{text: "a token bucket that is not full for a new client", paced: true,
			form:  "token-bucket,rate=%[2]s,burst=%[1]d,start=%[3]s",
			third: []string{strconv.Itoa(n), strconv.Itoa(max(0, n-1)), "empty"}})
	}
	bans := lengths(10*time.Millisecond, longestBan(x.shown()))
	for _, f := range simpleForms {
		out = append(out, row{text: f.text + " that bans whom it denied", form: f.form + ",ban=%[3]s",
			third: bans, paced: f.paced},
			row{text: f.text + " that forgets silent clients", form: f.form + ",ttl=%[3]s",
				third: lengths(100*time.Millisecond, x.tl.End()), paced: f.paced})
	}
	return append(out, row{text: "a token bucket that a timer fills", paced: true,
		form:  "token-bucket,rate=%[2]s,burst=%[1]d,refill=interval,fill=%[3]s",
		third: []string{"2", "3", "4", "5", "10"}},
		row{text: "a window in slots", form: "fixed-window,rate=%[2]s,slots=%[3]s,align=first",
			third: []string{"2", "3", "4", "5", "6", "10"}})
}

// anywhere is a row that is asked last, as batches that come at unknown times explain much.
var anywhere = row{text: "a token bucket that a timer fills at any time", paced: true,
	form:  "token-bucket,rate=%[2]s,burst=%[1]d,refill=interval,start=unknown,fill=%[3]s",
	third: []string{"1", "2", "5"}}

func denied(o timeline.Observation) bool { return o.Outcome == timeline.Denied }

// lengths are times from least to most that people write, the roundest first.
func lengths(least, most time.Duration) (out []string) {
	var all []time.Duration
	for unit := time.Millisecond; unit <= most; unit *= 10 {
		for _, n := range []time.Duration{10, 20, 30, 50, 15, 25, 40, 60, 12, 75, 90} {
			all = append(all, n*unit)
		}
	}
	for _, t := range all {
		if t >= least && t <= most {
			out = append(out, t.String())
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(a) - len(b) })
	return out
}

// specs returns the SPECs of a row for some quotas.
func (w row) specs(quotas []int64, end time.Duration) (out []spec.Limit) {
	third := w.third
	if third == nil {
		third = []string{""}
	}
	if w.paced { // some came back meanwhile
		for _, q := range quotas {
			quotas = append(quotas, q-1, q-2)
		}
		slices.Sort(quotas)
		quotas = slices.Compact(quotas)
	}
	for _, q := range quotas {
		for _, rate := range w.rates(q, end) {
			for _, t := range third {
				args := []any{q, rate, t}
				if w.third == nil {
					args = args[:2]
				}
				if l, err := spec.Parse(fmt.Sprintf(w.form, args...)); err == nil {
					out = append(out, l)
				}
			}
		}
	}
	return out
}

// rates are the rates of a quota: windows of up to twice the length of the recording, or whole units a second
// or a minute.
func (w row) rates(q int64, end time.Duration) (out []string) {
	switch {
	case w.whole:
		for t := time.Second; t <= min(longestCoarse, end); t += time.Second {
			out = append(out, fmt.Sprintf("%d/%s", q, t))
		}
	case w.paced:
		for _, per := range []string{"s", "m"} {
			for n := 1; n < 100; n++ {
				if n <= 20 || n%5 == 0 {
					out = append(out, fmt.Sprintf("%d/%s", n, per), fmt.Sprintf("%d/%s", 10*n, per))
				}
			}
		}
	default:
		for _, t := range lengths(shortest, 2*end) {
			out = append(out, fmt.Sprintf("%d/%s", q, t))
		}
	}
	return out
}

// missed counts the outcomes of a recording that a limit would not have produced, not even a moment earlier
// or later; at most most+1. With a clock of whole seconds it is the fewest for all places of the seconds.
// first is the first such denial; -1 for none.
func missed(tl *timeline.Timeline, l spec.Limit, most int) (least, first int) {
	const places = 16
	exact, clock := slices.Clone(l), func(at time.Duration) time.Duration { return at }
	if exact[0].Tick == 0 {
		return replayed(tl, l, most, clock)
	}
	exact[0].Tick, exact[0].TickSet = 0, false
	least = most + 1
	for place := range time.Duration(places) {
		clock = func(at time.Duration) time.Duration {
			return (at + place*time.Second/places).Truncate(time.Second)
		}
		if n, i := replayed(tl, exact, least, clock); n < least {
			least, first = n, i
		}
	}
	return least, first
}

// replayed counts what a limit missed of a recording if its clock shows what clock says; at most most+1.
func replayed(tl *timeline.Timeline, l spec.Limit, most int, clock func(time.Duration) time.Duration) (n,
	first int) {
	limiter, err := reference.NewLimit(l)
	if err != nil {
		return most + 1, -1
	}
	m, at := &Model{kind: &Kind{Base: l[0]}, Limiter: limiter, State: limiter.Init()}, time.Duration(0)
	first = -1
	for i := range tl.Observations {
		o, half := &tl.Observations[i], time.Duration(0)
		if o.Answered {
			half = (o.FirstByte - o.Sent) / 2
		}
		before := m.Missed
		at = m.follow(max(at, clock(o.Sent+half)), half+time.Millisecond, o.Outcome)
		if m.Missed > before && o.Outcome == timeline.Denied && first < 0 {
			first = i
		}
		if m.Missed > most {
			break
		}
	}
	return m.Missed, first
}

// ranked returns the SPECs that miss hardly any outcome, the best first.
func ranked(tl *timeline.Timeline, all []spec.Limit) []spec.Limit {
	const most = 24
	least, by := 1+len(tl.Observations)/20, map[int][]spec.Limit{}
	for _, l := range all {
		if n, _ := missed(tl, l, least+1); n <= least+1 {
			least = min(least, n)
			by[n] = append(by[n], l)
		}
	}
	out := slices.Concat(by[least], by[least+1])
	return out[:min(most, len(out))]
}

// standingOf returns what stands of a row: the first of its SPECs that the judge does not refute, with the
// ends of all of them; nil for none.
func (x rarities) standingOf(w row) *Candidate {
	all := x.stand(ranked(x.judged(), w.specs(inARow(x.judged()), x.judged().End())))
	if len(all) == 0 {
		return nil
	}
	c := spanned(all)
	c.Text = w.text
	if w.paced {
		c.Class = BucketClass
	}
	return &c
}

// stand returns the limits that the judge does not refute.
func (x rarities) stand(all []spec.Limit) []spec.Limit {
	tl, late := x.judged(), x.late()
	return slices.DeleteFunc(slices.Clone(all), func(l spec.Limit) bool {
		return late() || l[0].Tick > 0 && !x.asker.BySeconds(tl, l) || !x.asker.Explains(tl, l)
	})
}

// again returns what stands of rare kinds that stood before.
func (x rarities) again(before []Candidate) (out []Candidate) {
	for _, c := range before {
		all := x.stand(c.all)
		switch {
		case len(all) == 0:
		case c.Beside != nil:
			out = append(out, x.pair(c, *c.Beside, all))
		default:
			now := spanned(all)
			now.Text, now.Class = c.Text, c.Class
			out = append(out, now)
		}
	}
	return out
}

// spanned is the first of some limits of one kind, with the ends of all of them.
func spanned(all []spec.Limit) Candidate {
	p := all[0][0]
	c := Candidate{all: all, Limit: all[0], Class: one(p.Algorithm), Round: true,
		Least: p.Rate.Per, Most: p.Rate.Per,
		BanLeast: p.Ban, BanMost: p.Ban}
	c.Measured.Burst = result.Interval{Lo: math.Inf(1), LoSet: true, HiSet: true}
	c.Measured.Rate = c.Measured.Burst
	for _, l := range all {
		p := l[0]
		rate, full := float64(p.Rate.N)/p.Rate.Per.Seconds(), float64(p.Full())
		burst, r := &c.Measured.Burst, &c.Measured.Rate
		burst.Lo, burst.Hi = min(burst.Lo, full), max(burst.Hi, full)
		r.Lo, r.Hi = min(r.Lo, rate), max(r.Hi, rate)
		c.Least, c.Most = min(c.Least, p.Rate.Per), max(c.Most, p.Rate.Per)
		c.BanLeast, c.BanMost = min(c.BanLeast, p.Ban), max(c.BanMost, p.Ban)
	}
	return c
}

// widen asks the rare kinds. It reports whether one may be confirmed by a further experiment.
func (x rarities) widen(ctx context.Context) bool {
	if len(x.regions) > 0 && !x.unlikely() || x.queue.without != nil || x.recorded() {
		return false
	}
	if !x.widened {
		x.widened = true
		return x.whole(ctx)
	}
	if x.rare = x.again(x.rare); len(x.rare) == 0 {
		for _, w := range x.table() {
			if c := x.standingOf(w); c != nil {
				x.rare = append(x.rare, *c)
			}
		}
		x.rare = append(x.rare, x.pairs()...)
		if len(x.rare) == 0 {
			if c := x.standingOf(anywhere); c != nil {
				x.rare = append(x.rare, *c)
			}
		}
	}
	if len(x.rare) > 0 { // usual kinds are only doubtful
		x.regions = nil
	}
	slices.SortStableFunc(x.rare, func(a, b Candidate) int { return odd(a) - odd(b) })
	made, most := x.made[rareName], confirming
	if len(x.rare) > 1 || len(x.rare) == 1 && !x.rare[0].narrow() {
		most = len(usualRests)
	}
	switch {
	case len(x.rare) == 0:
		return x.whole(ctx)
	case made >= most:
		return false
	}
	return x.confirm(ctx, made)
}

// confirm asks for the quota of a rare kind after a silence. Every other time it first uses the quota up
// without a denial, which may begin a ban.
func (x rarities) confirm(ctx context.Context, made int) bool {
	l := x.rare[made%len(x.rare)].Limit
	rest, fills := l[0].Recovery()*usualRests[made]/100, l[0].Rate.Per*time.Duration(l[0].Full())
	if x.s.Now()+rest >= x.sendUntil() {
		return false
	}
	x.made[rareName]++
	volley := Phase{Name: "quota-after-" + Brief(rest), Rest: rest, Requests: 2*int(l[0].Full()) + 3,
		Every: x.pace.every, Denials: 2}
	if made%2 == 0 {
		return x.send(ctx, volley)
	}
	quiet, soon := volley, fills/time.Duration(l[0].Rate.N)*usualRests[made]/200
	quiet.Requests, quiet.Denials, quiet.Rest = int(l[0].Full()), 1, l[0].Recovery()*21/20
	volley.Rest, volley.Denials = max(soon, x.pace.every), 1
	return x.send(ctx, quiet) && x.send(ctx, volley)
}

// whole asks for the whole quota after ever longer silences. It reports false after some.
func (x rarities) whole(ctx context.Context) bool {
	const name, most = "whole", 4
	rest := max(min(2*x.s.Now(), (x.sendUntil()-x.s.Now())/4), time.Second)
	if x.made[name]++; x.made[name] > most {
		return false
	}
	return x.send(ctx, Phase{Name: "quota-after-" + Brief(rest), Rest: rest, Requests: x.spare() / 3,
		Every: x.pace.every, Denials: 3})
}

// rareName is the name of the experiments that confirm a rare kind in search.made.
const rareName = "rare"

// mostBefore is how many kinds the limit that denied first may have.
const mostBefore = 2

// pairs returns what stands of pairs of limits. The first of each pair explained all requests until it was
// overrun. The quota of the second is what was admitted within its window before the first denial that the
// first limit does not explain.
func (x rarities) pairs() (out []Candidate) {
	for _, r := range x.trail[:min(len(x.trail), mostBefore)] {
		for _, b := range append([]Box{r.Hull().Inner()}, r.Points(mostBefore, false)...) {
			if found := x.pairsOf(r, r.Kind.Each()[0].Rounded(b)); len(found) > 0 {
				out = append(out, found...)
				break
			}
		}
	}
	return out
}

// pairsOf returns what stands of pairs with a policy of r.
func (x rarities) pairsOf(r *Region, first spec.Policy) (out []Candidate) {
	tl, late := x.judged(), x.late()
	_, i := missed(tl, spec.Limit{first}, len(tl.Observations))
	if i < 0 || first.Align == spec.AlignUnknown {
		return nil
	}
	for _, f := range simpleForms {
		var all []spec.Limit
		for _, l := range f.beside(tl, i, x.secondWindows(first.Recovery())) {
			if both := (spec.Limit{first, l}); !late() && x.asker.Explains(tl, both) {
				all = append(all, both)
			}
		}
		if len(all) > 0 {
			out = append(out, x.pair(answer(x).measured(r), Candidate{Text: f.text}, all))
		}
	}
	return out
}

// pair is what stands of two limits, the likeliest first.
func (x rarities) pair(out, second Candidate, all []spec.Limit) Candidate {
	told := func(l spec.Limit) bool {
		return slices.ContainsFunc(toldQuotas(x.tl), func(q headers.Quota) bool {
			return q.Window == l[1].Rate.Per && q.Limit == l[1].Full()
		})
	}
	slices.SortStableFunc(all, func(a, b spec.Limit) int {
		if told(a) != told(b) {
			return map[bool]int{true: -1, false: 1}[told(a)]
		}
		return 0
	})
	var seconds []spec.Limit
	for _, l := range all {
		seconds = append(seconds, l[1:])
	}
	text := second.Text
	second = spanned(seconds)
	second.Text, second.Stated = text, told(all[0]) && second.Most > second.Least
	if out.Beside == nil {
		out.Text += " and " + text
	}
	out.Limit, out.Beside, out.all = all[0], &second, all
	out.Class = with(out.Class, second.Class)
	return out
}

// secondWindows are the windows of a second limit: those that answers state, and those that people write.
func (x rarities) secondWindows(longer time.Duration) (out []time.Duration) {
	for _, q := range toldQuotas(x.tl) {
		out = append(out, q.Window)
	}
	const s, m = time.Second, time.Minute
	out = append(out, m, time.Hour, 10*s, s, 24*time.Hour, 30*s, 5*m, 10*m, 15*m, 30*m, 2*s, 5*s, 15*s,
		20*s, 2*m)
	return slices.DeleteFunc(out, func(w time.Duration) bool { return w <= longer })
}

// beside returns policies of some windows that may have denied request i first.
func (w row) beside(tl *timeline.Timeline, i int, windows []time.Duration) (out []spec.Policy) {
	for _, window := range windows {
		from, all, within := tl.Observations[i].Sent-window, 0, 0
		for _, o := range tl.Observations[:i] {
			if o.Outcome == timeline.Allowed {
				if all++; o.FirstByte >= from {
					within++
				}
			}
		}
		for _, q := range slices.Compact([]int{within, within - 1, all}) {
			l, err := spec.Parse(fmt.Sprintf(w.form, q, fmt.Sprintf("%d/%s", q, window)))
			if err == nil {
				out = append(out, l[0])
			}
		}
	}
	return out
}

// coarseKinds are limiters of products whose clock has whole seconds, for a quota and a window: fiber and
// Laravel; gin-rate-limit and PocketBase; the sliding windows of fiber in version 2 and version 3.
var coarseKinds = []row{
	{text: "a fixed window by the first request", form: "fixed-window,rate=%[2]s,align=first,tick=1s"},
	{text: "a fixed window that every admitted request starts anew",
		form: "fixed-window,rate=%[2]s,align=first,refresh=admitted,tick=1s"},
	{text: "a sliding window counter that counts denied requests too",
		form: "sliding-window-counter,rate=%[2]s,align=first,count=all,rounding=down,tick=1s"},
	{text: "a sliding window counter that counts denied requests too and rounds up",
		form: "sliding-window-counter,rate=%[2]s,align=first,count=all,rounding=up,tick=1s"},
}

// aSecond says what clock such a limiter has.
const aSecond = ", by a clock of whole seconds"

// longestCoarse is the longest window by a clock of whole seconds: in longer ones a second explains little.
const longestCoarse = 30 * time.Second

// OfWholeSeconds returns the limiters of such products with a quota that may explain windows of least to
// most. Theirs last up to a second less than they say. There are none where the quota is below 1.
func OfWholeSeconds(quota int64, least, most time.Duration) (out []result.Explanation) {
	for _, k := range coarseKinds {
		for w := max(least.Truncate(time.Second), time.Second); w < most+time.Second; w += time.Second {
			limit, err := spec.Parse(fmt.Sprintf(k.form, quota, fmt.Sprintf("%d/%s", quota, w)))
			if err == nil {
				out = append(out, result.Explanation{Text: k.text + aSecond, Limit: limit})
			}
		}
	}
	return out
}

// byTheSecond returns the limiters with a clock of whole seconds that explain the recording as what is left
// of a kind of windows does; of windows above 10 s none, as few of those refute what a second shortens.
func (x answer) byTheSecond(r *Region) []result.Explanation {
	h, tl, late := r.Hull(), x.judged(), x.late()
	if !r.Kind.Base.HasWindow() || h.Q1 < h.Q2 || h.T2 > longestCoarse/3 || x.queue.without != nil {
		return nil
	}
	return slices.DeleteFunc(OfWholeSeconds(h.Q1, h.T1, h.T2), func(e result.Explanation) bool {
		return late() || !x.asker.Explains(tl, e.Limit) || !x.asker.BySeconds(tl, e.Limit)
	})
}

// inARow returns the numbers of requests that were admitted in a row before a denial, the most frequent
// first, and the largest.
func inARow(tl *timeline.Timeline) (out []int64) {
	const most = 3
	often, n := map[int64]int{}, int64(0)
	for i := range tl.Observations {
		switch o := &tl.Observations[i]; {
		case i > 0 && o.Sent-tl.Observations[i-1].Sent > time.Second/2:
			n = 0
		case o.Outcome == timeline.Denied && n > 0:
			often[n]++
			n = 0
		}
		if tl.Observations[i].Outcome == timeline.Allowed {
			n++
		}
	}
	out = slices.Sorted(maps.Keys(often))
	if len(out) == 0 {
		return nil
	}
	largest := out[len(out)-1] // a whole quota
	slices.SortStableFunc(out, func(a, b int64) int { return often[b] - often[a] })
	if out = out[:min(most, len(out))]; !slices.Contains(out, largest) {
		out = append(out, largest)
	}
	return out
}

// longestBan is the longest ban that a recording leaves room for. A ban begins with the first request after
// an admission that was denied or not answered. It ends before the next admission.
func longestBan(tl *timeline.Timeline) time.Duration {
	type ban struct{ from, seen time.Duration }
	out, on := tl.End(), map[string]*ban{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		b := on[o.Partition]
		switch {
		case o.Outcome != timeline.Allowed && b == nil:
			on[o.Partition] = &ban{o.Sent, max(o.Sent, o.FirstByte)}
		case o.Outcome == timeline.Allowed && b != nil && o.Sent >= b.seen:
			out = min(out, o.FirstByte-b.from)
			delete(on, o.Partition)
		}
	}
	return out
}
