package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

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

// swept of a window that requests start anew is that of one which nothing ends, forgotten after a silence.
func (r refreshed) swept() overSweep {
	only := expiring{forgetting: forgetting{ttl: r.size, longest: r.size, banned: r.banned || !r.every}}
	anew := func() overSweep { return &atMostOver{quota: r.quota} }
	return &expiringOver{expiring: only, anew: anew, sweep: anew(), linking: true,
		first: minTime, after: minTime}
}

// atMostOver counts all admissions.
type atMostOver struct {
	quota, units int64
	counted      []event
}

func (x *atMostOver) advance(_, ended []event, _, _ int64) *alarm {
	for i := range ended {
		ev := &ended[i]
		x.counted = append(x.counted, *ev)
		if x.units += ev.cost; x.units > x.quota {
			from := x.counted[0].s
			for i := range x.counted {
				from = min(from, x.counted[i].s)
			}
			br := breach{kind: verdict.OverAdmission, seen: x.units, bound: x.quota, span: ev.e - from,
				windows: 1}
			return &alarm{breach: br, from: from, to: ev.e, placing: x.counted}
		}
	}
	return nil
}

// lively returns the admissions that were sent after the last silence.
func (x *expiringOver) lively(ended []event) []event {
	if x.after == minTime {
		return ended
	}
	return slices.DeleteFunc(slices.Clone(ended), func(ev event) bool { return ev.s < x.after })
}
