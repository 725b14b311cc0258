package check

import (
	"github.com/rlcheck/rlcheck/internal/verdict"
	"slices"
)

// expiringOver is expiring.over for a bucket that starts full: its sweep begins anew after every silence that may have been long
// enough.
//
//	the last one sent        it may be forgotten from here      until the next one is surely seen
//	s ......................... s + ttl ........................... e
//	admissions that end before are of the old sweep                 those sent after are of the new one
//
// Of those sent later only the first that was surely seen ends a silence here, so that a slow answer may be taken for one. That
// accuses of nothing.
type expiringOver struct {
	expiring
	sweep overSweep
	// silences are those that were not reached yet, ascending.
	silences []phases
	// first is when the first request was sent of those that no other is surely seen to have followed, after is when the last
	// silence ended; minTime where there is none.
	first, after int64
	// links follow the requests that were surely seen; linked are those that are kept. They prove that nothing was forgotten.
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
			return a
		}
		if ended, fresh = ended[n:], fresh[m:]; open || len(ended) == 0 && len(fresh) == 0 {
			return nil // what ends in an open silence was sent before it
		}
		x.sweep, x.after = newOverSweep(x.bound), max(x.after, x.silences[0].ended(x.ttl))
		x.silences = x.silences[1:]
		x.linked = slices.DeleteFunc(x.linked, func(ev event) bool { return ev.s < x.after })
	}
}

// sent notes the silence that a request ends.
func (x *expiringOver) sent(ev *event) {
	sure := x.sure(*ev)
	if from := x.first + x.ttl; sure && x.first > minTime && ev.e >= from {
		x.silences = append(x.silences, phases{from, ev.e})
	}
	if sure || x.first == minTime {
		x.first = ev.s
	}
	if _, ok := x.sweep.(*atMostOver); ok && sure {
		x.link(ev)
	}
}

// link keeps a request, or the one before it, where no other that is kept shows that no silence was long enough.
func (x *expiringOver) link(ev *event) {
	if len(x.linked) == 0 {
		x.links = newLinks(ev, x.ttl)
		x.linked = append(x.linked, *ev)
		return
	}
	if before, kept := x.links.add(ev); kept && len(x.linked) < mostKept {
		x.linked = append(x.linked, before)
	}
}

// witness returns what was counted, and what shows that nothing of it was forgotten; nil where the sweep does not keep it.
func (x *expiringOver) witness() []event {
	most, ok := x.sweep.(*atMostOver)
	if !ok {
		return nil
	}
	return slices.Concat(most.counted, x.linked, []event{x.links.next})
}

// atMost is the bound of a window that nothing ends.
type atMost struct{ refreshed }

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
			br := breach{kind: verdict.OverAdmission, seen: x.units, bound: x.quota, span: ev.e - from, windows: 1}
			return &alarm{br, from, ev.e}
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
