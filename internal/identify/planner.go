package identify

import (
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
