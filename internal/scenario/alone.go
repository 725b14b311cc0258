package scenario

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// MostBeside is the most connections that one scenario may open beside others.
const MostBeside = 128

// fastBeside is the highest planned rate of one scenario beside others.
func fastBeside() spec.Rate { return spec.Rate{N: 500, Per: time.Second} }

// Alone says why no other scenario may send while this one is recorded. Empty: others may send, since its
// clients are its own, and nothing that it expects depends on how busy the target or this machine is.
func (s *Scenario) Alone() string {
	switch {
	case s.Shared() || !s.Partition.Fresh || s.Partition.Kind == ByAddress:
		return "others may use its clients"
	case len(s.Expect.Latency) > 0:
		return "it bounds latencies"
	case s.Expect.LateP99 > 0:
		return "it bounds how late requests are sent"
	}
	count := s.Partition.Count
	for i := range s.Phases {
		p := &s.Phases[i]
		switch c := p.connections(count); {
		case p.Shape == timeline.Hook:
			return "something happens to its target"
		case p.Unnamed:
			return "its clients have no names"
		case p.Shape == timeline.Backoff, p.Shape == timeline.Closed && p.Clients > 1:
			return "its clients send as fast as they are answered"
		case c > MostBeside:
			return "it opens " + text.Plural(int(c), "connection")
		case fastBeside().Less(p.peak(count)):
			return fmt.Sprintf("it sends more than %s", fastBeside())
		}
	}
	return ""
}

// Span is how long something takes by its plan. Duration includes all of the phases that may end early, Least
// none of them.
type Span struct{ Least, Duration time.Duration }

// String prints a span for a reader: at least 5.67s; 2s to 15m2s by plan; 6h20m by plan; up to 15m by plan.
func (s Span) String() string {
	switch {
	case s.Least == s.Duration:
		return "at least " + text.Rough(s.Duration)
	case s.Least == 0:
		return "up to " + text.Rough(s.Duration) + " by plan"
	}
	least, most := text.Rough(s.Least), text.Rough(s.Duration)
	if least != most {
		most = least + " to " + most
	}
	return most + " by plan"
}

// Lasting returns how long scenarios take. Those that may be recorded beside others take as long as the
// longest of them. Each of the rest takes its own time. With serial all do.
func Lasting(all []*Scenario, serial bool) (whole Span) {
	var longest Span
	for _, s := range all {
		took := s.Summary().Span
		if serial || s.Alone() != "" {
			whole.Least, whole.Duration = whole.Least+took.Least, whole.Duration+took.Duration
			continue
		}
		longest.Least = max(longest.Least, took.Least)
		longest.Duration = max(longest.Duration, took.Duration)
	}
	return Span{whole.Least + longest.Least, whole.Duration + longest.Duration}
}
