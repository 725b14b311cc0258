package identify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// classes groups regions that no request can tell apart. With a quota of one request, several kinds are the
// same limiter.
func classes(regions []*Region) [][]*Region {
	var out [][]*Region
	at := map[string]int{}
	for _, r := range regions {
		name := r.Kind.Text
		if r.Hull().Q2 == 1 {
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
func shareTimes(regions []*Region) {
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

// The reasons why nothing is named.
const (
	inUse = "no limit that was asked explains all answers. Others may use the quota: ask with a new key " +
		"(--partition header:NAME). Or processes that count apart answer in turn"
	forgot = "this limit explains only the answers since a rest, and not the %s before it: the limiter may " +
		"forget silent clients (ttl), or others use the quota (ask with a new key: --partition header:NAME)"
	unasked     = "every kind is refuted but clocks of whole seconds, which the budget ends before"
	unmeasured  = "too little was measured to name a limit"
	notApart    = "the budget ends before what is left is told apart"
	notMeasured = "one kind is left, and the budget ends before it is measured well enough to name it"
	mayQueue    = "admitted requests waited, for reasons of their own or in a queue"
	besideIt    = "the limit that answers state beside it was reached once, and not measured"
	coarseClock = "a clock of whole seconds explains all answers too"
	inFlightToo = "each denial came while other requests were in flight, so a limit of requests in flight " +
		"explains all answers"
)

// fails tells whether the judge finds something in the recording that speaks against a limit.
func (w *wire) fails(l spec.Limit) bool { return w.asker.Fails(w.judged(), l) }

// answer is what a search found out, in the end.
type answer struct{ *search }

// result returns the policies that stand, the most plausible first, and names the only kind that is left.
func (x answer) result() *Result {
	tl := *x.tl
	if tl.Observations = tl.Observations[x.skip:]; x.asker.Over() { // a judgement may go on unheard
		tl.Observations = slices.Clone(tl.Observations)
	}
	res := &Result{Timeline: &tl, Before: x.skip, Trip: x.trip(), Stopped: x.stopped,
		Verdict: Open, Raised: x.raised()}
	if tl.Counts().Denied == 0 { // without a denial nothing is known
		if res.Stopped == Undenied {
			res.Stopped = res.Undenied()
		}
		return res
	}
	x.list(res)
	if len(res.Found) > 0 && res.Found[0].Stated {
		const windows = 3
		b := &res.Raised
		b.MaxTime = max(b.MaxTime, windows*res.Found[0].Limit[0].Recovery()+time.Minute)
	}
	switch {
	case x.asker.Over():
		res.Stopped = interrupted
	case len(res.Found)+len(res.Wide) == 0 && !x.o.Fresh:
		res.Stopped, res.Gone = inUse, x.nearest()
	case len(res.Found)+len(res.Wide) == 0:
		if res.Gone = x.nearest(); x.cut || !x.widened {
			res.Stopped = cmp.Or(x.stopped, unasked)
		} else {
			res.Verdict = None
		}
	case len(res.Found) == 0:
		res.Stopped = cmp.Or(x.stopped, unmeasured)
	case len(res.Found)+len(res.Wide) > 1 || !x.named():
		res.Stopped = x.whyOpen(res)
	default:
		x.name(res)
	}
	if x.recorded() && res.Verdict == Open && len(res.Found)+len(res.Wide) > 0 {
		res.Next = x.next()
	}
	return res
}

// list lists what is left: the policies that stand, and the kinds of which hardly anything was measured.
func (x answer) list(res *Result) {
	if x.line != nil {
		res.Found = append(res.Found, *x.line)
	}
	if x.line != nil && len(x.regions) == 0 {
		return
	}
	left := map[string]bool{}
	for _, class := range classes(x.regions) {
		c, stands := x.candidate(class[0])
		for _, same := range class[1:] {
			c.Class = append(c.Class, slices.DeleteFunc(slices.Clone(same.Kind.Class),
				func(a spec.Algorithm) bool { return slices.Contains(c.Class, a) })...)
		}
		left[class[0].Kind.Text] = true
		switch h := class[0].Hull(); {
		case stands && (c.Stated || h.Q2 < 10*h.Q1 && h.T2 < 20*h.T1):
			res.Found = append(res.Found, c)
		case !stands && len(class[0].Live) == 0 && h.Q1 == h.Q2 && x.made[usualName] > 0:
			// each policy that was tried is refuted
		default:
			res.Wide = append(res.Wide, class[0].Kind.Text)
		}
	}
	res.Out = x.out(left)
	open := func(c Candidate) float64 { return c.Measured.Burst.Hi - c.Measured.Burst.Lo }
	slices.SortStableFunc(res.Found, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(odd(a), odd(b)), cmp.Compare(open(a), open(b)))
	})
	if len(x.regions) > 0 && len(res.Found) == 1 {
		res.Found = append(res.Found, x.byTheSecond(x.regions[0])...)
	}
	res.Found = append(res.Found, x.ticked...)
	if len(res.Found)+len(res.Wide) == 0 {
		if c := x.beside.explained(x.asker, x.judged()); c != nil {
			res.Found = append(res.Found, *c)
		}
	}
	switch c := x.inFlight(); {
	case c == nil:
	case x.recorded(): // its answers need not show how many were in flight
		res.Wide = append(res.Wide, c.Text)
	default:
		res.Found = append(res.Found, *c)
	}
}

// out lists the kinds of which nothing is left.
func (x answer) out(left map[string]bool) (out []string) {
	for _, k := range Kinds() {
		if !left[k.Text] && !slices.ContainsFunc(x.regions, func(r *Region) bool {
			return strings.HasPrefix(r.Kind.Text, k.Text)
		}) {
			out = append(out, k.Text)
		}
	}
	return out
}

// odd is 0 for a limit that answers state, 1 for one with numbers that people write, else 2.
func odd(c Candidate) int {
	switch {
	case c.Stated:
		return 0
	case c.Round:
		return 1
	}
	return 2
}

// whyOpen says why nothing is named.
func (x answer) whyOpen(res *Result) string {
	last := res.Found[len(res.Found)-1]
	switch {
	case last.Limit[0].InFlight():
		return inFlightToo + x.blurred()
	case strings.HasSuffix(last.Text, aSecond) && len(x.regions) > 0:
		return coarseClock
	case len(last.Limit) > 1:
		return besideIt
	case x.line != nil && len(x.regions) > 0:
		return mayQueue
	case res.Stopped != unplanned && res.Stopped != "":
		return res.Stopped
	case len(res.Found)+len(res.Wide) > 1:
		return notApart + x.blurred()
	}
	return notMeasured + x.blurred()
}

// named tells whether what is left may be named.
func (x answer) named() bool {
	if x.line != nil {
		return x.lineKnown()
	}
	if len(x.ticked) > 0 {
		return x.made[usualName] > 1 && (x.made[steadyName] > 0 || x.ticked[0].Limit[0].Rate.N == 1)
	}
	return len(x.regions) > 0 && x.settled(x.regions) || x.made[usualName] > 0 && x.coarse(x.regions)
}

// name names the only class that is left.
func (x answer) name(res *Result) {
	c := res.Found[0]
	whole := *x.tl
	whole.Header.CompleteFrom = 1 // others may have used the quota before
	if x.skip > 0 && x.asker.Fails(&whole, c.Limit) {
		res.Stopped = fmt.Sprintf(forgot, text.Plural(x.skip, "request"))
		return
	}
	if why := x.unconfirmed(); why != "" && len(x.ticked) == 0 {
		res.Stopped = cmp.Or(x.stopped, why)
		return
	}
	res.Verdict, res.Stopped, res.Raised = Identified, "", Budget{}
	res.Also, res.Sharper = x.alsoTold(c), x.sharper(c)
}

// alsoTold describes the limits that are stated beside c. One that was not reached comes with a SPEC to paste
// and the requests that it takes.
func (x answer) alsoTold(c Candidate) (out []string) {
	for i, b := range x.beyonds() {
		said := fmt.Sprintf("%d in %s", b.quota.Limit*max(x.o.Cost, 1), b.quota.Window)
		if i == 0 && x.made[overrunName] > 0 {
			out = append(out, said+", and more were admitted")
			continue
		}
		p := Complete(spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignUnknown,
			Rate: spec.Rate{N: b.quota.Limit, Per: b.quota.Window}})
		out = append(out, fmt.Sprintf("%s, not reached (it takes %s, %s apart): %s", said,
			text.Plural(b.phase.Requests, "more request"), text.Brief(b.phase.Every),
			scaled(append(slices.Clone(c.Limit), p), x.o.Cost)))
	}
	return out
}

// candidate returns what is left of a kind, with a policy against which the judge finds nothing. It reports
// false where none is found.
func (x answer) candidate(r *Region) (Candidate, bool) {
	c := x.measured(r)
	if p, is := x.stated(r); is {
		c.Limit, c.Stated = spec.Limit{p}, true
		return c, true
	}
	p, stands := x.standing(r)
	c.Limit = spec.Limit{p}
	return c, stands
}

// measured is what is left of a kind, without a policy.
func (x answer) measured(r *Region) Candidate {
	h := r.beside(r.Hull())
	c := Candidate{Text: r.Kind.Text, Class: slices.Clone(r.Kind.Class), Least: h.T1, Most: h.T2,
		Round: r.Kind.Round(h)}
	c.Measured.Burst = between(float64(h.Q1), float64(h.Q2))
	if c.Measured.Rate = r.Rate(h); r.coarse() {
		c.Measured.Rate.Lo = min(c.Measured.Rate.Lo, float64(h.Q1)/h.T2.Seconds())
		c.Measured.Rate.Hi = max(c.Measured.Rate.Hi, float64(h.Q2)/h.T1.Seconds())
	}
	return c
}

// standing returns a policy of r against which the judge finds nothing, a round one if possible. It reports
// false where it finds none, with the roundest policy.
func (x answer) standing(r *Region) (spec.Policy, bool) {
	const tries = 12
	late, h := x.late(), r.Hull()
	explains := func(p spec.Policy) bool {
		return !late() && !x.asker.Refuted(x.judged(), spec.Limit{p}, result.Exact, false) &&
			x.asker.Explains(x.judged(), spec.Limit{p})
	}
	boxes := append([]Box{h, h.Inner()}, r.Live...)
	boxes = append(boxes, r.Doubtful...)
	for _, b := range boxes[:min(len(boxes), tries)] {
		for _, k := range r.Kind.Each() {
			if p := k.Rounded(b); explains(p) {
				return p, true
			}
		}
	}
	for _, k := range r.Kind.Each() {
		one := *r
		one.Kind = k
		if b, ok := one.Pinned(x.judged(), MostPinned, late, func(b Box) bool {
			return explains(k.Written(b))
		}); ok {
			return k.Written(b), true
		}
	}
	return r.Kind.Each()[0].Rounded(h), false
}

// stated is the policy of r that answers state, if its time was not measured. The time may be longer than any
// that was looked for. It is false if nothing is stated, or if that is refuted.
func (x answer) stated(r *Region) (spec.Policy, bool) {
	const unmeasured = 2 // the ratio between the ends of a time
	h := r.Hull()
	b := r.Kind.Conventional(h)
	quota, window := ToldLimit(x.tl, x.o.Cost, h.Q1, b.Q1, h.Q2, r.Kind.Paced)
	if r.Kind.Paced {
		window /= time.Duration(quota)
	}
	b.Q1, b.Q2, b.T1, b.T2 = quota, quota, window, window
	if float64(h.T2) <= float64(h.T1)*unmeasured || window < h.T1 || window == 0 {
		return spec.Policy{}, false
	}
	p := r.Kind.Each()[0].Written(b)
	return p, x.asker.Explains(x.judged(), spec.Limit{p})
}

// nearest returns the kinds that were refuted last, with what refutes them.
func (x answer) nearest() []Candidate {
	const most = 2
	var out []Candidate
	late := x.late()
	for i := len(x.gone) - 1; i >= 0 && len(out) < most && !late(); i-- {
		k := x.gone[i].Kind
		if x.gone[i].Last == (Box{}) { // single policies were refuted, but no box as a whole
			continue
		}
		limit := spec.Limit{k.Each()[0].Rounded(x.gone[i].Last)}
		j, err := check.Judge(x.judged(), limit, check.Options{SkipMeasure: true})
		if err != nil || j.Verdict != result.Fail {
			continue
		}
		out = append(out, Candidate{Text: k.Text, Class: k.Class, Limit: limit, Against: against(j)})
	}
	return out
}

// between is the closed interval from lo to hi.
func between(lo, hi float64) result.Interval {
	return result.Interval{Lo: lo, Hi: hi, LoSet: true, HiSet: true}
}

// against is the first finding against any client.
func against(j *result.Judgement) string {
	for i := range j.Partitions {
		if f := j.Partitions[i].Findings; len(f) > 0 {
			return f[0].Text
		}
	}
	return ""
}

// sharper returns what would tell the time of c to 2 %; nil where it is known. Each end of a window lies
// anywhere within a round trip. So the best of n windows leaves open about one over the root of n.
func (x answer) sharper(c Candidate) *Sharper {
	if x.line == nil && x.settled(x.regions) || x.line != nil && x.line.box.Single(0, 0) {
		return nil
	}
	times := float64(c.Most-c.Least) / (float64(c.Least) * (Resolution - 1))
	more := math.Max(times*times-1, 0.1)
	return &Sharper{Trip: x.slow(),
		Requests: int(math.Ceil(more*float64(len(x.tl.Observations))/10)) * 10,
		Time:     time.Duration(more * float64(x.tl.End())).Round(time.Second)}
}

// blurred says what makes a client blind that is far away; empty where nothing does.
func (x answer) blurred() string {
	if !x.pace.far || len(x.regions) == 0 {
		return ""
	}
	least := time.Duration(math.MaxInt64)
	for _, r := range x.regions {
		h := r.Hull()
		least = min(least, r.Back(h.Q1, h.T1))
	}
	if float64(x.blur()) > float64(least)*(Resolution-1) {
		return fmt.Sprintf(": a limit that recovers in %s cannot be measured to 4 %% over answers of %s",
			text.Brief(least), text.Brief(x.blur()/2))
	}
	return ""
}

// inFlight returns a limit of requests in flight that explains the whole recording; nil where none does. In a
// queue all waiting requests are in flight, so it is not told there.
func (x answer) inFlight() *Candidate {
	if x.line != nil || x.asker.Over() {
		return nil
	}
	tl := x.judged()
	l, err := spec.Parse(fmt.Sprintf("%s,limit=%d", InFlightClass[0], leastUnderWay(tl)))
	if err != nil {
		return nil
	}
	if no := x.asker.Ask(func() bool {
		no, _ := check.Refuted(tl, l, result.Exact, true)
		return no
	}); no || x.fails(l) {
		return nil
	}
	out := &Candidate{Text: "a limit of requests in flight", Class: InFlightClass, Limit: l}
	out.Measured.Burst = between(1, float64(l[0].Rate.N))
	return out
}

// raised is the budget with which identify would tell more; zero where none would.
func (x answer) raised() Budget {
	const fastest, times, more, largest, enough = 100 * time.Microsecond, 12, 200, 5000, 5 * time.Minute
	if x.recorded() {
		return Budget{}
	}
	b := x.o.Budget
	if x.tl.Counts().Denied == 0 {
		quota := largest
		if len(x.tl.Observations) > 0 {
			if n := x.toldQuota(largest); n > 0 {
				quota = n
			}
		}
		b.Every, b.MaxRequests = min(b.Every, fastest), max(b.MaxRequests, times*quota+more)
		b.MaxTime = max(b.MaxTime, enough)
	} else if len(x.regions) > 0 {
		r := x.regions[0]
		h := r.Hull()
		b.MaxRequests = max(b.MaxRequests, times*int(min(h.Q2, largest))+more, 2*len(x.tl.Observations))
		if r.Kind.Paced && h.T1 < 4*b.Every {
			b.Every = max(fastest, min(b.Every, h.T1/4))
		}
		b.MaxTime = max(b.MaxTime, min(10*r.Recovery(), time.Hour))
		if x.stopped == timeUsed {
			b.MaxTime *= 2
		}
	}
	b.MaxTime = max(b.MaxTime, 2*time.Duration(b.MaxRequests)*b.Every)
	if b.MaxTime > x.o.MaxTime {
		b.MaxTime = (b.MaxTime + time.Minute - 1).Truncate(time.Minute)
	}
	if b == x.o.Budget {
		return Budget{}
	}
	return b
}

// leastUnderWay is the least number of requests that may have been in flight at any denial.
func leastUnderWay(tl *timeline.Timeline) int64 {
	least, all := int64(len(tl.Observations)), PlacesOf(tl)
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Denied {
			least = min(least, all.Held(o.Partition, o.Sent, max(o.FirstByte, o.Sent)))
		}
	}
	return least
}

// next says what would tell more than a recording.
func (x answer) next() string {
	s := fmt.Sprintf("more requests after silences, and times that are known better than to %s (in a log, "+
		"such as $msec and $request_time)", text.Brief(x.trip()))
	if x.tl.Header.CompleteFrom > 0 {
		s = "a log of all requests since the limiter started (--complete, if this is one), because earlier " +
			"requests may explain denials; " + s
	}
	return s
}

// Candidate is a kind and the policies of it that are left.
type Candidate struct {
	// Text names the kind. Class are its algorithms, which no request can tell apart.
	Text  string
	Class []spec.Algorithm
	// Limit is one of the policies, with a round time.
	Limit    spec.Limit
	Measured result.Measured
	// Against is what refutes Limit, where nothing of the kind is left.
	Against     string
	Least, Most time.Duration
	// Stated tells that answers state the window of Limit, which was not measured.
	Stated bool
	// Cost is how many units each request costs, 0 for one. Limit and Measured count units.
	Cost int64
	// box is what is left of the places and the unit of a queue.
	box Box
	// Round tells that people may have written what is left: a time or a rate of two digits.
	Round bool
}

// Worth says between which numbers the measurement leaves c.
func (c Candidate) Worth() string {
	p, m := c.Limit[0], c.Measured
	switch quota := fmt.Sprintf("measured %.6g..%.6g", m.Burst.Lo, m.Burst.Hi); {
	case p.InFlight():
		return fmt.Sprintf("%.6g..%.6g in flight at once", m.Burst.Lo, m.Burst.Hi)
	case c.Stated:
		return quota + "; its window is told, not measured: at least " + text.Brief(c.shortest())
	case p.HasWindow():
		return quota + ", " + times(c.Least, c.Most)
	default:
		return fmt.Sprintf("%s, %s..%s/s", quota, text.PerSecond(m.Rate.Lo, false),
			text.PerSecond(m.Rate.Hi, true))
	}
}

// shortest is the shortest window that c may have, or the shortest time in which its bucket may fill.
func (c Candidate) shortest() time.Duration {
	if p := c.Limit[0]; !p.HasWindow() {
		return c.Least * time.Duration(p.Full())
	}
	return c.Least
}

// Sharper is what would tell the time of a limit to 2 % that is known less well from far away.
type Sharper struct {
	// Trip is the slowest round trip, which is why the time is not known better.
	Trip time.Duration
	// Requests and Time estimate what it takes in addition.
	Requests int
	Time     time.Duration
}

// Sentence describes it for people.
func (s *Sharper) Sentence() string {
	return fmt.Sprintf("its time is not known to 2 %%, as answers take up to %s: the SPEC has the "+
		"roundest time that is left; about %s in %s would narrow it", text.Brief(s.Trip),
		text.Plural(s.Requests, "more request"), text.Brief(s.Time))
}

// Verdict tells whether one class is left.
type Verdict string

// The verdicts.
const (
	Identified Verdict = "identified"
	Open       Verdict = "open"
	None       Verdict = "none"
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
	// Sharper is what would narrow the identified time to 2 %; nil where it is that narrow.
	Sharper *Sharper
	// Wide are the kinds that are not refuted, and of which hardly anything was measured. Out are those that
	// are refuted.
	Wide, Out []string
	// Under is what a log leaves under a smaller allowance for its times; empty for nothing.
	Under string
	// Raised is the budget with which identify would tell more; zero where none would.
	Raised Budget
	// Also are limits that answers state beside the identified one.
	Also []string
	// Stopped says why the verdict is Open; empty otherwise.
	Stopped string
	// Trip is the median time from a request to its answer.
	Trip time.Duration
	// Gone are the nearest kinds, where nothing is left.
	Gone []Candidate
	// Clients is what tells clients apart; nil where nobody asked.
	Clients *Found
}

// Sent counts the requests of Timeline, Before and Clients.
func (r *Result) Sent() int {
	n := r.Before + len(r.Timeline.Observations)
	if r.Clients != nil {
		n += len(r.Clients.Timeline.Observations)
	}
	return n
}

// Undenied is the reason where a limit denied nothing.
const Undenied = "no request was denied"

// Undenied says which limits a recording without a denial would not have shown.
func (r *Result) Undenied() string {
	b := r.unseen()
	return fmt.Sprintf(Undenied+": a limit above %s in %s, or of more than %d in flight, would not "+
		"have been seen", text.Plural(int(b.requests), "request"), text.Brief(b.within), crowd(r.Timeline)) +
		r.lost() + r.redirected()
}

// lost says how many requests got no answer; empty where all did.
func (r *Result) lost() string {
	lost, word := 0, ""
	for o := range r.Timeline.All() {
		if !o.Answered && timeline.NoAnswer(o.Error) {
			lost, word = lost+1, o.Error
		}
	}
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf(", but %s got no answer (%s), which may be a way to deny (rlcheck run judges "+
		"that with --set denied.unanswered=true)", text.Plural(lost, "request"), word)
}

// redirected says that all answers send the client elsewhere; empty where one does not.
func (r *Result) redirected() string {
	all := r.Timeline.Statuses()
	stays := func(x timeline.StatusCount) bool { return !x.Redirects() }
	if len(all) == 0 || slices.ContainsFunc(all, stays) {
		return ""
	}
	return fmt.Sprintf(", and every answer redirects (%d): is this the limited URL?", all[0].Status)
}

// crowd is the most requests that may have been in flight at once.
func crowd(tl *timeline.Timeline) (most int64) {
	all := PlacesOf(tl)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		n := all.Held(o.Partition, o.Sent, o.Sent)
		if o.Outcome == timeline.Denied { // it was in flight too, but held no place
			n++
		}
		most = max(most, n)
	}
	return most
}

// bound is a number of requests within a time. A slower limit above it would not have been seen.
type bound struct {
	requests int64
	within   time.Duration
}

// sentence describes the bound for people.
func (b bound) sentence() string {
	return fmt.Sprintf("a further limit above %s in %s would not have been seen: no more were admitted",
		text.Plural(int(b.requests), "request"), text.Brief(b.within))
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
