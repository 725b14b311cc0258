package identify

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// experiment is one or several phases, and what they are to tell apart.
type experiment struct {
	phases []Phase
}

// planner chooses the next experiment.
type planner struct {
	models []*model
	now    time.Duration
	// made counts the experiments so far.
	made map[string]int
	// trip is the time from a request to its answer, every the least time between two requests.
	trip, every time.Duration
	// wait is how long nothing is sent from now on.
	wait time.Duration
	// requests and left are what is left of the budget.
	requests int
	left     time.Duration
}

// volley is as many requests as are needed to see a quota end.
func (p *planner) volley(name string, rest time.Duration) Phase {
	most := int64(1)
	for _, m := range p.models {
		most = max(most, m.point.q2)
	}
	return Phase{Name: name, Rest: rest, Requests: int(most) + 3, Every: p.every, Denials: 2}
}

// waits returns the times after which models have n of them disagree on whether share of the quota is
// there: the quantiles of what they predict.
func (p *planner) waits(share float64) []time.Duration {
	var all []time.Duration
	for _, m := range p.models {
		n := max(1, int64(math.Round(share*float64(m.point.q1))))
		if w := m.wait(p.now, n); w != reference.Never && w < p.left {
			all = append(all, w)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return nil
	}
	var out []time.Duration
	for _, at := range []float64{0.1, 0.3, 0.5, 0.7, 0.9} {
		i := int(at * float64(len(all)))
		w := all[i]
		if i+1 < len(all) {
			w += (all[i+1] - w) / 2
		}
		w = max(w, p.every, p.wait)
		out = append(out, w)
	}
	return append(out, max(p.wait, all[len(all)-1]+all[len(all)-1]/50))
}

// menu returns the experiments to choose from.
func (p *planner) menu() []experiment {
	var out []experiment
	add := func(phases ...Phase) { out = append(out, experiment{phases}) }
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		for _, w := range p.waits(share) {
			add(p.volley(fmt.Sprintf("quota-after-%s", brief(w)), w))
			add(Phase{Name: fmt.Sprintf("one-after-%s", brief(w)), Rest: w, Requests: 1, Every: p.every})
		}
	}
	full := p.waits(1)
	for _, m := range p.spread() {
		q, t := int(m.point.q1), m.point.t1
		if m.kind.paced {
			t *= time.Duration(q)
		}
		for _, later := range []time.Duration{t / 3, t * 3 / 5, t * 9 / 10} {
			for _, more := range []time.Duration{0, t * 2 / 5,
				t * 7 / 10} { // at another place of a window by the clock
				if len(full) == 0 {
					break
				}
				name := fmt.Sprintf("half-then-%s", brief(later))
				add(Phase{Name: name, Rest: full[len(full)-1] + more, Requests: (q + 1) / 2,
					Every: p.every},
					p.volley(name, later), p.volley(name, later))
			}
		}
		every := max(p.every, t/time.Duration(2*q))
		steady := Phase{Name: fmt.Sprintf("steady-every-%s", brief(every)), Rest: every,
			Requests: min(q+4, 20), Every: every}
		first := steady
		first.Rest = max(every, p.wait)
		add(first, steady, steady)
	}
	return out
}

// spread returns a model of each kind.
func (p *planner) spread() []*model {
	seen := map[*kind]bool{}
	var out []*model
	for _, m := range p.models {
		if !seen[m.kind] {
			seen[m.kind] = true
			out = append(out, m)
		}
	}
	return out
}

// worth returns how much e is expected to tell, in bits, and what it costs as a share of what is left.
func (p *planner) worth(e experiment) (bits, cost float64) {
	type seen [maxPhases]int
	shares := map[seen]float64{}
	requests := 0.0
	lates := []time.Duration{0, p.trip / 2, p.trip}
	for _, m := range p.models {
		own := map[seen]float64{}
		for _, late := range lates {
			admitted, sent := m.predict(p.now, late, e.phases)
			own[admitted] += 1 / float64(len(lates))
			requests += m.weight * float64(sent) / float64(len(lates))
		}
		for k, share := range own {
			shares[k] += m.weight * share
			bits += m.weight * share * math.Log2(share) // what the time of the decision leaves open
		}
	}
	for _, w := range shares {
		bits -= w * math.Log2(w)
	}
	var lasts time.Duration
	for _, phase := range e.phases {
		if lasts += phase.Rest + p.trip; phase.Denials == 0 {
			lasts += time.Duration(phase.Requests) * phase.Every
		}
	}
	if requests > float64(p.requests) || lasts > p.left {
		return 0, 1
	}
	return bits, requests/float64(p.requests) + float64(lasts)/float64(p.left) + 0.05
}

// best returns the experiment that tells most for what it costs, ok=false where none tells anything.
func (p *planner) best() (experiment, bool) {
	var out experiment
	most := 0.0
	for _, e := range p.menu() {
		bits, cost := p.worth(e)
		if value := bits / cost / float64(1+p.made[e.phases[0].Name]); bits > 0.02 && value > most {
			out, most = e, value
		}
	}
	return out, most > 0
}

// brief prints a time for the name of a phase.
func brief(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, 10 * time.Millisecond, time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Microsecond).String()
}
