package report

import (
	"fmt"
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// lane is one half of the histogram: the answers of one outcome.
type lane struct {
	name, class        string
	service, corrected timeline.Distribution
}

// drawLatency draws the service times of allowed and denied answers as filled bars, one above the other on
// one logarithmic axis. The outline is the latency counted from the plan. Heights are logarithmic too, so
// that one slow answer among a million is visible. Empty: there are no answers.
func drawLatency(id string, s *result.Scenario) SVG {
	lanes := []lane{
		{"allowed", "a", s.Latency.Allowed.Service, s.Latency.Allowed.Corrected},
		{"denied", "d", s.Latency.Denied.Service, s.Latency.Denied.Corrected},
	}
	lo, hi, most := histogramRange(lanes)
	if most == 0 {
		return ""
	}
	const height, gap = 84.0, 34.0
	f := frame{plotLeft, 48, fullWidth - plotLeft - plotRight, 2*height + gap}
	desc := ""
	for _, l := range lanes {
		desc += fmt.Sprintf("%s %s: p50 %s, p99 %s, max %s. ", text.Thousands(int(l.service.Count)), l.name,
			text.Brief(l.service.P50), text.Brief(l.service.P99), text.Brief(l.service.Max))
	}
	d := newDrawing(id, "Latency of allowed and denied answers", desc, fullWidth, f.y+f.h+30)
	d.text("label", f.x, 12, "start",
		"answers per bar (logarithmic) by service time; outline: latency counted from the plan")
	x := scale{lo: lo, hi: hi, from: f.x, to: f.x + f.w, log: true}
	for i, l := range lanes {
		base := f.y + height + float64(i)*(height+gap)
		d.lane(l, x, scale{lo: 0, hi: math.Log10(float64(most)) + 0.35, from: base, to: base - height})
	}
	d.latencyAxis(f, x)
	return d.svg()
}

// histogramRange returns the span of all lanes in milliseconds and their highest bar.
func histogramRange(lanes []lane) (lo, hi float64, most int64) {
	lo, hi = math.Inf(1), 0
	for _, l := range lanes {
		for _, dist := range []timeline.Distribution{l.service, l.corrected} {
			for _, b := range dist.LogBuckets(timeline.BucketsPerDecade) {
				lo, hi = min(lo, ms(max(b.From, time.Microsecond))), max(hi, ms(b.To))
				most = max(most, b.Count)
			}
		}
	}
	return lo / 1.1, hi * 1.1, most
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// lane draws one histogram upwards from y.from. A bar of one answer rises a little above the base.
func (d *drawing) lane(l lane, x, y scale) {
	for n := 1.0; math.Log10(n) < y.hi; n *= 10 {
		at := y.at(math.Log10(n) + 0.3)
		if at > y.to {
			d.line("grid", x.from, at, x.to, at)
			d.text("tick", x.from-6, at+3.5, "end", text.Thousands(int(n)))
		}
	}
	height := func(n int64) float64 { return y.at(math.Log10(float64(n)) + 0.3) }
	for _, b := range l.service.LogBuckets(timeline.BucketsPerDecade) {
		if b.Count > 0 {
			from, to := x.at(ms(b.From)), x.at(ms(b.To))
			title := fmt.Sprintf("%s .. %s: %s %s", text.Brief(b.From), text.Brief(b.To),
				text.Plural(int(b.Count), "answer"), l.name)
			d.rect(l.class, from, height(b.Count), max(to-from-0.5, 1), y.from-height(b.Count), title)
		}
	}
	d.outline(l.corrected, x, y, height)
	d.line("axis", x.from, y.from, x.to, y.from)
	name := fmt.Sprintf("%s: %s", l.name, text.Plural(int(l.service.Count), "answer"))
	// The values stand in the name, as beside the marks they would overlap and leave the picture.
	if l.service.Count > 0 {
		name += fmt.Sprintf(", p50 %s, p99 %s (dashed)", text.Brief(l.service.P50), text.Brief(l.service.P99))
		d.quantile(l.service.P50, x, y)
		d.quantile(l.service.P99, x, y)
	}
	d.text("partition", x.from, y.to-8, "start", name)
}

// outline draws a histogram as its upper edge.
func (d *drawing) outline(dist timeline.Distribution, x, y scale, height func(int64) float64) {
	var edge steps
	for i, b := range dist.LogBuckets(timeline.BucketsPerDecade) {
		from, to := x.at(ms(b.From)), x.at(ms(b.To))
		if i == 0 {
			edge.to(from, y.from)
		}
		top := y.from
		if b.Count > 0 {
			top = height(b.Count)
		}
		edge.to(from, top)
		edge.to(to, top)
		if b.To >= dist.Max {
			edge.to(to, y.from)
		}
	}
	d.path("outline", edge.String(), "latency from the plan")
}

// quantile marks one quantile in a lane.
func (d *drawing) quantile(v time.Duration, x, y scale) {
	at := x.at(ms(max(v, time.Microsecond)))
	d.line("quantile", at, y.from, at, y.to-4)
}

// latencyAxis writes the times below both lanes.
func (d *drawing) latencyAxis(f frame, x scale) {
	base := f.y + f.h
	for _, v := range x.ticks(0) {
		at := x.at(v)
		d.line("axis", at, base, at, base+4)
		d.text("tick", at, base+15, "middle", span(time.Duration(v*1e6+0.5)))
	}
}

// The two instants from which a latency can count.
const (
	fromPlan = "plan"
	fromSend = "send"
)

// quantileNames has the heads of the columns of quantiles.
var quantileNames = []string{"P50", "P90", "P99", "P99.9", "MAX"}

// quantiles returns p50, p90, p99, p99.9 and the largest value.
func quantiles(d timeline.Distribution) []time.Duration {
	return []time.Duration{d.P50, d.P90, d.P99, d.P999, d.Max}
}

// latencyRow is one distribution of one scenario.
type latencyRow struct {
	scenario, outcome, from string
	dist                    timeline.Distribution
}

// values returns the quantiles in milliseconds.
func (l latencyRow) values() []string {
	var out []string
	for _, q := range quantiles(l.dist) {
		out = append(out, text.Millis(q))
	}
	return out
}

// latencyRows returns the distributions of all scenarios that have values. Allowed comes before denied, and
// before unknown, if a status was not classified. Times from the plan come before times from the send.
func latencyRows(r *result.Run) []latencyRow {
	var out []latencyRow
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, o := range []timeline.Outcome{timeline.Allowed, timeline.Denied, timeline.Unknown} {
			l := s.Latency.Of(o)
			for _, row := range []latencyRow{{s.ID, o.String(), fromPlan, l.Corrected},
				{s.ID, o.String(), fromSend, l.Service}} {
				if row.dist.Count > 0 {
					out = append(out, row)
				}
			}
		}
	}
	return out
}

// medianAndTail prints p50 and p99 in milliseconds, or a dash if there are no values.
func medianAndTail(d timeline.Distribution) string {
	if d.Count == 0 {
		return "-"
	}
	return text.Millis(d.P50) + "/" + text.Millis(d.P99)
}
