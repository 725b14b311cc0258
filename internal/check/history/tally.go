package history

import "sort"

// Tally sums the costs of the endings before an instant. It is fast where the instants asked for mostly grow.
type Tally struct {
	ends []Ending
	// k is the number of endings before the last instant asked for, sum their cost.
	k   int
	sum int64
}

// NewTally returns the tally of ends, ascending.
func NewTally(ends []Ending) Tally { return Tally{ends: ends} }

// Before returns the sum of the costs of the endings strictly before t.
func (y *Tally) Before(t int64) int64 {
	for y.k < len(y.ends) && y.ends[y.k].End < t {
		y.sum += y.ends[y.k].Cost
		y.k++
	}
	for y.k > 0 && y.ends[y.k-1].End >= t {
		y.k--
		y.sum -= y.ends[y.k].Cost
	}
	return y.sum
}

// Certain tells how many units were certainly decided between two instants. It is fast where these mostly
// grow.
type Certain struct {
	evs []Event // ascending by Start
	// ended and begun count the units by their ends and by their starts.
	ended, begun Tally
	// across are the events before next that were in flight at latest, the latest instant asked for. It
	// leaves out the events that end at end, the last End of all, as lost requests do. forever counts the
	// starts of these.
	across      []Event
	next        int
	latest, end int64
	forever     Tally
}

// NewCertain returns the count of evs, which ascend by Start.
func NewCertain(evs []Event) *Certain {
	c := &Certain{evs: evs, latest: MinTime, end: MinTime}
	starts := make([]Ending, len(evs))
	for i := range evs {
		starts[i] = Ending{evs[i].Start, evs[i].Cost}
		c.end = max(c.end, evs[i].End)
	}
	var last []Ending
	for i := range evs {
		if evs[i].End == c.end {
			last = append(last, starts[i])
		}
	}
	c.ended, c.begun, c.forever = NewTally(Endings(evs)), NewTally(starts), NewTally(last)
	return c
}

// Events returns the events that are counted, ascending by Start.
func (c *Certain) Events() []Event { return c.evs }

// Within returns the units of the events other than ev with Start > after and End < before.
func (c *Certain) Within(after, before int64, ev Event) int64 {
	from := c.firstAfter(after)
	if before > ev.Start || before < c.latest || from+few >= len(c.evs) || c.evs[from+few].Start >= before {
		return c.listed(from, before, ev)
	}
	for c.latest = max(c.latest, after); c.next < len(c.evs) && c.evs[c.next].Start <= c.latest; c.next++ {
		if c.evs[c.next].End < c.end {
			c.across = append(c.across, c.evs[c.next])
		}
	}
	// The events that ended before, minus those that began by after; then add back those of these that ended
	// later.
	units := c.ended.Before(before) - c.begun.Before(after+1)
	if before <= c.end {
		units += c.forever.Before(after + 1)
	}
	keep := c.across[:0]
	for _, other := range c.across {
		if other.Start <= after && other.End >= before {
			units += other.Cost
		}
		if other.End >= c.latest {
			keep = append(keep, other)
		}
	}
	c.across = keep
	return units
}

// few is the number of events up to which listed looks at each of them.
const few = 16

// listed is Within, by looking at each event from index from on.
func (c *Certain) listed(from int, before int64, ev Event) int64 {
	var units int64
	for i := from; i < len(c.evs) && c.evs[i].Start < before; i++ {
		if c.evs[i].End < before && c.evs[i].Seq != ev.Seq {
			units += c.evs[i].Cost
		}
	}
	return units
}

// StartsIn returns the starts s with after < s <= until, ascending.
func (c *Certain) StartsIn(after, until int64) []int64 {
	var out []int64
	for i := c.firstAfter(after); i < len(c.evs) && c.evs[i].Start <= until; i++ {
		out = append(out, c.evs[i].Start)
	}
	return out
}

func (c *Certain) firstAfter(t int64) int { return FirstAfter(c.evs, t) }

// FirstAfter returns the index of the first of evs, ascending by Start, that begins after t.
func FirstAfter(evs []Event, t int64) int {
	return sort.Search(len(evs), func(i int) bool { return evs[i].Start > t })
}
