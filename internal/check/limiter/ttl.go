package limiter

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
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
			one.Split()
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
func (x expiring) overBetween(h *history.History) *Breach { return x.lives(h, x.placed, x.Bound.Over) }

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
	// denied: a denied request surely renews the time to live. It may not where a ban is on.
	denied bool
}

func forgettingOf(p spec.Policy) forgetting {
	return forgetting{int64(p.TTL), int64(max(p.TTL, p.TTLTo)), p.Ban == 0}
}

// lives asks over of each stretch between the silences in which the partition may have been forgotten, or of
// the first stretch only, until it finds a breach. A request that may belong to another stretch has no
// outcome there.
func (f forgetting) lives(h *history.History, first bool, over func(*history.History) *Breach) *Breach {
	silences := f.silences(h.All)
	if len(silences) == 0 {
		return over(h)
	}
	from, begin, latest := history.MinTime, 0, history.MinTime
	later := from // a renewing request from this instant on comes after the last silence
	for _, s := range append(silences, history.Interval{From: history.MaxTime, To: history.MaxTime}) {
		for ; begin < len(h.All) && max(latest, h.All[begin].End) < later; begin++ {
			latest = max(latest, h.All[begin].End)
		}
		life := &history.History{}
		for _, ev := range h.All[begin:] {
			if ev.Start >= s.From {
				break
			}
			mine := ev.Start >= from || ev.Start >= later && f.sure(ev)
			if !mine && ev.End < from {
				continue
			}
			if !mine || ev.End >= s.From {
				ev.Outcome, ev.Unprovable = timeline.Unknown, false
			}
			life.All = append(life.All, ev)
		}
		life.Split()
		if br := over(life); br != nil || first {
			return br
		}
		from, later = s.To, s.Ended(f.ttl)
	}
	return nil
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

// sure tells whether a request surely renewed the time to live.
func (f forgetting) sure(ev history.Event) bool {
	return ev.Outcome == timeline.Allowed || (ev.Outcome == timeline.Denied || ev.Unprovable) && f.denied
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
		m.Zone.Set(lastAsked, ZoneNow, -t.ttlTo)
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
	if known := m.Clone(); known.Zone.Limit(ZoneNow, lastAsked, t.ttlTo-t.Model.Traits().Scale) {
		out = t.ask(known, a, q)
		if renews {
			asked(out)
		}
	}
	if m.Zone.Limit(lastAsked, ZoneNow, -t.ttl) {
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
	for i := FirstVariable; i < fresh.Zone.N; i++ {
		m.Zone.Set(i, ZoneNow, fresh.Zone.Bound(i, ZoneNow))
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
		for i := FirstVariable; i < fresh.Zone.N; i++ {
			m.Zone.Set(i+1, lastAsked, 0)
		}
		return
	}
	t.around.Forget(m, lo)
}

// lastAsked is the index of the time at which a ttlModel was last renewed.
const lastAsked = ownTime

// asked sets lastAsked to the present in all states.
func asked(all []State) []State {
	for i := range all {
		all[i].Zone.Set(lastAsked, ZoneNow, 0)
	}
	return all
}
