package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// worth says what a verdict on s is worth: each declared parameter and what the recording measured of it, one a line.
// Empty where no limit is declared.
func worth(s *Scenario) []string { return texts(worthLines(s)) }

// Worth says what a pass under l is worth: each declared parameter and what was measured of it, and in how many partitions the exact
// search reached its cap.
func Worth(l spec.Limit, j *verdict.Judgement) []string {
	return texts(append(linesOf(l, &j.Measured), capped(j)...))
}

// capped is the line of the partitions in which the bounds alone were asked of all orders: none where there are none.
func capped(j *verdict.Judgement) []worthLine {
	n := 0
	for i := range j.Partitions {
		if j.Partitions[i].Search.Capped {
			n++
		}
	}
	if n == 0 || j.Verdict == verdict.Fail {
		return nil
	}
	return []worthLine{{text: fmt.Sprintf("not every order was tried in %d of %d partitions", n, len(j.Partitions)), note: true}}
}

// untried are the scenarios that did not fail and of which not every order was tried.
func untried(r *Run) []string {
	var out []string
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.Verdict != verdict.Fail && s.Judgement != nil && len(capped(s.Judgement)) > 0 {
			out = append(out, s.ID)
		}
	}
	return out
}

func texts(lines []worthLine) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimSuffix(line.text+" "+line.seen, " ")
	}
	return out
}

// worthLine is one declared parameter: its value or range, and what was measured of it.
type worthLine struct {
	text           string
	declared, most float64
	measured       verdict.Interval
	// seen is what was measured of something that nobody declared, to be read behind text; empty for a parameter.
	seen string
	// note: it is about no parameter, text is all.
	note bool
}

func worthLines(s *Scenario) []worthLine {
	if s.Judgement == nil {
		return linesOf(s.Limit, nil)
	}
	return append(linesOf(s.Limit, &s.Judgement.Measured), capped(s.Judgement)...)
}

// linesOf returns the lines of a limit; all is nil where nothing was judged.
func linesOf(l spec.Limit, all *verdict.Measured) []worthLine {
	var out []worthLine
	for i, p := range l {
		_, loose := p.Ends()
		full := worthLine{text: fullNoun(p.Algorithm) + " " + p.FullText(), declared: float64(p.Full()), most: float64(loose.Full())}
		var rate worthLine
		if p.Algorithm != spec.Concurrency {
			rate = worthLine{text: "rate " + p.RateText(), declared: float64(p.Rate.N) / p.LongestWindow().Seconds(), most: float64(loose.Rate.N) / p.Rate.Per.Seconds()}
		}
		var m verdict.Measured
		if all != nil {
			m = all.Of(i, len(l))
			full.measured, rate.measured = m.Burst, m.Rate
			full.text += " (" + measured(m.Burst, "", wholeText) + ")"
			rate.text += " (" + measured(m.Rate, "/s", perSecond) + ")"
		}
		if out = append(out, full); p.Algorithm != spec.Concurrency {
			out = append(out, rate)
		}
		if m.Phase.LoSet && m.Phase.HiSet {
			out = append(out, worthLine{text: "windows begin",
				seen: "at " + instant(time.Duration(m.Phase.Lo)) + " .. " + instant(time.Duration(m.Phase.Hi))})
		}
	}
	return out
}

// fullNoun names what Policy.Full counts.
func fullNoun(a spec.Algorithm) string {
	switch a {
	case spec.TokenBucket, spec.GCRA, spec.LeakyBucket:
		return "burst"
	case spec.LeakyBucketQueue:
		return "at once"
	case spec.Concurrency:
		return "in flight"
	default:
		return "quota"
	}
}

// measured prints an interval: measured 20..20, measured at least 18, at most 22, not measured. An empty interval, which
// no value of the parameter explains, says so.
func measured(v verdict.Interval, unit string, text func(x float64, up bool) string) string {
	switch v = finiteEnds(v); {
	case v.Empty():
		return "measured: no value fits"
	case v.LoSet && v.HiSet:
		return "measured " + text(v.Lo, false) + ".." + text(v.Hi, true) + unit
	case v.LoSet:
		return "measured at least " + text(v.Lo, false) + unit
	case v.HiSet:
		return "measured at most " + text(v.Hi, true) + unit
	default:
		return "not measured"
	}
}
