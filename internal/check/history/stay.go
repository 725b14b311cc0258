package history

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Stay is what a policy says of the time from the decision d on an admitted request to its completion c. At c
// the place of the request is given back, or its charge is made:
//
//	d + least <= c <= d + most        c <= done + linger
//	d + least <= done                 the last byte of the answer is not sent before, and is read at done
//
// Only d + least <= c promises that a place is held. Nothing but that promise can prove that too many
// requests were in flight. The server may give the place back before it writes the answer, and it may decide
// just before that. Whoever declares the policy knows what the target does for each request: a route sleeps,
// or works, for least. The second line then bounds the decision from above: d lies in [s, min(first byte,
// done - least)]. So the interval of a slow answer is narrow.
//
// A request breaks the promise if its answer was whole too early. It tells nothing if its last byte was not
// seen: the client may have given up. Such a request may be complete at any time from its decision on. This
// reading is the kindest to the target; a promise that does not hold accuses nobody.
//
// most does not hold for a request whose last byte came later than most after it was sent: the server stood
// still for a while. Such a request may hold its place until most after its last byte.
//
// Without most, and with linger unknown, a place may be held for ever. Then no denial proves anything once as
// many requests were admitted as there are places.
//
// A Stay also says what the policy counts of a request (Policy.Asks, Policy.Counts).
type Stay struct {
	Told bool
	// least is 0 if not known; Most and linger are MaxTime if not known. All are nanoseconds.
	least, Most, linger int64
	// asks are the units that are asked for at the decision, 0: the cost. Reserve is Policy.Reserve. Single:
	// each request counts 1.
	asks, Reserve int64
	Single        bool
}

// StayOf returns what p says of completions and of units, the zero value if it says nothing.
func StayOf(p spec.Policy) Stay {
	s := Stay{Reserve: p.Reserve, Single: p.Unit == spec.UnitRequest}
	if s.Single || p.Charge == spec.ChargeCompletion {
		s.asks = p.Asks(1)
	}
	if !p.Completes() {
		return s
	}
	s.Told, s.least, s.Most, s.linger = true, int64(p.HoldLeast), MaxTime, MaxTime
	if p.HoldMost > 0 {
		s.Most = int64(p.HoldMost)
	}
	if p.LingerSet {
		s.linger = int64(p.Linger)
	}
	return s
}

// Complete notes when the event ev, which is the observation o, may be complete. It narrows what earlier
// calls noted.
func (ev *Event) Complete(o *Observation, w Widening, s Stay) {
	done := MaxTime
	if o.Answered && o.Done > 0 {
		done = int64(o.Done) + w.Right + w.Drift(int64(o.Done))
	}
	d := ev.details()
	if ev.Outcome == timeline.Allowed && done < MaxTime && done-s.least >= ev.Start+w.Tick {
		d.least = max(d.least, s.least)
		ev.End = min(ev.End, done-s.least)
	}
	d.told, d.since = true, max(d.since, ev.Start+d.least)
	until := Later(ev.End, s.Most)
	if done < MaxTime && done-ev.Start > s.Most {
		// an answer that says nothing may come before the decision
		until = max(Later(done, s.Most), ev.End+d.least)
	}
	d.until = min(d.until, until, max(Later(done, s.linger), ev.End+d.least))
	if d.fewest, d.most = o.Cost, o.Cost; o.Cost == timeline.CostUnknown {
		d.fewest, d.most = 0, AnyCost
	}
	ev.detail = &d
}

// AnyCost is more than any cost, and small enough to be added up. It is the most that a request may cost
// whose answer did not tell.
const AnyCost = int64(1) << 41

// Settles returns the fewest and the most units that a request counts when it is complete. It returns Cost
// twice if completions are not told.
func (ev *Event) Settles() (fewest, most int64) {
	if ev.told() {
		return ev.detail.fewest, ev.detail.most
	}
	return ev.Cost, ev.Cost
}

// ask makes Cost the units that are asked for at the decision.
func (s Stay) ask(events []Event) {
	if s.asks == 0 {
		return
	}
	for i := range events {
		events[i].Cost = s.asks
	}
}

// detail is what only some recordings know of a request. It never changes, so events may share one.
type detail struct {
	// from is the instant from which the recording is complete, if it began amid traffic; else 0.
	from int64
	// told: the policy is told of completions, so stay is known.
	told bool
	stay
}

// stay is what is known of the completion of a request, in nanoseconds; see Stay and the methods of Event.
// fewest and most are the units that it may cost; see Event.Settles.
type stay struct{ answer, since, until, least, fewest, most int64 }

// details returns a copy of the details of ev. Where stay is not known it says so.
func (ev *Event) details() detail {
	var d detail
	if ev.detail != nil {
		d = *ev.detail
	}
	if !d.told {
		d.stay = stay{answer: ev.End, since: ev.Start, until: MaxTime}
	}
	return d
}

// told tells whether the policy is told of completions.
func (ev *Event) told() bool { return ev.detail != nil && ev.detail.told }

// joinedAfter sets detail.from of all events; see Event.From.
func joinedAfter(all []Event, from int64) {
	alike := &detail{from: from}
	for i := range all {
		switch ev := &all[i]; {
		case ev.detail != nil:
			d := *ev.detail
			d.from = from
			ev.detail = &d
		case from != 0:
			ev.detail = alike
		}
	}
}

// From returns the instant from which the recording is complete, if it began amid traffic; else 0.
func (ev *Event) From() int64 {
	if ev.detail == nil {
		return 0
	}
	return ev.detail.from
}

// Answer returns when the answer began to arrive. That is End, unless a completion shows an earlier decision.
func (ev *Event) Answer() int64 {
	if ev.told() {
		return ev.detail.answer
	}
	return ev.End
}

// Since returns the earliest instant at which the request may be complete: Start if completions are not told.
func (ev *Event) Since() int64 {
	if ev.told() {
		return ev.detail.since
	}
	return ev.Start
}

// Until returns the latest instant at which the request may be complete: MaxTime if completions are not told.
func (ev *Event) Until() int64 {
	if ev.told() {
		return ev.detail.until
	}
	return MaxTime
}
