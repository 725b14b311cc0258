package scenario

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// MostBeside is the most connections that one scenario may open beside others.
const MostBeside = 128

// fastBeside is the highest planned rate of one scenario beside others.
func fastBeside() spec.Rate { return spec.Rate{N: 500, Per: time.Second} }

// Alone says why a scenario is recorded while no other one sends; empty: others may send meanwhile, since its
// clients are its own, and nothing that it expects depends on how busy the target or this machine is.
func (s *Scenario) Alone() string {
	switch {
	case s.Shared() || !s.Partition.Fresh || s.Partition.Kind == ByAddress:
		return "others may have its clients"
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
			return "it opens " + quantity.Plural(int(c), "connection")
		case fastBeside().Less(p.peak(count)):
			return fmt.Sprintf("it sends more than %s", fastBeside())
		}
	}
	return ""
}

// Lasting is how long scenarios take at least: those that may be recorded beside others as long as the
// longest of them, each of the rest its own time. With serial all take their own.
func Lasting(all []*Scenario, serial bool) (d time.Duration) {
	longest := time.Duration(0)
	for _, s := range all {
		took := s.Summary().Duration
		if serial || s.Alone() != "" {
			d += took
			continue
		}
		longest = max(longest, took)
	}
	return d + longest
}
