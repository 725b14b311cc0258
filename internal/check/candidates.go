package check

// candidates are the left ends that a violated span may have. The value of a candidate x is its scaled time
// plus the volume of the admissions since recorded that start at or after it; a span [x,y] is violated when
// the value exceeds the scaled y by more than the room of the bucket.
//
// Candidates ascend by x and strictly by value: whatever is added to a later one is added to every earlier
// one too, so a later one with a smaller value can be forgotten. Values are kept as gaps, so that adding to
// all candidates up to a point touches one gap. Each operation costs O(1) amortised, but for the search among
// the requests in flight.
type candidates struct {
	n    int64 // scale of time
	list []candidate
	head int
	// low is the value of list[head], top that of the last one.
	low, top int64
}

type candidate struct{ x, gap int64 }

// insert adds the candidate x, which must not be less than any before it.
func (c *candidates) insert(x int64) {
	value := x * c.n
	switch {
	case len(c.list) == c.head:
		c.list, c.head = append(c.list[:0], candidate{x, 0}), 0
		c.low, c.top = value, value
	case value > c.top:
		if c.head > 1024 && c.head > len(c.list)/2 {
			c.list, c.head = append(c.list[:0], c.list[c.head:]...), 0
		}
		c.list = append(c.list, candidate{x, value - c.top})
		c.top = value
	}
}

// admit adds the volume of an admission that starts at s to every candidate at or before s.
func (c *candidates) admit(s, volume int64) {
	last := len(c.list) - 1
	k := last
	for k >= c.head && c.list[k].x > s {
		k--
	}
	if k < c.head {
		return
	}
	c.low += volume
	if k == last {
		c.top += volume
		return
	}
	j := k + 1
	gap := c.list[j].gap - volume
	for gap <= 0 {
		if j == last {
			c.top -= gap
			c.list = c.list[:k+1]
			return
		}
		j++
		gap += c.list[j].gap
	}
	c.list = append(c.list[:k+1], c.list[j:]...)
	c.list[k+1].gap = gap
}

// forget drops the candidates whose value is less than the scaled s, where no admission to come starts before
// s: the candidate at s, or one before it that was as good when s was inserted, will do better. Those of
// equal value stay: one of them may be just that candidate.
func (c *candidates) forget(s int64) {
	for len(c.list)-c.head > 1 && c.low < s*c.n {
		c.head++
		c.low += c.list[c.head].gap
	}
}
