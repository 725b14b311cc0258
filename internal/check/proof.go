package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// proof makes the fewest events of a history that are refuted on their own.
//
// An event may be left out when that makes what is left easier to explain, so that its refutation still
// refutes the whole: a denial that does not count always, any other request if no denial that is left may
// have counted it. Those that may have made the memory of the limiter stay where that matters.
type proof struct {
	h *history
	// judge returns what refutes a history, and how many decisions exact searches tried: no more than most,
	// if that is not 0.
	judge func(h *history, most int) (found []refutation, visits int, refuted bool)
	// counted: a denied request may count against another.
	counted bool
	// over: judge asks for admissions alone, which are easier to explain without any other request.
	over bool
	// amid returns the whole with only some events known, where requests place what the policy remembers:
	// what refutes the events must refute it too. placing are those by which that is known. Else nil.
	amid    func(events []event) *history
	placing []event
	// until: the requests that were sent until then stay, and are part of every witness; minTime for none.
	until int64
	// tries bounds how often events are judged again.
	tries int
	// visits counts the decisions that exact searches tried; most is how many one judgement may try.
	visits, most int
}

// fewTries are the tries of a proof from n events: fewer where each has many to judge.
func fewTries(n int) int { return min(proofTries, 1+1_000_000/(n+1)) }

// A small witness is made smaller with all means; of a large one, which is nearly minimal by its
// construction, only the large parts that it does not need are dropped, as long as that is cheap.
const (
	proofTries  = 600
	largeProof  = 64
	largeVisits = 1 << 18
	proofVisits = 1 << 21
)

// honest tells whether what refutes events, as found, is wrong in the whole as well.
func (p *proof) honest(events []event, found []*breach) bool {
	if p.amid == nil {
		return true
	}
	amid, visits, ok := p.judge(p.amid(events), p.most)
	if p.visits += visits; !ok {
		return false
	}
	for _, br := range found { // that nothing explains a denial says more than that nothing explains all
		if br.kind == verdict.UnderAdmission &&
			!slices.ContainsFunc(amid, func(r refutation) bool {
				return r.kind == br.kind &&
					r.asked == br.asked
			}) {
			return false
		}
	}
	return true
}

// refute judges events alone.
func (p *proof) refute(events []event) []*breach {
	p.tries--
	if p.visits > proofVisits || len(events) > largeProof && p.visits > largeVisits {
		p.tries = 0
	}
	h := historyOf(events)
	h.lag, h.lags = p.h.lag, p.h.lags
	found, visits, ok := p.judge(h, p.most)
	p.visits += visits
	if !ok {
		return nil
	}
	p.most = wideSteps + 2*visits // less to explain takes less to refute
	out := make([]*breach, len(found))
	for i, r := range found {
		out[i] = r.breach
	}
	return out
}

// fewest returns the breaches of the smallest witness that was found, and its events. Where the witness
// cannot be judged alone (its phase is shared, and other partitions are part of the proof) it is returned as
// it is.
func (p *proof) fewest(found []*breach) ([]*breach, []event) {
	events := p.explained(found, p.withFirst(eventsOf(found)))
	alone := p.refute(events)
	if p.amid != nil && (alone == nil || !p.honest(events, alone)) {
		events = historyOf(append(slices.Clone(events), p.placing...)).all
		if alone = p.refute(events); alone != nil && !p.honest(events, alone) {
			alone = nil
		}
	}
	if alone == nil { // what places the windows is missing
		wider := p.h.before(lastEnd(events)).all
		if alone = p.refute(wider); alone == nil {
			return found, events
		}
		events = slices.Clone(wider)
	}
	for step := max(len(events)/2, 1); ; step = max(step/2, 1) {
		before := len(events)
		for from := 0; from < len(events) && p.tries > 0; {
			less := slices.Delete(slices.Clone(events), from, min(from+step, len(events)))
			if !p.easier(less, events[from:min(from+step, len(events))]) {
				from += step
				continue
			}
			if again := p.refute(less); again != nil && p.honest(less, again) {
				events, alone = less, again
				continue
			}
			from += step
		}
		if step == 1 && (len(events) == before || p.tries <= 0) {
			return p.told(events, alone), events
		}
	}
}

// told returns what is said of events that are refuted alone, as found: where more is left out of them that
// may explain a denial, what refutes them amid all of it.
func (p *proof) told(events []event, found []*breach) []*breach {
	if p.amid == nil || !slices.ContainsFunc(found,
		func(br *breach) bool { return br.kind == verdict.UnderAdmission }) {
		return found
	}
	whole := p.amid(events)
	amid, _, ok := p.judge(whole, 0)
	if !ok || len(whole.all) == len(events) {
		return found
	}
	out := make([]*breach, len(amid))
	for i, r := range amid {
		out[i] = r.breach
		out[i].amid = true
	}
	return out
}

// explained returns events with all that came before them, where the denials among them may need that for
// their own explanation: they would be found, and are nothing wrong.
func (p *proof) explained(found []*breach, events []event) []event {
	if !p.counted || !slices.ContainsFunc(found,
		func(br *breach) bool { return br.kind != verdict.OverAdmission }) {
		return events
	}
	if len(found) == 1 && found[0].kind == verdict.UnderAdmission { // see onlyAsked
		return events
	}
	in := map[int]bool{}
	for _, ev := range events {
		in[ev.seq] = true
	}
	whole := p.h.before(lastEnd(events)).all
	if p.easier(events, slices.DeleteFunc(slices.Clone(whole), func(ev event) bool { return in[ev.seq] })) {
		return events
	}
	p.tries = min(p.tries, fewTries(len(whole)))
	return slices.Clone(whole)
}

// easier tells whether what is left is easier to explain without the dropped events.
func (p *proof) easier(left, dropped []event) bool {
	if len(left) == 0 || p.amid != nil {
		return len(left) > 0
	}
	for _, ev := range dropped {
		if ev.s <= p.until {
			return false
		}
		if p.over || ev.outcome == timeline.Denied && !p.counted {
			continue
		}
		if slices.ContainsFunc(left, func(d event) bool {
			return d.outcome == timeline.Denied &&
				d.e >= ev.s
		}) {
			return false
		}
	}
	return true
}

// withFirst adds the requests that stay.
func (p *proof) withFirst(events []event) []event {
	if p.until == minTime {
		return events
	}
	return historyOf(append(events, p.h.before(p.until).all...)).all
}

// eventsOf returns the events of all breaches, each once, ascending by start.
func eventsOf(found []*breach) []event {
	var all []event
	for _, br := range found {
		all = append(all, br.events...)
	}
	return historyOf(all).all
}
