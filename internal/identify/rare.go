package identify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Rare kinds are asked only where every usual kind is refuted, so that no usual limit gets the name of a rare
// one: windows by a clock of whole seconds, buckets that are not full for a new client, limits with a ban,
// and two limits at once. They are kinds like all others from then on.

// widenAsked is how many judgements each rare kind may ask for at once.
const widenAsked = 300

// widen asks the rare kinds, the likelier first, until some explain the recording. Then it asks until a
// request is admitted again. It reports false where no kind is left, or no request is admitted.
func (x *search) widen(ctx context.Context) bool {
	if x.rare || x.queue.without != nil {
		return false
	}
	usual, gone := x.regions, x.gone // only usual kinds are told as the nearest
	x.rare = true
	for _, kinds := range []func() []*Region{x.clocks, x.starts, x.pairs, x.bans} {
		x.regions = kinds()
		for rounds := 4; rounds > 0 && len(x.regions) > 0 && len(x.likely()) == 0; rounds-- {
			x.narrow(widenAsked)
		}
		x.gone = gone
		if len(x.likely()) > 0 && x.stands() {
			return x.comeback(ctx)
		}
	}
	x.regions, x.rare = usual, len(usual) == 0
	return false
}

// stands tells whether the judge finds nothing against some kind that is left, or has no time to say so.
func (x *search) stands() bool {
	late := x.late()
	return slices.ContainsFunc(x.likely(), func(r *Region) bool {
		_, ok := x.candidate(r)
		return ok || late()
	})
}

// coarseKinds are limiters of products whose clock has whole seconds, for a quota and a window: fiber and
// Laravel; gin-rate-limit and PocketBase; the sliding windows of fiber in version 2 and version 3.
var coarseKinds = []struct{ text, spec string }{
	{"a fixed window by the first request", "fixed-window,rate=%d/%s,align=first,tick=1s"},
	{"a fixed window that every admitted request starts anew",
		"fixed-window,rate=%d/%s,align=first,refresh=admitted,tick=1s"},
	{"a sliding window counter that counts denied requests too",
		"sliding-window-counter,rate=%d/%s,align=first,count=all,rounding=down,tick=1s"},
	{"a sliding window counter that counts denied requests too and rounds up",
		"sliding-window-counter,rate=%d/%s,align=first,count=all,rounding=up,tick=1s"},
}

// byTheSecond says what clock such a limiter has.
const byTheSecond = ", by a clock of whole seconds"

// longestCoarse is the longest window by a clock of whole seconds: in longer ones a second explains little.
const longestCoarse = 30 * time.Second

// OfWholeSeconds returns the limiters of such products with a quota and a window, the window rounded to whole
// seconds down and up. There are none where the quota is below 1.
func OfWholeSeconds(quota int64, window time.Duration) (out []result.Explanation) {
	windows := []time.Duration{window.Truncate(time.Second)}
	if windows[0] != window {
		windows = append(windows, windows[0]+time.Second)
	}
	for _, k := range coarseKinds {
		for _, w := range windows {
			if limit, err := spec.Parse(fmt.Sprintf(k.spec, quota, w)); err == nil {
				out = append(out, result.Explanation{Text: k.text + byTheSecond, Limit: limit})
			}
		}
	}
	return out
}

// ByOneClock tells whether one clock of whole seconds explains a recording with a limit of OfWholeSeconds
// against which the judge finds nothing. It says yes to recordings of several clients.
func ByOneClock(tl *timeline.Timeline, limit spec.Limit) bool {
	return Asker(nil).BySeconds(tl, limit)
}

// clocks returns the limiters with a clock of whole seconds. Their quotas are numbers of requests that were
// admitted in a row. Their windows ended while requests were sent.
func (x *search) clocks() (out []*Region) {
	tl := x.shown()
	quotas := inARow(tl)
	for _, c := range coarseKinds {
		var boxes []Box
		var k *Kind
		for _, q := range quotas {
			for w := time.Second; w <= min(longestCoarse, tl.End()); w += time.Second {
				limit, err := spec.Parse(fmt.Sprintf(c.spec, q, w))
				if err != nil {
					continue
				}
				k = &Kind{Class: []spec.Algorithm{limit[0].Algorithm}, Text: c.text + byTheSecond,
					Base: limit[0], Seconds: true}
				boxes = append(boxes, Box{Q1: q, Q2: q, T1: w, T2: w})
			}
		}
		if len(boxes) > 0 {
			out = append(out, &Region{Kind: k, Live: boxes})
		}
	}
	return out
}

// coarse returns the limiters with a clock of whole seconds that explain the recording as c does, whose
// window is no whole number of seconds.
func (x *search) ofWholeSeconds(c Candidate) (out []Candidate) {
	p := c.Limit[0]
	if !p.HasWindow() || c.Most > longestCoarse || c.Lasts(time.Second) || x.rare || len(c.Limit) > 1 {
		return nil
	}
	tl, late := x.judged(), x.late()
	for _, e := range OfWholeSeconds(p.Rate.N, c.Least) {
		if late() {
			break
		}
		if x.asker.Explains(tl, e.Limit) && x.asker.BySeconds(tl, e.Limit) {
			w := e.Limit[0].Rate.Per
			out = append(out, Candidate{Text: e.Text, Class: []spec.Algorithm{e.Limit[0].Algorithm},
				Limit: e.Limit, Measured: c.Measured, Least: w, Most: w})
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

// starts returns the buckets that may not have been full for a new client, who found no more units than were
// admitted before the first denial.
func (x *search) starts() []*Region {
	if !x.o.Fresh || x.skip > 0 {
		return nil
	}
	all := x.shown().Observations
	n := slices.IndexFunc(all, func(o timeline.Observation) bool { return o.Outcome == timeline.Denied })
	k := StartKind(int64(max(n, 0)))
	return []*Region{{Kind: k, Live: []Box{x.widest(k)}}}
}

// bans returns the usual kinds with a ban after a denial.
func (x *search) bans() (out []*Region) {
	for _, k := range Simple() {
		banned := *k
		banned.Text += " that bans whom it denied"
		banned.Bans, banned.Searched = true, true
		b := x.widest(&banned)
		if b.D1, b.D2 = x.pace.every/2, longestBan(x.shown()); b.D1 <= b.D2 {
			out = append(out, &Region{Kind: &banned, Live: []Box{b}})
		}
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

// mostBefore is how many kinds the limit that denied first may have.
const mostBefore = 2

// pairs are pairs of limits. The first of each pair explained all requests before the last experiment. The
// second is of a usual kind.
func (x *search) pairs() []*Region {
	var out []*Region
	for _, first := range x.trail[:min(len(x.trail), mostBefore)] {
		for _, k := range Simple() {
			b := x.widest(k)
			if b.T1 = max(b.T1, first.Hull().T1); b.T1 >= b.T2 {
				continue
			}
			a := &Region{Kind: first.Kind, Live: slices.Clone(first.Live),
				Doubtful: slices.Clone(first.Doubtful)}
			r := &Region{Kind: k, Live: []Box{b}, Beside: a}
			a.Beside = r
			out = append(out, r)
		}
	}
	return out
}

// recall remembers what is left of the usual kinds, for the time when nothing is left: those with a policy
// that stands first. Counters of all roundings are no part of a pair.
func (x *search) recall() {
	fine := func(r *Region) bool { return r.Fine }
	if x.rare || len(x.regions) == 0 || slices.ContainsFunc(x.regions, fine) {
		return
	}
	var trail []*Region
	for _, r := range x.regions {
		if len(r.Kind.Parts) == 0 {
			trail = append(trail, &Region{Kind: r.Kind, Live: slices.Clone(r.Live),
				Doubtful: slices.Clone(r.Doubtful)})
		}
	}
	slices.SortStableFunc(trail, func(a, b *Region) int {
		return min(len(b.Live), 1) - min(len(a.Live), 1)
	})
	if len(trail) > 0 {
		x.trail = trail
	}
}
