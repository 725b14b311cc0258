package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
