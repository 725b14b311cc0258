package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Budget bounds a run. A zero member bounds nothing.
type Budget struct {
	// Requests is the most requests that all scenarios may send, Time the longest that they may take by their
	// plans.
	Requests int
	Time     time.Duration
}

// ParseBudget reads requests=N,time=DURATION. One of them may be missing. Empty: the zero value.
func ParseBudget(text string) (b Budget, err error) {
	if text == "" {
		return b, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "requests":
			b.Requests, err = strconv.Atoi(strings.ReplaceAll(value, "_", ""))
			if err != nil || b.Requests < 1 {
				return b, fmt.Errorf("budget %q: requests are a whole number from 1 on "+
					"(write requests=2000)", part)
			}
		case "time":
			if b.Time, err = time.ParseDuration(value); err != nil || b.Time <= 0 {
				return b, fmt.Errorf("budget %q: a time is a duration with its unit (write time=10m)", part)
			}
		default:
			return b, fmt.Errorf("budget %q: a budget has requests and time "+
				"(write requests=2000,time=10m)", part)
		}
	}
	return b, nil
}

// String prints a budget for a reader: 2,000 requests and 10m.
func (b Budget) String() string {
	var parts []string
	if b.Requests > 0 {
		parts = append(parts, text.Plural(b.Requests, "request"))
	}
	if b.Time > 0 {
		parts = append(parts, text.Short(b.Time))
	}
	return strings.Join(parts, " and ")
}

// Pick returns the scenarios that fit, in their order, and those that do not. It takes the most telling ones
// first: those that catch the most faults that no earlier one catches. Of equal ones it takes required
// scenarios, and then the cheapest. With serial none is recorded beside others.
func (b Budget) Pick(all []*Scenario, serial bool) (fit, left []*Scenario) {
	if b == (Budget{}) {
		return all, nil
	}
	caught := map[string]bool{}
	rest := slices.Clone(all)
	for len(rest) > 0 {
		i := mostTelling(rest, caught)
		s := rest[i]
		rest = slices.Delete(rest, i, i+1)
		if !b.fits(append(slices.Clone(fit), s), serial) {
			left = append(left, s)
			continue
		}
		fit = append(fit, s)
		for _, fault := range s.Catches {
			caught[fault] = true
		}
	}
	place := func(a, c *Scenario) int { return cmp.Compare(slices.Index(all, a), slices.Index(all, c)) }
	slices.SortFunc(fit, place)
	slices.SortFunc(left, place)
	return fit, left
}

// fits tells whether a run of these scenarios keeps the budget.
func (b Budget) fits(all []*Scenario, serial bool) bool {
	requests := 0
	for _, s := range all {
		requests += s.Summary().Requests
	}
	return (b.Requests == 0 || requests <= b.Requests) &&
		(b.Time == 0 || Lasting(all, serial).Duration <= b.Time)
}

// mostTelling returns the index of the next scenario that Pick tries.
func mostTelling(all []*Scenario, caught map[string]bool) int {
	news := func(s *Scenario) (n int) {
		for _, fault := range s.Catches {
			if !caught[fault] {
				n++
			}
		}
		return n
	}
	kinds := []Kind{Informative, Recommended, Required}
	weight := func(s *Scenario) int { return slices.Index(kinds, s.Kind) }
	best := 0
	for i := 1; i < len(all); i++ {
		a, c := all[i], all[best]
		if cmp.Or(cmp.Compare(news(a), news(c)), cmp.Compare(weight(a), weight(c)),
			cmp.Compare(c.Summary().Requests, a.Summary().Requests)) > 0 {
			best = i
		}
	}
	return best
}

// Deadline returns a context for the run. It ends when the run has taken a quarter and two seconds longer
// than its time by plan: a target that answers slowly, or a busy machine, may make it as late.
func (b Budget) Deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.Time == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, b.Time+b.Time/4+2*time.Second)
}

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
