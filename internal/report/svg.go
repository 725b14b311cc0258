package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
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

// Sizes of the charts, in units of the page's width.
const (
	fullWidth = 1040.0
	plotLeft  = 62.0
	plotRight = 14.0
	// mostBins is how many bins a chart over time has at most. mostDots is how many observations are drawn
	// one by one at most.
	mostBins = 200
	mostDots = 4000
)

// outcomes are in the order in which they are stacked, with their classes in the page's style.
var outcomes = []struct {
	of    timeline.Outcome
	class string
}{{timeline.Allowed, "a"}, {timeline.Denied, "d"}, {timeline.Unknown, "u"}}

// Pictures are the charts of one recording.
type Pictures struct {
	// Time are the charts over the whole recording, Witness those of the first findings, and Parts those of
	// partitions against their limits. Each may be empty.
	Time, Witness, Parts []SVG
	// Note says how many of the partitions are drawn. Empty: all are.
	Note string
	// Left counts the partitions that are not drawn, by the reason.
	Left map[string]int
}

// drawRecording draws the recording of a scenario, which has observations. id is unique in the page. Texts of
// s are cleaned where they are drawn.
func drawRecording(id string, s *result.Scenario) Pictures {
	p := Pictures{Left: map[string]int{}}
	axis := newClock(s.Timeline)
	all := s.Timeline.ByPartition()
	found := s.Findings()
	if sides, ok := s.AttributeFindings(); ok {
		all, found = wholeClients(all), sides
	}
	p.witnesses(id, s, axis, all, found)
	if s.Excerpt != "" { // a sum over a part would be wrong
		return p
	}
	p.Time = append(p.Time, decisions(id+"-d", s, axis, len(all)))
	if chart := answers(id+"-a", s, axis); chart != "" && s.Timed() {
		p.Time = append(p.Time, chart)
	}
	p.partitions(id, s, axis, all, found)
	return p
}

// witnesses draws the first findings.
func (p *Pictures) witnesses(id string, s *result.Scenario, axis clock, all []timeline.Part,
	found []result.Finding) {
	for i := range found[:min(len(found), mostWitnesses)] {
		for _, part := range all {
			if part.Partition == found[i].Partition {
				at := fmt.Sprintf("%s-w%d", id, i)
				p.Witness = append(p.Witness, witness(at, axis, &found[i], part, drawnWindows(s, part)))
			}
		}
	}
	p.Witness = slices.DeleteFunc(p.Witness, func(h SVG) bool { return h == "" })
}

// partitions draws some partitions against their limits. For a partition with a short witness, it also draws
// the time of that witness.
func (p *Pictures) partitions(id string, s *result.Scenario, axis clock, all []timeline.Part,
	found []result.Finding) {
	var drawn []timeline.Part
	for _, part := range all {
		if _, left := drawnLimit(s, part); left != "" {
			p.Left[left]++
		} else {
			drawn = append(drawn, part)
		}
	}
	chosen := chosenPartitions(drawn, found)
	views, width := make([]*view, len(chosen)), fullWidth
	for i, part := range chosen {
		l, _ := drawnLimit(s, part)
		views[i] = viewOf(s, l, part, axis)
		if _, ok := views[i].near(axis); ok || len(chosen) > 1 {
			width = (fullWidth - 16) / 2
		}
	}
	for i, v := range views {
		at := fmt.Sprintf("%s-p%d", id, i)
		p.Parts = append(p.Parts, v.chart(at, axis, width, false))
		if near, ok := v.near(axis); ok {
			p.Parts = append(p.Parts, v.chart(at+"z", near, width, true))
		}
	}
	if len(chosen) > 0 && len(all) > len(chosen) {
		p.Note = fmt.Sprintf("%d of %s partitions, those with a finding first", len(chosen),
			text.Thousands(len(all)))
	}
}

// wholeClients joins the two sides of each client, under the name of the plain side.
func wholeClients(all []timeline.Part) []timeline.Part {
	var out []timeline.Part
	for _, p := range all {
		i := slices.IndexFunc(out, func(c timeline.Part) bool {
			return timeline.OtherSide(c.Partition) == p.Partition
		})
		if i < 0 {
			out = append(out, p)
			continue
		}
		out[i].Observations = slices.Concat(out[i].Observations, p.Observations)
		slices.SortStableFunc(out[i].Observations, timeline.BySent)
	}
	return out
}

// clock is the time axis of the charts of one recording, or of a part of it.
type clock struct {
	from, end time.Duration
	unit      string
	// one is the duration of one unit.
	one float64
}

func newClock(t *timeline.Timeline) clock {
	c := clock{end: max(t.End(), time.Millisecond)}
	switch {
	case c.end < 2*time.Second:
		c.unit, c.one = "ms", 1e6
	case c.end < 20*time.Minute:
		c.unit, c.one = "s", 1e9
	default:
		c.unit, c.one = "min", 60e9
	}
	return c
}

// span prints a bin width: 50 ms, 2 s.
func span(d time.Duration) string {
	switch {
	case d >= time.Second:
		return tickText(d.Seconds()) + " s"
	case d >= time.Millisecond:
		return tickText(float64(d)/1e6) + " ms"
	default:
		return tickText(float64(d)/1e3) + " µs"
	}
}

func (c clock) of(d time.Duration) float64 { return float64(d) / c.one }

// scale returns the axis over the whole recording, or over the part.
func (c clock) scale(f frame) scale {
	return scale{lo: c.of(c.from), hi: c.of(c.end), from: f.x, to: f.x + f.w}
}

// part returns the axis over a part of the recording.
func (c clock) part(from, end time.Duration) clock {
	one := newClock(&timeline.Timeline{Header: timeline.Header{Ended: end}})
	one.from = max(from, 0)
	return one
}
