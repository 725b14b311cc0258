package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// mostWitnesses is how many charts of witnesses a page has, and mostRows how many requests each draws.
const (
	mostWitnesses = 2
	mostRows      = 400
	nearHeight    = 150.0
)

// witness draws the requests of one finding, each as the interval in which it was decided. The requests
// around them are faint, and it shows where windows begin. If the intervals are too short to be seen, parts
// of the time axis are drawn enlarged below.
func witness(id string, c clock, f *result.Finding, part timeline.Part, win windows) SVG {
	near, left := nearby(f, part.Observations)
	if len(near) == 0 {
		return ""
	}
	v := witnessView{id: id, f: f, near: near, in: f.Members(), end: c.end, windows: win}
	rows := float64(len(near))
	h := min(11, max(1.5, 300/rows)) * rows
	title := fmt.Sprintf("Witness: %s, partition %s", f.Kind, quoted(f.Partition))
	zooms := v.zooms()
	area := frame{plotLeft, 34, fullWidth - plotLeft - plotRight, h}
	total := h + 72
	if len(zooms) > 0 {
		total += nearHeight + 62
	}
	d := newDrawing(id, title, f.Text, fullWidth, total)
	label := "each line is the interval in which a request was decided (sent to first byte)"
	if left > 0 {
		label += fmt.Sprintf("; %s in the middle not drawn", text.Plural(left, "request"))
	}
	d.text("label", area.x, 12, "start", label)
	pad := max((f.To-f.From)/16, 50*time.Microsecond)
	d.rows(&v, id+"-w", area, check.Span{From: max(f.From-pad, 0), To: f.To + pad}, 8)
	if len(zooms) > 0 {
		d.zoomed(&v, zooms, frame{area.x, area.y + h + 62, area.w, nearHeight})
	}
	return d.svg()
}

// witnessView is what the parts of a witness chart share.
type witnessView struct {
	id      string
	f       *result.Finding
	near    []*timeline.Observation
	in      map[int]bool
	end     time.Duration
	windows windows
}

// rows draws the requests of a witness over a span of time.
func (d *drawing) rows(v *witnessView, id string, area frame, over check.Span, ticks int) {
	c := clock{}.part(over.From, over.To)
	x := c.scale(area)
	full := frame{area.x, area.y - 6, area.w, area.h + 10}
	d.clip(id, full)
	from, to := x.at(c.of(v.f.From)), x.at(c.of(v.f.To))
	d.rect("span", from, area.y-6, max(to-from, 2), area.h+8, v.f.Text)
	d.boundaries(full, x, c, v.windows)
	for _, at := range []float64{from, to} {
		d.line("edge", at, area.y-6, at, area.y+area.h+2)
	}
	shown := v.during(over)
	step := min(11, area.h/float64(max(len(shown), 1)))
	for i, o := range shown {
		at := x.at(c.of(o.Sent))
		width := max(x.at(c.of(v.decidedBy(o)))-at, 2.5)
		d.rect(v.class(o), at, area.y+float64(i)*step, width, max(step-1, 1), rowTitle(o))
	}
	d.unclip()
	d.rowNames(area, step, shown)
	d.xAxis(frame{area.x, area.y, area.w, area.h + 6}, x, ticks, c.unit)
}

// during returns the requests that may have been decided in a span.
func (v *witnessView) during(over check.Span) []*timeline.Observation {
	outside := func(o *timeline.Observation) bool { return o.Sent > over.To || v.decidedBy(o) < over.From }
	return slices.DeleteFunc(slices.Clone(v.near), outside)
}

// decidedBy returns the latest instant at which o was decided.
func (v *witnessView) decidedBy(o *timeline.Observation) time.Duration {
	if !o.Answered {
		return v.end
	}
	return o.FirstByte
}

func (v *witnessView) class(o *timeline.Observation) string {
	class := "row"
	if v.in[o.Seq] {
		class = "row in"
	}
	for _, k := range outcomes {
		if k.of == o.Outcome {
			class += " " + k.class
		}
	}
	return class
}

// zoomed draws parts of the time side by side, each with its own axis.
func (d *drawing) zoomed(v *witnessView, parts []check.Span, area frame) {
	const gap = 70
	d.text("label", area.x, area.y-14, "start", "enlarged parts of the same time, each with its own axis")
	w := (area.w - gap*float64(len(parts)-1)) / float64(len(parts))
	for i, p := range parts {
		at := frame{area.x + float64(i)*(w+gap), area.y, w, area.h}
		d.rows(v, fmt.Sprintf("%s-n%d", v.id, i), at, p, max(int(w/90), 2))
	}
}

// zooms returns the parts of the time of a witness to enlarge, ascending. They are the clusters of its
// requests, if these are far apart, or the first and the last moments, if its requests are spread too thin.
// Empty: the whole shows them.
func (v *witnessView) zooms() []check.Span {
	span := v.f.To - v.f.From
	var rows []*timeline.Observation
	for _, o := range v.near {
		if v.in[o.Seq] && o.Answered {
			rows = append(rows, o)
		}
	}
	if len(rows) == 0 || span <= 0 {
		return nil
	}
	clusters, typical := clustersOf(rows, span/8)
	if len(clusters) == 1 && typical < span/100 {
		edge := span * 12 / time.Duration(max(len(rows), 24))
		clusters = []check.Span{{From: v.f.From, To: v.f.From + edge}, {From: v.f.To - edge, To: v.f.To}}
	}
	if len(clusters) == 1 {
		return nil
	}
	if len(clusters) > 3 {
		clusters = []check.Span{clusters[0], clusters[len(clusters)/2], clusters[len(clusters)-1]}
	}
	for i := range clusters {
		pad := max((clusters[i].To-clusters[i].From)/10, 20*time.Microsecond)
		clusters[i] = check.Span{From: max(clusters[i].From-pad, 0), To: clusters[i].To + pad}
	}
	return clusters
}

// clustersOf joins the intervals of requests, ascending by Sent, that are less than gap apart. It also
// returns the length of a typical one.
func clustersOf(rows []*timeline.Observation, gap time.Duration) ([]check.Span, time.Duration) {
	clusters := []check.Span{{From: rows[0].Sent, To: rows[0].FirstByte}}
	lengths := make([]time.Duration, 0, len(rows))
	for _, o := range rows {
		lengths = append(lengths, o.FirstByte-o.Sent)
		if last := &clusters[len(clusters)-1]; o.Sent-last.To > gap {
			clusters = append(clusters, check.Span{From: o.Sent, To: o.FirstByte})
		} else {
			last.To = max(last.To, o.FirstByte)
		}
	}
	slices.Sort(lengths)
	return clusters, lengths[len(lengths)/2]
}

// nearby returns the observations to draw, ascending by Sent: the witness, and the requests that overlap its
// span. If there are more than mostRows, it leaves out those in the middle.
func nearby(f *result.Finding, obs []timeline.Observation) (near []*timeline.Observation, left int) {
	in := f.Members()
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
	s := fmt.Sprintf("#%d %s", o.Seq, o.Outcome)
	if o.Status != 0 {
		s += fmt.Sprintf(" (%d)", o.Status)
	}
	return s + fmt.Sprintf(", sent %s, first byte %s", text.Seconds(o.Sent), result.FirstByte(o))
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
