package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// placers returns the requests by which it is known how a policy was placed, but for some that are known by
// others.
func placers(h *history, pol spec.Policy) []event {
	if len(h.all) == 0 {
		return nil
	}
	var out []event
	all := pol.Count == spec.CountAll
	switch {
	case anchored(pol):
		begin := slices.IndexFunc(h.all, func(ev event) bool { return ev.counts(all) })
		if begin < 0 {
			return nil
		}
		out = chain(h.counted(all), int64(pol.Rate.Per))
	case pol.Windowed():
		end := minTime
		f := newFirst(pol)
		for _, o := range f.openings(h) {
			for i := firstAfter(h.admitted, end); i < len(h.admitted) && h.admitted[i].s <= o.to &&
				o.to < maxTime; i++ {
				if h.admitted[i].e == o.to {
					out = append(out, h.admitted[i])
					break
				}
			}
			end = max(end, o.to+f.sizeTo-1)
		}
	}
	if pol.TTL > 0 {
		out = append(out, chain(h.all, int64(pol.TTL))...)
	}
	return historyOf(out).all
}

// chain returns the first event and the one that ends first, and of the others as few as leave no silence
// longer than a time where the whole leaves none.
func chain(events []event, most int64) []event {
	var sure []event
	for _, ev := range events {
		if ev.outcome != timeline.Unknown {
			sure = append(sure, ev)
		}
	}
	if len(sure) == 0 {
		return nil
	}
	first := sure[0]
	for i := 0; i < len(sure) && sure[i].s <= first.e; i++ {
		if sure[i].e < first.e {
			first = sure[i]
		}
	}
	out := []event{sure[0], first}
	l := newLinks(&first, most)
	for i := range sure {
		if before, kept := l.add(&sure[i]); kept {
			out = append(out, before)
		}
	}
	if l.next.s > l.last.s {
		out = append(out, l.next)
	}
	return out
}
