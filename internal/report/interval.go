package report

import (
	"github.com/rlcheck/rlcheck/internal/result"
)

// drawInterval draws a measured interval beside the declared value, or beside the ends of a declared range.
// Empty: an end is open.
func drawInterval(declared, most float64, v result.Interval) SVG {
	if v = v.Finite(); !v.LoSet || !v.HiSet || v.Lo > v.Hi {
		return ""
	}
	d := &drawing{}
	d.b.WriteString(`<svg class="bar" viewBox="0 0 160 18" aria-hidden="true">`)
	lo, hi := min(v.Lo, declared), max(v.Hi, most)
	pad := max((hi-lo)*0.3, declared*0.02, 1e-9)
	x := scale{lo: lo - pad, hi: hi + pad, from: 4, to: 156}
	d.line("axis", 0, 9, 160, 9)
	from, to := x.at(v.Lo), x.at(v.Hi)
	d.rect("interval", from-2, 5, to-from+4, 8, "")
	d.line("declared", x.at(declared), 1, x.at(declared), 17)
	if most > declared {
		d.line("declared", x.at(most), 1, x.at(most), 17)
	}
	return d.svg()
}
