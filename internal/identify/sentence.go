package identify

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Sentence says in words what limit c is and what was measured of it.
func (c Candidate) Sentence() string {
	var parts []string
	for _, p := range c.Limit {
		parts = append(parts, inWords(p, c.Cost > 1 && !p.InFlight()))
	}
	s := strings.Join(parts, ", and ")
	if c.Cost > 1 {
		s += fmt.Sprintf(", of which each request costs %d", c.Cost)
	}
	if c.Limit[0].InFlight() {
		return s
	}
	return s + "; " + c.Worth()
}

// times prints the times from least to most, with one unit if both have it: 4.98..5.02 s.
func times(least, most time.Duration) string {
	from, to := text.Brief(least), text.Brief(most)
	if n, unit, ok := strings.Cut(from, " "); ok && strings.HasSuffix(to, " "+unit) {
		return n + ".." + to
	}
	return from + ".." + to
}

// inWords says what a policy admits, in units or in requests.
func inWords(p spec.Policy, units bool) string {
	full, window := p.Full(), lasting(p.Rate.Per)
	word := "request"
	if units {
		word = "unit"
	}
	requests := text.Plural(int(full), word)
	var s string
	switch {
	case p.InFlight():
		return requests + " in flight at once"
	case p.Queued():
		s = fmt.Sprintf("%d per %s, while %s wait", p.Rate.N, window,
			text.Plural(int(p.Queue), "more "+word))
	case p.Fixed() && p.Align == spec.AlignFirst:
		s = fmt.Sprintf("%s in %s, counted from the first one", requests, amount(p.Rate.Per))
	case p.Fixed():
		s = fmt.Sprintf("%s in each %s of a clock", requests, window)
	case p.Weighs():
		s = fmt.Sprintf("%s in %s, the window before counted by the share that is left of it", requests,
			amount(p.Rate.Per))
		if p.Align == spec.AlignFirst {
			s += ", from the first request on"
		}
	case p.Windowed() || p.HasWindow():
		s = fmt.Sprintf("%s in any %s", requests, window)
	default:
		s = fmt.Sprintf("%s at once, then %d per %s", requests, p.Rate.N, window)
	}
	switch {
	case p.Refresh == spec.RefreshAll:
		s += ", started anew by each request"
	case p.Refresh == spec.RefreshAdmitted:
		s += ", started anew by each admitted request"
	case p.Count == spec.CountAll:
		s += ", denied ones included"
	}
	if p.Start != "" && p.Start != spec.StartFull {
		s += ", with fewer for a new client"
	}
	if p.Ban > 0 {
		s += ", with a ban of " + amount(p.Ban) + " after a denial"
	}
	if p.TickSet && p.Tick == time.Second {
		s += ", by a clock of whole seconds"
	}
	return s
}

// lasting prints a time after "each" or "per": second, 5 seconds.
func lasting(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch n := d / u.unit; {
		case d == u.unit:
			return u.name
		case d%u.unit == 0 && (n < 1000):
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return text.Brief(d)
}

// amount prints a time: 1 second, 5 seconds.
func amount(d time.Duration) string {
	if text := lasting(d); !strings.Contains(text, " ") {
		return "1 " + text
	}
	return lasting(d)
}
