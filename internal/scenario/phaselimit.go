package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// phaseLimit is the limit of a phase as it is written: its own, a multiple of the scenario's, none at all, or
// a limit of nothing.
type phaseLimit struct {
	own   spec.Limit
	times int64
	none  bool
	zero  bool
}

// given tells whether there is one.
func (l phaseLimit) given() bool { return l.none || l.zero || l.times > 0 || len(l.own) > 0 }

// timesPattern is a whole multiple of a limit.
var timesPattern = regexp.MustCompile(`^[1-9][0-9]{0,2}x$`)

// phaseLimitKind is the kind of the limit of a phase.
func phaseLimitKind() kind[phaseLimit] {
	limit := limitKind()
	return kind[phaseLimit]{schema: limit.schema, read: func(d *decoder, n *node, l *phaseLimit) {
		switch {
		case n.form == scalar && n.text == "none":
			l.none = true
		case n.form == scalar && n.text == "zero":
			l.zero = true
		case n.form == scalar && timesPattern.MatchString(n.text):
			l.times, _ = strconv.ParseInt(strings.TrimSuffix(n.text, "x"), 10, 64) // the pattern fits
		default:
			limit.read(d, n, &l.own)
		}
	}}
}

// resolveLimit completes the limit of a phase.
func (p *Phase) resolveLimit(d *decoder, s *Scenario) {
	l := p.spec.limit
	p.Limit, p.OwnLimit, p.Unlimited, p.Barred = s.Limit, l.given(), l.none, l.zero
	switch {
	case len(l.own) > 0:
		p.Limit = l.own
	case l.times > 0:
		p.Limit = scaled(s.Limit, l.times)
		if _, err := reference.NewLimit(p.Limit); err != nil {
			d.add(p.spec.at.get("limit"), fmt.Sprintf("%dx", l.times), err.Error(), "")
			p.Limit = s.Limit
		}
	}
}

// limitPhase tells the claims of the limit of a phase that has one of its own, by the names of its requests.
func (s *Scenario) limitPhase(p *Phase) {
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

// Observed returns the names of phases that requests of p have in a recording: its own, and for those that
// find a boundary another.
func (p *Phase) Observed() []string {
	if p.Shape == timeline.Boundary {
		return []string{p.Name, timeline.AimPhase(p.Name)}
	}
	return []string{p.Name}
}

// Counted tells whether a limit counts the requests of the phase: it sends some, and they are neither free
// nor barred.
func (p *Phase) Counted() bool { return !p.Quiet() && !p.Unlimited && !p.Barred }

// scaled returns the limit that admits k times as much.
func scaled(l spec.Limit, k int64) spec.Limit {
	out := slices.Clone(l)
	for i := range out {
		p := &out[i]
		full := p.Full()
		p.Rate.N = mulDiv(p.Rate.N, k, 1, false)
		p.RateTo, p.BurstTo = mulDiv(p.RateTo, k, 1, false), mulDiv(p.BurstTo, k, 1, false)
		p.Burst = mulDiv(p.Burst, k, 1, false)
		p.Level, p.LevelTo = mulDiv(p.Level, k, 1, false), mulDiv(p.LevelTo, k, 1, false)
		if p.Queued() {
			p.Queue = mulDiv(full, k, 1, false) - 1
			p.Burst = p.Queue + 1
		}
	}
	return out
}
