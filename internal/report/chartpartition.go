package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// mostPartitions is how many partitions are drawn.
const mostPartitions = 4

// chosenPartitions returns the partitions to draw: those with findings first, then by name.
func chosenPartitions(all []timeline.Part, found []check.Finding) []timeline.Part {
	out := slices.Clone(all)
	failed := func(p timeline.Part) bool {
		return slices.ContainsFunc(found, func(f check.Finding) bool { return f.Partition == p.Partition })
	}
	slices.SortStableFunc(out, func(a, b timeline.Part) int {
		switch x, y := failed(a), failed(b); {
		case x == y:
			return 0
		case x:
			return -1
		default:
			return 1
		}
	})
	return out[:min(len(out), mostPartitions)]
}

// chartLimit returns the limit that counts all requests of a partition, its ranges at the ends that admit the most; empty where it
// has none, or several, or one that the charts cannot draw: they know nothing of completions, nor of what is forgotten.
func chartLimit(s *Scenario, part timeline.Part) reference.Limit {
	var out reference.Limit
	seen := map[string]bool{}
	for i := range part.Observations {
		phase := part.Observations[i].Phase
		if seen[phase] {
			continue
		}
		l, own := s.Limits[phase]
		if !own {
			l = s.Limit
		}
		if len(l) == 0 || len(seen) > 0 && l.String() != out.String() {
			return nil
		}
		seen[phase], out = true, l
	}
	if len(out) == 0 {
		return nil
	}
	if out.Completes() || slices.ContainsFunc(out, func(p reference.Policy) bool { return p.TTL > 0 }) {
		return nil
	}
	out = slices.Clone(out)
	for i := range out {
		_, out[i] = out[i].Ends()
	}
	return out
}

// under returns s as a scenario of which l is the limit.
func under(s *Scenario, l reference.Limit) *Scenario {
	out := *s
	out.Limit = l
	return &out
}

// partitionChart shows one partition against its limit: the units admitted so far below the most that is possible from a
// full start, and below it how much of the limit was certainly in use. The second shows a violation that the first is too
// coarse for: wherever it is above the line, too many were admitted.
func partitionChart(id string, s *Scenario, c clock, part timeline.Part, width float64) template.HTML {
	tick := limitTick(s.Limit)
	all := admissions(part.Observations, s.Header, max(tick, s.Header.Tick))
	var admitted float64
	for _, a := range all {
		admitted += a.cost
	}
	use := tightest(s, all)
	d := newDrawing(id, "Partition "+quoted(part.Partition)+" against its limit", fmt.Sprintf(
		"%s units admitted, at most %s possible by the end; at most %s %s, limit %s", count(admitted),
		count(limitBy(s.Limit, s.Header, -tick, c.end)), count(peak(use.points)), use.what, count(use.most)), width, 384)
	d.text("partition", plotLeft, 13, "start", "partition "+quoted(clip(plain(part.Partition), 40)))
	found := slices.DeleteFunc(slices.Clone(conformanceFindings(s)), func(f check.Finding) bool { return f.Partition != part.Partition })
	d.cumulative(id+"-c", frame{plotLeft, 38, width - plotLeft - plotRight, 130}, s, c, all, admitted, found)
	d.inUse(id+"-u", frame{plotLeft, 234, width - plotLeft - plotRight, 110}, c, use, part, found)
	return d.html()
}

// limitTick is the coarsest clock among the policies.
func limitTick(l reference.Limit) (tick time.Duration) {
	for _, p := range l {
		tick = max(tick, p.Tick)
	}
	return tick
}

// tightest returns the usage of the policy that comes nearest to its bound, or goes furthest beyond it.
func tightest(s *Scenario, all []admission) usage {
	var out usage
	share := math.Inf(-1)
	for _, p := range s.Limit {
		u := inUse(p, s.Header, all)
		if x := peak(u.points) / u.most; x > share {
			out, share = u, x
		}
	}
	return out
}

func peak(points []point) float64 {
	most := 0.0
	for _, p := range points {
		most = max(most, p.v)
	}
	return most
}

// cumulative draws the units admitted by t (those whose answer had begun) and the envelope.
func (d *drawing) cumulative(id string, f frame, s *Scenario, c clock, all []admission, admitted float64, found []check.Finding) {
	from := -limitTick(s.Limit) - s.Header.ClockError
	possible := limitBy(s.Limit, s.Header, from, c.end)
	y := scale{lo: 0, hi: max(admitted, min(possible, admitted*1.6), 1) * 1.06, from: f.y + f.h, to: f.y}
	x := c.scale(f)
	d.text("label", f.x, f.y-9, "start", "units admitted so far, and the most possible from a full start")
	d.yAxis(f, y, 5)
	d.clip(id, f)
	var line, area steps
	area.to(f.x, f.y+f.h)
	line.to(f.x, f.y+f.h)
	sum := 0.0
	for _, p := range decimate(stairs(all), x, c) {
		sum = p.v
		line.to(x.at(c.of(p.t)), y.at(p.v))
		area.to(x.at(c.of(p.t)), y.at(p.v))
	}
	line.to(f.x+f.w, y.at(sum))
	area.to(f.x+f.w, y.at(sum))
	area.to(f.x+f.w, f.y+f.h)
	d.path("aarea", area.String(), "")
	d.path("aline", line.String(), "")
	d.path("envelope", envelopePath(s, from, c, x, y), "at most possible")
	d.witnesses(f, x, c, found)
	d.unclip()
	d.xAxis(f, x, int(f.w/90), c.unit)
}

// envelopePath samples the envelope once a column; it is drawn as the stairs it is.
func envelopePath(s *Scenario, from time.Duration, c clock, x, y scale) string {
	var p steps
	last := math.NaN()
	for at := x.from; at <= x.to; at++ {
		v := limitBy(s.Limit, s.Header, from, time.Duration(x.value(at)*c.one))
		if v != last {
			if p.b.Len() > 0 {
				p.to(at, y.at(last))
			}
			p.to(at, y.at(v))
			last = v
		}
	}
	p.to(x.to, y.at(last))
	return p.String()
}

// stairs is the running sum of admissions by their end.
func stairs(all []admission) []point {
	out := make([]point, 0, 2*len(all))
	sum := 0.0
	for _, a := range all {
		out = append(out, point{a.e, sum}, point{a.e, sum + a.cost})
		sum += a.cost
	}
	return out
}

// decimate keeps of the points within one column of the picture the first, the smallest, the largest and the last one.
func decimate(points []point, x scale, c clock) []point {
	if len(points) < 2000 {
		return points
	}
	var out []point
	for i := 0; i < len(points); {
		column := math.Floor(x.at(c.of(points[i].t)))
		lo, hi, k := i, i, i
		for ; k < len(points) && math.Floor(x.at(c.of(points[k].t))) == column; k++ {
			if points[k].v < points[lo].v {
				lo = k
			}
			if points[k].v > points[hi].v {
				hi = k
			}
		}
		keep := []int{i, lo, hi, k - 1}
		slices.Sort(keep)
		for _, n := range slices.Compact(keep) {
			out = append(out, points[n])
		}
		i = k
	}
	return out
}

// inUse draws the usage of the limit with its bound, what lies above it in the colour of a failure, and a mark for each
// denial on top.
func (d *drawing) inUse(id string, f frame, c clock, use usage, part timeline.Part, found []check.Finding) {
	y := scale{lo: 0, hi: max(use.most, peak(use.points), 1) * 1.12, from: f.y + f.h, to: f.y}
	x := c.scale(f)
	d.text("label", f.x, f.y-19, "start", use.what+" for certain, and the limit")
	d.yAxis(f, y, 5)
	d.denials(frame{f.x, f.y - 13, f.w, 7}, x, c, part.Observations)
	d.clip(id, f)
	var area, line steps
	area.to(f.x, f.y+f.h)
	end := f.x
	for _, p := range decimate(use.points, x, c) {
		end = x.at(c.of(p.t))
		area.to(end, y.at(p.v))
		line.to(end, y.at(p.v))
	}
	area.to(end, f.y+f.h)
	d.path("aarea", area.String(), "")
	d.path("aline", line.String(), "")
	d.witnesses(f, x, c, found)
	d.line("bound", f.x, y.at(use.most), f.x+f.w, y.at(use.most))
	d.unclip()
	d.clip(id+"o", frame{f.x, f.y, f.w, y.at(use.most) - f.y})
	d.path("over", area.String(), "too many admitted")
	d.unclip()
	if len(use.points) == 0 {
		d.text("tick", f.x+f.w/2, f.y+f.h/2, "middle", "nothing was admitted")
	}
	d.xAxis(f, x, int(f.w/90), c.unit)
}

// denials draws a mark in each column in which a denied request was sent.
func (d *drawing) denials(f frame, x scale, c clock, obs []timeline.Observation) {
	var p steps
	last := math.Inf(-1)
	for i := range obs {
		if obs[i].Outcome != timeline.Denied {
			continue
		}
		if at := math.Floor(x.at(c.of(obs[i].Sent))); at != last {
			p.bar(at, f.y, 1, f.h)
			last = at
		}
	}
	d.path("d", p.String(), "denied")
}

func count(v float64) string {
	if math.IsInf(v, 0) {
		return "any number of"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// quoted is a partition's name in quotes; the nameless one says so.
func quoted(name string) string {
	if name == "" {
		return "(unnamed)"
	}
	return "“" + name + "”"
}
