package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
)

// placesModel is a limit on requests in flight: its count is the units in flight.
type placesModel struct {
	base
	limit, scale int64
}

func newPlacesModel(p spec.Policy) placesModel { return placesModel{limit: p.Rate.N, scale: 1} }

func (p placesModel) traits() traits { return traits{scale: p.scale} }

func (p placesModel) scaled(k int64) model { return placesModel{limit: p.limit, scale: p.scale * k} }

func (p placesModel) start(begin int64) memoryState {
	return memoryState{counts: make([]int64, 1), zone: newZone(begin)}
}

func (p placesModel) fits(m memoryState, cost int64) bool { return *m.count(0)+cost <= p.limit }

func (p placesModel) admit(m memoryState, a ask) []memoryState {
	if !p.fits(m, a.cost) {
		return nil
	}
	*m.count(0) += a.cost
	return []memoryState{m}
}

func (p placesModel) deny(m memoryState, a ask) []memoryState {
	if p.fits(m, a.cost) {
		return nil
	}
	return []memoryState{m}
}

func (p placesModel) complete(m memoryState, a ask) []memoryState {
	*m.count(0) -= a.cost
	return []memoryState{m}
}

func (p placesModel) short(m memoryState, cost int64) bool {
	return cost <= p.limit && !p.fits(m, cost)
}

func (p placesModel) pass(m memoryState, a ask) []memoryState { return passed(p, m, a) }

// chargedModel is a limiter that counts an admitted request when it is complete: the one inside is asked what
// it would do, and charging, which counts denied requests too, is told of the completions.
type chargedModel struct {
	model
	charging model
}

func (c chargedModel) scaled(k int64) model {
	return chargedModel{c.model.scaled(k), c.charging.scaled(k)}
}

func (c chargedModel) admit(m memoryState, a ask) []memoryState { return c.model.pass(m, a) }

func (c chargedModel) complete(m memoryState, a ask) []memoryState {
	return append(c.charging.admit(m.clone(), a), c.charging.deny(m, a)...)
}

func (c chargedModel) pass(m memoryState, a ask) []memoryState { return passed(c, m, a) }

func (c chargedModel) traits() traits {
	t := c.model.traits()
	t.eager = true
	return t
}
