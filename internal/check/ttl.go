package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// expiring is the bound of a policy that forgets a partition after a silence of ttl: a history is bounded in
// the stretches in which it cannot have been forgotten. Forgetting only lowers what is in use, so denials are
// bounded as without. Where the first request places the windows or finds an empty bucket, only what comes
// before the first such stretch ends is bounded, and what comes after a silence in which it was surely
// forgotten, until the same; and denials prove nothing: whether a later one was the first again is not known.
// Nor do they where it may find an empty bucket.
type expiring struct {
	bound
	forgetting
	// placed: the first request of each life places the windows, or finds less than a full bucket for
	// certain; low: it may find less; once: the phase of the windows is that of the first life alone.
	placed, low, once bool
}

func newExpiring(p spec.Policy, from, to int64, others bool) expiring {
	x := expiring{forgetting: forgettingOf(p), placed: p.Align == spec.AlignFirst || remembersStart(p),
		once: anchored(p)}
	x.low = x.placed || startsLow(p)
	p.TTL, p.TTLTo = 0, 0
	x.bound = boundAmong(p, from, to, others)
	return x
}

func (x expiring) over(h *history) *breach {
	if of := x.scope(); !of.late {
		if br := tooDear(h, of.full); br != nil {
			return br
		}
	}
	if !x.placed || x.once {
		return x.overBetween(h)
	}
	for k := 0; k < len(h.all); {
		n := x.life(h.all[k:])
		one := h
		if n < len(h.all) {
			one = &history{all: h.all[k : k+n : k+n]}
			if one.split(); k == 0 {
				one.placed = h.placed
			}
		}
		if br := x.overBetween(one); br != nil {
			return br
		}
		k += n
	}
	return nil
}

// overBetween bounds a history in the stretches in which the partition was surely not forgotten, or in the
// first of them.
func (x expiring) overBetween(h *history) *breach {
	from, begin, latest := minTime, 0, minTime
	for _, f := range append(x.silences(h.all), phases{maxTime, maxTime}) {
		for ; begin < len(h.all) && max(latest, h.all[begin].e) < from; begin++ {
			latest = max(latest, h.all[begin].e)
		}
		lively := &history{placed: h.placed}
		for _, ev := range h.all[begin:] {
			if ev.s >= f.from {
				break
			}
			if ev.e < from {
				continue
			}
			if ev.s < from || ev.e >= f.from {
				ev.outcome, ev.mute = timeline.Unknown, false // it may belong to another stretch
			}
			lively.all = append(lively.all, ev)
		}
		lively.split()
		if br := x.bound.over(lively); br != nil {
			return br
		}
		if from = f.to; x.placed {
			return nil
		}
	}
	return nil
}

func (x expiring) usage(h *history) meter {
	if x.low {
		return boundless{}
	}
	return x.bound.usage(h)
}

// boundless is the meter of what is not known: everything may be in use.
type boundless struct{}

func (boundless) excess(int64) int64 { return 1 << 40 }

func (boundless) unit() int64 { return 1 }

func (x expiring) scope() scope {
	of := x.bound.scope()
	of.low = x.low
	return of
}

// forgetting is when a partition is forgotten: after a silence of its time to live.
type forgetting struct {
	// ttl is the least time to live, longest the most.
	ttl, longest int64
	// banned: a denied request may not have been seen.
	banned bool
}

func forgettingOf(p spec.Policy) forgetting {
	return forgetting{int64(p.TTL), int64(max(p.TTL, p.TTLTo)), p.Ban > 0}
}

// silences returns, ascending, from when to when the partition may be forgotten between two requests.
func (f forgetting) silences(all []event) []phases { return silences(all, f.ttl, f.sure) }

// life returns the number of events before the first silence in which the partition was surely forgotten, and
// none is missing.
func (f forgetting) life(events []event) int {
	w := lull{minTime, f.longest}
	for i := range events {
		if w.ends(&events[i]) && i > 0 {
			return i
		}
		w.until = max(w.until, events[i].e, events[i].from)
	}
	return len(events)
}

// sure tells whether a request was surely seen, and remembered anew what is known of its partition.
func (f forgetting) sure(ev event) bool {
	return ev.outcome == timeline.Allowed || ev.outcome == timeline.Denied && !f.banned
}

// ttlModel forgets the memory of the model inside after a silence: a request that comes ttl or more after the
// last one, admitted or denied, finds it as it starts. A window that requests start anew is a quota that is
// forgotten so.
type ttlModel struct {
	around
	// ttl is the least and ttlTo the most that a silence lasts after which it forgets.
	ttl, ttlTo int64
	// admitted: only admitted requests are remembered so long, and those that find nothing remembered.
	admitted bool
}

func (t ttlModel) traits() traits {
	if t.admitted {
		return t.model.traits()
	}
	return t.remembers()
}

// start: where denied requests are not remembered so long, the first request finds nothing remembered.
func (t ttlModel) start(begin int64) memoryState {
	m := t.around.start(begin)
	if t.admitted {
		m.zone.set(lastAsked, now, -t.ttlTo)
	}
	return m
}

func (t ttlModel) scaled(k int64) model {
	return ttlModel{around{t.model.scaled(k)}, t.ttl * k, t.ttlTo * k, t.admitted}
}

func (t ttlModel) admit(m memoryState, a ask) []memoryState { return t.known(m, a, model.admit, true) }

func (t ttlModel) deny(m memoryState, a ask) []memoryState {
	return t.known(m, a, model.deny, !t.admitted)
}

func (t ttlModel) pass(m memoryState, a ask) []memoryState {
	return t.known(m, a, model.pass, !t.admitted)
}

// known asks the model inside, as it is or as it starts.
func (t ttlModel) known(m memoryState, a ask, q question, renews bool) []memoryState {
	var out []memoryState
	if known := m.clone(); known.zone.limit(now, lastAsked, t.ttlTo-t.model.traits().scale) {
		out = t.ask(known, a, q)
		if renews {
			asked(out)
		}
	}
	if m.zone.limit(lastAsked, now, -t.ttl) {
		out = append(out, asked(t.ask(m, a, func(to model, m memoryState, a ask) []memoryState {
			t.renew(m)
			return q(to, m, a)
		}))...)
	}
	return out
}

// renew makes the memory of the model inside what it is when it starts now: every time in it is some time
// from the present. (What a fixedModel has counted is no time, but is none once its window turns, as it does
// where the index of its window is what it was at the start.)
func (t ttlModel) renew(m memoryState) {
	fresh := t.model.start(0)
	for k := range fresh.counts {
		*m.count(k) = fresh.counts[k]
	}
	for i := firstVariable; i < fresh.zone.n; i++ {
		m.zone.set(i, now, fresh.zone.bound(i, now))
	}
}

// forget: what is forgotten at lo for sure is as good as the memory of a partition that was never asked for.
func (t ttlModel) forget(m memoryState, lo int64) {
	if m.zone.bound(lastAsked, 0) <= lo-t.ttlTo {
		m.zone.free(lastAsked, lo-t.ttlTo)
		fresh := t.model.start(0)
		for k := range fresh.counts {
			*m.count(k) = fresh.counts[k]
		}
		for i := firstVariable; i < fresh.zone.n; i++ {
			m.zone.set(i+1, lastAsked, 0)
		}
		return
	}
	t.around.forget(m, lo)
}

// expiringOver is expiring.over for a bucket that starts full: its sweep begins anew after every silence that
// may have been long enough.
//
//	the last one sent        it may be forgotten from here      until the next one is surely seen
//	s ......................... s + ttl ........................... e
//	admissions that end before are of the old sweep                 those sent after are of the new one
//
// Of those sent later only the first that was surely seen ends a silence here, so that a slow answer may be
// taken for one. That accuses of nothing.
type expiringOver struct {
	expiring
	sweep overSweep
	// anew makes a sweep; linking tells to keep what proves that nothing was forgotten.
	anew    func() overSweep
	linking bool
	// silences are those that were not reached yet, ascending.
	silences []phases
	// first is when the first request was sent of those that no other is surely seen to have followed, after
	// is when the last silence ended; minTime where there is none.
	first, after int64
	// links follow the requests that were surely seen; linked are those that are kept. They prove that
	// nothing was forgotten.
	links  links
	linked []event
}

func (x *expiringOver) advance(fresh, ended []event, oldest, horizon int64) *alarm {
	for i := range fresh {
		x.sent(&fresh[i])
	}
	for {
		from, open := maxTime, false
		switch {
		case len(x.silences) > 0:
			from = x.silences[0].from
		case x.first > minTime && horizon >= x.first+x.ttl: // it has not ended yet
			from, open = x.first+x.ttl, true
		}
		n, m := 0, 0
		for n < len(ended) && ended[n].e < from {
			n++
		}
		for m < len(fresh) && fresh[m].s < from {
			m++
		}
		if a := x.sweep.advance(fresh[:m], x.lively(ended[:n]), oldest, horizon); a != nil {
			a.placing = x.witness(a)
			return a
		}
		if ended, fresh = ended[n:], fresh[m:]; open || len(ended) == 0 && len(fresh) == 0 {
			return nil // what ends in an open silence was sent before it
		}
		x.sweep, x.after = x.anew(), max(x.after, x.silences[0].ended(x.ttl))
		x.silences = x.silences[1:]
		x.linked = slices.DeleteFunc(x.linked, func(ev event) bool { return ev.s < x.after })
	}
}

// sent notes the silence that a request ends.
func (x *expiringOver) sent(ev *event) {
	if ev.outcome == timeline.Denied && ev.e == maxTime { // it may be seen at any time to come
		return
	}
	sure := x.sure(*ev)
	if from := x.first + x.ttl; sure && x.first > minTime && ev.e >= from {
		x.silences = append(x.silences, phases{from, ev.e})
	}
	if sure || x.first == minTime {
		x.first = ev.s
	}
	if x.linking && sure {
		x.link(ev)
	}
}

// link keeps a request, or the one before it, where no other that is kept shows that no silence was long
// enough.
func (x *expiringOver) link(ev *event) {
	if len(x.linked) == 0 {
		x.links = newLinks(ev, x.ttl)
		x.linked = append(x.linked, *ev)
		return
	}
	if before, kept := x.links.add(ev); kept && len(x.linked) < mostListed {
		x.linked = append(x.linked, before)
	}
}

// witness returns what was counted, and what shows that nothing of it was forgotten; nil where that is not
// kept.
func (x *expiringOver) witness(a *alarm) []event {
	if !x.linking {
		return nil
	}
	return slices.Concat(a.placing, x.linked, []event{x.links.next})
}

// sweptLives is an expiring bound under which a full bucket begins anew, and each life is swept.
type sweptLives struct {
	expiring
	life sweptBound
}

func (x sweptLives) swept() overSweep {
	return &expiringOver{expiring: x.expiring, anew: x.life.swept, sweep: x.life.swept(),
		first: minTime, after: minTime}
}

// lively returns the admissions that were sent after the last silence.
func (x *expiringOver) lively(ended []event) []event {
	if x.after == minTime {
		return ended
	}
	return slices.DeleteFunc(slices.Clone(ended), func(ev event) bool { return ev.s < x.after })
}

// lastAsked is the time of a ttlModel.
const lastAsked = ownTime

// asked makes the present the time of the last request.
func asked(all []memoryState) []memoryState {
	for i := range all {
		all[i].zone.set(lastAsked, now, 0)
	}
	return all
}
