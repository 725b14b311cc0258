package report

import (
	"fmt"
	"html/template"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The witness charts of a page: how many, and how many requests each draws.
const (
	mostWitnesses = 2
	mostRows      = 400
)

// witnessChart shows the requests of one finding, each as the interval in which it was decided, with the requests around
// them faint.
func witnessChart(id string, c clock, f *check.Finding, part timeline.Part) template.HTML {
	near, left := nearby(f, part.Observations)
	if len(near) == 0 {
		return ""
	}
	in := members(f.Observations)
	step := min(11, max(1.5, 300/float64(len(near))))
	h := step * float64(len(near))
	area := frame{plotLeft, 34, chartWidth - plotLeft - plotRight, h}
	title := fmt.Sprintf("Witness: %s, partition %s", f.Kind, quoted(f.Partition))
	d := newDrawing(id, title, f.Text, chartWidth, h+72)
	label := "each line is the interval in which a request was decided (sent to first byte)"
	if left > 0 {
		label += fmt.Sprintf("; %s in the middle not drawn", plural(left, "request"))
	}
	d.text("label", area.x, 12, "start", label)
	pad := max((f.To-f.From)/16, 50*time.Microsecond)
	one := newClock(&timeline.Timeline{Header: timeline.Header{Ended: f.To + pad}})
	x := scale{lo: one.of(max(f.From-pad, 0)), hi: one.of(f.To + pad), from: area.x, to: area.x + area.w}
	d.rect("span", x.at(one.of(f.From)), area.y-6, max(x.at(one.of(f.To))-x.at(one.of(f.From)), 2), h+8, f.Text)
	for _, at := range []time.Duration{f.From, f.To} {
		d.line("edge", x.at(one.of(at)), area.y-6, x.at(one.of(at)), area.y+h+2)
	}
	d.clip(id+"-w", frame{area.x, area.y - 6, area.w, h + 10})
	for i, o := range near {
		class := "row"
		if in[o.Seq] {
			class = "row in"
		}
		for _, k := range outcomes {
			if k.of == o.Outcome {
				class += " " + k.class
			}
		}
		end := o.FirstByte
		if !o.Answered {
			end = c.end
		}
		from := x.at(one.of(o.Sent))
		d.rect(class, from, area.y+float64(i)*step, max(x.at(one.of(end))-from, 2.5), max(step-1, 1), rowTitle(o))
	}
	d.unclip()
	d.rowNames(area, step, near)
	d.xAxis(frame{area.x, area.y, area.w, h + 6}, x, 8, one.unit)
	return d.html()
}

// nearby returns the observations to draw, ascending by Sent: the witness, and what overlaps its span. Of more than
// mostRows those in the middle are left out.
func nearby(f *check.Finding, obs []timeline.Observation) (near []*timeline.Observation, left int) {
	in := members(f.Observations)
	var others int
	for i := range obs {
		o := &obs[i]
		overlaps := o.Sent <= f.To && (!o.Answered || o.FirstByte >= f.From)
		if in[o.Seq] || overlaps && others < mostRows/4 {
			if !in[o.Seq] {
				others++
			}
			near = append(near, o)
		}
	}
	if len(near) > mostRows {
		left = len(near) - mostRows
		near = append(near[:mostRows/2:mostRows/2], near[len(near)-mostRows/2:]...)
	}
	return near, left
}

func rowTitle(o *timeline.Observation) string {
	text := fmt.Sprintf("#%d %s", o.Seq, o.Outcome)
	if o.Status != 0 {
		text += fmt.Sprintf(" (%d)", o.Status)
	}
	return text + fmt.Sprintf(", sent %s, first byte %s", seconds(o.Sent), answered(o))
}

// rowNames writes the numbers of the requests, as many as there is room for.
func (d *drawing) rowNames(f frame, step float64, near []*timeline.Observation) {
	next := 0.0
	for i, o := range near {
		at := f.y + float64(i)*step + step/2
		if at >= next {
			d.text("tick", f.x-6, at+3, "end", fmt.Sprintf("#%d", o.Seq))
			next = at + 11
		}
	}
}
