package identify

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Rare kinds are looked for only where every usual kind is refuted, so that no usual limit gets the name of a
// rare one. First comes a clock of whole seconds, then a bucket that is not full for a new client, then one
// that a timer fills. Then come two limits, of which one is found before the other denies anything, and a ban
// after a denial. Last comes a bucket that a timer fills and that is not full for a new client.

// widenAsked is how many judgements each rare kind may ask for at once.
const widenAsked = 300

// widen looks for rare kinds, one stage after the other, until one is likely. Then it asks until a request is
// admitted again. It reports false where no kind is likely, or no request is admitted. Doubtful kinds do not
// count here.
func (x *search) widen(ctx context.Context) bool {
	if x.withoutQueue != nil {
		return false
	}
	if x.stage == 0 && x.bySecond(ctx) {
		return true
	}
	gone := x.gone // only usual kinds are told as the nearest
	defer func() { x.gone = gone }()
	usable := x.o.Fresh || x.skip > 0 // others who use the quota would look like any rare kind
	for stages := x.rare(); usable && x.stage <= len(stages) && !x.ended(); {
		if x.stage++; x.stage == ofSeconds {
			continue
		}
		x.regions = stages[x.stage-ofSeconds-1]
		x.divide(widenAsked)
		if x.stage == ofStarts && !x.begunSo() {
			x.hasty = x.hasty || x.overdue()
			continue
		}
		if len(x.likely()) > 0 {
			back := x.comeback(ctx)
			x.exclude()
			return back
		}
		x.unfollowed = x.unfollowed || x.stage == ofBatches && len(x.regions) > 0
	}
	_, late := x.think(x.judgeUntil())
	x.regions, x.exhausted = nil, usable && !x.hasty && !late() && !x.ended()
	return false
}

// divide narrows rare regions until some are likely. Those with more dimensions take more rounds.
func (x *search) divide(asked int) {
	rounds := 1
	if len(x.regions) > 0 && (x.regions[0].Kind.Bans || x.regions[0].Beats != nil) {
		rounds = 4
	}
	for ; rounds > 0 && len(x.regions) > 0 && len(x.likely()) == 0; rounds-- {
		x.narrow(asked)
	}
}

// bySecond looks for a clock of whole seconds. It reports false where none explains the recording, or no
// request is admitted again.
func (x *search) bySecond(ctx context.Context) bool {
	gone := x.gone
	defer func() { x.gone = gone }()
	if x.regions = x.clocks(); len(x.regions) == 0 {
		return false
	}
	x.stage = ofSeconds
	if x.narrow(widenAsked); len(x.regions) == 0 {
		x.stage = 0
		return false
	}
	return x.comeback(ctx)
}

// The first stages. ofStarts is the first of those that rare returns.
const (
	ofSeconds = 1
	ofStarts  = 2
	ofBatches = 3
)

// unlikely tells whether only doubtful usual kinds are left: each policy that was tried is refuted.
func (x *search) unlikely() bool {
	return x.stage == 0 && x.withoutQueue == nil && len(x.regions) > 0 && len(x.likely()) == 0
}

// guess looks for round policies of unlikely kinds, with the quotas that the recording suggests.
func (x *search) guess() {
	if !x.unlikely() {
		return
	}
	_, late := x.think(x.judgeUntil())
	for _, r := range x.regions {
		r.Guess(x.shown(), inARow(x.shown()), late)
	}
}

// insteadOfUnlikely looks for rare kinds in place of unlikely usual ones, once. If it finds any, the usual
// ones go on the shelf. Else they stay.
func (x *search) insteadOfUnlikely(ctx context.Context, look func(context.Context) bool) bool {
	if x.shelvedOnce || !x.unlikely() || x.asker.Over() {
		return false
	}
	left := x.regions
	if look(ctx) {
		x.shelf, x.shelvedOnce = left, true
		return true
	}
	x.regions = left
	return false
}

// unshelve takes the unlikely kinds back where all rare ones are refuted. It reports false where there are
// none.
func (x *search) unshelve() bool {
	if len(x.regions) > 0 || len(x.shelf) == 0 {
		return false
	}
	x.regions, x.shelf, x.stage, x.confirmed = x.shelf, nil, 0, false
	return true
}

// rarelyExplained takes the unlikely kinds back, unless a likely rare kind is known to explain the whole
// recording. Without time to know that, it takes them back too.
func (x *search) rarelyExplained() {
	explains := func(r *space.Region) bool { return !x.overdue() && !x.fails(x.candidate(r)) }
	if len(x.shelf) > 0 && !slices.ContainsFunc(x.likely(), explains) {
		x.regions = nil
		x.unshelve()
	}
}

// unlikelyExplains tells whether an unlikely kind explains all answers, as the rare kind does.
func (x *search) unlikelyExplains() bool {
	y := *x
	y.regions, y.shelf, y.stage = x.shelf, nil, 0
	if len(y.regions) > 0 {
		y.exclude()
	}
	return slices.ContainsFunc(y.likely(), func(r *space.Region) bool { return !y.fails(y.candidate(r)) })
}

// inWholeSeconds looks for a clock of whole seconds where the whole recording refutes the policy that would
// be named. The only class that is left may seem likely because only bounds were asked about it.
func (x *search) inWholeSeconds(ctx context.Context) bool {
	likely := x.likely()
	if x.shelvedOnce || x.asker.Over() || x.stage > 0 || x.withoutQueue != nil || len(likely) == 0 ||
		!x.settled(likely) ||
		!x.fails(x.candidate(likely[0])) {
		return false
	}
	left := x.regions
	if x.bySecond(ctx) {
		x.shelf, x.shelvedOnce, x.confirmed = left, true, false
		return true
	}
	x.regions, x.stage = left, 0
	return false
}

// rare returns the stages after ofSeconds: for each, the regions to look for.
func (x *search) rare() [][]*space.Region {
	var bans []*space.Region
	for _, k := range space.Kinds()[:4] {
		banned := *k
		banned.Text += " that bans whom it denied"
		banned.Bans, banned.Searched = true, true
		b := x.widest(&banned)
		if b.D1, b.D2 = x.o.Every/2, longestBan(x.shown()); b.D1 <= b.D2 {
			bans = append(bans, &space.Region{Kind: &banned, Live: []space.Box{b}})
		}
	}
	all := [][]*space.Region{x.starts(), x.batches(x.anew()), x.pairs(), bans}
	if x.anew() {
		all = append(all, x.batches(false))
	}
	return all
}

// clocks returns the limiters with a clock of whole seconds. Their quotas are numbers of requests that were
// admitted in a row. Their windows ended while requests were sent.
func (x *search) clocks() (out []*space.Region) {
	const longest = 30 * time.Second
	tl := x.shown()
	for _, c := range coarseKinds {
		var boxes []space.Box
		var k *space.Kind
		for _, q := range inARow(tl) {
			for w := time.Second; w <= min(longest, tl.End()-tl.Observations[0].Sent); w += time.Second {
				limit, err := spec.Parse(fmt.Sprintf(c.spec, q, w))
				if err != nil {
					continue
				}
				k = &space.Kind{Class: []spec.Algorithm{limit[0].Algorithm}, Text: c.text + byTheSecond,
					Base: limit[0], Seconds: true}
				boxes = append(boxes, space.Box{Q1: q, Q2: q, T1: w, T2: w})
			}
		}
		if len(boxes) > 0 {
			out = append(out, &space.Region{Kind: k, Live: boxes})
		}
	}
	return out
}

// inARow returns the numbers of requests that were admitted in a row before a denial, the most frequent
// first.
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
	slices.SortStableFunc(out, func(a, b int64) int { return often[b] - often[a] })
	return out[:min(most, len(out))]
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

// banning is the reason where a ban explains the recording too.
const banning = "a ban of %s..%s after each denial explains all answers too"

// mayBan adds the same limit with a ban, where that explains the recording too, and says how to test it.
func (x *search) mayBan(res *identity.Result) bool {
	ban := x.banned(res.Found[0])
	if ban == nil {
		return false
	}
	res.Found = append(res.Found, *ban)
	res.Stopped = fmt.Sprintf(banning, quantity.Brief(ban.BanLeast), quantity.Brief(ban.BanMost))
	if phases := x.denials(0); len(phases) > 0 && !x.recorded() {
		res.Next = plan.Costs(phases)
	}
	return true
}

// banned returns c with a ban that explains the recording too. It is nil where none is found, or any would be
// too short to tell.
func (x *search) banned(c identity.Candidate) *identity.Candidate {
	const steps = 8
	least, most := x.bearable(), longestBan(x.shown())
	if x.withoutQueue != nil || c.BanMost > 0 || most <= least {
		return nil
	}
	c.Text += " that bans whom it denied"
	c.BanLeast, c.BanMost = least, most
	longer := math.Pow(float64(most)/float64(least), 1.0/steps)
	for i := 0; i <= steps && !x.overdue(); i++ {
		c.Limit = slices.Clone(c.Limit)
		c.Limit[0].Ban = time.Duration(float64(least) * math.Pow(longer, float64(i)))
		if !x.asker.Refuted(x.shown(), c.Limit, verdict.Exact, true) {
			return &c
		}
	}
	return nil
}

// mostBefore is how many kinds the limit that denied first may have.
const mostBefore = 2

// pairs are pairs of limits. The first of each pair explained all requests before the last experiment. The
// second is of a usual kind.
func (x *search) pairs() []*space.Region {
	var out []*space.Region
	firsts := slices.DeleteFunc(slices.Clone(x.trail),
		func(r *space.Region) bool { return len(r.Kind.Parts) > 0 })
	for _, first := range firsts[:min(len(firsts), mostBefore)] {
		for _, k := range space.Kinds()[:4] {
			b := x.widest(k)
			if b.T1 = max(b.T1, first.Hull().T1); b.T1 >= b.T2 {
				continue
			}
			a := &space.Region{Kind: first.Kind, Live: slices.Clone(first.Live),
				Doubtful: slices.Clone(first.Doubtful)}
			r := &space.Region{Kind: k, Live: []space.Box{b}, Beside: a}
			a.Beside = r
			out = append(out, r)
		}
	}
	return out
}

// recall remembers what is left of the usual kinds, for the time when nothing is left. If these are counters
// of all roundings alone, which are the first of no pair, it remembers what was left before, too: the denials
// of a second limit may refute the first one sooner than a wrong counter.
func (x *search) recall() {
	if x.stage > 0 || len(x.regions) == 0 {
		return
	}
	if slices.ContainsFunc(x.regions, func(r *space.Region) bool { return r.Fine }) {
		return // none of them was likely
	}
	gone := slices.DeleteFunc(slices.Clone(x.trail), func(r *space.Region) bool {
		return slices.Contains(x.kindNames(), r.Text())
	})
	x.trail = nil
	for _, r := range x.regions {
		x.trail = append(x.trail, &space.Region{Kind: r.Kind, Live: slices.Clone(r.Live),
			Doubtful: slices.Clone(r.Doubtful)})
	}
	slices.SortStableFunc(x.trail, func(a, b *space.Region) int { // kinds that are only doubtful come last
		return min(len(b.Live), 1) - min(len(a.Live), 1)
	})
	if !slices.ContainsFunc(x.regions, func(r *space.Region) bool { return len(r.Kind.Parts) == 0 }) {
		x.trail = append(x.trail, gone...)
	}
}

// with returns the algorithms of both classes, each once.
func with(class, more []spec.Algorithm) []spec.Algorithm {
	out := slices.Clone(class)
	for _, a := range more {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// both joins what is left of two limits. Its policies explain the recording together, if some do.
func (x *search) both(a, r *space.Region) identity.Candidate {
	first, second := x.candidateOfOne(a), x.candidateOfOne(r)
	out := first
	out.Text += " and " + second.Text
	out.Class = with(out.Class, second.Class)
	out.Limit, out.Beside = append(slices.Clone(first.Limit), second.Limit...), &second
	if x.overdue() || !x.fails(out) {
		return out
	}
	const firsts, parts = 4, 10 // policies of the first that are tried, and boxes of the second for each
	for _, b := range append([]space.Box{a.Kind.Conventional(a.Hull())}, a.Points(firsts, false)...) {
		known := &space.Region{Kind: a.Kind, Live: []space.Box{b}}
		rest := &space.Region{Kind: r.Kind, Beside: known, Live: r.Live, Doubtful: r.Doubtful}
		at := func(c space.Box) identity.Candidate {
			try := out
			try.Limit = spec.Limit{a.Kind.Written(b), r.Kind.Written(c)}
			return try
		}
		explains := func(c space.Box) bool { return !x.overdue() && !x.fails(at(c)) }
		if c, ok := rest.Pinned(x.shown(), parts, x.overdue, explains); ok {
			return at(c)
		}
	}
	return out
}

// Answers may state another limit beside the one that was found, with a longer window: 1000 an hour beside 10
// a second. A statement proves nothing, so that limit is reached where the budget allows.

// overrunPhase is the name of the phase that reaches such a limit.
const overrunPhase = "overrun"

// beyond is a quota that is stated beside the found limit, and the phase that reaches it.
type beyond struct {
	quota headers.Quota
	phase plan.Phase
}

// overrun sends as fast as the found limit admits, for more than a quota that is stated beside it. It reports
// false where none is stated, or the budget is too small.
func (x *search) overrun(ctx context.Context) bool {
	all := x.beyonds()
	if x.overran || x.stage > 0 || len(all) == 0 {
		return false
	}
	p := all[0].phase
	if p.Requests > x.spare() ||
		p.Rest+time.Duration(p.Requests)*(p.Every+x.trip()) > x.sendUntil()-x.s.Now() {
		return false
	}
	x.overran = true
	return x.send(ctx, p)
}

// beyonds are the larger quotas of longer windows that the first denial states, those that are reached first
// before the others.
func (x *search) beyonds() (out []beyond) {
	tl := x.tl
	i := slices.IndexFunc(tl.Observations, func(o timeline.Observation) bool {
		return o.Outcome == timeline.Denied
	})
	if i < 0 || len(x.regions) == 0 {
		return nil
	}
	r, o := x.regions[0], &tl.Observations[i]
	h, every := r.Hull(), r.Hull().T2
	if !r.Kind.Paced {
		every /= time.Duration(h.Q2)
	}
	every = max(x.every, every*51/50)
	quotas, _ := headers.Quotas(o.Fields.Get, tl.Header.Started.Add(o.FirstByte))
	for _, q := range quotas {
		known := func(b beyond) bool { return b.quota.Limit == q.Limit && b.quota.Window == q.Window }
		if !q.HasLimit || q.Limit <= h.Q2 || q.Window <= 2*r.Recovery() || slices.ContainsFunc(out, known) {
			continue
		}
		const more = 3
		out = append(out, beyond{q, plan.Phase{Name: overrunPhase, Rest: every, Every: every, Denials: 2,
			Requests: int(max(0, q.Limit-x.admitted(q.Window))) + more}})
	}
	slices.SortStableFunc(out, func(a, b beyond) int { return a.phase.Requests - b.phase.Requests })
	return out
}

// admitted counts the requests that were admitted within the last window.
func (x *search) admitted(window time.Duration) (n int64) {
	tl := x.shown()
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Allowed && o.Sent > tl.End()-window {
			n++
		}
	}
	return n
}

// alsoTold describes the limits that are stated beside c. One that was not reached comes with a SPEC to paste
// and the requests that it takes.
func (x *search) alsoTold(c identity.Candidate) (out []string) {
	if x.stage > 0 {
		return nil
	}
	for i, b := range x.beyonds() {
		said := fmt.Sprintf("%d in %s", b.quota.Limit, b.quota.Window)
		if x.overran && i == 0 {
			out = append(out, said+", and more were admitted")
			continue
		}
		p := space.Complete(spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignUnknown,
			Rate: spec.Rate{N: b.quota.Limit, Per: b.quota.Window}})
		out = append(out, fmt.Sprintf("%s, not reached (it takes %s, %s apart): %s", said,
			quantity.Plural(b.phase.Requests, "more request"), quantity.Brief(b.phase.Every),
			append(slices.Clone(c.Limit), p)))
	}
	return out
}
