package identify

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// menu returns the experiments to choose from.
func (p *Planner) menu() []Experiment {
	var out []Experiment
	add := func(phases ...Phase) { out = append(out, Experiment{phases}) }
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		for _, w := range p.waits(share) {
			add(p.volley(fmt.Sprintf("quota-after-%s", Brief(w)), w, p.Every))
			if !p.Far || p.alone() { // far away one request tells little about the kind
				add(Phase{Name: "one-after-" + Brief(w), Rest: w, Requests: 1, Every: p.Every})
			}
		}
	}
	full := p.waits(1)
	if p.Far {
		out = append(out, p.afar(full)...)
	}
	for _, m := range p.spread() {
		q, t := int(m.point.Q1), m.point.T1
		if m.kind.Paced {
			t *= time.Duration(q)
		}
		for _, later := range []time.Duration{t / 3, t * 3 / 5, t * 9 / 10} {
			for _, more := range []time.Duration{0, t * 2 / 5,
				t * 7 / 10} { // at another phase of a window by the clock
				if len(full) == 0 {
					break
				}
				name := fmt.Sprintf("half-then-%s", Brief(later))
				add(Phase{Name: name, Rest: full[len(full)-1] + more, Requests: (q + 1) / 2,
					Every: p.Every},
					p.volley(name, later, p.Every), p.volley(name, later, p.Every))
			}
		}
		every := max(p.Every, t/time.Duration(2*q))
		steady := Phase{Name: fmt.Sprintf("steady-every-%s", Brief(every)), Rest: every,
			Requests: min(q+4, 20), Every: every}
		first := steady
		first.Rest = max(every, p.Wait)
		add(first, steady, steady)
		if m.kind.Queue { // a queue is empty again when its last answer is there
			out = append(out, p.overloads(m)...)
		}
		if len(full) > 0 {
			out = append(out, p.ladders(m, full[len(full)-1])...)
			out = append(out, p.edges(m.kind, full[len(full)-1])...)
			add(p.volley("wider-"+Brief(p.Every*3/2), full[len(full)-1], p.Every*3/2))
		}
	}
	return out
}

// overloads returns experiments that keep a queue full for a while.
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

// edges returns experiments that use a rested quota up a little before windows by the clock end, as models of
// a kind suppose, and ask once a little after it, when one that the first request opened goes on:
//
//	|     a a a d | a         by the clock, | where windows end
//	.     a a a d   d         by the first request
func (p *Planner) edges(of *Kind, full time.Duration) (out []Experiment) {
	if !of.Base.Fixed() || of.Base.Align != spec.AlignUnknown || p.alone() {
		return nil
	}
	for _, m := range p.Models {
		if m.kind != of {
			continue
		}
		use := p.volley("", full, p.Dense)
		_, s, end := m.Predict(p.Now, p.Trip/2, []Phase{use})
		after := *m
		after.State = s
		back := after.Wait(end, 1)
		for _, share := range []time.Duration{20, 6} {
			near := m.point.T1 / share
			once := Phase{Rest: max(p.Every, 2*near), Requests: 1, Every: p.Every}
			if use.Rest = full + back - near; back < near {
				use.Rest += m.point.T1
			}
			use.Name = "edge-after-" + Brief(use.Rest)
			once.Name = use.Name
			out = append(out, Experiment{[]Phase{use, once}})
		}
	}
	return out
}

// afar returns experiments for a target far away. Bursts take little time. Long experiments have many
// windows, so a round trip matters less.
func (p *Planner) afar(full []time.Duration) []Experiment {
	var out []Experiment
	if len(full) > 0 {
		for _, rest := range slices.Concat(full, []time.Duration{3 * full[len(full)-1]}) {
			out = append(out, Experiment{[]Phase{p.volley("burst-after-"+Brief(rest), rest, p.Dense)}})
		}
	}
	for _, m := range p.spread() { // a bucket that is drained slowly shows its rate
		for _, share := range []time.Duration{50, 62, 73} {
			if every := m.point.T1 * share / 100; m.kind.Paced && every > p.Every && len(full) > 0 {
				out = append(out, Experiment{[]Phase{p.volley("emptied-every-"+Brief(every),
					full[len(full)-1], every)}})
			}
		}
	}
	for _, every := range p.spacings() {
		for _, n := range []int{10, 25, 60} {
			out = append(out, Experiment{[]Phase{{Name: "drain-every-" + Brief(every),
				Rest: max(every, p.Wait), Requests: n, Every: every}}})
		}
	}
	if p.alone() && p.Models[0].kind.Base.Refresh == spec.RefreshAll {
		out = append(out, p.chains(p.Models[0].around)...)
	}
	return out
}

// chains returns experiments that use up the quota and then ask about once a window until a request is
// admitted. Where every request starts the window anew, each of them tells.
func (p *Planner) chains(around Box) []Experiment {
	var out []Experiment
	const steps = 8
	from := max(p.Every, around.T1-p.Trip)
	for i := range time.Duration(steps + 1) {
		every := from + (around.T2-from)*i/steps
		use := p.volley("chain-every-"+Brief(every), max(p.Every, p.Wait), p.Dense)
		use.Denials = 1
		out = append(out, Experiment{[]Phase{use, {Name: use.Name, Rest: every, Requests: 10, Every: every,
			Admits: 1}}})
	}
	return out
}

// spacings are gaps between requests that keep a quota used up, ascending. Where few kinds are left, some
// gaps are about the time of one unit. If denied requests count, each request tells then.
func (p *Planner) spacings() []time.Duration {
	out := []time.Duration{p.Dense, p.Every, p.Every * 3 / 2, p.Every * 9 / 4}
	kinds, few := p.spread(), []time.Duration{}
	if len(kinds) <= 2 {
		few = []time.Duration{94, 97, 100, 103}
	}
	for _, m := range kinds {
		unit := m.point.T1
		if !m.kind.Paced {
			unit /= time.Duration(m.point.Q1)
		}
		for _, share := range append([]time.Duration{50, 70, 90}, few...) {
			if every := unit * share / 100; every > p.Every {
				out = append(out, every)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
