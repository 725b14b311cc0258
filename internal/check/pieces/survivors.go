package pieces

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/phases"
)

// survivors are the regions that the pieces so far have not refuted, each as a whole. Nothing survives where
// every value is refuted. To leave too much alive never accuses.
//
// The probe is one region that cannot be divided. As long as it survives, so does the limit. A piece then
// costs one judgement, and a few more that cut refuted parts off the ends of live regions. When the probe is
// refuted, another one is sought in all live regions.
type survivors struct {
	alive []alive
	probe *region
	// found are the breaches that together refuted all but the live regions.
	found []fallen
	// limited: a hunt ended before it found a probe or refuted everything. steps is the work of exact
	// searches.
	limited bool
	steps   int
	// turn is the number of the next cut, which tells whose ends it cuts. narrowed: the ends were cut
	// thoroughly once.
	turn     int
	narrowed bool
}

// alive is a region that is not refuted as a whole. The next parts to be tried are one in 1<<cut[0] at its
// lower end and one in 1<<cut[1] at its upper end.
type alive struct {
	region
	cut [2]uint8
}

// fallen is a breach that refuted a region, and its partition.
type fallen struct {
	by *Pieces
	*limiter.Breach
}

// The work of narrowing. firstCuts judgements are spent on the first piece, laterCuts on each later one. The
// finest part of a region that is tried is one in 1<<finestCut. At most mostAlive regions are kept. After a
// hunt that was given up, the next one asks shortHunt boxes. Regions are divided while fewer than cutRegions
// are alive.
const (
	firstCuts  = 96
	laterCuts  = 3
	finestCut  = 6
	mostAlive  = 96
	shortHunt  = 64
	cutRegions = 24
)

func newSurvivors(whole region) *survivors { return &survivors{alive: []alive{{region: whole}}} }

// refuted tells whether nothing survives.
func (v *survivors) refuted() bool { return len(v.alive) == 0 }

// stands tells whether the probe survives a piece.
func (v *survivors) stands(x *excerpt) bool { return v.probe != nil && x.refutes(*v.probe) == nil }

// take takes a piece of a partition. stands: the probe survives it.
func (v *survivors) take(x *excerpt, by *Pieces, stands bool) {
	if !stands {
		v.hunt(x, by)
	}
	if v.steps += x.steps; v.probe == nil || len(v.alive) == 1 && v.alive[0].holds(*v.probe) &&
		v.probe.holds(v.alive[0].region) {
		return
	}
	cuts := laterCuts
	if !v.narrowed {
		cuts = firstCuts
	}
	v.narrowed = true
	v.narrow(x, by, cuts)
}

// drop notes the breach that refuted a region.
func (v *survivors) drop(by *Pieces, x *excerpt, br *limiter.Breach) {
	v.found = append(v.found, fallen{by, br})
	by.remember(x, br)
}

// hunt looks for a new probe, depth first.
func (v *survivors) hunt(x *excerpt, by *Pieces) {
	budget := min(max(phases.MaxWork/(1+len(x.p.Histories[0].All)), phases.LeastWhole), phases.MostBoxes)
	if v.limited {
		budget = min(budget, shortHunt)
	}
	v.probe = nil
	var stack []region
	for _, a := range slices.Backward(v.alive) {
		stack = append(stack, a.region)
	}
	x.list(stack)
	v.keep(phases.Explore(stack, func(r region) (halves []region, stop bool) {
		if budget--; budget < 0 {
			v.limited = true
			return nil, true
		}
		if br := x.refutes(r); br != nil {
			v.drop(by, x, br)
			return nil, false
		}
		if halves, stop = phases.Halved(x.halves(r)); stop {
			v.probe = &r
		}
		return halves, stop
	}))
}

// keep keeps the regions, and joins those that touch. If there are more than mostAlive, it replaces
// neighbours by their hull.
func (v *survivors) keep(regions []region) {
	slices.Reverse(regions)
	for again := true; again; {
		again = false
		for i := 0; i+1 < len(regions); i++ {
			if both, ok := regions[i].beside(regions[i+1]); ok {
				regions[i], again = both, true
				regions = slices.Delete(regions, i+1, i+2)
				i--
			}
		}
	}
	for len(regions) > mostAlive {
		half := regions[:0]
		for i := 0; i < len(regions); i += 2 {
			half = append(half, regions[i].hull(regions[min(i+1, len(regions)-1)]))
		}
		regions = half
	}
	v.alive = v.alive[:0]
	for _, r := range regions {
		v.alive = append(v.alive, alive{region: r})
	}
}

// narrow cuts off what a piece refutes at the ends of live regions. It stops after so many judgements, or
// when no cut gains anything.
func (v *survivors) narrow(x *excerpt, by *Pieces, cuts int) {
	for idle := 0; cuts > 0 && idle < 2*(finestCut+1)*len(v.alive); v.turn++ {
		i := v.turn % len(v.alive)
		spent, gained := v.cutOne(x, by, i)
		if cuts -= spent; gained {
			idle = 0
		} else {
			idle++
		}
	}
}

// cutOne tries to refute a part of region i: all of it if the probe lies elsewhere, otherwise what lies at
// its ends.
func (v *survivors) cutOne(x *excerpt, by *Pieces, i int) (spent int, gained bool) {
	a := &v.alive[i]
	core := a.holds(*v.probe)
	if !core {
		spent++
		if br := x.refutes(a.region); br != nil {
			v.drop(by, x, br)
			v.alive = slices.Delete(v.alive, i, i+1)
			return spent, true
		}
		if a.Known() { // only its ranges are open
			v.divide(x, i)
			return spent, false
		}
	}
	k := v.turn / len(v.alive) % len(a.boxes)
	for side := range a.cut {
		part, rest, ok := a.end(k, side, core, v.probe)
		if !ok {
			continue
		}
		spent++
		if br := x.refutes(a.with(k, part)); br != nil {
			v.drop(by, x, br)
			a.region, gained = a.with(k, rest), true
			continue
		}
		a.cut[side] = (a.cut[side] + 1) % (finestCut + 1)
	}
	return spent, gained
}

// end returns the part at one end of box k, and the rest of the box. ok=false: there is no room. core: the
// region holds the probe, which must not be cut.
func (a *alive) end(k, side int, core bool, probe *region) (part, rest history.Interval, ok bool) {
	box := a.boxes[k]
	room := box.To - box.From
	if core && side == 0 {
		room = probe.boxes[k].From - box.From
	} else if core {
		room = box.To - probe.boxes[k].To
	}
	size := room >> a.cut[side]
	if !core {
		size = room / 2 >> a.cut[side]
	}
	if size <= 0 {
		return box, box, false
	}
	if side == 0 {
		return history.Interval{From: box.From, To: box.From + size - 1},
			history.Interval{From: box.From + size, To: box.To}, true
	}
	return history.Interval{From: box.To - size + 1, To: box.To},
		history.Interval{From: box.From, To: box.To - size}, true
}

// divide divides region i if few regions are alive.
func (v *survivors) divide(x *excerpt, i int) {
	if len(v.alive) >= cutRegions {
		return
	}
	if lower, upper, ok := x.halves(v.alive[i].region); ok {
		v.alive[i].region = lower
		v.alive = append(v.alive, alive{region: upper})
	}
}
