package identify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/identify/clients"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Result is what was found out about a limit.
type Result struct {
	Verdict Verdict
	// Found are the classes that are left. Identified: one. Open: several, or one that is too wide to name.
	Found    []Candidate
	Timeline *timeline.Timeline
	// Before counts the requests that were sent before Timeline begins. They showed that the quota was in
	// use.
	Before int
	// Used is the time since the first request, including that for judging and for Before.
	Used time.Duration
	// Recorded tells that nothing was sent: Timeline is a recording that was there before.
	Recorded bool
	// Next is, where Verdict is Open, the experiment that would tell most, and what it costs; may be empty.
	Next string
	// Nearer tells that only a client that is nearer to the target would learn more.
	Nearer bool
	// Sharper is what would narrow the identified time to 2 %; nil where it is that narrow.
	Sharper *Sharper
	// Assuming is what the name rests on; nil: it holds on any path to the target.
	Assuming *Steady
	// Also are limits that answers state beside the identified one.
	Also []string
	// Stopped says why the verdict is Open; empty otherwise.
	Stopped string
	// Trip is the median time from a request to its answer.
	Trip time.Duration
	// Gone are the nearest kinds, where nothing is left.
	Gone []Candidate
	// Clients is what tells clients apart; nil where nobody asked.
	Clients *clients.Found
}

// Sent counts the requests of Timeline, Before and Clients.
func (r *Result) Sent() int {
	n := r.Before + len(r.Timeline.Observations)
	if r.Clients != nil {
		n += len(r.Clients.Timeline.Observations)
	}
	return n
}

// bound is a number of requests within a time. A slower limit above it would not have been seen.
type bound struct {
	requests int64
	within   time.Duration
}

// unseen returns the most requests that one client had admitted, and the time from its first request until
// then. A limit of more in that time was never reached.
func (r *Result) unseen() (out bound) {
	type client struct {
		admitted    int64
		first, last time.Duration
	}
	all := map[string]client{}
	for i := range r.Timeline.Observations {
		o := &r.Timeline.Observations[i]
		c, has := all[o.Partition]
		if !has {
			c.first = o.Sent
		}
		if c.last = max(c.last, o.Sent, o.FirstByte); o.Outcome == timeline.Allowed {
			c.admitted++
		}
		if all[o.Partition] = c; c.admitted > out.requests {
			out = bound{c.admitted, c.last - c.first}
		}
	}
	return out
}

// sentence describes the bound for people.
func (b bound) sentence() string {
	return fmt.Sprintf("a further limit above %s in %s would not have been seen: no more were admitted",
		quantity.Plural(int(b.requests), "request"), quantity.Brief(b.within))
}

// Verdict tells whether one class is left.
type Verdict string

// The verdicts.
const (
	Identified Verdict = "identified"
	Open       Verdict = "open"
	None       Verdict = "none"
)

// Candidate is a kind and the policies of it that are left.
type Candidate struct {
	// Text names the kind. Class are its algorithms, which no request can tell apart.
	Text  string
	Class []spec.Algorithm
	// Limit is one of the policies, with a round time.
	Limit    spec.Limit
	Measured verdict.Measured
	// Against is what refutes Limit, where nothing of the kind is left.
	Against     string
	least, most time.Duration
	// longLeast and longMost bound a ban; 0 for none.
	longLeast, longMost time.Duration
	// Beside is the second of two limits that must both admit. Limit has both. Nil for one limit.
	Beside *Candidate
	// Told tells that answers state the window of Limit, which was not measured.
	Told bool
}

// classes groups regions that no request can tell apart. With a quota of one request, several kinds are the
// same limiter.
func classes(regions []*region) [][]*region {
	var out [][]*region
	at := map[string]int{}
	for _, r := range regions {
		name := r.text()
		if r.hull().q2 == 1 && r.beside == nil {
			name = r.kind.ofOne()
		}
		i, has := at[name]
		if !has {
			i = len(out)
			at[name], out = i, append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

// ofOne names the limiter that a kind is with a quota of one request.
func (k *kind) ofOne() string {
	b := k.base
	counter, up := b.Weighs(), b.Rounding == spec.RoundUp
	all := (b.Count == spec.CountAll && !b.Fixed()) || b.Refresh == spec.RefreshAll
	switch {
	case k.queue || len(k.parts) > 0 || counter && b.Rounding == spec.RoundNearest:
		return k.text
	case b.Align == spec.AlignUnknown && !up && !all: // one in a window, from the beginning of the window
		return "one a window"
	case b.Align == spec.AlignUnknown || counter && (all || !up):
		return k.text
	case all:
		return "one a time since the last request"
	default: // a counter that rounds up waits for the second window after that of the last admission
		return "one a time"
	}
}

// shareTimes cuts the times of each class to what all its kinds allow. They are the same limiter, and the
// judge refutes some times sooner for one kind than for another. Without a common time nothing is cut.
func shareTimes(regions []*region) {
	for _, class := range classes(regions) {
		from, to := time.Duration(0), time.Duration(math.MaxInt64)
		for _, r := range class {
			h := r.hull()
			from, to = max(from, h.t1*r.kind.windows()), min(to, h.t2*r.kind.windows())
		}
		for _, r := range class {
			if n := r.kind.windows(); len(class) > 1 && from <= to {
				r.cut((from+n-1)/n, to/n)
			}
		}
	}
}

// windows is how many windows a kind with a quota of one request waits before it admits again.
func (k *kind) windows() time.Duration {
	if k.base.Weighs() && k.base.Rounding == spec.RoundUp {
		return 2
	}
	return 1
}

// inUse is the reason where nothing explains a recording and others may have used the quota before.
const inUse = "no limit that is looked for explains all answers, or others use the quota: try again with " +
	"a key of your own"

// unsought is the reason where nothing is left but the rare kinds were not all looked for.
const unsought = "every usual kind is refuted, but what is rare was not looked for to the end: a clock of " +
	"whole seconds, a bucket that a timer fills, two limits at once, a ban after a denial"

// unsure is the reason where the measured window is one that nobody would write. untested and inStep are
// reasons where others may have used the key before.
const (
	unsure   = "the measured time is not round, and the budget ends before enough answers confirm it"
	untested = "others may have used the key before, and the budget ends before its quota was used up " +
		"often enough to be sure"
	inStep = "requests were sent about as fast as units come back, %s apart, so that small delays explain " +
		"any answers (another --max-rate tells more)"
)

// unexplained is the reason where the judge refutes each policy that was tried of the only kind left.
const unexplained = "every other kind is refuted, and so is each policy of this kind that was tried, " +
	"but not all were tried"

// unchecked is the reason where there is no time to judge the whole recording.
const unchecked = "the budget of time ends before the whole recording was judged by the limit that was " +
	"found"

// likelier is the reason where the only kind left is rare, and a usual kind explains all answers too.
const likelier = "a more usual limit explains all answers too, and was dismissed too soon"

// fails tells whether the whole recording refutes c, by the judge's usual search.
func (x *search) fails(c Candidate) bool {
	return x.asker.fails(x.judged(), c.Limit)
}

// result returns what is left, and names it where it may.
func (x *search) result() *Result {
	tl := *x.tl
	if tl.Observations = tl.Observations[x.skip:]; x.asker.over() { // a judgement may go on unheard
		tl.Observations = slices.Clone(tl.Observations)
	}
	res := &Result{Timeline: &tl, Before: x.skip, Trip: x.trip() + x.path.floor(), Stopped: x.stopped,
		Verdict: Open}
	if !x.recorded() {
		_, x.late = x.think(x.o.MaxTime - (x.o.MaxTime-x.judgeUntil())/4)
	}
	x.laterStill()
	x.byDelays()
	x.doubtQueue()
	x.rarelyExplained()
	found := classes(x.regions)
	if tl.Counts().Denied == 0 { // without a denial nothing is known
		if res.Stopped == undenied {
			res.Stopped = res.undenied()
		}
		return res
	}
	for _, class := range found {
		c := x.candidate(class[0])
		for _, same := range class[1:] {
			c.Class = with(c.Class, same.kind.class)
		}
		res.Found = append(res.Found, c)
	}
	if res.Found = x.explaining(res.Found); len(res.Found)+len(x.likely()) == 0 {
		found = nil
	}
	switch {
	case x.asker.over():
		res.Stopped = interrupted
	case len(found) > 0 && len(res.Found) == 0:
		res.Stopped = unexplained + ": " + strings.Join(x.left(), "; or ")
	case len(found) == 0 && !x.o.Fresh:
		res.Stopped = inUse
	case len(found) == 0:
		x.unknown(res)
	case x.unconfirmed():
		res.Stopped = cmp.Or(res.Stopped, x.whyUnconfirmed())
	case len(found) == 1 && x.named():
		x.name(res)
	}
	x.mayWait(res)
	x.mayForget(res)
	x.mayBeUnsought(res)
	x.heldBack(res)
	if res.Verdict == Open && len(found) > 0 {
		res.Next = cmp.Or(res.Next, x.next())
		res.Stopped = strings.TrimPrefix(res.Stopped+x.hindered()+x.blurred()+x.unsteady, "; ")
	}
	return res
}

// unknown says that nothing explains the recording, or why that is not known.
func (x *search) unknown(res *Result) {
	if res.Gone = x.nearest(); !x.exhausted {
		res.Stopped = strings.TrimPrefix(x.stopped+"; "+unsought+x.hindered(), "; ")
	} else if why := x.mayBeat(); why != "" {
		res.Stopped = why
	} else if res.Found = x.unsought(); len(res.Found) > 0 {
		res.Stopped = fmt.Sprintf(unsoughtToo, res.Found[0].Text)
	} else {
		res.Verdict = None
	}
}

// name names the only class that is left, unless the whole recording refutes it. It does not if another limit
// that looks like it explains the recording too, or if there is no time to check.
func (x *search) name(res *Result) {
	c := res.Found[0]
	if !x.overdue() && x.fails(c) {
		res.Stopped = unexplained
		return
	}
	if coarse := x.ofWholeSeconds(c); len(coarse) > 0 {
		res.Found, res.Stopped = append(res.Found, coarse...), wholeSeconds
		return
	}
	if slots := x.slotted(c); slots != nil {
		res.Found, res.Stopped = append(res.Found, *slots), inSlots
		return
	}
	if ban := x.asProlonged(c); ban != nil {
		res.Stopped = fmt.Sprintf(prolonging, ban)
		return
	}
	if x.mayBan(res) {
		return
	}
	if x.unlikelyExplains() {
		res.Stopped = likelier
		return
	}
	if x.overdue() {
		res.Stopped = unchecked
		return
	}
	res.Verdict, res.Stopped, res.Also = Identified, "", x.alsoTold(c)
	res.Sharper = x.sharper(c)
}

// explaining drops the rare candidates that the whole recording refutes, as far as there is time to judge.
func (x *search) explaining(found []Candidate) []Candidate {
	if x.stage == 0 {
		return found
	}
	return slices.DeleteFunc(found, func(c Candidate) bool { return !x.overdue() && x.fails(c) })
}

// hindered says by what this machine kept the question open; empty where it did not.
func (x *search) hindered() string {
	var out string
	still := time.Duration(0)
	for _, s := range x.tl.Header.Stalls {
		still += s.To - s.From
	}
	if still > 0 {
		out = fmt.Sprintf("; this machine was too busy and stood still for %s in all", quantity.Brief(still))
	}
	if x.cut > 0 {
		out += fmt.Sprintf("; the judge was stopped %s, as it took longer than %s",
			quantity.Plural(x.cut, "time"), quantity.Brief(x.o.Think))
	}
	return out
}

// candidate returns what is left of a kind. Its policy is one that the exact search does not refute, if there
// is one.
func (x *search) candidate(r *region) Candidate {
	if a := r.beside; a != nil { // the limit that denied first comes first
		return x.both(a, r)
	}
	return x.ofOne(r)
}

// ofOne is candidate for a single limit.
func (x *search) ofOne(r *region) Candidate {
	if r.beats != nil {
		return x.batched(r)
	}
	h := r.hull()
	best := x.explained(r)
	c := Candidate{Text: r.kind.text, Class: slices.Clone(r.kind.class)}
	if window := toldWindow(x.tl, best.q1); float64(h.t2) > float64(h.t1)*unmeasured && window > 0 {
		t := window
		if r.kind.paced {
			t /= time.Duration(best.q1)
		}
		if t >= h.t1 { // it may be longer than any that was looked for
			best.t1, best.t2, c.Told = t, t, true
		}
	}
	c.Limit = spec.Limit{r.kind.written(best)}
	if r.kind.queue {
		c.Limit[0], h = x.queueIn(r, best)
	}
	c.least, c.most, c.longLeast, c.longMost = h.t1, h.t2, h.d1, h.d2
	c.Measured.Burst = verdict.Interval{Lo: float64(h.q1), Hi: float64(h.q2), LoSet: true, HiSet: true}
	c.Measured.Rate = r.rate(h)
	return c
}

// explained returns a policy of r that explains the recording, a round one if possible. If none is found, it
// is the roundest policy.
func (x *search) explained(r *region) box {
	// An exact search of a crowd takes seconds. Where units come back within a round trip, nothing is named
	// on any path anyway.
	h, search := r.hull(), !x.crowded() && (x.path != nil || !x.brisk())
	best := r.kind.usual(h)
	explains := func(b box) bool {
		return !x.overdue() && !x.asker.refuted(x.shown(), r.with(r.kind.policy(b)), verdict.Exact, search)
	}
	for _, b := range append([]box{best, h.inner(), h}, r.live...) {
		if p := b.point(); explains(p) {
			return p
		}
	}
	if p, ok := r.pinned(x.shown(), mostPinned, x.overdue, explains); ok {
		return p
	}
	return best
}

// rate is the range of rates that are left, in units per second: that of h or of all boxes, whichever is
// narrower. A rate may be known although the window is not.
func (r *region) rate(h box) verdict.Interval {
	of := func(b box) (lo, hi float64) {
		units := func(q int64) float64 {
			if r.kind.paced {
				return float64(time.Second)
			}
			return float64(q) * float64(time.Second)
		}
		return units(b.q1) / float64(b.t2), units(b.q2) / float64(b.t1)
	}
	least, most := of(h)
	lo, hi := math.Inf(1), 0.0
	for _, b := range slices.Concat(r.live, r.doubtful) {
		from, to := of(b)
		lo, hi = min(lo, from), max(hi, to)
	}
	return verdict.Interval{Lo: max(least, lo), Hi: min(most, hi), LoSet: true, HiSet: true}
}

// unmeasured is the ratio between the ends of a time from which on a stated window is used instead.
const unmeasured = 2

// nearest returns the kinds that were refuted last, with what refutes them.
func (x *search) nearest() []Candidate {
	const most = 4
	var out []Candidate
	for i := len(x.gone) - 1; i >= 0 && len(out) < most && !x.overdue(); i-- {
		k := x.gone[i].kind
		if x.gone[i].last == (box{}) { // single policies were refuted, but no box as a whole
			continue
		}
		limit := spec.Limit{k.written(x.gone[i].last.point())}
		j, err := check.Judge(x.shown(), limit, check.Options{SkipMeasure: true})
		if err != nil || j.Verdict != verdict.Fail {
			continue
		}
		out = append(out, Candidate{Text: k.text, Class: k.class, Limit: limit, Against: against(j)})
	}
	return out
}

// against is the first finding against any client.
func against(j *verdict.Judgement) string {
	for i := range j.Partitions {
		if f := j.Partitions[i].Findings; len(f) > 0 {
			return f[0].Text
		}
	}
	return ""
}

// written returns the policy of a point as people write it. A bucket's rate is a whole number a second, a
// minute or an hour, if there is one. Else it is all units in the time in which the bucket fills.
func (k *kind) written(b box) spec.Policy {
	const most = 1000 // units a minute or an hour
	p := k.policy(b)
	if !k.paced || b.t1 != b.t2 {
		return complete(p)
	}
	for _, per := range []time.Duration{time.Second, time.Minute, time.Hour} {
		if n := int64(per / b.t1); per%b.t1 == 0 && (per == time.Second || n <= most) {
			p.Rate = spec.Rate{N: n, Per: per}
			return complete(p)
		}
	}
	const unit = 10 * time.Millisecond
	n := k.whole(b)
	if all := (b.t1*n + unit/2).Truncate(unit); all > 0 && max(all-b.t1*n, b.t1*n-all) < n {
		p.Rate = spec.Rate{N: int64(n), Per: all}
	}
	return complete(p)
}

// complete returns p with its defaults.
func complete(p spec.Policy) spec.Policy {
	if whole, err := spec.Parse(p.String()); err == nil {
		return whole[0]
	}
	return p
}
