package limiter

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/zone"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// expiring is the bound of a policy that forgets a partition after a silence of its time to live.
//
// Over: the history is bounded in the stretches in which the partition cannot have been forgotten. If the
// first request of a life places the windows, or finds an empty bucket, less is known. Then a stretch is
// bounded only up to the first silence that may have been long enough. The next stretch begins after a
// silence that surely was.
//
// Under: forgetting only lowers the units in use, so the bound without the time to live holds. If a request
// may find an empty bucket again, or place windows again, denials prove nothing.
type expiring struct {
	Bound
	forgetting
	// placed: the first request of each life places the windows, or surely finds less than a full bucket.
	// low: it may find less. once: the phase of the windows is that of the first life only.
	placed, low, once bool
}

func newExpiring(p spec.Policy, from, to int64, others bool) expiring {
	x := expiring{forgetting: forgettingOf(p), placed: p.Align == spec.AlignFirst || RemembersStart(p),
		once: Anchored(p)}
	x.low = x.placed || StartsLow(p)
	p.TTL, p.TTLTo = 0, 0
	x.Bound = boundAmong(p, from, to, others)
	return x
}

func (x expiring) Over(h *history.History) *Breach {
	if of := x.Scope(); !of.Late {
		if br := tooDear(h.Admitted, of.Full); br != nil {
			return br
		}
	}
	if !x.placed || x.once {
		return x.overBetween(h)
	}
	for k := 0; k < len(h.All); {
		n := x.life(h.All[k:])
		one := h
		if n < len(h.All) {
			one = &history.History{All: h.All[k : k+n : k+n]}
			if one.Split(); k == 0 {
				one.Placed = h.Placed
			}
		}
		if br := x.overBetween(one); br != nil {
			return br
		}
		k += n
	}
	return nil
}

// overBetween bounds the stretches between the silences in which the partition may have been forgotten. If
// placed, it bounds the first stretch only.
func (x expiring) overBetween(h *history.History) *Breach {
	silences := x.silences(h.All)
	if len(silences) == 0 {
		return x.Bound.Over(h)
	}
	from, begin, latest := history.MinTime, 0, history.MinTime
	for _, f := range append(silences, history.Interval{From: history.MaxTime, To: history.MaxTime}) {
		for ; begin < len(h.All) && max(latest, h.All[begin].End) < from; begin++ {
			latest = max(latest, h.All[begin].End)
		}
		lively := &history.History{Placed: h.Placed}
		for _, ev := range h.All[begin:] {
			if ev.Start >= f.From {
				break
			}
			if ev.End < from {
				continue
			}
			if ev.Start < from || ev.End >= f.From {
				ev.Outcome, ev.Unprovable = timeline.Unknown, false // it may belong to another stretch
			}
			lively.All = append(lively.All, ev)
		}
		lively.Split()
		if br := x.Bound.Over(lively); br != nil {
			return br
		}
		if from = f.To; x.placed {
			return nil
		}
	}
	return nil
}

func (x expiring) Usage(h *history.History) Meter {
	if x.low {
		return boundless{}
	}
	return x.Bound.Usage(h)
}

// boundless is the meter that knows nothing: any number of units may be in use.
type boundless struct{}

func (boundless) Excess(int64) int64 { return 1 << 40 }

func (boundless) Unit() int64 { return 1 }

func (x expiring) Scope() Scope {
	of := x.Bound.Scope()
	of.Low, of.Crowd = x.low, false
	return of
}

// forgetting tells when a partition is forgotten: after a silence of its time to live, in nanoseconds.
type forgetting struct {
	// ttl is the least time to live, longest the most.
	ttl, longest int64
	// banned: the policy may not have seen a denied request, as a ban was on.
	banned bool
}

func forgettingOf(p spec.Policy) forgetting {
	return forgetting{int64(p.TTL), int64(max(p.TTL, p.TTLTo)), p.Ban > 0}
}

// silences returns the intervals in which the partition may be forgotten between two requests; see
// history.Silences.
func (f forgetting) silences(all []history.Event) []history.Interval {
	return history.Silences(all, f.ttl, f.sure)
}

// life returns how many events come before the first silence in which the partition was surely forgotten.
func (f forgetting) life(events []history.Event) int {
	w := history.QuietGap{Until: history.MinTime, Memory: f.longest}
	for i := range events {
		if w.Ends(&events[i]) && i > 0 {
			return i
		}
		w.Until = max(w.Until, events[i].End, events[i].From())
	}
	return len(events)
}

// sure tells whether a request was surely seen, and so renewed the time to live.
func (f forgetting) sure(ev history.Event) bool {
	return ev.Outcome == timeline.Allowed || ev.Outcome == timeline.Denied && !f.banned
}

// ttlModel forgets the state of the inner model after a silence. A request that comes ttl or more after the
// last one finds the inner model as it starts. Admitted and denied requests both renew the time to live, but
// see admitted. A window that requests renew is a quota with a time to live.
type ttlModel struct {
	around
	// ttl is the shortest and ttlTo the longest silence after which the model forgets, scaled.
	ttl, ttlTo int64
	// admitted: a denied request renews nothing, unless it finds nothing remembered.
	admitted bool
}

func (t ttlModel) Traits() Traits {
	if t.admitted {
		return t.Model.Traits()
	}
	return t.remembers()
}

// Start: where denied requests renew nothing, the first request must find nothing remembered.
func (t ttlModel) Start(begin int64) State {
	m := t.around.Start(begin)
	if t.admitted {
		m.Zone.Set(lastAsked, zone.Now, -t.ttlTo)
	}
	return m
}

func (t ttlModel) Scaled(k int64) Model {
	return ttlModel{around{t.Model.Scaled(k)}, t.ttl * k, t.ttlTo * k, t.admitted}
}

func (t ttlModel) Admit(m State, a Request) []State { return t.known(m, a, Model.Admit, true) }

func (t ttlModel) Deny(m State, a Request) []State {
	return t.known(m, a, Model.Deny, !t.admitted)
}

func (t ttlModel) Pass(m State, a Request) []State {
	return t.known(m, a, Model.Pass, !t.admitted)
}

// known asks the inner model twice: in its present state, and in its start state if the silence may be long
// enough.
func (t ttlModel) known(m State, a Request, q question, renews bool) []State {
	var out []State
	if known := m.Clone(); known.Zone.Limit(zone.Now, lastAsked, t.ttlTo-t.Model.Traits().Scale) {
		out = t.ask(known, a, q)
		if renews {
			asked(out)
		}
	}
	if m.Zone.Limit(lastAsked, zone.Now, -t.ttl) {
		out = append(out, asked(t.ask(m, a, func(to Model, m State, a Request) []State {
			t.renew(m)
			return q(to, m, a)
		}))...)
	}
	return out
}

// renew sets the state of the inner model to its start state: each time becomes the present plus a constant.
// The load of a fixedModel is no time, but it becomes 0 at the next turn, since the window index is that of
// the start.
func (t ttlModel) renew(m State) {
	fresh := t.Model.Start(0)
	for k := range fresh.Counts {
		*m.count(k) = fresh.Counts[k]
	}
	for i := zone.FirstVariable; i < fresh.Zone.N; i++ {
		m.Zone.Set(i, zone.Now, fresh.Zone.Bound(i, zone.Now))
	}
}

// Forget: after a silence that is surely long enough at lo, the state is as good as the start state.
func (t ttlModel) Forget(m State, lo int64) {
	if m.Zone.Bound(lastAsked, 0) <= lo-t.ttlTo {
		m.Zone.Free(lastAsked, lo-t.ttlTo)
		fresh := t.Model.Start(0)
		for k := range fresh.Counts {
			*m.count(k) = fresh.Counts[k]
		}
		for i := zone.FirstVariable; i < fresh.Zone.N; i++ {
			m.Zone.Set(i+1, lastAsked, 0)
		}
		return
	}
	t.around.Forget(m, lo)
}

// expiringSweep is the sweep of a bucket that starts full. It begins anew after every silence that may have
// been long enough.
//
//	the last one sent        it may be forgotten from here      until the next one is surely seen
//	s ......................... s + ttl ........................... e
//	admissions that end before are of the old sweep                 those sent after are of the new one
//
// Of the requests sent later, only the first that was surely seen ends a silence here. So a slow answer may
// be taken for a silence. That accuses nobody.
type expiringSweep struct {
	expiring
	sweep Sweep
	// anew makes a sweep. linking: the sweep keeps requests that prove that nothing was forgotten.
	anew    func() Sweep
	linking bool
	// silences are the silences that were not reached yet, ascending.
	silences []history.Interval
	// first is the first Start of the requests that no request is surely seen to follow. after is when the
	// last silence ended. MinTime: there is none.
	first, after int64
	// links chooses, of the requests that were surely seen, those that prove that nothing was forgotten.
	// linked are the chosen ones.
	links  history.Cover
	linked []history.Event
}

// Take implements Sweep.
func (x *expiringSweep) Take(b Block) *Alarm {
	for i := range b.Begun {
		x.sent(&b.Begun[i])
	}
	for {
		from, open := history.MaxTime, false
		switch {
		case len(x.silences) > 0:
			from = x.silences[0].From
		case x.first > history.MinTime && b.Horizon >= x.first+x.ttl: // this silence has not ended yet
			from, open = x.first+x.ttl, true
		}
		n, m := 0, history.StartingBefore(b.Begun, from)
		for n < len(b.ByEnd) && b.Ended[b.ByEnd[n]].End < from {
			n++
		}
		old := Block{b.Begun[:m], b.Ended, x.lively(b.Ended, b.ByEnd[:n]), b.Oldest, b.Horizon}
		if a := x.sweep.Take(old); a != nil {
			a.Placing = x.witness(a)
			return a
		}
		if b.Begun, b.ByEnd = b.Begun[m:], b.ByEnd[n:]; open || len(b.ByEnd) == 0 && len(b.Begun) == 0 {
			return nil // what ends in an open silence was sent before it
		}
		x.sweep, x.after = x.anew(), max(x.after, x.silences[0].Ended(x.ttl))
		x.silences = x.silences[1:]
		x.linked = slices.DeleteFunc(x.linked, func(ev history.Event) bool { return ev.Start < x.after })
	}
}

// sent notes the silence that a request ends.
func (x *expiringSweep) sent(ev *history.Event) {
	if ev.Outcome == timeline.Denied && ev.End == history.MaxTime { // it may be seen at any later time
		return
	}
	sure := x.sure(*ev)
	if from := x.first + x.ttl; sure && x.first > history.MinTime && ev.End >= from {
		x.silences = append(x.silences, history.Interval{From: from, To: ev.End})
	}
	if sure || x.first == history.MinTime {
		x.first = ev.Start
	}
	if x.linking && sure {
		x.link(ev)
	}
}

// link keeps a request, or the one before it, if no other kept request shows that the silence was too short.
func (x *expiringSweep) link(ev *history.Event) {
	if len(x.linked) == 0 {
		x.links = history.NewCover(ev, x.ttl)
		x.linked = append(x.linked, *ev)
		return
	}
	if before, kept := x.links.Add(ev); kept && len(x.linked) < MostListed {
		x.linked = append(x.linked, before)
	}
}

// witness returns the requests that were counted, and those that show that nothing was forgotten; nil where
// these are not kept.
func (x *expiringSweep) witness(a *Alarm) []history.Event {
	if !x.linking {
		return nil
	}
	return slices.Concat(a.Placing, x.linked, []history.Event{x.links.Next})
}

// sweptLives is an expiring bound with a bucket that begins full in each life. Each life is swept.
type sweptLives struct {
	expiring
	life Sweeping
}

func (x sweptLives) Sweep() Sweep {
	return &expiringSweep{expiring: x.expiring, anew: x.life.Sweep, sweep: x.life.Sweep(),
		first: history.MinTime, after: history.MinTime}
}

// lively returns the indices of the admissions that were sent after the last silence.
func (x *expiringSweep) lively(ended []history.Event, these []int32) []int32 {
	if x.after == history.MinTime {
		return these
	}
	return slices.DeleteFunc(slices.Clone(these), func(i int32) bool { return ended[i].Start < x.after })
}

// lastAsked is the index of the time at which a ttlModel was last renewed.
const lastAsked = ownTime

// asked sets lastAsked to the present in all states.
func asked(all []State) []State {
	for i := range all {
		all[i].Zone.Set(lastAsked, zone.Now, 0)
	}
	return all
}

// PlacementAt returns what is known at the instant t of the windows that requests place. h has every request
// that may have been decided until `until`. several: the policy is one of several. nil: the partition may
// have been forgotten before.
func PlacementAt(p spec.Policy, several bool, h *history.History, t, until int64) *history.Placement {
	if p.TTL > 0 {
		if h = reborn(p, h, t); ForgottenBy(p, h, t, until) {
			return nil
		}
	}
	out := &history.Placement{Since: t, Until: history.MinTime}
	if p.Refreshes() {
		refreshedUntil(out, p, h)
		return out
	}
	f := NewFirst(p)
	f.others = p.Count == spec.CountOwn || f.all && (several || Ranged(p)) // see SweepingWindows
	out.Windows = f.Openings(h)
	for n := len(out.Windows); n > 0 && out.Windows[n-1].From > until; n-- {
		out.Windows = out.Windows[:n-1]
	}
	next := history.Opening{From: until + 1, To: history.MaxTime}
	if n := len(out.Windows); n > 0 {
		next.From = max(next.From, out.Windows[n-1].From+f.size)
	}
	for out.Windows = append(out.Windows, next); out.Windows[0].To < history.MaxTime &&
		out.Windows[0].To+f.SizeTo <= t; {
		out.Windows = out.Windows[1:]
	}
	if out.Windows = slices.Clone(out.Windows); len(out.Windows) > mostHanded {
		// the first window that is not over
		out.Windows = []history.Opening{{From: t - f.SizeTo + 1, To: history.MaxTime}}
	}
	return out
}

// reborn returns the history from the last request on that surely found nothing remembered. Every request
// before it was decided before t.
func reborn(p spec.Policy, h *history.History, t int64) *history.History {
	f := forgettingOf(p)
	k, last := 0, history.MinTime
	for i := 0; i < len(h.All); {
		n := f.life(h.All[i:])
		last = max(last, history.LastEnd(h.All[i:i+n]))
		if i += n; i == len(h.All) || last >= t {
			break
		}
		k = i
	}
	if k == 0 {
		return h
	}
	return h.From(k)
}

// ForgottenBy tells whether the partition may be forgotten after one of the requests that were decided before
// t.
func ForgottenBy(p spec.Policy, h *history.History, t, until int64) bool {
	f := forgettingOf(p)
	for _, silence := range f.silences(closed(h, until)) {
		if silence.From < t+f.ttl {
			return true
		}
	}
	return false
}

// closed returns the events of h, followed by one that may come next.
func closed(h *history.History, until int64) []history.Event {
	return append(slices.Clone(h.All), history.Event{Start: until + 1, End: until + 1})
}
