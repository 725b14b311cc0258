package result

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Worth says what a verdict on s is worth: each declared parameter and its measured interval, one on each
// line. Empty: no limit is declared.
func (s *Scenario) Worth() []string { return texts(s.WorthLines()) }

// Worth says what a PASS under l is worth: each declared parameter and its measured interval, in how many
// partitions the exact search reached its cap, and which requests were not judged.
func Worth(l spec.Limit, j *Judgement) []string {
	return texts(append(linesOf(l, &j.Measured), notes(j)...))
}

// notes returns the lines of what was not judged or not tried.
func notes(j *Judgement) []WorthLine { return append(capped(j), unjudged(j)...) }

// unjudged returns the line of the partitions of which only the beginning was judged. It is empty if there
// are none.
func unjudged(j *Judgement) []WorthLine {
	n, left := 0, 0
	for i := range j.Partitions {
		if more := j.Partitions[i].Left; more > 0 {
			n, left = n+1, left+more
		}
	}
	if n == 0 {
		return nil
	}
	return []WorthLine{{Text: fmt.Sprintf("the last %s requests of %d of %d partitions were not judged, as "+
		"that takes too much memory", text.Thousands(left), n, len(j.Partitions)), Note: true}}
}

// capped returns the line of the partitions whose exact search reached its cap. It is empty if there are
// none.
func capped(j *Judgement) []WorthLine {
	n := 0
	for i := range j.Partitions {
		if j.Partitions[i].Search.Capped {
			n++
		}
	}
	if n == 0 || j.Verdict == Fail {
		return nil
	}
	return []WorthLine{{Text: fmt.Sprintf("not every order was tried in %d of %d partitions", n,
		len(j.Partitions)), Note: true}}
}

// Untried returns the ids of the scenarios that did not fail and of which not every order was tried.
func Untried(r *Run) []string {
	var out []string
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.Verdict != Fail && s.Judgement != nil && len(capped(s.Judgement)) > 0 {
			out = append(out, s.ID)
		}
	}
	return out
}

func texts(lines []WorthLine) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimSuffix(line.Text+" "+line.Seen, " ")
	}
	return out
}

// WorthLine is one declared parameter: its value or range, and its measured interval.
type WorthLine struct {
	Text string
	// Declared and Most are the declared value, and the upper end of a declared range.
	Declared, Most float64
	Measured       Interval
	// Seen is a measured value of something that nobody declared, printed behind Text. Empty for a parameter.
	Seen string
	// Note: the line is about no parameter, and Text is all of it.
	Note bool
}

// WorthLines returns the lines of Worth with their numbers.
func (s *Scenario) WorthLines() []WorthLine {
	if s.Judgement == nil {
		return linesOf(s.Limit, nil)
	}
	return append(linesOf(s.Limit, &s.Judgement.Measured), notes(s.Judgement)...)
}

// linesOf returns the lines of a limit. all is nil if nothing was judged.
func linesOf(l spec.Limit, all *Measured) []WorthLine {
	var out []WorthLine
	for i, p := range l {
		_, loose := p.Ends()
		full := WorthLine{Text: p.Noun() + " " + p.FullText(), Declared: float64(p.Full()),
			Most: float64(loose.Full())}
		var rate WorthLine
		if !p.InFlight() {
			rate = WorthLine{Text: "rate " + p.RateText(),
				Declared: float64(p.Rate.N) / p.LongestWindow().Seconds(),
				Most:     float64(loose.Rate.N) / p.Rate.Per.Seconds()}
		}
		var m Measured
		if all != nil {
			m = all.Of(i, len(l))
			full.Measured, rate.Measured = m.Burst, m.Rate
			full.Text += " (" + IntervalText(SeenBurst(p, m.Burst), "", text.Whole) + OneSided(p, m.Burst) +
				")"
			if seen := IntervalText(m.Rate, "/s", text.PerSecond); !Refuted(m.Burst, p) {
				rate.Text += " (" + seen + ")"
			} else { // under a burst that it does not have
				rate.Text, rate.Measured = rate.Text+" (not known)", Interval{}
			}
		}
		if out = append(out, full); !p.InFlight() {
			out = append(out, rate)
		}
		if m.Phase.LoSet && m.Phase.HiSet {
			out = append(out, WorthLine{Text: "windows begin",
				Seen: "at " + text.Instant(time.Duration(m.Phase.Lo)) + " .. " +
					text.Instant(time.Duration(m.Phase.Hi))})
		}
	}
	return out
}

// SeenBurst returns what a reader is told of the burst of p. For a queue, it leaves out a lower end that
// proves nothing.
func SeenBurst(p spec.Policy, burst Interval) Interval {
	burst.LoSet = burst.LoSet && OneSided(p, burst) == ""
	return burst
}

// OneSided says of a queue that nothing shows it to be as long as declared: an admission that waited may have
// been decided late. Empty: something shows it, or p is no queue.
func OneSided(p spec.Policy, burst Interval) string {
	if !p.Queued() || !burst.HiSet || burst.Empty() || burst.LoSet && burst.Lo >= float64(p.Full()) {
		return ""
	}
	return "; a shorter queue would look the same"
}

// Text prints an interval: 20..20/s, or the only bound behind a word for at least or at most. Empty: it has
// no bound.
func (iv Interval) Text(least, most, unit string, text func(x float64, up bool) string) string {
	switch v := iv.Finite(); {
	case v.LoSet && v.HiSet:
		return text(v.Lo, false) + ".." + text(v.Hi, true) + unit
	case v.LoSet:
		return least + text(v.Lo, false) + unit
	case v.HiSet:
		return most + text(v.Hi, true) + unit
	}
	return ""
}

// IntervalText prints what was measured: measured 20..20, measured at least 18, at most 22, not measured. It
// says so if the interval is empty, so that no value explains the recording.
func IntervalText(v Interval, unit string, text func(x float64, up bool) string) string {
	if v.Finite().Empty() {
		return "measured: no value fits"
	}
	if known := v.Text("at least ", "at most ", unit, text); known != "" {
		return "measured " + known
	}
	return "not measured"
}

// Refuted tells whether every declared value of the burst is refuted. What was measured with that burst held
// is then of no real limiter.
func Refuted(v Interval, p spec.Policy) bool {
	tight, loose := p.Ends()
	low, high := float64(min(tight.Full(), loose.Full())), float64(max(tight.Full(), loose.Full()))
	return v.Empty() || v.LoSet && v.Lo > high || v.HiSet && v.Hi < low
}
