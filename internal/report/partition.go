package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// mostPartitions is how many partitions are drawn at most.
const mostPartitions = 4

// chosenPartitions returns the partitions to draw: those with findings first, then by name.
func chosenPartitions(all []timeline.Part, found []result.Finding) []timeline.Part {
	out := slices.Clone(all)
	failed := func(p timeline.Part) bool {
		return slices.ContainsFunc(found, func(f result.Finding) bool { return f.Partition == p.Partition })
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

// drawnLimit returns the limit that counts all requests of a partition, with ranges at the ends that admit
// the most. If there is none to draw, it is empty, and left says why: the charts do not handle completions,
// or a time to live.
func drawnLimit(s *result.Scenario, part timeline.Part) (out spec.Limit, left string) {
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
		switch {
		case len(l) == 0:
			return nil, "no limit is declared for some of the requests"
		case len(seen) > 0 && l.String() != out.String():
			return nil, "phases have different limits"
		}
		seen[phase], out = true, l
	}
	decided := func(o timeline.Observation) bool { return o.Outcome != timeline.Unknown }
	switch {
	case len(out) == 0:
		return nil, "no limit is declared"
	case !slices.ContainsFunc(part.Observations, decided):
		return nil, "no request was allowed or denied"
	case out.Completes():
		return nil, "the chart does not know when requests were complete, and the limit depends on that"
	case slices.ContainsFunc(out, func(p spec.Policy) bool { return p.TTL > 0 }):
		return nil, "the chart does not know when the limiter forgot a client (ttl)"
	}
	out = slices.Clone(out)
	for i := range out {
		_, out[i] = out[i].Ends()
	}
	return out, ""
}

func under(s *result.Scenario, l spec.Limit) *result.Scenario {
	out := *s
	out.Limit = l
	return &out
}

// view is one partition compared with a limit.
type view struct {
	s        *result.Scenario
	part     timeline.Part
	all      []admission
	admitted float64
	use      usage
	windows  windows // of the policy of use
	found    []result.Finding
}

// viewOf compares a partition with l, the limit that counts all of its requests. c is the time
// axis of its chart, if it has one. It keeps the usage of the policy that comes nearest to its bound, or goes
// farthest beyond it.
func viewOf(s *result.Scenario, l spec.Limit, part timeline.Part, c clock) *view {
	s = under(s, l)
	v := &view{s: s, part: part, all: admissions(part.Observations)}
	for _, a := range v.all {
		v.admitted += float64(a.cost)
	}
	others := func(f result.Finding) bool { return f.Partition != part.Partition }
	sides, _ := s.AttributeFindings()
	v.found = slices.DeleteFunc(append(sides, s.Findings()...), others)
	proved := slices.ContainsFunc(v.found, func(f result.Finding) bool {
		return f.Kind == result.OverAdmission
	})
	for i, p := range l {
		w, _ := windowsOf(s, i, part)
		if u := inUse(p, v.all, w, proved, c); i == 0 || u.share() > v.use.share() {
			v.use, v.windows = u, w
		}
	}
	return v
}

// nearness returns how near a partition surely comes to its limit, as in the charts: 1 at its bound, more if
// too many were admitted. known=false: nothing is drawn.
func nearness(s *result.Scenario, part timeline.Part) (share float64, known bool) {
	l, left := drawnLimit(s, part)
	if left != "" {
		return 0, false
	}
	share = viewOf(s, l, part, clock{}).use.share()
	return share, share >= 0 && !math.IsInf(share, 0)
}

// chart draws the partition against its limit. The upper part has the units admitted so far, and above them
// the most that a full start can admit. The lower part has how much of the limit was in use, and shows
// violations for which the upper part is too coarse. Too many were admitted where it is above the line.
// near: a part of the recording is drawn the same way.
func (v *view) chart(id string, c clock, width float64, near bool) SVG {
	tick := limitTick(v.s.Limit)
	words := v.use.left
	if words == "" {
		words = fmt.Sprintf("at most %s units in use, limit %s", count(peak(v.use.points)), count(v.use.most))
	}
	height := 384.0
	if near && v.use.left != "" {
		height = 200
	}
	d := newDrawing(id, "Partition "+quoted(v.part.Partition)+" against its limit", fmt.Sprintf(
		"%s units admitted, at most %s possible by the end; %s", count(v.admitted),
		count(limitBy(v.s.Limit, v.s.Header, -tick, c.end)), words), width, height)
	name := "partition " + quoted(clipMiddle(text.Clean(v.part.Partition), 40))
	if near {
		name = "the time of the witness, partition " +
			quoted(clipMiddle(text.Clean(v.part.Partition), 24))
	}
	d.text("partition", plotLeft, 13, "start", name)
	d.cumulative(id+"-c", frame{plotLeft, 38, width - plotLeft - plotRight, 130}, c, v)
	switch f := (frame{plotLeft, 234, width - plotLeft - plotRight, 110}); {
	case height < 384: // it is said beside it
	case v.use.left != "":
		d.text("label", f.x, f.y-19, "start", "no chart of the units in use: "+v.use.left)
	default:
		d.inUse(id+"-u", f, c, v)
	}
	return d.svg()
}

// limitTick returns the coarsest clock among the policies.
func limitTick(l spec.Limit) (tick time.Duration) {
	for _, p := range l {
		tick = max(tick, p.Tick)
	}
	return tick
}

func peak(points []point) float64 {
	most := 0.0
	for _, p := range points {
		most = max(most, p.v)
	}
	return most
}

// cumulative draws the units admitted by t (those whose answer had begun) and the most that is possible.
func (d *drawing) cumulative(id string, f frame, c clock, v *view) {
	from := -limitTick(v.s.Limit) - v.s.Header.ClockError
	possible := limitBy(v.s.Limit, v.s.Header, from, c.end)
	y := scale{lo: 0, hi: max(v.admitted, min(possible, v.admitted*1.6), 1) * 1.06, from: f.y + f.h, to: f.y}
	x := c.scale(f)
	d.text("label", f.x, f.y-9, "start", "units admitted so far, and the most possible from a full start")
	d.yAxis(f, y, 5)
	d.clip(id, f)
	d.boundaries(f, x, c, v.windows)
	points := decimate(within(stairs(v.all), c), x, c)
	d.filled(f, x, y, c, append(points, point{c.end, points[len(points)-1].v}))
	d.path("envelope", envelopePath(v.s, from, c, x, y), "at most possible")
	d.witnesses(f, x, c, v.found)
	d.unclip()
	d.xAxis(f, x, int(f.w/90), c.unit)
}

// filled draws a line with the area below it, and returns the path of the area.
func (d *drawing) filled(f frame, x, y scale, c clock, points []point) string {
	var area, line steps
	area.to(f.x, f.y+f.h)
	end := f.x
	for _, p := range points {
		end = x.at(c.of(p.t))
		area.to(end, y.at(p.v))
		line.to(end, y.at(p.v))
	}
	area.to(end, f.y+f.h)
	d.path("aarea", area.String(), "")
	d.path("aline", line.String(), "")
	return area.String()
}

// envelopePath samples the most possible units once in each column, and draws them as stairs.
func envelopePath(s *result.Scenario, from time.Duration, c clock, x, y scale) string {
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

// stairs returns the running sum of admissions by their end.
func stairs(all []admission) []point {
	out := make([]point, 0, 2*len(all)+1)
	out = append(out, point{})
	sum := 0.0
	for _, a := range all {
		out = append(out, point{a.e, sum}, point{a.e, sum + float64(a.cost)})
		sum += float64(a.cost)
	}
	return out
}

// within returns the points that a chart of a part of the recording draws: those in it, the last one before
// and the first one after.
func within(points []point, c clock) []point {
	order := func(p point, t time.Duration) int { return cmp.Compare(p.t, t) }
	first, _ := slices.BinarySearchFunc(points, c.from, order)
	last, _ := slices.BinarySearchFunc(points, c.end+1, order)
	return points[max(first-1, 0):min(last+1, len(points))]
}

// decimate keeps four of the points within one column of the picture: the first, the smallest, the largest
// and the last.
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

// inUse draws the usage of the limit with its bound. What lies above it has the colour of a failure, and a
// mark on top shows each denial.
func (d *drawing) inUse(id string, f frame, c clock, v *view) {
	use := v.use
	y := scale{lo: 0, hi: max(use.most, peak(use.points), 1) * 1.12, from: f.y + f.h, to: f.y}
	x := c.scale(f)
	d.text("label", f.x, f.y-19, "start", "units in use when each answer came, and the limit")
	d.yAxis(f, y, 5)
	d.denials(frame{f.x, f.y - 13, f.w, 7}, x, c, v.part.Observations)
	d.clip(id, f)
	d.boundaries(f, x, c, v.windows)
	area := d.filled(f, x, y, c, decimate(within(use.points, c), x, c))
	d.witnesses(f, x, c, v.found)
	d.unclip()
	d.bound(f, y, use)
	d.clip(id+"o", frame{f.x, f.y, f.w, y.at(use.most) - f.y})
	d.path("over", area, "too many admitted")
	d.unclip()
	if len(use.points) == 0 {
		d.text("tick", f.x+f.w/2, f.y+f.h/2, "middle", "nothing was admitted")
	}
	d.xAxis(f, x, int(f.w/90), c.unit)
}

// bound draws the line that no right limiter exceeds, and its number.
func (d *drawing) bound(f frame, y scale, use usage) {
	at := y.at(use.most)
	d.line("bound", f.x, at, f.x+f.w, at)
	d.text("boundtext", f.x+f.w-4, at-4, "end", use.policy.Noun()+" "+count(use.most))
}

// denials draws a mark in each column in which a denied request was sent.
func (d *drawing) denials(f frame, x scale, c clock, obs []timeline.Observation) {
	var p steps
	last := math.Inf(-1)
	for i := range obs {
		if obs[i].Outcome != timeline.Denied {
			continue
		}
		if at := math.Floor(x.at(c.of(obs[i].Sent))); at != last && at >= f.x && at <= f.x+f.w {
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

// quoted returns a partition's name in quotes, or (unnamed).
func quoted(name string) string {
	if name == "" {
		return "(unnamed)"
	}
	return "“" + name + "”"
}

// near returns the time of the first witness. ok=false: it is long enough to be seen in the whole recording.
func (v *view) near(c clock) (clock, bool) {
	if len(v.found) == 0 {
		return clock{}, false
	}
	f := &v.found[0]
	width := f.To - f.From
	if width*12 > c.end {
		return clock{}, false
	}
	pad := max(width/3, 50*time.Microsecond)
	return c.part(f.From-pad, min(f.To+pad, c.end)), true
}
