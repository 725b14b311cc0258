package check

import "github.com/rlcheck/rlcheck/internal/check/history"

// Jointly returns the history of a partition under all policies together. Its events begin when they were
// sent. They end and are complete when all of the policies say so. The clock of each policy may lag (Lags).
func (c *Case) Jointly(p *Part) *history.History {
	if p.joint != nil {
		return p.joint
	}
	lags, longest := make([]int64, len(p.Histories)), int64(0)
	same := true
	for i, h := range p.Histories {
		lags[i], longest, same = h.Lag, max(longest, h.Lag), same && h == p.Histories[0]
	}
	switch {
	case same && longest == 0:
		p.joint = p.Histories[0]
		return p.joint
	case same:
		p.joint = p.Histories[0].Punctual()
	default:
		p.joint = c.together(p, longest)
	}
	p.joint.Lags = lags
	return p.joint
}

// together makes the joint history of policies whose clocks or holds differ. longest is the longest of their
// lags.
func (c *Case) together(p *Part, longest int64) *history.History {
	w := history.Widen(c.Rec.Header, 0, true)
	var stays []history.Stay
	for _, pol := range c.Limit {
		stays = append(stays, history.StayOf(pol))
	}
	h := history.New(p.Obs, w, c.End, stays...)
	if c.Edges == nil {
		return h
	}
	h.Shift(-longest)
	h.All = c.Edges.Trim(h.All)
	h.Shift(longest)
	return h
}
