package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/text/columns"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// bin is the exact count of each outcome among the requests sent in [from, from+width).
type bin struct {
	from  time.Duration
	n     [3]int
	total int
}

// binned counts all observations by the time they were sent, in bins of a round width.
func binned(t *timeline.Timeline, c clock) (bins []bin, width time.Duration) {
	width = time.Duration(max(1, niceStep(c.of(c.end)/mostBins)*c.one))
	bins = make([]bin, int(c.end/width)+1)
	for i := range bins {
		bins[i].from = time.Duration(i) * width
	}
	for i := range t.Observations {
		o := &t.Observations[i]
		b := &bins[min(int(max(o.Sent, 0)/width), len(bins)-1)]
		b.n[min(o.Outcome, timeline.Denied)]++
		b.total++
	}
	return bins, width
}

// drawDecisions draws only the first picture of Recording: the requests of a scenario over time.
func drawDecisions(id string, s *result.Scenario) SVG {
	return decisions(id, s, newClock(s.Timeline), len(result.ClientsOf(s.Timeline)))
}

// decisions draws allowed, denied and unknown requests over time, stacked, as exact counts in bins. It also
// shows what the declared rate refills in a bin for all partitions together.
func decisions(id string, s *result.Scenario, c clock, parts int) SVG {
	bins, width := binned(s.Timeline, c)
	most := 1
	for i := range bins {
		most = max(most, bins[i].total)
	}
	f := frame{plotLeft, 30, fullWidth - plotLeft - plotRight, 150}
	d := newDrawing(id, "Requests over time",
		"Stacked counts per "+span(width)+": "+result.CountsText(s.Counts), fullWidth, 216)
	y := scale{lo: 0, hi: float64(most) * 1.08, from: f.y + f.h, to: f.y}
	x := c.scale(f)
	d.yAxis(f, y, 5)
	if w, ok := declaredWindows(s); ok {
		d.boundaries(f, x, c, w)
	}
	d.phases(f, x, c, s.Timeline, true)
	d.witnesses(f, x, c, s.Findings())
	w := max(0.8, x.at(c.of(width))-x.at(0)-0.6)
	for i := range bins {
		at := x.at(c.of(bins[i].from))
		base, b := 0.0, &bins[i]
		title := fmt.Sprintf("%s .. %s: %d allowed, %d denied, %d unknown", text.Seconds(b.from),
			text.Seconds(b.from+width), b.n[timeline.Allowed], b.n[timeline.Denied], b.n[timeline.Unknown])
		for _, k := range outcomes {
			n := float64(bins[i].n[k.of])
			if n > 0 {
				top := y.at(base + n)
				d.rect(k.class, at, top, min(w, f.x+f.w-at), max(y.at(base)-top, 0.7), title)
			}
			base += n
		}
	}
	if rate := declaredRate(s) * float64(parts) * width.Seconds(); rate > 0 && rate < y.hi {
		d.line("bound", f.x, y.at(rate), f.x+f.w, y.at(rate))
		text := fmt.Sprintf("%s rate, %s", s.LimitWord(), text.Plural(parts, "key"))
		d.text("boundtext", f.x+f.w-4, y.at(rate)-5, "end", text)
	}
	d.xAxis(f, x, 10, c.unit)
	d.text("label", f.x, 12, "start", "requests per "+span(width)+", by the time they were sent")
	return d.svg()
}

// declaredRate returns the smallest rate of the limit in units per second; 0: there is no limit.
func declaredRate(s *result.Scenario) float64 {
	rate := math.Inf(1)
	for _, p := range s.Limit {
		if p.InFlight() {
			continue
		}
		rate = min(rate, p.Rate.PerSecond())
	}
	if math.IsInf(rate, 1) {
		return 0
	}
	return rate
}

// witnesses shades the spans of the first findings.
func (d *drawing) witnesses(f frame, x scale, c clock, found []result.Finding) {
	for i := range found[:min(len(found), 20)] {
		from, to := x.at(c.of(found[i].From)), x.at(c.of(found[i].To))
		w := max(to-from, 3)
		from = min(from, f.x+f.w-w)
		d.rect("witness", from, f.y, w, f.h, "witness: "+found[i].Text)
		d.line("edge", from, f.y, from, f.y+f.h)
		d.line("edge", from+w, f.y, from+w, f.y+f.h)
	}
}

// phases marks where each phase begins, with its name if there is room.
func (d *drawing) phases(f frame, x scale, c clock, t *timeline.Timeline, named bool) {
	var free float64
	for _, p := range phaseStarts(t) {
		at := x.at(c.of(p.from))
		d.line("phase", at, f.y, at, f.y+f.h)
		name := columns.Clip(text.Clean(p.name), 24)
		need := float64(len(name))*5.6 + 8
		switch end := f.x + f.w + plotRight; {
		case !named || at < free:
		case at+need < end:
			d.text("phasename", at+3, f.y-4, "start", name)
			free = at + need
		case at-need >= free: // at the right edge it stands before its line
			d.text("phasename", at-3, f.y-4, "end", name)
			free = end
		}
	}
}

type phaseStart struct {
	name string
	from time.Duration
}

// phaseStarts returns when the first request of each named phase was sent, ascending.
func phaseStarts(t *timeline.Timeline) []phaseStart {
	var out []phaseStart
	last := ""
	for i := range t.Observations {
		o := &t.Observations[i]
		if o.Phase == last || o.Phase == "" {
			continue
		}
		last = o.Phase
		if len(out) < 40 && !slices.ContainsFunc(out, func(p phaseStart) bool { return p.name == o.Phase }) {
			out = append(out, phaseStart{o.Phase, o.Sent})
		}
	}
	return out
}

// answers draws the service time of each answer by the time at which its request was sent. For a long
// recording it draws, in each bin and for each outcome, the range from the median to the slowest.
func answers(id string, s *result.Scenario, c clock) SVG {
	lo, hi, answers := serviceRange(s.Timeline)
	if answers == 0 {
		return ""
	}
	f := frame{plotLeft, 22, fullWidth - plotLeft - plotRight, 118}
	d := newDrawing(id, "Service time of each answer", fmt.Sprintf("%s between %s and %s",
		text.Plural(answers, "answer"), text.Brief(lo), text.Brief(hi)), fullWidth, 176)
	y := scale{lo: float64(lo) / 1e6 / 1.15, hi: float64(hi) / 1e6 * 1.15, from: f.y + f.h, to: f.y,
		log: true}
	x := c.scale(f)
	d.yAxis(f, y, 4)
	d.phases(f, x, c, s.Timeline, false)
	if answers <= mostDots {
		d.text("label", f.x, 12, "start", "service time in ms (first byte − sent), one dot for each answer")
		d.dots(x, y, c, s.Timeline)
	} else {
		d.text("label", f.x, 12, "start",
			"service time in ms (first byte − sent), from the median to the slowest of each bin")
		d.bands(x, y, c, s.Timeline)
	}
	d.xAxis(f, x, 10, c.unit)
	return d.svg()
}

func serviceRange(t *timeline.Timeline) (lo, hi time.Duration, n int) {
	for i := range t.Observations {
		if o := &t.Observations[i]; o.Answered {
			v := max(o.FirstByte-o.Sent, time.Microsecond)
			if n == 0 {
				lo, hi = v, v
			}
			lo, hi = min(lo, v), max(hi, v)
			n++
		}
	}
	return lo, hi, n
}

// dots draws all answers of one outcome as one path of small squares, which is small and quick to draw.
func (d *drawing) dots(x, y scale, c clock, t *timeline.Timeline) {
	for _, k := range outcomes {
		var p steps
		for i := range t.Observations {
			if o := &t.Observations[i]; o.Answered && o.Outcome == k.of {
				p.bar(x.at(c.of(o.Sent))-1.5, y.at(float64(o.FirstByte-o.Sent)/1e6)-1.5, 3, 3)
			}
		}
		d.path(k.class+" faint", p.String(), k.of.String())
	}
}

// bands draws for each bin and outcome a bar from the median to the slowest answer.
func (d *drawing) bands(x, y scale, c clock, t *timeline.Timeline) {
	width := time.Duration(max(1, niceStep(c.of(c.end)/mostBins)*c.one))
	w := max(0.8, (x.at(c.of(width))-x.at(0))/3-0.2)
	for k, kind := range outcomes {
		var p steps
		var in []time.Duration
		var at time.Duration
		flush := func() {
			if len(in) > 0 {
				slices.Sort(in)
				top, mid := y.at(float64(in[len(in)-1])/1e6), y.at(float64(in[len(in)/2])/1e6)
				p.bar(x.at(c.of(at))+float64(k)*(w+0.2), top, w, max(mid-top, 1))
			}
			in = in[:0]
		}
		for i := range t.Observations {
			o := &t.Observations[i]
			if !o.Answered || o.Outcome != kind.of {
				continue
			}
			if from := o.Sent / width * width; from != at {
				flush()
				at = from
			}
			in = append(in, max(o.FirstByte-o.Sent, time.Microsecond))
		}
		flush()
		d.path(kind.class, p.String(), kind.of.String())
	}
}
