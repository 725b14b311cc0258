package identify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
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
	for _, k := range space.Simple() {
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

// mostBefore is how many kinds the limit that denied first may have.
const mostBefore = 2

// pairs are pairs of limits. The first of each pair explained all requests before the last experiment. The
// second is of a usual kind.
func (x *search) pairs() []*space.Region {
	var out []*space.Region
	firsts := slices.DeleteFunc(slices.Clone(x.trail),
		func(r *space.Region) bool { return len(r.Kind.Parts) > 0 })
	for _, first := range firsts[:min(len(firsts), mostBefore)] {
		for _, k := range space.Simple() {
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

// A new client may have less than a whole bucket (start). That refutes each bucket that starts full. So
// buckets are looked for that start with no more units than were admitted before the first denial.

// anew tells whether the recording begins with the first request of a client.
func (x *search) anew() bool { return x.o.Fresh && x.skip == 0 }

// starts returns the buckets that may not have been full for a new client.
func (x *search) starts() []*space.Region {
	if !x.anew() {
		return nil
	}
	all := x.shown().Observations
	n := slices.IndexFunc(all, func(o timeline.Observation) bool { return o.Outcome == timeline.Denied })
	k := space.StartKind(int64(max(n, 0)))
	return []*space.Region{{Kind: k, Live: []space.Box{x.widest(k)}}}
}

// begunSo tells whether a bucket of StartKind that is left may explain all answers. A start shows soon.
// Later, one must be found that explains them: the bounds leave many, and to ask for the return of such a
// bucket may cost all the time that is left.
func (x *search) begunSo() bool {
	const soon = 20 // of so many parts of the time, one
	likely := x.likely()
	return len(likely) > 0 && (x.s.Now() < x.o.MaxTime/soon || !x.fails(x.candidate(likely[0])))
}

// startOf is a bucket of StartKind with the starts that explain the recording. It is p where none does, or
// there is no time to try them.
func (x *search) startOf(p spec.Policy) spec.Policy {
	one, left := p, []int64(nil)
	one.Start, one.LevelTo = spec.StartLevel, 0
	for least, most := p.StartLevels(); least <= min(most, p.Full()-1); least++ {
		if one.Level = least; x.overdue() {
			return p
		} else if !x.fails(identity.Candidate{Limit: spec.Limit{one}}) {
			left = append(left, least)
		}
	}
	if len(left) == 0 {
		return p
	}
	one.Level, one.LevelTo = left[0], left[len(left)-1]
	return space.Complete(one)
}

// untoldStart says that a new client may find a queue in use, where that would explain the recording too: it
// delays the first answer alone. Empty: it would not.
func (x *search) untoldStart(queue spec.Policy) string {
	queue.Start, queue.Level = spec.StartLevel, queue.Full()-1
	if !x.anew() || x.overdue() || x.fails(identity.Candidate{Limit: spec.Limit{queue}}) {
		return ""
	}
	return ", which may not be empty for a new client: only the first answer was later than it releases one"
}
