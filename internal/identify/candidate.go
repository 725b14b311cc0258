package identify

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Candidate is a kind and the policies of it that are left.
type Candidate struct {
	// Text names the kind. Class are its algorithms, which no request can tell apart.
	Text  string
	Class []spec.Algorithm
	// Limit is one of the policies, with a round time.
	Limit    spec.Limit
	Measured result.Measured
	// Against is what refutes Limit, where nothing of the kind is left.
	Against     string
	Least, Most time.Duration
	// Stated tells that answers state the window of Limit, which was not measured.
	Stated bool
	// Cost is how many units each request costs, 0 for one. Limit and Measured count units.
	Cost int64
	// Round tells that people may have written what is left: a time or a rate of two digits.
	Round bool
}

// Worth says between which numbers the measurement leaves c.
func (c Candidate) Worth() string {
	p, m := c.Limit[0], c.Measured
	switch quota := fmt.Sprintf("measured %.6g..%.6g", m.Burst.Lo, m.Burst.Hi); {
	case p.InFlight():
		return fmt.Sprintf("%.6g..%.6g in flight at once", m.Burst.Lo, m.Burst.Hi)
	case c.Stated:
		return quota + "; its window is told, not measured: at least " + text.Brief(c.shortest())
	case p.HasWindow():
		return quota + ", " + times(c.Least, c.Most)
	default:
		return fmt.Sprintf("%s, %s..%s/s", quota, text.PerSecond(m.Rate.Lo, false),
			text.PerSecond(m.Rate.Hi, true))
	}
}

// shortest is the shortest window that c may have, or the shortest time in which its bucket may fill.
func (c Candidate) shortest() time.Duration {
	if p := c.Limit[0]; !p.HasWindow() {
		return c.Least * time.Duration(p.Full())
	}
	return c.Least
}

// Sharper is what would tell the time of a limit to 2 % that is known less well from far away.
type Sharper struct {
	// Trip is the slowest round trip, which is why the time is not known better.
	Trip time.Duration
	// Requests and Time estimate what it takes in addition.
	Requests int
	Time     time.Duration
}

// Sentence describes it for people.
func (s *Sharper) Sentence() string {
	return fmt.Sprintf("its time is not known to 2 %%, as answers take up to %s: the SPEC has the "+
		"roundest time that is left; about %s in %s would narrow it", text.Brief(s.Trip),
		text.Plural(s.Requests, "more request"), text.Brief(s.Time))
}
