package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

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
