package check

import (
	"cmp"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Proof looks for the fewest events of a history that are refuted on their own.
//
// An event may be left out if the rest is then easier to explain: the refutation of the rest refutes the
// whole too. That holds for a denial that does not count. It holds for any other request if no remaining
// denial may have counted it. Requests that may have created the state of the limiter stay where that
// matters.
type Proof struct {
	H *history.History
	// Judge returns what refutes a history, and the work of exact searches. most, unless 0, caps the work.
	Judge func(h *history.History, most int) (found []Refutation, visits int, refuted bool)
	// Counted: a denied request may count against another request.
	Counted bool
	// Over: Judge asks for admissions alone, which are easier to explain without any other request.
	Over bool
	// Amid returns the whole history with only the outcomes of some events known. It is set where requests
	// place what the policy remembers: what refutes the events must then refute this history too. Placing are
	// the requests that show the placement. nil: no request places anything.
	Amid    func(events []history.Event) *history.History
	Placing []history.Event
	// Until: the requests that were sent by Until are part of every witness. MinTime: none need be.
	Until int64
	// Tries is how often events may still be judged again.
	Tries int
	// Visits is the work of exact searches so far; most is the cap for one judgement. judged is how many
	// events were judged so far.
	Visits, most, judged int
}

// FewTries returns the tries of a proof from n events: fewer where each try judges many events.
func FewTries(n int) int { return min(ProofTries, 1+proofEvents/(n+1)) }

// A small witness is made smaller by all means. A large one is nearly minimal by its construction. From it
// only large needless parts are dropped, while that is cheap.
const (
	ProofTries  = 600
	largeProof  = 64
	largeVisits = 1 << 18
	proofVisits = 1 << 21
	proofEvents = 1_000_000
)

// Honest tells whether what refutes the events, found, is a contradiction of the whole history too.
func (p *Proof) Honest(events []history.Event, found []*limiter.Breach) bool {
	if p.Amid == nil {
		return true
	}
	amid, visits, ok := p.Judge(p.Amid(events), p.most)
	if p.Visits += visits; !ok {
		return false
	}
	for _, br := range found { // an inexplicable denial is the stronger claim
		if br.Kind == result.UnderAdmission && !slices.ContainsFunc(amid, func(r Refutation) bool {
			return r.Kind == br.Kind && r.Asked == br.Asked
		}) {
			return false
		}
	}
	return true
}

// Refute judges events alone. It returns nil if they are not refuted.
func (p *Proof) Refute(events []history.Event) []*limiter.Breach {
	p.Tries--
	p.judged += len(events)
	if p.Visits > proofVisits || len(events) > largeProof && p.Visits > largeVisits ||
		p.judged > proofEvents {
		p.Tries = 0
	}
	h := history.Of(events)
	h.Lag, h.Lags = p.H.Lag, p.H.Lags
	found, visits, ok := p.Judge(h, p.most)
	p.Visits += visits
	if !ok {
		return nil
	}
	p.most = WideSteps + 2*visits // less to explain takes less to refute
	out := make([]*limiter.Breach, len(found))
	for i, r := range found {
		out[i] = r.Breach
	}
	return out
}

// Fewest returns the breaches of the smallest witness found, and its events. A witness whose phase is shared
// may need the other partitions for the proof. If it is not refuted alone, it is returned unchanged.
func (p *Proof) Fewest(found []*limiter.Breach) ([]*limiter.Breach, []history.Event) {
	events := p.explained(found, p.withFirst(EventsOf(found)))
	alone := p.Refute(events)
	if p.Amid != nil && (alone == nil || !p.Honest(events, alone)) {
		events = history.Of(append(slices.Clone(events), p.Placing...)).All
		if alone = p.Refute(events); alone != nil && !p.Honest(events, alone) {
			alone = nil
		}
	}
	if alone == nil { // the requests that place the windows are missing
		wider := p.H.Before(history.LastEnd(events)).All
		if alone = p.Refute(wider); alone == nil {
			return found, events
		}
		events = slices.Clone(wider)
	}
	return p.smaller(events, alone)
}

// smaller leaves out of a witness what it does not need: first halves, at last single events.
func (p *Proof) smaller(events []history.Event, alone []*limiter.Breach) ([]*limiter.Breach,
	[]history.Event) {
	late := latestDenials(events)
	for step := max(len(events)/2, 1); ; step = max(step/2, 1) {
		before := len(events)
		for from := 0; from < len(events) && p.Tries > 0; {
			to := min(from+step, len(events))
			if to-from == len(events) || !p.easier(events[from:to], lastDenied(events, late, from, to)) {
				from = to
				continue
			}
			less := slices.Delete(slices.Clone(events), from, to)
			if again := p.Refute(less); again != nil && p.Honest(less, again) {
				events, alone, late = less, again, latestDenials(less)
				continue
			}
			from = to
		}
		if step == 1 && (len(events) == before || p.Tries <= 0) {
			return p.told(events, alone), events
		}
	}
}

// latestDenials returns the indices of the denials among the events, the last End first.
func latestDenials(events []history.Event) []int {
	var late []int
	for i := range events {
		if events[i].Outcome == timeline.Denied {
			late = append(late, i)
		}
	}
	slices.SortFunc(late, func(a, b int) int { return cmp.Compare(events[b].End, events[a].End) })
	return late
}

// lastDenied returns the last End of the denials outside events[from:to], MinTime if there is none.
func lastDenied(events []history.Event, late []int, from, to int) int64 {
	at := slices.IndexFunc(late, func(i int) bool { return i < from || i >= to })
	if at < 0 {
		return history.MinTime
	}
	return events[late[at]].End
}

// told returns the breaches to report for events that are refuted alone. An under-admission is taken from the
// whole history instead, where requests outside the events may explain a denial.
func (p *Proof) told(events []history.Event, found []*limiter.Breach) []*limiter.Breach {
	if p.Amid == nil || !slices.ContainsFunc(found,
		func(br *limiter.Breach) bool { return br.Kind == result.UnderAdmission }) {
		return found
	}
	whole := p.Amid(events)
	amid, _, ok := p.Judge(whole, 0)
	if !ok || len(whole.All) == len(events) {
		return found
	}
	out := make([]*limiter.Breach, len(amid))
	for i, r := range amid {
		out[i] = r.Breach
		out[i].Amid = true
	}
	return out
}

// explained returns events, with all that came before if the denials among the events may need that for their
// explanation. Otherwise a correct denial would be reported.
func (p *Proof) explained(found []*limiter.Breach, events []history.Event) []history.Event {
	if !p.Counted || !slices.ContainsFunc(found,
		func(br *limiter.Breach) bool { return br.Kind != result.OverAdmission }) {
		return events
	}
	if len(found) == 1 && found[0].Kind == result.UnderAdmission { // see OnlyAsked
		return events
	}
	in := map[int]bool{}
	for _, ev := range events {
		in[ev.Seq] = true
	}
	whole := p.H.Before(history.LastEnd(events)).All
	others := slices.DeleteFunc(slices.Clone(whole), func(ev history.Event) bool { return in[ev.Seq] })
	if p.easier(others, lastDenied(events, latestDenials(events), 0, 0)) {
		return events
	}
	p.Tries = min(p.Tries, FewTries(len(whole)))
	return slices.Clone(whole)
}

// easier tells whether the rest is easier to explain without the dropped events. denied is the last End of
// the denials of the rest.
func (p *Proof) easier(dropped []history.Event, denied int64) bool {
	if p.Amid != nil {
		return true
	}
	return !slices.ContainsFunc(dropped, func(ev history.Event) bool {
		needless := p.Over || ev.Outcome == timeline.Denied && !p.Counted
		return ev.Start <= p.Until || !needless && denied >= ev.Start
	})
}

// withFirst adds the requests that were sent by Until.
func (p *Proof) withFirst(events []history.Event) []history.Event {
	if p.Until == history.MinTime {
		return events
	}
	return history.Of(append(events, p.H.Before(p.Until).All...)).All
}

// EventsOf returns the events of all breaches, each once, ascending by Start.
func EventsOf(found []*limiter.Breach) []history.Event {
	var all []history.Event
	for _, br := range found {
		all = append(all, br.Events...)
	}
	return history.Of(all).All
}
