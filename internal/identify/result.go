package identify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// classes groups regions that no request can tell apart. With a quota of one request, several kinds are the
// same limiter.
func classes(regions []*space.Region) [][]*space.Region {
	var out [][]*space.Region
	at := map[string]int{}
	for _, r := range regions {
		name := r.Text()
		if r.Hull().Q2 == 1 && r.Beside == nil {
			name = r.Kind.NameOfOne()
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

// shareTimes cuts the times of each class to what all its kinds allow. They are the same limiter, and the
// judge refutes some times sooner for one kind than for another. Without a common time nothing is cut.
func shareTimes(regions []*space.Region) {
	for _, class := range classes(regions) {
		from, to := time.Duration(0), time.Duration(math.MaxInt64)
		for _, r := range class {
			h := r.Hull()
			from, to = max(from, h.T1*r.Kind.Windows()), min(to, h.T2*r.Kind.Windows())
		}
		for _, r := range class {
			if n := r.Kind.Windows(); len(class) > 1 && from <= to {
				r.Cut((from+n-1)/n, to/n)
			}
		}
	}
}

// inUse is the reason where nothing explains a recording and others may have used the quota before.
const inUse = "no limit that is looked for explains all answers. Others may use the quota: ask with a new " +
	"key (--partition header:NAME). Or processes that count apart answer in turn, or denied clients are " +
	"banned"

// forgot is the reason where what was recorded before the search began anew speaks against the name.
const forgot = "this limit explains only the answers since a rest, and not the %s before it: the limiter " +
	"may forget silent clients (ttl), or others use the quota (ask with a new key: --partition header:NAME)"

// unsought is the reason where nothing is left but the rare kinds were not all looked for.
const unsought = "every usual kind is refuted, but what is rare was not looked for to the end: a clock of " +
	"whole seconds, a bucket that is not full for a new client or that a timer fills, two limits at once, " +
	"a ban after a denial"

// unsure is the reason where the measured window is one that nobody would write. untested and inStep are
// reasons where others may have used the key before.
const (
	unsure   = "the measured time is not round, and the budget ends before enough answers confirm it"
	untested = "others may have used the key before, and the budget ends before its quota was used up " +
		"often enough to be sure"
	inStep = "requests were sent about as fast as units come back, %s apart, so that small delays explain " +
		"any answers (another --max-rate tells more)"
)

// unplanned is the reason where no experiment fits the budget, or none tells anything. The others are reasons
// where one would, within a larger budget.
const (
	unplanned   = "no experiment within the budget tells more"
	notApart    = "the budget ends before what is left is told apart"
	notMeasured = "one kind is left, but the budget ends before its %s known well enough to name it"
)

// further says what would tell more, and what keeps the answer open.
func (x *search) further(res *identity.Result, found [][]*space.Region) {
	if res.Next = cmp.Or(res.Next, x.next()); res.Next != "" && res.Stopped == unplanned {
		res.Stopped = x.tooShort(found)
	}
	res.Stopped = strings.TrimPrefix(res.Stopped+x.hindered()+x.blurred()+x.unsteady, "; ")
}

// tooShort says what a larger budget would tell.
func (x *search) tooShort(found [][]*space.Region) string {
	switch h := found[0][0].Hull(); {
	case len(found) > 1:
		return notApart
	case x.settled(found[0]):
		return unplanned
	case len(found[0][0].Kind.Parts) > 0:
		return fmt.Sprintf(notMeasured, "rounding is")
	case h.Q1 < h.Q2:
		return fmt.Sprintf(notMeasured, "quota is")
	case found[0][0].Kind.Paced:
		return fmt.Sprintf(notMeasured, "rate is")
	}
	return fmt.Sprintf(notMeasured, "window is")
}

// unexplained is the reason where the judge refutes each policy that was tried of the only kind left.
const unexplained = "every other kind is refuted, and so is each policy of this kind that was tried, " +
	"but not all were tried"

// unchecked is the reason where there is no time to judge the whole recording.
const unchecked = "the budget of time ends before the whole recording was judged by the limit that was " +
	"found"

// likelier is the reason where the only kind left is rare, and a usual kind explains all answers too.
const likelier = "a more usual limit explains all answers too, and was dismissed too soon"

// fails tells whether the whole recording refutes c, by the judge's usual search.
func (x *search) fails(c identity.Candidate) bool {
	return x.asker.Fails(x.judged(), c.Limit)
}

// result returns what is left, and names it where it may.
func (x *search) result() *identity.Result {
	tl := *x.tl
	if tl.Observations = tl.Observations[x.skip:]; x.asker.Over() { // a judgement may go on unheard
		tl.Observations = slices.Clone(tl.Observations)
	}
	res := &identity.Result{Timeline: &tl, Before: x.skip, Trip: x.trip() + x.path.Needs(),
		Stopped: x.stopped,
		Verdict: identity.Open}
	if !x.recorded() {
		_, x.late = x.think(x.o.MaxTime - (x.o.MaxTime-x.judgeUntil())/4)
	}
	x.laterStill()
	x.byDelays()
	x.doubtQueue()
	x.rarelyExplained()
	found := classes(x.regions)
	if tl.Counts().Denied == 0 { // without a denial nothing is known
		if res.Stopped == identity.Undenied {
			res.Stopped = res.Undenied()
		}
		return res
	}
	for _, class := range found {
		c := x.candidate(class[0])
		for _, same := range class[1:] {
			c.Class = with(c.Class, same.Kind.Class)
		}
		res.Found = append(res.Found, c)
	}
	if res.Found = x.explaining(res.Found); len(res.Found)+len(x.likely()) == 0 {
		found = nil
	}
	switch {
	case x.asker.Over():
		res.Stopped = interrupted
	case len(found) > 0 && len(res.Found) == 0:
		res.Stopped = unexplained + ": " + x.kindsInShort()
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
	if res.Verdict == identity.Open && len(found) > 0 {
		x.further(res, found)
		res.StatedFirst()
	}
	return res
}

// kindsInShort names the kinds that are left. Of two limits at once it names the one that denied first.
func (x *search) kindsInShort() string {
	var out []string
	for _, r := range x.regions {
		name := r.Text()
		if r.Beside != nil {
			name = r.Beside.Text() + " and a second limit"
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, "; or ")
}

// unknown says that nothing explains the recording, or why that is not known.
func (x *search) unknown(res *identity.Result) {
	if res.Gone = x.nearest(); !x.exhausted {
		res.Stopped = strings.TrimPrefix(x.stopped+"; "+unsought+x.hindered(), "; ")
	} else if why := x.mayBeat(); why != "" {
		res.Stopped = why
	} else if res.Found = x.unsought(); len(res.Found) > 0 {
		res.Stopped = fmt.Sprintf(unsoughtToo, res.Found[0].Text)
	} else if x.mayBeSeveral() {
		res.Stopped = severalMore
	} else {
		res.Verdict = identity.None
	}
}

// name names the only class that is left, unless the whole recording refutes it. It does not if another limit
// that looks like it explains the recording too, or if there is no time to check.
func (x *search) name(res *identity.Result) {
	c := res.Found[0]
	if !x.overdue() && x.fails(c) {
		res.Stopped = unexplained
		return
	}
	if x.skip > 0 && !x.overdue() && x.asker.FailsInUse(x.path.Decided(x.tl), c.Limit) {
		res.Stopped = fmt.Sprintf(forgot, quantity.Plural(x.skip, "request"))
		return
	}
	if coarse := x.ofWholeSeconds(c); len(coarse) > 0 {
		res.Found, res.Stopped = append(res.Found, coarse...), wholeSeconds
		return
	}
	if ban := x.asProlonged(c); ban != nil {
		res.Stopped = fmt.Sprintf(prolonging, ban)
		return
	}
	if x.rivalled(res) {
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
	res.Verdict, res.Stopped, res.Also = identity.Identified, "", x.alsoTold(c)
	res.Sharper, res.Remembered = x.sharper(c), x.remembers(c)
}

// explaining drops the rare candidates that the whole recording refutes, as far as there is time to judge.
func (x *search) explaining(found []identity.Candidate) []identity.Candidate {
	if x.stage == 0 {
		return found
	}
	return slices.DeleteFunc(found, func(c identity.Candidate) bool { return !x.overdue() && x.fails(c) })
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
func (x *search) candidate(r *space.Region) identity.Candidate {
	if a := r.Beside; a != nil { // the limit that denied first comes first
		return x.both(a, r)
	}
	return x.candidateOfOne(r)
}

// candidateOfOne is candidate for a single limit.
func (x *search) candidateOfOne(r *space.Region) identity.Candidate {
	if r.Beats != nil {
		return x.batched(r)
	}
	h := r.Hull()
	best := x.explained(r)
	c := identity.Candidate{Text: r.Kind.Text, Class: slices.Clone(r.Kind.Class)}
	if told, is := x.stated(r, best); is {
		best, c.Stated = told, true
	}
	c.Limit = spec.Limit{r.Kind.Written(best)}
	if r.Kind.Base.Start != "" {
		c.Limit[0] = x.startOf(c.Limit[0])
	}
	if r.Kind.Queue {
		c.Limit[0], h = x.queueIn(r, best)
		c.Text += x.untoldStart(c.Limit[0])
	}
	c.Least, c.Most, c.BanLeast, c.BanMost = h.T1, h.T2, h.D1, h.D2
	c.Measured.Burst = verdict.Interval{Lo: float64(h.Q1), Hi: float64(h.Q2), LoSet: true, HiSet: true}
	c.Measured.Rate = r.Rate(h)
	return c
}

// explained returns a policy of r that explains the recording, a round one if possible. If none is found, it
// is the roundest policy.
func (x *search) explained(r *space.Region) space.Box {
	// An exact search of a crowd takes seconds. Where units come back within a round trip, nothing is named
	// on any path anyway.
	h, search := r.Hull(), !x.crowded() && (x.path != nil || !x.brisk())
	best := r.Kind.Conventional(h)
	explains := func(b space.Box) bool {
		return !x.overdue() && !x.asker.Refuted(x.shown(), r.With(r.Kind.Policy(b)), verdict.Exact, search)
	}
	for _, b := range append([]space.Box{best, h.Inner(), h}, r.Live...) {
		if p := b.Point(); explains(p) {
			return p
		}
	}
	if p, ok := r.Pinned(x.shown(), space.MostPinned, x.overdue, explains); ok {
		return p
	}
	return best
}

// unmeasured is the ratio between the ends of a time from which on a stated window is used instead.
const unmeasured = 2

// stated is the policy of r that answers state, if its time was not measured. best is what it is otherwise.
// The time may be longer than any that was looked for. It is false if nothing is stated, or if that is
// refuted.
func (x *search) stated(r *space.Region, best space.Box) (space.Box, bool) {
	h := r.Hull()
	quota, window := identity.ToldLimit(x.tl, h.Q1, best.Q1, h.Q2, r.Kind.Paced)
	if r.Kind.Paced {
		window /= time.Duration(quota)
	}
	best.Q1, best.Q2, best.T1, best.T2 = quota, quota, window, window
	if float64(h.T2) <= float64(h.T1)*unmeasured || window < h.T1 || window == 0 {
		return best, false
	}
	return best, !x.asker.Refuted(x.shown(), r.With(r.Kind.Policy(best)), verdict.Exact, false)
}

// nearest returns the kinds that were refuted last, with what refutes them.
func (x *search) nearest() []identity.Candidate {
	const most = 4
	var out []identity.Candidate
	for i := len(x.gone) - 1; i >= 0 && len(out) < most && !x.overdue(); i-- {
		k := x.gone[i].Kind
		if x.gone[i].Last == (space.Box{}) { // single policies were refuted, but no box as a whole
			continue
		}
		limit := spec.Limit{k.Written(x.gone[i].Last.Point())}
		j, err := check.Judge(x.shown(), limit, check.Options{SkipMeasure: true})
		if err != nil || j.Verdict != verdict.Fail {
			continue
		}
		out = append(out, identity.Candidate{Text: k.Text, Class: k.Class, Limit: limit, Against: against(j)})
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
