package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// SVG is a picture that is safe to print in a page of HTML. Its texts are cleaned and escaped.
type SVG = template.HTML

// drawing is one SVG image, written by hand. It has no script and no style but classes, and every text is
// escaped.
type drawing struct {
	b    strings.Builder
	w, h float64
}

// newDrawing begins an image of w by h units. title and desc are its text alternative. id is unique in the
// page.
func newDrawing(id, title, desc string, w, h float64) *drawing {
	d := &drawing{w: w, h: h}
	fmt.Fprintf(&d.b, `<svg viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
		num(w), num(h), id, id, id, esc(title), id, esc(desc))
	return d
}

// svg ends the image.
func (d *drawing) svg() SVG { return SVG(d.b.String() + "</svg>") }

func (d *drawing) rect(class string, x, y, w, h float64, title string) {
	fmt.Fprintf(&d.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"`, class, num(x), num(y), num(w),
		num(h))
	d.end("rect", title)
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x1), num(y1), num(x2),
		num(y2))
}

// text writes s at x, y. anchor is start, middle or end.
func (d *drawing) text(class string, x, y float64, anchor, s string) {
	fmt.Fprintf(&d.b, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, num(x), num(y),
		anchor, esc(s))
}

func (d *drawing) path(class, steps, title string) {
	if steps == "" {
		return
	}
	fmt.Fprintf(&d.b, `<path class="%s" d="%s"`, class, steps)
	d.end("path", title)
}

// end closes an element, with a tooltip if title is not empty.
func (d *drawing) end(name, title string) {
	if title == "" {
		d.b.WriteString("/>")
		return
	}
	fmt.Fprintf(&d.b, "><title>%s</title></%s>", esc(title), name)
}

// clip begins a group whose content is cut at the edges of f.
func (d *drawing) clip(id string, f frame) {
	fmt.Fprintf(&d.b, `<clipPath id="%s"><rect x="%s" y="%s" width="%s" height="%s"/></clipPath><g clip-path="url(#%s)">`,
		id, num(f.x), num(f.y), num(f.w), num(f.h), id)
}

func (d *drawing) unclip() { d.b.WriteString("</g>") }

// num prints a coordinate with one decimal.
func num(x float64) string {
	s := strconv.FormatFloat(x, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

// esc returns s, cleaned, as the text of an element or the value of an attribute.
func esc(s string) string { return html.EscapeString(text.Clean(s)) }

// steps builds the d of a path.
type steps struct {
	b    strings.Builder
	x, y string
}

// to draws a straight line to a point, or moves to the first one. Points that print alike are drawn once.
func (s *steps) to(x, y float64) {
	a, b := num(x), num(y)
	switch {
	case s.b.Len() == 0:
		s.b.WriteString("M" + a + " " + b)
	case a == s.x && b == s.y:
	case a == s.x:
		s.b.WriteString("V" + b)
	case b == s.y:
		s.b.WriteString("H" + a)
	default:
		s.b.WriteString("L" + a + " " + b)
	}
	s.x, s.y = a, b
}

// bar draws a filled rectangle.
func (s *steps) bar(x, y, w, h float64) {
	fmt.Fprintf(&s.b, "M%s %sh%sv%sh-%sz", num(x), num(y), num(w), num(h), num(w))
}

func (s *steps) String() string { return s.b.String() }

// frame is the plot area of a chart inside a drawing.
type frame struct{ x, y, w, h float64 }

// scale maps values to coordinates, straight or by the logarithm.
type scale struct {
	lo, hi float64 // values, lo < hi; both above 0 if log is set
	from   float64 // the coordinate of lo
	to     float64 // the coordinate of hi
	log    bool
}

func (s scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(max(v, s.lo))
	}
	return s.from + (v-lo)/(hi-lo)*(s.to-s.from)
}

// value is the inverse of at for a straight scale.
func (s scale) value(at float64) float64 { return s.lo + (at-s.from)/(s.to-s.from)*(s.hi-s.lo) }

// ticks returns round values inside the scale. A straight scale has about n of them. A logarithmic scale has
// 1, 2 and 5 of each decade, or only 1 if it spans many decades.
func (s scale) ticks(n int) []float64 {
	var out []float64
	if s.log {
		parts := []float64{1, 2, 5}
		if s.hi/s.lo > 2e3 {
			parts = parts[:1]
		}
		for e := math.Floor(math.Log10(s.lo)); e <= math.Log10(s.hi); e++ {
			for _, p := range parts {
				if v := p * math.Pow(10, e); v >= s.lo*0.999 && v <= s.hi*1.001 {
					out = append(out, v)
				}
			}
		}
		return out
	}
	step := niceStep((s.hi - s.lo) / float64(n))
	for k := math.Ceil(s.lo/step - 1e-9); k*step <= s.hi*(1+1e-9); k++ {
		out = append(out, k*step)
	}
	return out
}

// niceStep returns the smallest of 1, 2, 5 times a power of ten that is not below x.
func niceStep(x float64) float64 {
	if !(x > 0) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= x*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// tickText prints a tick without an exponent and without needless zeros.
func tickText(v float64) string {
	s := strconv.FormatFloat(v, 'f', 9, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	if v >= 10000 {
		return text.Thousands(int(v))
	}
	return s
}

// yAxis draws horizontal grid lines with their values.
func (d *drawing) yAxis(f frame, s scale, n int) {
	for _, v := range s.ticks(n) {
		y := s.at(v)
		d.line("grid", f.x, y, f.x+f.w, y)
		d.text("tick", f.x-6, y+3.5, "end", tickText(v))
	}
}

// xAxis draws the base line with the values below it. The unit follows the last value.
func (d *drawing) xAxis(f frame, s scale, n int, unit string) {
	base := f.y + f.h
	d.line("axis", f.x, base, f.x+f.w, base)
	for _, v := range s.ticks(n) {
		x := s.at(v)
		d.line("axis", x, base, x, base+4)
		text, anchor := tickText(v)+" "+unit, "middle"
		if half := float64(len(text)) * 3.2; x+half > f.x+f.w+plotRight { // it would leave the picture
			x, anchor = f.x+f.w+plotRight-1, "end"
		}
		d.text("tick", x, base+15, anchor, text)
	}
}

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
