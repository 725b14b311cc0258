package scenario

import (
	"fmt"
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// MaxRequests is the most requests that a phase may ask for in each partition.
const MaxRequests = 100_000_000

// among returns how many of the partitions take part in the phase.
func (p *Phase) among(partitions int) int {
	some := p.Among
	if some == 0 && p.Shape == timeline.AtOnce {
		some = p.Clients
	}
	if some > 0 {
		return min(some, partitions)
	}
	return partitions
}

// total returns the most requests that the phase sends over all partitions, including those that find a
// boundary.
func (p *Phase) total(partitions int) int64 {
	partitions = p.among(partitions)
	if p.Vary != "" {
		partitions *= 2
	}
	return MulDiv(int64(p.Requests), int64(partitions), 1, false) + p.questions(partitions) +
		int64(p.probes())
}

// clockQuestions is how many requests read the target's clock or its announced reset, at most.
const clockQuestions = 12

// questions returns how many requests look for the boundary, without those that drain a partition first.
func (p *Phase) questions(partitions int) int64 {
	switch {
	case p.Shape != timeline.Boundary:
		return 0
	case p.Aim == timeline.AimProbe:
		return int64(p.probes())
	case p.Aim == timeline.AimFirst: // they open a window in each partition
		return int64(partitions)
	default:
		return clockQuestions
	}
}

// probes returns how many requests drain the partition of an AimProbe: twice what a full start admits and a
// few.
func (p *Phase) probes() int {
	if p.Shape != timeline.Boundary || p.Aim != timeline.AimProbe {
		return 0
	}
	return int(min(2*p.Limit.Full(), MaxRequests)) + 10
}

// lasts returns how long the phase is planned to last. A boundary phase lasts at most two windows.
func (p *Phase) lasts() time.Duration {
	if p.Shape == timeline.Boundary {
		return 2 * p.Window
	}
	return p.Duration
}

// connections returns how many connections the phase needs at once. Requests that are released together have
// one each.
func (p *Phase) connections(partitions int) int64 {
	switch p.Shape {
	case timeline.AtOnce:
		return p.total(partitions)
	case timeline.Boundary:
		return MulDiv(int64(p.Requests+1)/2, int64(partitions), 1, false)
	case timeline.Closed, timeline.HonorRetryAfter, timeline.Backoff:
		return int64(p.Clients)
	default:
		return 0
	}
}

// peak returns the highest planned rate of the phase over all partitions, or a zero Rate if none is planned.
func (p *Phase) peak(partitions int) spec.Rate {
	r := p.Rate
	for _, step := range p.Rates {
		if r.Less(step) {
			r = step
		}
	}
	if p.Shape == timeline.Ramp {
		if r = p.From; r.Less(p.To) {
			r = p.To
		}
	}
	if r.N == 0 {
		return spec.Rate{}
	}
	return spec.Rate{N: MulDiv(r.N, int64(partitions), 1, false), Per: r.Per}
}

// Excesses returns what exceeds the ceilings of Safety, with the arithmetic: of each phase in their order or,
// if no phase does, of their sums. Path is the name of the phase; empty: all phases together. nil: nothing
// does.
func (s *Scenario) Excesses() (out Errors) {
	var requests int64
	var lasts time.Duration
	for i := range s.Phases {
		p := &s.Phases[i]
		out = append(out, s.excessesOf(p)...)
		requests = min(requests+p.total(s.Partition.Count), math.MaxInt64/2)
		lasts = min(lasts+p.lasts(), math.MaxInt64/2)
	}
	if len(out) > 0 {
		return out
	}
	if requests > int64(s.Safety.MaxRequests) {
		out = append(out, s.over("", "all phases", text.Plural(int(requests), "request"),
			text.Thousands(s.Safety.MaxRequests), "shorten a phase, or raise safety.max_requests"))
	}
	if lasts > s.Safety.MaxDuration {
		out = append(out, s.over("", "all phases", text.Short(lasts), text.Short(s.Safety.MaxDuration),
			"shorten a phase, or raise safety.max_duration"))
	}
	return out
}

// over says of a phase, or of all, that it takes more than a ceiling allows.
func (s *Scenario) over(phase, what, takes, most, mend string) Problem {
	return Problem{File: s.File, Path: phase, What: what, Why: takes + ", over the limit of " + most,
		Mend: mend}
}

// excessesOf returns how one phase exceeds the ceilings.
func (s *Scenario) excessesOf(p *Phase) (out Errors) {
	add := func(what, takes, most, mend string) {
		out = append(out, s.over(p.Name, what, takes, most, mend))
	}
	count, most := s.Partition.Count, s.Safety
	in := ""
	if count > 1 {
		in = " in " + text.Plural(count, "partition")
	}
	if total := p.total(count); total > int64(most.MaxRequests) {
		add(p.size()+in, text.Plural(int(total), "request"), text.Thousands(most.MaxRequests),
			"shorten the phase, or raise safety.max_requests")
		return out
	}
	if r := p.peak(count); r.N > 0 && most.MaxRate.Less(r) {
		add(p.size()+in, r.String()+" in all", most.MaxRate.String(),
			"lower the rate, or raise safety.max_rate")
	}
	if c := p.connections(count); c > int64(most.MaxConnections) {
		add(p.size()+in, text.Plural(int(c), "connection")+" at once", text.Thousands(most.MaxConnections),
			"send fewer requests, or raise safety.max_connections")
	}
	if p.lasts() > most.MaxDuration {
		add(p.size(), text.Short(p.lasts()), text.Short(most.MaxDuration),
			"shorten the phase, or raise safety.max_duration")
	}
	return out
}

// pace prints a planned rate. It counts whole requests for the shortest of a second, a minute, an hour and a
// day, or else about how many a second. A declared rate is never written in other numbers. A rate that is
// sent may be a multiple of it, such as 900/10m.
func pace(r spec.Rate) string {
	for _, per := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		if n := MulDiv(r.N, int64(per), int64(r.Per), false); n > 0 &&
			n == MulDiv(r.N, int64(per), int64(r.Per), true) {
			return spec.Rate{N: n, Per: per}.String()
		}
	}
	return fmt.Sprintf("%.3g/s", float64(r.N)/r.Per.Seconds())
}

// size says how much a phase sends, in the words of the file.
func (p *Phase) size() string {
	switch p.Shape {
	case timeline.Constant:
		return fmt.Sprintf("rate %s for %s", pace(p.Rate), text.Rough(p.Duration))
	case timeline.Poisson:
		return fmt.Sprintf("rate %s at random for %s", pace(p.Rate), text.Rough(p.Duration))
	case timeline.Steps:
		return fmt.Sprintf("%d rates for %s", len(p.Rates), text.Rough(p.Duration))
	case timeline.Hook:
		if p.Event.Command != "" {
			return fmt.Sprintf("action %s, done by the command %q unless the target is the embedded one",
				p.Event.Action, p.Event.Command)
		}
		return "action " + string(p.Event.Action)
	case timeline.Ramp:
		return fmt.Sprintf("rate %s to %s for %s", pace(p.From), pace(p.To), text.Rough(p.Duration))
	case timeline.Silence:
		return "silence for " + text.Rough(p.Duration)
	case timeline.Boundary:
		return text.Plural(p.Requests, "request") + " around a boundary"
	case timeline.AtOnce:
		return text.Plural(p.Requests, "request") + " at once"
	default:
		s := fmt.Sprintf("%s, at most %s for each partition", text.Plural(p.Clients, "client"),
			text.Plural(p.Requests, "request"))
		if p.Duration > 0 {
			s += " in " + text.Rough(p.Duration)
		}
		return s
	}
}
