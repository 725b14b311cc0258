package report

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// overPhases draws, where it is not known when windows begin, how full the fullest of them was for each
// place where they could: a place at which the line is above the quota is refuted by what was admitted
// alone.
//
//	quota - - -_______- - - - - - -     51   the bound
//	      ____|       |____________     50
//	      0 s        1 s        2 s     windows begin there, and one window later, ...
func (d *drawing) overPhases(id string, f frame, v *view) {
	use, w := v.use, v.windows
	c := newClock(&timeline.Timeline{Header: timeline.Header{Ended: w.Begin.To}})
	c.from, c.end = w.Begin.From, max(w.Begin.To, w.Begin.From+time.Microsecond)
	x := c.scale(f)
	y := scale{lo: 0, hi: max(use.most, peak(use.points), 1) * 1.12, from: f.y + f.h, to: f.y}
	d.text("label", f.x, f.y-19, "start", use.what)
	d.yAxis(f, y, 5)
	var area, line steps
	area.to(f.x, f.y+f.h)
	for _, p := range decimate(use.points, x, c) {
		area.to(x.at(c.of(p.t)), y.at(p.v))
		line.to(x.at(c.of(p.t)), y.at(p.v))
	}
	area.to(f.x+f.w, f.y+f.h)
	d.path("aarea", area.String(), "")
	d.path("aline", line.String(), "")
	d.clip(id+"o", frame{f.x, f.y, f.w, y.at(use.most) - f.y})
	d.path("over", area.String(), "too many admitted, if windows begin here")
	d.unclip()
	d.bound(f, y, use)
	d.xAxis(f, x, int(f.w/90), c.unit)
}
