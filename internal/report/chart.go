package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
