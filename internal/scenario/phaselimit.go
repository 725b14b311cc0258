package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// phaseLimit is the limit of a phase as it is written: its own, a multiple of the scenario's, none at all, or
// zero, which admits nothing.
type phaseLimit struct {
	own   spec.Limit
	times multiple
	none  bool
	zero  bool
}

// timesPattern is a multiple of a limit.
var timesPattern = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,3})?x$`)

// phaseLimitKind is the kind of the limit of a phase.
func phaseLimitKind() kind[*phaseLimit] {
	limit := limitKind()
	return kind[*phaseLimit]{schema: limit.schema, read: func(d *decoder, n *tree.Node, l *phaseLimit) {
		switch {
		case n.Form == tree.Scalar && n.Text == "none":
			l.none = true
		case n.Form == tree.Scalar && n.Text == "zero":
			l.zero = true
		case n.Form == tree.Scalar && timesPattern.MatchString(n.Text):
			if l.times, _ = parseMultiple(strings.TrimSuffix(n.Text, "x")); l.times.num == 0 {
				d.add(n, tree.Quote(n.Text), "a multiple of a limit is over 0",
					`write "zero" for a limit of nothing`)
			}
		default:
			limit.read(d, n, &l.own)
		}
	}}
}

// resolveLimit completes the limit of a phase.
func (p *phaseDraft) resolveLimit(s *Scenario) {
	l := p.limit
	p.Limit, p.Unlimited, p.Barred = s.Limit, l.none, l.zero
	p.OwnLimit = l.none || l.zero || l.times.num > 0 || len(l.own) > 0
	switch {
	case len(l.own) > 0:
		p.Limit = l.own
	case l.times.num > 0:
		p.Limit = scaled(s.Limit, l.times)
		if _, err := reference.NewLimit(p.Limit); err != nil {
			s.Lacks = fmt.Sprintf("phase %q needs %s the limit: %v", p.Name, p.at.Get("limit").Text, err)
			p.Limit = s.Limit
		} else if p.Limit.Full() == s.Limit.Full() && l.times.num != l.times.den {
			s.Lacks = fmt.Sprintf("phase %q needs another limit, and %s of %s is as many again", p.Name,
				p.at.Get("limit").Text, text.Plural(int(s.Limit.Full()), "unit"))
		}
	}
}

// limitPhase notes in the expectations the limit of a phase that has its own, by the names of its requests.
func (s *draft) limitPhase(p *Phase) {
	if !p.OwnLimit || p.Quiet() {
		return
	}
	if s.Expect.Limits == nil {
		s.Expect.Limits = map[string]spec.Limit{}
	}
	for _, name := range p.Observed() {
		s.Expect.Limits[name] = nil
		if p.Counted() {
			s.Expect.Limits[name] = p.Limit
		}
	}
}

// scaled returns the limit that admits m times as much, in whole units. A part of a unit is rounded up.
func scaled(l spec.Limit, m multiple) spec.Limit {
	out := slices.Clone(l)
	g := gcd(m.num, m.den)
	m = multiple{num: m.num / g, den: m.den / g}
	for i := range out {
		p := &out[i]
		full := p.Full()
		if !p.HasWindow() && p.RateTo == 0 && MulDiv(p.Rate.N, m.num, 1, false)%m.den != 0 {
			// A longer time of each unit avoids rounding.
			p.Rate.Per = time.Duration(MulDiv(int64(p.Rate.Per), m.den, 1, false))
			p.Rate.N = MulDiv(p.Rate.N, m.num, 1, false)
		} else {
			p.Rate.N = m.times(p.Rate.N)
		}
		p.RateTo, p.BurstTo, p.Burst = m.times(p.RateTo), m.times(p.BurstTo), m.times(p.Burst)
		p.Level, p.LevelTo, p.Reserve = m.times(p.Level), m.times(p.LevelTo), m.times(p.Reserve)
		if p.Queued() {
			p.Queue = m.times(full) - 1
			p.Burst = p.Queue + 1
		}
	}
	return out
}
