package check

// jointly returns the history of a partition under all policies together, in which its events begin when they
// were sent, and end and are complete as all of the policies say. The clock of each policy may lag behind.
func (c *caseFile) jointly(p *part) *history {
	if p.joint != nil {
		return p.joint
	}
	lags, longest := make([]int64, len(p.histories)), int64(0)
	same := true
	for i, h := range p.histories {
		lags[i], longest, same = h.lag, max(longest, h.lag), same && h == p.histories[0]
	}
	switch {
	case same && longest == 0:
		p.joint = p.histories[0]
		return p.joint
	case same:
		p.joint = p.histories[0].punctual()
	default:
		p.joint = c.together(p, longest)
	}
	p.joint.lags = lags
	return p.joint
}

// together makes the history of jointly for a clock that lags by the longest of all lags.
func (c *caseFile) together(p *part, longest int64) *history {
	w := widen(c.tl.Header, 0, true)
	h := newHistory(p.obs, w, c.end)
	var stays []stay
	for _, pol := range c.limit {
		stays = append(stays, stayOf(pol))
	}
	h.completions(p.obs, w, stays...)
	if c.edges == nil {
		return h
	}
	h.shift(-longest)
	h.all = c.edges.trim(h.all)
	h.shift(longest)
	return h
}
