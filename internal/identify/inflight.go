package identify

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// A limit of requests in flight denies only while others are under way. How many it lets in at once is not
// told by requests some time apart, of which nobody knows how long each held its place. So it is no kind that
// experiments narrow: where one explains every denial, it is told beside what was found.

// heldBack is why nothing is named where a limit of requests in flight explains the recording.
const heldBack = "each denial came while other requests were under way, so that a limit of requests in " +
	"flight explains all answers"

// underWay is how many requests, at most, held a place while o was decided: all but denied ones.
func underWay(tl *timeline.Timeline, o *timeline.Observation) (n int64) {
	for i := range tl.Observations {
		p := &tl.Observations[i]
		ended := max(p.FirstByte, p.Done)
		if p.Outcome != timeline.Denied && p.Seq != o.Seq && p.Partition == o.Partition &&
			p.Sent <= max(o.FirstByte, o.Sent) && (!p.Answered || ended >= o.Sent) {
			n++
		}
	}
	return n
}

// inFlight returns the largest limit of requests in flight that leaves every denial a reason, where it
// explains the whole recording; nil where none does.
func (x *search) inFlight() *Candidate {
	tl := *x.tl
	tl.Observations = tl.Observations[x.skip:]
	least := int64(len(tl.Observations))
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Denied {
			if least = min(least, underWay(&tl, o)); least == 0 {
				return nil
			}
		}
	}
	limit := spec.Limit{complete(spec.Policy{Algorithm: spec.Concurrency, Rate: spec.Rate{N: least}})}
	if !explains(&tl, limit) {
		return nil
	}
	out := &Candidate{Text: "a limit of requests in flight", Class: []spec.Algorithm{spec.Concurrency},
		Limit: limit}
	out.Measured.Burst = verdict.Interval{Lo: 1, Hi: float64(least), LoSet: true, HiSet: true}
	return out
}

// crowd is how many requests were under way at once, at most.
func (r *Result) crowd() (most int64) {
	for i := range r.Timeline.Observations {
		o := r.Timeline.Observations[i]
		o.FirstByte = o.Sent
		most = max(most, 1+underWay(r.Timeline, &o))
	}
	return most
}

// undenied is why nothing is known of a limit that denied nothing.
const undenied = "no request was denied"

// undenied says which limits a recording without a denial would not have shown.
func (r *Result) undenied() string {
	b := r.unseen()
	return fmt.Sprintf(undenied+": a limit above %s in %s, or of more than %d in flight, would not "+
		"have been seen", quantity.Plural(int(b.requests), "request"), quantity.Brief(b.within), r.crowd())
}
