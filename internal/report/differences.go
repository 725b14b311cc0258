package report

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// drawDifferences draws how many requests of a recording were decided otherwise than in right, one bar for
// each bin. right has an outcome for each observation; Unknown: none is known. desc says in a sentence what
// the picture shows.
func drawDifferences(id, desc string, t *timeline.Timeline, right []timeline.Outcome) SVG {
	c := newClock(t)
	width := time.Duration(max(1, niceStep(c.of(c.end)/mostBins)*c.one))
	over, under := make([]int, int(c.end/width)+1), make([]int, int(c.end/width)+1)
	most := 1
	for i := range t.Observations {
		o, k := &t.Observations[i], min(int(max(t.Observations[i].Sent, 0)/width), len(over)-1)
		switch {
		case o.Outcome == right[i] || o.Outcome == timeline.Unknown || right[i] == timeline.Unknown:
		case right[i] == timeline.Denied:
			over[k]++
		default:
			under[k]++
		}
		most = max(most, over[k]+under[k])
	}
	f := frame{plotLeft, 22, fullWidth - plotLeft - plotRight, 70}
	d := newDrawing(id, "Where they differ", desc, fullWidth, 128)
	y := scale{lo: 0, hi: float64(most) * 1.08, from: f.y + f.h, to: f.y}
	at := c.scale(f)
	d.yAxis(f, y, 3)
	d.phases(f, at, c, t, false)
	w := max(1.5, at.at(c.of(width))-at.at(0)-0.6)
	for i := range over {
		left, from := at.at(c.of(time.Duration(i)*width)), y.at(float64(over[i]))
		if over[i] > 0 {
			d.rect("over", left, from, w, y.at(0)-from, fmt.Sprintf("%d admitted, it denies", over[i]))
		}
		if under[i] > 0 {
			top := y.at(float64(over[i] + under[i]))
			d.rect("d", left, top, w, from-top, fmt.Sprintf("%d denied, it admits", under[i]))
		}
	}
	d.xAxis(f, at, 10, c.unit)
	d.text("label", f.x, 12, "start", "requests decided otherwise per "+span(width))
	return d.svg()
}
