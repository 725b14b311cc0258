package identify

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// A limit that forgets silent clients (ttl) admits its whole quota after a silence. No experiment narrows
// that time, so it is no kind to look for. It is told where nothing else explains a recording, or only a rare
// kind does.

// forgetsEarly is the reason where a limit that forgets explains the recording.
const forgetsEarly = "a client that is silent for %s..%s has the whole quota again, and a limit that " +
	"forgets so early (ttl) explains all answers"

// forgetsAtTimes is the reason where only one that forgets sometimes sooner does.
const forgetsAtTimes = "a limit explains all answers that forgets idle clients, but not always after the " +
	"same time: %s"

// mayForget adds the limits that forget, where one explains all and no usual limit does.
func (x *search) mayForget(res *identity.Result) {
	usable := (x.o.Fresh || x.skip > 0) && x.withoutQueue == nil && !x.recorded()
	if !usable || x.stage == 0 && len(res.Found) > 0 {
		return
	}
	if found, from, to := x.forgetting(); len(found) > 0 {
		res.Verdict, res.Found = identity.Open, append(res.Found, found...)
		res.Stopped = fmt.Sprintf(forgetsEarly, quantity.Brief(from), quantity.Brief(to))
	} else if l := x.erratic(); l != nil {
		res.Verdict = identity.Open
		res.Stopped = fmt.Sprintf(forgetsAtTimes, l)
	} else {
		return
	}
	res.Gone, res.Sharper, res.Also = nil, nil, nil
}

// forgetting returns the limits that forget and explain the recording, and between which silences they do.
func (x *search) forgetting() (found []identity.Candidate, from, to time.Duration) {
	const tries = 8
	tl, tried := x.shown(), 0
	all := silences(tl)
	for i, silence := range all {
		quota, full := quotaOf(refute.Anew(tl, silence))
		if i == 0 || !full {
			continue
		}
		if tried++; tried > tries || x.overdue() {
			return nil, 0, 0
		}
		if found := x.forgetful(refute.Anew(tl, silence), quota, all[i-1], silence); len(found) > 0 {
			return found, all[i-1], silence
		}
	}
	return nil, 0, 0
}

// erratic returns a usual limit that forgets clients after one silence or another, if one explains the
// recording; else nil. Traefik is one, whose clock has whole seconds.
func (x *search) erratic() spec.Limit {
	const kinds, short = 2, 5
	brief := func(s time.Duration) bool { return s < short*x.o.Every }
	all := slices.DeleteFunc(silences(x.shown()), brief)
	for _, r := range x.trail[:min(kinds, len(x.trail))] {
		l := slices.Clone(x.candidateOfOne(r).Limit)
		explains := func(from, to int) bool { // to the bounds alone, silences of a range are not alike
			l[0].TTL, l[0].TTLTo = all[from], all[to]+time.Millisecond
			return !x.overdue() && !x.asker.Refuted(x.shown(), l, verdict.Exact, false)
		}
		first, last := 0, len(all)-1
		if len(all) == 0 || len(r.Kind.Parts) > 0 || r.Kind.Base.Refresh != "" || !explains(first, last) {
			continue
		}
		for first < last && explains(first+1, last) {
			first++
		}
		for first < last && explains(first, last-1) {
			last--
		}
		const unit = time.Millisecond
		l[0].TTL, l[0].TTLTo = all[first].Round(unit), all[last].Round(unit)+unit
		return l
	}
	return nil
}

// forgetful returns the limits of at most quota units that forget and explain the recording. They forget
// after a silence between from and to. read is the recording with a new client after each silence of that
// length.
func (x *search) forgetful(read *timeline.Timeline, quota int64,
	from, to time.Duration) (out []identity.Candidate) {
	const asked = 300
	for _, k := range space.Simple() {
		b := x.widest(k)
		b.Q2 = quota
		r := &space.Region{Kind: k, Live: []space.Box{b}, Over: x.overdue}
		if r.Narrow(read, asked); r.Empty() {
			continue
		}
		forgets := *k
		forgets.Base.TTL = space.Roundest(from+time.Millisecond, to)
		r.Kind = &forgets
		if c := x.candidateOfOne(r); !x.fails(c) {
			out = append(out, c)
		}
	}
	return out
}

// silences are the times from the last answer to the next request, ascending. Times that differ by less than
// a hundredth are left out.
func silences(tl *timeline.Timeline) []time.Duration {
	var all []time.Duration
	end := time.Duration(0)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if i > 0 && o.Sent > end {
			all = append(all, o.Sent-end)
		}
		end = max(end, o.Sent, o.FirstByte)
	}
	slices.Sort(all)
	return slices.CompactFunc(all, func(b, a time.Duration) bool { return b < a*101/100 })
}

// quotaOf returns how many requests of the first client were admitted before its first denial. It also tells
// whether every other client that was denied had as many admitted.
func quotaOf(tl *timeline.Timeline) (quota int64, full bool) {
	quota, full = -1, true
	admitted, denied := map[string]int64{}, map[string]bool{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if denied[o.Partition] {
			continue
		}
		if o.Outcome != timeline.Denied {
			admitted[o.Partition]++
			continue
		}
		if denied[o.Partition] = true; quota < 0 {
			quota = admitted[o.Partition]
		}
		full = full && admitted[o.Partition] >= quota
	}
	return quota, full
}

// inSlotsOf is a window in so many slots.
func inSlotsOf(rate spec.Rate, slots int64) identity.Candidate {
	return onlyOne("a window in slots", spec.Limit{space.Complete(spec.Policy{Algorithm: spec.FixedWindow,
		Rate: rate, Slots: slots, Align: spec.AlignUnknown})})
}

// onlyOne is what is told of a limit of one policy, of which nothing else was tried.
func onlyOne(text string, l spec.Limit) identity.Candidate {
	p, quota := l[0], float64(l[0].Full())
	c := identity.Candidate{Text: text, Class: []spec.Algorithm{p.Algorithm}, Limit: l}
	c.Least, c.Most = p.Rate.Per, p.Rate.Per
	c.Measured.Burst = verdict.Interval{Lo: quota, Hi: quota, LoSet: true, HiSet: true}
	if !p.HasWindow() {
		c.Least, c.Most = p.Rate.Per/time.Duration(p.Rate.N), p.Rate.Per/time.Duration(p.Rate.N)
		rate := float64(p.Rate.N) / p.Rate.Per.Seconds()
		c.Measured.Rate = verdict.Interval{Lo: rate, Hi: rate, LoSet: true, HiSet: true}
	}
	return c
}

// unsoughtKinds are limits that no experiment looks for, for a quota and a window of whole seconds.
var unsoughtKinds = []struct{ text, spec string }{
	{"a sliding window log", "sliding-window-log,rate=%d/%s,tick=1s"},
	{"a sliding window log that counts denied requests too",
		"sliding-window-log,rate=%d/%s,count=all,tick=1s"},
	{"a token bucket", "token-bucket,rate=%[1]d/%[2]s,burst=%[1]d,tick=1s"},
	{"a fixed window that every request starts anew",
		"fixed-window,rate=%d/%s,align=first,refresh=all,tick=1s"},
	{"a sliding window counter", "sliding-window-counter,rate=%d/%s,align=unknown,tick=1s"},
	{"a sliding window counter that the first request opens",
		"sliding-window-counter,rate=%d/%s,align=first,tick=1s"},
}

// tickingKinds are limits whose clock ticks, but not in seconds, for a quota and a window.
var tickingKinds = []struct {
	text, spec string
	tick       time.Duration
}{
	{"a sliding window log", "sliding-window-log,rate=%d/%s,tick=%s", 10 * time.Millisecond},
	{"a sliding window log", "sliding-window-log,rate=%d/%s,tick=%s", 100 * time.Millisecond},
	{"a token bucket", "token-bucket,rate=%[1]d/%[2]s,burst=%[1]d,tick=%[3]s", 100 * time.Millisecond},
	{"a fixed window", "fixed-window,rate=%d/%s,align=first,tick=%s", 100 * time.Millisecond},
}

// unsoughtToo is why nothing is called unknown.
const unsoughtToo = "a limit explains all answers that is not looked for: %s"

// mayBeUnsought tells of limits that are not looked for, where two limits or a ban are left: those explain
// much.
func (x *search) mayBeUnsought(res *identity.Result) {
	if x.stage <= ofBatches || len(x.regions) == 0 || x.withoutQueue != nil || x.recorded() {
		return
	}
	if found := x.unsought(); len(found) > 0 {
		res.Verdict, res.Found = identity.Open, append(found, res.Found...)
		res.Stopped = fmt.Sprintf(unsoughtToo, found[0].Text)
		res.Gone, res.Sharper, res.Also = nil, nil, nil
	}
}

// unsought returns the limits that explain the recording, of those that are not looked for.
func (x *search) unsought() (out []identity.Candidate) {
	tl := x.judged()
	add := func(c identity.Candidate) {
		if !x.asker.Refuted(tl, c.Limit, verdict.Exact, false) && x.asker.Explains(tl, c.Limit) &&
			(c.Limit[0].Tick != time.Second || x.asker.BySeconds(tl, c.Limit)) {
			out = append(out, c)
		}
	}
	for _, q := range seenQuotas(tl) {
		shortest, longest := x.asLogs(tl, q)
		for _, c := range ticking(q, shortest, longest) {
			if !x.overdue() {
				add(c)
			}
		}
		for slots := int64(2); slots <= mostSlots; slots++ {
			for _, w := range roundWindows(shortest, longest*time.Duration(slots)/time.Duration(slots-1)) {
				if w%time.Duration(slots) == 0 && !x.overdue() {
					add(inSlotsOf(spec.Rate{N: q, Per: w}, slots))
				}
			}
		}
		for _, k := range unsoughtKinds {
			most := min(2*longest+time.Second, longestCoarse)
			for w := time.Second; w <= most && !x.overdue(); w += time.Second {
				if limit, err := spec.Parse(fmt.Sprintf(k.spec, q, w)); err == nil {
					add(onlyOne(k.text+byTheSecond, limit))
				}
			}
		}
	}
	return out
}

// seenQuotas are the quotas that a recording suggests. What was admitted at first may be rare later.
func seenQuotas(tl *timeline.Timeline) []int64 {
	out := inARow(tl)
	if q, _ := quotaOf(tl); q > 0 && !slices.Contains(out, q) {
		out = append(out, q)
	}
	return out
}

// ticking are the limits of tickingKinds for a quota, between the windows of two logs.
func ticking(quota int64, shortest, longest time.Duration) (out []identity.Candidate) {
	for _, k := range tickingKinds {
		for _, w := range roundWindows(shortest-k.tick, 2*longest+k.tick) {
			limit, err := spec.Parse(fmt.Sprintf(k.spec, quota, w, k.tick))
			if err == nil && w >= coarsest*k.tick {
				out = append(out, onlyOne(k.text+" whose clock ticks every "+k.tick.String(), limit))
			}
		}
	}
	return out
}

const (
	// coarsest is how many ticks a window has at least, as a coarser clock explains too much.
	coarsest = 5
	// mostSlots is into how many slots a window may be divided that is told.
	mostSlots = 6
	// longestCoarse is how long one by a clock of whole seconds may be.
	longestCoarse = 30 * time.Second
)

// asLogs returns the shortest log of a quota that denies what was denied, and the longest that admits what
// was admitted.
func (x *search) asLogs(tl *timeline.Timeline, quota int64) (shortest, longest time.Duration) {
	end := max(2, tl.End())
	log := func(side verdict.Conformance) time.Duration {
		w := sort.Search(int(end/time.Millisecond), func(i int) bool {
			l := spec.Limit{{Algorithm: spec.SlidingWindowLog, Burst: quota,
				Rate: spec.Rate{N: quota, Per: time.Duration(i+1) * time.Millisecond}}}
			return x.asker.Refuted(tl, l, side, false) == (side == verdict.UpperBound)
		})
		return time.Duration(w+1) * time.Millisecond
	}
	return log(verdict.LowerBound), log(verdict.UpperBound)
}

// roundWindows are the windows of an interval that people write.
func roundWindows(from, to time.Duration) (out []time.Duration) {
	for w := time.Duration(0); w <= min(to, time.Hour); {
		if w >= from && w > 0 {
			out = append(out, w)
		}
		switch {
		case w < 5*time.Second:
			w += 100 * time.Millisecond
		case w < 30*time.Second:
			w += time.Second
		default:
			w += 10 * time.Second
		}
	}
	return out
}

// Three limits or more are not looked for. Of each kind and each round window, the smallest quota that admits
// what was admitted denies most. If all these limits together leave a denial unexplained, so do any three.

// tightest are, for the usual kinds and round windows, the limits that admit what was admitted with the
// smallest quota.
func (x *search) tightest() (out spec.Limit) {
	tl := x.judged()
	most := tl.Counts().Allowed
	windows := append(roundWindows(5*x.o.Every, tl.End()), 2*tl.End()+time.Second) // the last one is not over
	for _, kind := range append(space.Simple(), space.CounterKind(spec.AlignUnknown, spec.CountAdmitted),
		space.CounterKind(spec.AlignFirst, spec.CountAdmitted)) {
		k := *kind.Each()[0]
		if k.Base.Align == spec.AlignUnknown {
			k.Base.Align = spec.AlignClock
		}
		for _, w := range windows {
			at := func(q int64) spec.Policy {
				b := space.Box{Q1: q, Q2: q, T1: w, T2: w}
				if k.Paced {
					b.T1, b.T2 = w/time.Duration(q), w/time.Duration(q)
				}
				return space.Complete(k.Policy(b))
			}
			q := 1 + sort.Search(int(most), func(i int) bool {
				return !x.asker.Refuted(tl, spec.Limit{at(int64(i + 1))}, verdict.UpperBound, false)
			})
			if q <= int(most) && !x.overdue() {
				out = append(out, at(int64(q)))
			}
		}
	}
	return out
}

// severalMore is why nothing is called unknown where several limits may explain all answers.
const severalMore = "three limits at once or more may explain all answers, and are not looked for"

// mayBeSeveral tells whether limits of round windows explain all denials together.
func (x *search) mayBeSeveral() bool {
	all := x.tightest()
	return len(all) > 0 && !x.asker.Refuted(x.judged(), all, verdict.LowerBound, false)
}
