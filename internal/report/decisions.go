package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
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
		name := clip(text.Clean(p.name), 24)
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
