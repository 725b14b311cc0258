package identify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Sender sends a phase and returns what was seen, ascending by Sent. Times count from the start of the
// recording. A request without an answer is an observation too.
type Sender interface {
	// Now is the time since the start of the recording.
	Now() time.Duration
	// Wait is how long nothing will be sent from now on.
	Wait() time.Duration
	// Header is what is known about the clocks.
	Header() timeline.Header
	Send(ctx context.Context, p Phase) ([]timeline.Observation, error)
}

// spare is how many requests may still be sent to name the limit. Once something was denied, a quarter of all
// is kept to find out what tells clients apart. That must be wanted, and the quarter must suffice.
func (w *wire) spare() int {
	most := w.o.MaxRequests
	asker, can := w.s.(ClientsAsker)
	if can && !w.o.Alike && w.tl.Counts().Denied > 0 {
		if kept := most / 4; ClientsCosts(w.drained(), asker.Ways()) <= kept {
			most -= kept
		}
	}
	return most - len(w.tl.Observations)
}

// sendUntil is the latest time of the last request. A part of MaxTime is kept for the judge.
func (w *wire) sendUntil() time.Duration {
	const judging = 20
	return w.o.MaxTime - min(w.o.Think, w.o.MaxTime/judging)
}

// late returns what tells that the judge was asked for long enough from now on: that it used Think of
// processor time.
func (w *wire) late() func() bool {
	if w.o.Think == 0 || w.o.Spent == nil {
		return w.asker.Over
	}
	until, over := w.o.Spent()+w.o.Think, false
	return func() bool {
		over = over || w.asker.Over() || w.o.Spent() > until
		return over
	}
}

// Why nothing more is sent.
const (
	timeUsed     = "the budget of time is used"
	requestsUsed = "the budget of requests is used"
	interrupted  = "interrupted"
)

// send sends one phase within the budget. It reports false where nothing more must be sent.
func (x *search) send(ctx context.Context, p Phase) bool {
	switch left := x.spare(); {
	case left <= 0:
		x.stopped = requestsUsed
		return false
	case x.s.Now()+max(p.Rest, x.s.Wait()) >= x.sendUntil():
		x.stopped = timeUsed
		return false
	default:
		p.Requests = max(1, min(p.Requests, left))
	}
	switch {
	case x.crowd || x.pace.far && p.Every < x.trip():
		p.AtOnce = p.Requests
	case !x.pace.far && x.pace.every > 0:
		p.AtOnce = max(1, x.pace.atOnce)
	}
	p.Until = x.sendUntil()
	seen, err := x.s.Send(ctx, p)
	for _, o := range seen {
		o.Seq, o.Phase, o.Cost = len(x.tl.Observations), p.Name, 1
		x.tl.Observations = append(x.tl.Observations, o)
	}
	x.tl.Header = x.s.Header()
	if x.o.OnPhase != nil {
		x.o.OnPhase(p, x.tl, x.kindNames())
	}
	switch {
	case err != nil:
		x.stopped = err.Error()
	case ctx.Err() != nil:
		x.stopped = interrupted
	default:
		x.stopped = trouble(x.tl)
	}
	return x.stopped == ""
}

// MostLost is how many requests in a row without an outcome, or how many errors in all, end the search.
const MostLost = 3

// trouble says why no phase follows: too many requests had no outcome. Empty: go on.
func trouble(tl *timeline.Timeline) string {
	all := tl.Observations
	unknown, errors, last := 0, 0, timeline.Observation{}
	for i := range all {
		o := &all[i]
		if o.Outcome != timeline.Unknown {
			unknown = 0
			continue
		}
		if o.Answered {
			errors++
		}
		last = *o
		unknown++
	}
	refused := unknown > 0 && unknown == len(all) && last.Error != "timeout"
	if errors < MostLost && unknown < MostLost && !refused {
		return ""
	}
	if why, down := transport.CauseUnreachable(tl); down {
		if mend := transport.CauseRemedy(tl); mend != "" {
			why += " (" + strings.ReplaceAll(mend, "; ", ", or ") + ")" // a semicolon ends a reason
		}
		return why
	}
	seen := last.Error
	if last.Answered {
		seen = fmt.Sprintf("status %d", last.Status)
	}
	return fmt.Sprintf("%s neither admitted nor denied (%s): %s",
		text.Plural(max(unknown, errors), "request"), seen, unclear(tl, &last))
}

// unclear asks the user what may be wrong with a request that was neither admitted nor denied.
func unclear(tl *timeline.Timeline, o *timeline.Observation) string {
	switch {
	case o.Answered && slices.Contains(tl.Header.Notes, transport.CauseNoCertificate):
		return transport.CauseCertify
	case o.Answered && (o.Status == http.StatusUnauthorized || o.Status == http.StatusForbidden):
		return fmt.Sprintf("is the key right (-H 'NAME: VALUE'), or is this a denial (--denied %d)?",
			o.Status)
	case !o.Answered && o.Error == "timeout" && everLater(tl) > 0:
		return fmt.Sprintf("admissions took ever longer, at last %s, so the limit delays requests, and "+
			"denied none of these (leaky-bucket-queue,rate=RATE,queue=N describes that)",
			text.Brief(everLater(tl)))
	default:
		return "is it the right URL, and which status denies (--denied)?"
	}
}

// everLater returns how long the last admission took if it took much longer than the first; else 0.
func everLater(tl *timeline.Timeline) (last time.Duration) {
	const much = 100
	first := time.Duration(0)
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Allowed {
			last = o.FirstByte - o.Sent
			first = cmp.Or(first, last)
		}
	}
	if last < max(time.Second, much*first) {
		return 0
	}
	return last
}

// perform makes an experiment that was planned some time ago. It reports false where nothing more is sent.
func (x *search) perform(ctx context.Context, e Experiment, planned time.Duration) bool {
	x.made[Family(e)]++
	x.made[e.Phases[0].Name]++
	e.Phases[0].Rest = x.rest(e.Phases[0].Rest, planned)
	for _, p := range e.Phases {
		if !x.send(ctx, p) {
			x.exclude()
			return false
		}
	}
	return true
}

// rest is what is left of a rest that was planned some time ago: planning is part of it.
func (w *wire) rest(rest, planned time.Duration) time.Duration {
	return max(min(rest, w.pace.every), rest-(w.s.Now()-planned))
}

// The first phases.
const (
	firstPhase    = "first"
	quotaPhase    = "quota"
	fasterPhase   = "quota-faster"
	comebackPhase = "comeback"
)

// pace is how fast requests are sent.
type pace struct {
	// every is the gap between requests: the time of an answer or, where that shows no denial,
	// Options.Every. dense is the gap in a burst, shorter than every far away.
	every, dense time.Duration
	// atOnce is how many requests are under way at once near the target; 0: one.
	atOnce int
	// far tells that answers take longer than near.
	far bool
}

// near is the longest time of an answer of a target that is not far away.
const near = 20 * time.Millisecond

// open asks once, then for the quota, then for its return. It reports false where there is nothing more to
// do.
func (x *search) open(ctx context.Context) bool {
	for x.skip == 0 && x.tl.Counts().Unknown == len(x.tl.Observations) { // a lost answer tells nothing
		if !x.send(ctx, Phase{Name: firstPhase, Requests: 1}) {
			return false
		}
	}
	if x.o.Every < near && x.trip() > near/2 { // the first answer had to wait for its connection
		x.pace.every = x.o.Every
		if !x.send(ctx, Phase{Name: firstPhase, Requests: 2, Every: x.o.Every, Denials: 1}) {
			return false
		}
	}
	quota := Phase{Name: quotaPhase, Rest: x.o.Every, Requests: x.spare() * 6 / 10, Every: x.o.Every,
		Denials: 3}
	soon := Soonest(x.judged()) * 5 / 4
	x.pace.every = max(x.o.Every, soon)
	if x.pace.far = soon > max(x.o.Every, near); x.pace.far {
		// requests that wait for answers tell more, if some are denied
		quota.Every, quota.Requests = x.pace.every, x.spare()/10
		if !x.send(ctx, quota) {
			return false
		}
		quota.Name, quota.Requests = fasterPhase, x.spare()*4/10
		x.nearer()
	}
	if x.judged().Counts().Denied == 0 {
		ask := x.askQuota
		if x.pace.far { // in parts, a short window would begin anew between them
			x.pace.every, ask = x.o.Every, x.send
		}
		quota.Every = x.o.Every
		if !ask(ctx, quota) {
			return false
		}
	}
	if queued(x.judged(), x.tl.Observations[len(x.tl.Observations)-1].Phase) {
		x.waits, x.crowd = true, true
		if quota.Rest = x.trip(); x.judged().Counts().Denied == 0 && !x.send(ctx, quota) {
			return false
		}
	}
	if x.judged().Counts().Denied == 0 {
		x.stopped = Undenied
		return false
	}
	x.aimed()
	return x.comeback(ctx) && (!x.pace.far || x.bursts(ctx))
}

// aimed bounds what is looked for by the requests that may have been decided before the first denial: the
// quota, if nobody used it before, and the budget by what such a quota needs. A bucket that regains units
// sooner than they were asked for denies only requests that chance brought close together.
func (x *search) aimed() {
	const times, more, least = 12, 400, 600
	all, first := x.judged().Observations, time.Duration(math.MaxInt64)
	for i := range all {
		if all[i].Outcome == timeline.Denied {
			first = min(first, all[i].FirstByte)
		}
	}
	var begin, end, asked time.Duration
	n, phase := int64(-1), "" // the denial itself took nothing
	for i := range all {
		if o := &all[i]; o.Sent < first {
			if n++; o.Phase != phase {
				phase, begin, asked = o.Phase, o.Sent, 0
			}
			end, asked = o.Sent, asked+1
		}
	}
	n = max(n, 1)
	x.o.MaxRequests = min(x.o.MaxRequests, x.skip+max(int(times*n)+more, least))
	for _, r := range slices.Concat(x.regions, x.second) {
		for i := range r.Live {
			b := &r.Live[i]
			if r.Kind.Paced {
				b.T1 = max(b.T1, min((end-begin)/max(1, asked), b.T2))
			}
			if x.o.Fresh || x.skip > 0 {
				b.Q2 = max(b.Q1, min(b.Q2, n))
			}
		}
	}
}

// askQuota sends a phase in parts until some requests are denied: first one more than answers state, then
// twice as many each time. Soon several are under way at once, since one at a time may be slower than the
// limit. It ends early where all answers are as late as in a queue: that denies no requests that come one at
// a time.
func (x *search) askQuota(ctx context.Context, p Phase) bool {
	const some, inTurn, crowd = 12, 2, 8
	for n, parts := max(some, x.toldQuota(p.Requests)), 0; p.Requests > 0; n, parts = 2*n, parts+1 {
		part, before := p, len(x.tl.Observations)
		part.Requests = min(n, p.Requests)
		if (parts == inTurn || n > crowd*some) && x.o.Every < near {
			x.pace.atOnce = crowd
		}
		if !x.send(ctx, part) {
			return false
		}
		seen := timeline.Timeline{Observations: x.tl.Observations[before:]}
		late := x.s.Now()+p.Every >= x.sendUntil()
		if late || seen.Counts().Denied > 0 || queued(x.judged(), p.Name) && x.waiting(some-2) {
			break
		}
		p.Requests -= part.Requests
		p.Rest = p.Every
	}
	return true
}

// Answers state their limit in header fields. identify believes none of them and shows them beside the
// measured limit. It only aims by them: at one request more than a stated quota, and at the time that a
// denial states.

// toldQuota is the smallest quota that the first answer states, and three requests more; 0 if none fits most
// requests.
func (w *wire) toldQuota(most int) (out int) {
	o := &w.tl.Observations[0]
	for _, q := range stated(o, w.tl, w.o.Cost) {
		if n := int(min(q.Limit, int64(most))) + 3; q.HasLimit && n <= most && (out == 0 || n < out) {
			out = n
		}
	}
	return out
}

// comeback asks ever more rarely until a request is admitted again, but densely about the time that a denial
// states. Twice the rest each time would lose up to a minute of a window of a minute, so long rests become
// longer by a quarter. It reports false where the budget ends first.
func (x *search) comeback(ctx context.Context) bool {
	const long = 20 // a rest of this part of the time is long
	once := Phase{Name: comebackPhase, Rest: 2 * x.pace.every, Requests: 1}
	for believed := false; ; {
		last := &x.tl.Observations[len(x.tl.Observations)-1]
		if last.Outcome == timeline.Allowed {
			return true
		}
		ask := once
		if about, told := x.toldReturn(last); told && !believed && about.Rest > once.Rest {
			believed, ask, once.Rest = true, about, x.pace.every
		}
		if !x.send(ctx, ask) {
			return false
		}
		if 3*once.Rest > x.o.MaxTime/long {
			once.Rest += once.Rest / 4
		} else {
			once.Rest *= 2
		}
	}
}

// toldReturn is a phase that asks densely for the return of the quota, about the time that a denial states.
// Retry-After is in whole seconds, rounded up or down. It reports false where the denial states none, or the
// budget of time ends first.
func (w *wire) toldReturn(denied *timeline.Observation) (Phase, bool) {
	const rounded = time.Second + 100*time.Millisecond
	wait, told := ToldWait(denied, w.s.Header().Started)
	wait += denied.FirstByte - w.s.Now()
	step := max(w.pace.every, 2*rounded/Rungs)
	return Phase{Name: comebackPhase, Rest: wait - rounded, Requests: Rungs + 1, Every: step,
			Admits: 1},
		told && w.s.Now()+wait+rounded < w.sendUntil()
}

// crowded tells whether so many requests were under way at once that an exact search would take long.
func (w *wire) crowded() bool {
	const most = 8
	all := w.judged().Observations
	for i := range all {
		if j := i + most; j < len(all) && all[i].FirstByte > all[j].Sent {
			return true
		}
	}
	return false
}

// slow is the slowest answer so far; of a queue the slowest that did not wait.
func (w *wire) slow() time.Duration {
	if w.crowd {
		return Unqueued(w.judged())
	}
	return Slowest(w.judged())
}

// spaced sets the gaps between requests by the slowest answer so far. Far from the target no answer comes
// after the next request, in a burst not after the one that follows it.
func (w *wire) spaced() {
	if w.nearer(); !w.pace.far {
		w.pace.every = max(w.o.Every, w.trip()*5/4/time.Duration(max(1, w.pace.atOnce)))
	}
	if w.pace.far && w.pace.every > w.o.Every {
		w.pace.every = max(w.pace.every, w.slow()*21/20)
	}
	if w.pace.dense = w.pace.every; w.pace.far {
		w.pace.dense = min(w.pace.every, max(w.o.Every, w.slow()*21/40))
	}
}

// nearer takes back that the target is far away once most answers come before the next request, or one
// came much sooner than most. Far away every answer is slow. On a busy machine only some are.
func (w *wire) nearer() {
	const much = 8
	took := w.trip()
	if w.pace.far && (much*Soonest(w.judged()) < took || took*5/4 <= max(w.o.Every, near)) {
		w.pace.far, w.pace.every = false, max(w.o.Every, took*5/4)
	}
}

// bursts asks for the quota twice, each time when it is surely whole. A burst takes little time, so it tells
// the quota apart from that of a short window. Of two bursts one has usually lost no answer.
func (x *search) bursts(ctx context.Context) bool {
	for rest := 2 * x.s.Now(); x.made[burstPhase] < 2; x.made[burstPhase]++ {
		x.spaced()
		burst := Phase{Name: burstPhase, Rest: rest, Requests: x.drained() + 2, Every: x.o.Every,
			Denials: 2}
		if !x.send(ctx, burst) {
			return false
		}
	}
	return true
}

// drained is how many requests were sent in the phase that used up the quota.
func (w *wire) drained() int {
	asked := map[string]int{}
	for i := range w.tl.Observations {
		asked[w.tl.Observations[i].Phase]++
	}
	if n := asked[fasterPhase]; n > 0 {
		return n
	}
	return asked[quotaPhase]
}

// burstPhase is the name of a burst for the whole quota.
const burstPhase = "burst"

// deepen lets the exact search judge counters once few classes are left. Near the target it also lets it
// judge windows by the first request. The bounds refute little of a window that is short for its answers. Far
// away the search refutes most of the counters that bounds leave. There three roundings of a counter count as
// one class.
func (x *search) deepen() {
	few, after, left := 3, x.o.MaxRequests/5, classes(x.regions)
	if x.pace.far {
		few = 5
		left = slices.CompactFunc(left, func(a, b []*Region) bool { return a[0].Kind.Like(b[0].Kind) })
	}
	if len(left) > few || len(x.tl.Observations) < after {
		return
	}
	for _, r := range x.regions {
		first := r.Kind.Base.Align == spec.AlignFirst && !x.pace.far
		if (r.Kind.Base.Weighs() || first) && !r.Kind.Searched {
			k := *r.Kind
			k.Searched = true
			r.Kind = &k
		}
	}
}

// choose returns the next experiment; false where none within the budget tells anything.
func (x *search) choose() (Experiment, bool) {
	p := x.planner(x.settled(x.likely())) // then only doubtful kinds are to be told
	p.Weigh()
	return p.Best()
}

// Far from the target a request is decided at any time until its answer. So each end of a window is open by a
// round trip. A kind and its quota may be known long before its time is known to 2 %. Then it is named, with
// all that is left of its time.

// blur is how much one experiment leaves open of the time in which a limit recovers; 0 where that is little.
// In a queue the fastest answer tells how far away it is, since others wait.
func (w *wire) blur() time.Duration {
	if !w.pace.far && (!w.crowd || Soonest(w.judged()) < near) {
		return 0
	}
	return 2 * w.slow()
}

// roughly tells whether b has one quota, whose time is open by so much, and that is no more than blur.
func (b Box) roughly(open, blur time.Duration) bool {
	const widest = 1.25 // the ratio between the ends of a time
	return b.Q1 == b.Q2 && open <= blur && float64(b.T2) <= float64(b.T1)*widest
}

// coarse tells whether regions are one class with one quota, whose time is open by no more than round trips
// leave.
func (x *search) coarse(regions []*Region) bool {
	blur := x.blur()
	return blur > 0 && x.alike(regions, func(r *Region) bool {
		h := r.Hull()
		open := h.T2 - h.T1
		if r.Kind.Paced {
			open *= time.Duration(h.Q2)
		}
		return h.roughly(open, blur)
	})
}

// Phase is a part of an experiment: a silence, then requests one after the other.
type Phase struct {
	// Name says what the phase tells apart.
	Name string
	// Rest is the silence between the last answer and the first request.
	Rest time.Duration
	// Requests are sent Every apart, until Denials are denied or Admits are admitted; 0: all are sent.
	Requests int
	Every    time.Duration
	Denials  int
	Admits   int
	// Until is the latest time of the last request, since the start of the recording; 0: none.
	Until time.Duration
	// AtOnce is how many requests may be under way at once; the next one waits for an answer then. 0: as many
	// as fit into the time of an answer.
	AtOnce int
	// Way is what the client differs in; nil for the plain client.
	Way *Way
}

// Over tells whether a phase ends after these outcomes.
func (p Phase) Over(admitted, denied int) bool {
	return admitted+denied >= p.Requests || p.Denials > 0 && denied >= p.Denials ||
		p.Admits > 0 && admitted >= p.Admits
}
