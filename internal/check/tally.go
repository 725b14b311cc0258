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

// certain answers how many units were certainly decided between two instants.
type certain struct {
	evs []event // ascending by s
}

func newCertain(evs []event) *certain { return &certain{evs} }

// within returns the units of the requests other than ev with s > after and e < before.
func (c *certain) within(after, before int64, ev event) int64 {
	var units int64
	for i := c.firstAfter(after); i < len(c.evs) && c.evs[i].s < before; i++ {
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

func (c *certain) firstAfter(t int64) int {
	return sort.Search(len(c.evs), func(i int) bool { return c.evs[i].s > t })
}
