package identify

import (
	"fmt"
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
)

// From far away a request is decided at any time until its answer, so that each end of a window that was seen
// is open by a round trip. A kind and its quota can be known long before its time is known to 2 %. Then it is
// named, with all that is left of its time.

// coarsest is how far the ends of a time may be apart that is named from far away.
const coarsest = 1.25

// blur is how much of the time in which a limit recovers one experiment leaves open; 0 where that is little.
func (x *search) blur() time.Duration {
	if !x.far {
		return 0
	}
	return 2 * slowest(x.shown())
}

// coarse tells whether regions are one class with one quota, of whose time no more is open than what round
// trips leave. Rare kinds are so many that what is open of one may be another.
func (x *search) coarse(regions []*region) bool {
	return x.far && x.stage == 0 && x.aside == nil && x.alike(regions, func(r *region) bool {
		h := r.hull()
		open := h.t2 - h.t1
		if r.kind.paced {
			open *= time.Duration(h.q2)
		}
		return h.q1 == h.q2 && open <= x.blur() && float64(h.t2) <= float64(h.t1)*coarsest
	})
}

// named tells whether what is left may be called by one name.
func (x *search) named() bool {
	return x.settled(x.regions) || x.usuals > 0 && x.coarse(x.regions)
}

// Sharper is what tells the time of a limit to 2 % that is far away.
type Sharper struct {
	// Trip is the slowest round trip, which is why it is not known better.
	Trip time.Duration
	// Requests and Time are some that it takes beyond those that were used.
	Requests int
	Time     time.Duration
}

// sharper returns what tells the time of c to 2 %; nil where that is known. An end of a window lies anywhere
// in a round trip, and so does its beginning: of n windows the one that tells most leaves open as much as one
// over the root of n.
func (x *search) sharper(c Candidate) *Sharper {
	if x.settled(x.regions) {
		return nil
	}
	times := float64(c.most-c.least) / (float64(c.least) * (resolution - 1))
	more := math.Max(times*times-1, 0.1)
	return &Sharper{slowest(x.shown()), int(math.Ceil(more*float64(len(x.tl.Observations))/10)) * 10,
		time.Duration(more * float64(x.tl.End())).Round(time.Second)}
}

// sentence says it.
func (s *Sharper) sentence() string {
	return fmt.Sprintf("its time is not known to 2 %%, as answers take up to %s: the SPEC has the roundest "+
		"one of what is left; about %s in %s would tell it", quantity.Brief(s.Trip),
		quantity.Plural(s.Requests, "more request"), quantity.Brief(s.Time))
}

// blurred says how little one experiment tells from far away of what is left; empty where that is enough.
// Each end of a window is that of a request, decided at any time until its answer.
func (x *search) blurred() string {
	if !x.far || len(x.regions) == 0 {
		return ""
	}
	least := time.Duration(math.MaxInt64)
	for _, r := range x.regions {
		h := r.hull()
		if r.kind.paced {
			h.t1 *= time.Duration(h.q1)
		}
		least = min(least, h.t1)
	}
	if float64(x.blur()) <= float64(least)*(resolution-1) {
		return ""
	}
	return fmt.Sprintf("; from here a request is decided at any time until its answer, up to %s later, and "+
		"what is left may recover in %s: each experiment leaves %s of that open", quantity.Brief(x.blur()/2),
		quantity.Brief(least), quantity.Brief(x.blur()))
}
