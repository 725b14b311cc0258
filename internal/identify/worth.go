package identify

import (
	"maps"
	"math"
	"slices"
	"time"
)

// worth returns how many bits e is expected to tell, and how many requests it takes. Telling the kind counts
// several times as much as telling its policies.
func (p *Planner) worth(e Experiment) (bits, requests float64) {
	all, ofKind, weights := map[seen]float64{}, map[*Kind]map[seen]float64{}, map[*Kind]float64{}
	within := 0.0 // what the time of a decision leaves open
	lates := []time.Duration{0, p.Trip / 2, p.Trip}
	for _, m := range p.Models {
		own := map[seen]float64{}
		for _, late := range lates {
			shown, _, _ := m.Predict(p.Now, late, e.Phases)
			own[shown] += m.Weight / float64(len(lates))
			requests += m.Weight * float64(shown.sent()) / float64(len(lates))
		}
		if ofKind[m.kind] == nil {
			ofKind[m.kind] = map[seen]float64{}
		}
		weights[m.kind] += m.Weight
		for k, share := range own {
			all[k] += share
			ofKind[m.kind][k] += share
		}
		within += entropy(own, m.Weight)
	}
	total, kindly := entropy(all, 1), 0.0
	for _, m := range p.spread() {
		kindly += entropy(ofKind[m.kind], weights[m.kind])
	}
	return total - within + kindWorth*(total-kindly), requests
}

// mostWorth is how many bits any experiment tells at most: which model is right, and of which kind it is.
func (p *Planner) mostWorth() float64 {
	const rounding = 1e-6
	models, kinds := map[*Model]float64{}, map[*Kind]float64{}
	for _, m := range p.Models {
		models[m] = m.Weight
		kinds[m.kind] += m.Weight
	}
	return entropy(models, 1) + kindWorth*entropy(kinds, 1) + rounding
}

// cost is what e costs as a share of the budget where it takes so many requests; infinite where it exceeds
// the budget.
func (p *Planner) cost(e Experiment, requests float64) float64 {
	var lasts, volleys time.Duration
	for _, phase := range e.Phases {
		all := time.Duration(phase.Requests) * phase.Every
		if lasts += phase.Rest + p.Trip; phase.Denials == 0 {
			lasts += all
		} else {
			volleys += all
		}
	}
	if requests > float64(p.Requests) || lasts+volleys > p.TimeLeft {
		return math.Inf(1)
	}
	cost := requests/float64(p.Requests) + float64(lasts)/float64(p.TimeLeft)
	if 2*lasts > p.TimeLeft { // nothing that it tells could be followed up
		cost *= lastWorth
	}
	if p.Far && p.alone() { // planning costs little there
		return cost + 0.01
	}
	return cost + 0.05
}

// lastWorth is how many times as much an experiment costs after which no other of its length fits.
const lastWorth = 3

// kindWorth is how many times as much it counts to tell the kind.
const kindWorth = 3

// entropy is the entropy of shares of whole in bits, times whole. The order of its sum is fixed, so that a
// seed always gives the same result.
func entropy[K comparable](shares map[K]float64, whole float64) (bits float64) {
	for _, w := range slices.Sorted(maps.Values(shares)) {
		bits -= w * math.Log2(w/whole)
	}
	return bits
}

// Weigh lowers the weight of models that miss more outcomes.
func (p *Planner) Weigh() {
	least, whole := math.MaxInt, 0.0
	for _, m := range p.Models {
		least = min(least, m.Missed)
	}
	for _, m := range p.Models {
		m.Weight /= float64(int(1) << min(m.Missed-least, 20))
		whole += m.Weight
	}
	for _, m := range p.Models {
		m.Weight /= whole
	}
}
