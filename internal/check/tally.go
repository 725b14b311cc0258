package check

import "sort"

// tally sums the costs of the endings before an instant that mostly grows.
type tally struct {
	ends []ending
	// k is the number of the endings before the last instant, sum their cost.
	k   int
	sum int64
}

func newTally(ends []ending) tally { return tally{ends: ends} }

// before returns the sum of the costs of the endings strictly before t.
func (y *tally) before(t int64) int64 {
	for y.k < len(y.ends) && y.ends[y.k].e < t {
		y.sum += y.ends[y.k].cost
		y.k++
	}
	for y.k > 0 && y.ends[y.k-1].e >= t {
		y.k--
		y.sum -= y.ends[y.k].cost
	}
	return y.sum
}

// certain answers how many units were certainly decided between two instants, which mostly grow.
type certain struct {
	evs []event // ascending by s
	// ended and begun count the units by their ends and by their starts.
	ended, begun tally
	// across are those before next that were in flight at the latest instant asked for, `latest`; but for
	// those that end last of all, at end, as the lost ones do: their starts are counted by forever.
	across      []event
	next        int
	latest, end int64
	forever     tally
}

func newCertain(evs []event) *certain {
	c := &certain{evs: evs, latest: minTime, end: minTime}
	starts := make([]ending, len(evs))
	for i := range evs {
		starts[i] = ending{evs[i].s, evs[i].cost}
		c.end = max(c.end, evs[i].e)
	}
	var last []ending
	for i := range evs {
		if evs[i].e == c.end {
			last = append(last, starts[i])
		}
	}
	c.ended, c.begun, c.forever = newTally(endings(evs)), newTally(starts), newTally(last)
	return c
}

// within returns the units of the requests other than ev with s > after and e < before.
func (c *certain) within(after, before int64, ev event) int64 {
	from := c.firstAfter(after)
	if before > ev.s || before < c.latest || from+few >= len(c.evs) || c.evs[from+few].s >= before {
		return c.listed(from, before, ev)
	}
	for c.latest = max(c.latest, after); c.next < len(c.evs) && c.evs[c.next].s <= c.latest; c.next++ {
		if c.evs[c.next].e < c.end {
			c.across = append(c.across, c.evs[c.next])
		}
	}
	// What ended before, but for what began no later than after: all that did, but for what ends later.
	units := c.ended.before(before) - c.begun.before(after+1)
	if before <= c.end {
		units += c.forever.before(after + 1)
	}
	keep := c.across[:0]
	for _, other := range c.across {
		if other.s <= after && other.e >= before {
			units += other.cost
		}
		if other.e >= c.latest {
			keep = append(keep, other)
		}
	}
	c.across = keep
	return units
}

// few is how many requests are rather looked at one by one.
const few = 16

// listed is within, by looking at each.
func (c *certain) listed(from int, before int64, ev event) int64 {
	var units int64
	for i := from; i < len(c.evs) && c.evs[i].s < before; i++ {
		if c.evs[i].e < before && c.evs[i].seq != ev.seq {
			units += c.evs[i].cost
		}
	}
	return units
}

// startsIn returns the starts s with after < s <= until, ascending.
func (c *certain) startsIn(after, until int64) []int64 {
	var out []int64
	for i := c.firstAfter(after); i < len(c.evs) && c.evs[i].s <= until; i++ {
		out = append(out, c.evs[i].s)
	}
	return out
}

func (c *certain) firstAfter(t int64) int { return firstAfter(c.evs, t) }

// firstAfter returns the index of the first of evs, ascending by s, that begins after t.
func firstAfter(evs []event, t int64) int {
	return sort.Search(len(evs), func(i int) bool { return evs[i].s > t })
}
