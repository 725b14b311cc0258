package identify

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// Experiment is one or several phases, at most maxPhases where models predict it.
type Experiment struct {
	Phases []Phase
}

// Planner chooses the next experiment.
type Planner struct {
	Models []*Model
	Now    time.Duration
	// Made counts the experiments so far.
	Made map[string]int
	// Trip is the time from a request to its answer. Every is the shortest gap between requests, dense the
	// shortest in a burst: less than every far away.
	Trip, Every, Dense time.Duration
	// Far tells that answers take longer than the shortest gap between requests.
	Far bool
	// Wait is how long nothing will be sent from now on.
	Wait time.Duration
	// requests and left are what is left of the budget.
	Requests int
	TimeLeft time.Duration
	// Over tells that the time to plan is over; nil: it never is.
	Over func() bool
}

// volley asks for as many requests as use up a quota, including what a bucket regains meanwhile.
func (p *Planner) volley(name string, rest, every time.Duration) Phase {
	most := 1
	for _, m := range p.Models {
		n := int(m.point.Q2)
		if every < m.point.T1*3/4 {
			n = m.kind.Spends(m.point, every)
		}
		most = max(most, n)
	}
	return Phase{Name: name, Rest: rest, Requests: most + 3, Every: every, Denials: 2}
}

// waits returns times at which models disagree on whether share of the quota is back: quantiles of what they
// predict.
func (p *Planner) waits(share float64) []time.Duration {
	var all []time.Duration
	for _, m := range p.Models {
		n := max(1, int64(math.Round(share*float64(m.point.Q1))))
		if w := m.Wait(p.Now, n); w != reference.Never && w < p.TimeLeft {
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
		w = max(w, p.Every, p.Wait)
		out = append(out, w)
	}
	return append(out, max(p.Wait, all[len(all)-1]+all[len(all)-1]/50))
}

// alone tells whether one kind is left.
func (p *Planner) alone() bool { return len(p.spread()) == 1 }

// spread returns a model of each kind.
func (p *Planner) spread() []*Model {
	seen := map[*Kind]bool{}
	var out []*Model
	for _, m := range p.Models {
		if !seen[m.kind] {
			seen[m.kind] = true
			out = append(out, m)
		}
	}
	return out
}

// Best returns the experiment that tells most for its cost, of those that there was time to weigh; false
// where none tells anything.
func (p *Planner) Best() (Experiment, bool) {
	var out Experiment
	most, least, alike, ceiling := 0.0, 0.02, mostAlike, p.mostWorth()
	if p.alone() { // by chance the same tells more, as no two answers take equally long
		least, alike = least/10, 3*mostAlike
	}
	for _, e := range p.menu() {
		if p.Over != nil && p.Over() {
			break
		}
		if p.Made[e.Phases[0].Name] >= alike { // the models promise what does not come
			continue
		}
		again := 1 + float64(p.Made[Family(e)])/4 + 2*float64(p.Made[e.Phases[0].Name])
		if ceiling/p.cost(e, 0)/again <= most {
			continue
		}
		bits, requests := p.worth(e)
		if value := bits / p.cost(e, requests) / again; bits > least && value > most {
			out, most = e, value
		}
	}
	return out, most > 0
}

// mostAlike is how often an experiment is made while several kinds are left.
const mostAlike = 4

// Family is the name of an experiment without its time.
func Family(e Experiment) string {
	name := e.Phases[0].Name
	return name[:strings.LastIndexByte(name, '-')]
}

// Brief prints a time for the name of a phase. Times within a tenth of a millisecond are the same experiment:
// no clock tells them apart.
func Brief(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, 10 * time.Millisecond, time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(100 * time.Microsecond).String()
}

// menu returns the experiments to choose from.
func (p *Planner) menu() []Experiment {
	var out []Experiment
	add := func(phases ...Phase) { out = append(out, Experiment{phases}) }
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		for _, w := range p.waits(share) {
			add(p.volley("quota-after-"+Brief(w), w, p.Every))
			if !p.Far || p.alone() { // far away one request tells little about the kind
				add(Phase{Name: "one-after-" + Brief(w), Rest: w, Requests: 1, Every: p.Every})
			}
		}
	}
	full := p.waits(1)
	if p.Far && len(full) > 0 { // bursts take little time
		for _, rest := range slices.Concat(full, []time.Duration{3 * full[len(full)-1]}) {
			add(p.volley("burst-after-"+Brief(rest), rest, p.Dense))
		}
	}
	for _, m := range p.spread() {
		q, t := int(m.point.Q1), m.point.T1
		if m.kind.Paced {
			t *= time.Duration(q)
		}
		every := max(p.Every, t/time.Duration(2*q))
		steady := Phase{Name: "steady-every-" + Brief(every), Rest: every, Every: every,
			Requests: min(q+4, 20)}
		first := steady
		first.Rest = max(every, p.Wait)
		add(first, steady, steady)
		if m.kind.Paced {
			out = append(out, p.overloads(m)...)
		}
		if len(full) == 0 {
			continue
		}
		whole := full[len(full)-1]
		for _, later := range []time.Duration{t / 3, t * 3 / 5, t * 9 / 10} {
			name := "half-then-" + Brief(later)
			again := p.volley(name, later, p.Every)
			for _, more := range []time.Duration{0, t * 2 / 5, t * 7 / 10} { // at another phase of a window
				half := Phase{Name: name, Rest: whole + more, Requests: (q + 1) / 2, Every: p.Every}
				add(half, again, again)
			}
		}
		out = append(out, p.ladders(m, whole)...)
	}
	return out
}

// overloads returns experiments that keep a queue full, or a bucket empty, for a while: what comes back then
// tells the rate, and denied requests that are charged let nothing come back.
func (p *Planner) overloads(m *Model) []Experiment {
	var out []Experiment
	for _, share := range []time.Duration{2, 3} {
		every := max(p.Every, m.point.T1/share)
		fill := m.kind.Spends(m.point, every)
		for _, n := range []int{10, 25, 50, 100} {
			out = append(out, Experiment{[]Phase{{Name: "overload-every-" + Brief(every),
				Rest: max(p.Every, p.Wait), Requests: fill + n, Every: every}}})
		}
	}
	return out
}

// Rungs is how many steps of a ladder divide what is open of a time.
const Rungs = 8

// ladders returns experiments that use up the quota and then send one request after the other until one is
// admitted, about when m admits one. They begin with a whole quota, or with what is there now.
func (p *Planner) ladders(m *Model, full time.Duration) []Experiment {
	var out []Experiment
	for _, rest := range []time.Duration{full, max(p.Every, p.Wait)} {
		use := p.volley("", rest, p.Dense)
		_, s, end := m.Predict(p.Now, p.Trip/2, []Phase{use})
		after := *m
		after.State = s
		back := after.Wait(end, 1)
		if back == reference.Never || back <= 0 {
			continue
		}
		wide := time.Duration(float64(back) * (float64(m.around.T2)/float64(m.around.T1) - 1))
		step := max(p.Dense, wide/Rungs)
		from := max(p.Every, back-wide-2*step)
		use.Name = "return-about-" + Brief(back)
		climb := Phase{Name: use.Name, Rest: from, Requests: int(2*wide/step) + 4, Every: step, Admits: 1}
		if !m.kind.Counts() {
			out = append(out, Experiment{[]Phase{use, climb}})
			continue
		}
		for i := range time.Duration(4) { // a denial would put the next admission off
			climb.Requests, climb.Rest = 1, max(p.Every, back-p.Trip-wide/2+i*(wide+p.Trip)/3)
			out = append(out, Experiment{[]Phase{use, climb}})
		}
	}
	return out
}

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
