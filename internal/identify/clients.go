package identify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// apart finds out what tells clients apart. It returns nil where the sender cannot ask as other clients, or
// nothing was denied.
func (x *search) apart(ctx context.Context, res *Result) *Found {
	asker, can := x.s.(ClientsAsker)
	if !can || x.o.Alike || res.Timeline.Counts().Denied == 0 {
		return nil
	}
	return Find(ctx, asker, x.quota(), Budget{MaxRequests: x.o.MaxRequests - len(x.tl.Observations),
		Every: x.pace.every, MaxTime: x.o.MaxTime})
}

// quota is what other clients need to know about the limit.
func (x *search) quota() Limit {
	out, least, whole := Limit{Trip: x.trip(), Explains: x.explainsClient}, int64(0), time.Duration(0)
	for i, r := range x.regions {
		h, comesBack := r.Hull(), 0.0 // units between two requests
		if r.Kind.Paced {
			comesBack = min(0.75, float64(x.pace.every)/float64(h.T1))
		}
		if i == 0 {
			least = h.Q1
		}
		least, out.Quota, whole = min(least, h.Q1), max(out.Quota, h.Q2), max(whole, r.Back(h.Q2, h.T2))
		out.Spends = max(out.Spends, int(float64(h.Q2)/(1-comesBack))+3)
	}
	out.Recovery = whole*21/20 + x.tl.Header.Tick
	switch {
	case x.line != nil:
		out.Unfit = "answers wait in a queue"
	case len(x.regions) == 0:
		out.Unfit = "no limit is known"
	case least < out.Quota:
		out.Unfit = fmt.Sprintf("the quota is not known: %d to %d", least, out.Quota)
	}
	return out
}

// explainsClient tells whether some policy that is left may have admitted, or denied, as many requests of one
// client as a recording has.
func (x *search) explainsClient(one *timeline.Timeline, side result.Conformance) bool {
	return slices.ContainsFunc(x.regions, func(r *Region) bool {
		h := r.Hull()
		at := h
		at.Q1, at.T2 = h.Q2, h.T1 // this admits the most
		if side == result.LowerBound {
			at = h
			at.Q2, at.T1 = h.Q1, h.T2
		}
		return slices.ContainsFunc(r.Kind.Each(), func(k *Kind) bool {
			return !x.asker.Refuted(one, spec.Limit{k.Policy(at)}, side, false)
		})
	})
}

// Limit is what is known about the limit of the plain client.
type Limit struct {
	// Unfit says why nothing can be asked, such as an unknown quota; empty: it can.
	Unfit string
	// Quota is the most requests that are admitted at once.
	Quota int64
	// Spends is how many requests, one after the other, use up the quota.
	Spends int
	// Recovery is the silence after which the whole quota is back. Trip is the time from a request to its
	// answer.
	Recovery, Trip time.Duration
	// Explains tells whether the limit may have admitted (result.UpperBound) or denied (result.LowerBound)
	// as many requests of one client as a recording has.
	Explains func(tl *timeline.Timeline, side result.Conformance) bool
}

// mostErrors is how many answers may be errors before nothing more is asked.
const mostErrors = 3

// finder finds out, for each way, whether a client that differs in it has a quota of its own.
type finder struct {
	ClientsAsker
	limit  Limit
	budget Budget
	out    *Found
	ways   []Way
	rows   map[string]result.Comparison
	// errors counts the answers that are no decisions.
	errors int
}

// Find finds out what tells clients apart. It sends nothing where l is unfit.
func Find(ctx context.Context, a ClientsAsker, l Limit, b Budget) *Found {
	f := &finder{ClientsAsker: a, limit: l, budget: b, ways: a.Ways(), rows: map[string]result.Comparison{},
		out: &Found{Stopped: l.Unfit, Timeline: &timeline.Timeline{}}}
	if ctx.Err() != nil {
		f.out.Stopped = "interrupted"
	}
	f.ask(ctx)
	for _, w := range f.ways {
		row, asked := f.rows[w.ID]
		if !asked && w.AliasOf != "" {
			continue
		}
		if !asked {
			row = f.row(w, NotShown, cmp.Or(w.Moot, f.out.Stopped, "not asked"))
		}
		f.out.Rows = append(f.out.Rows, row)
	}
	f.join()
	f.out.Timeline.Header = a.Header()
	// ways may have limits of their own
	f.out.Timeline.Header.Judged = timeline.Terms{Conformance: "upper-bound"}
	return f.out
}

// join moves the requests that draw on the quota of the plain client into its partition. As clients of their
// own they would seem to be denied for no reason.
func (f *finder) join() {
	all := f.out.Timeline.Observations
	plain := slices.IndexFunc(all, func(o timeline.Observation) bool { return o.Phase == f.spend().Name })
	for i := range all {
		for _, w := range f.ways {
			phase := strings.TrimPrefix(all[i].Phase, phasePrefix)
			if (phase == w.ID || phase == afterPrefix+w.ID) && f.rows[w.ID].Observed == Shared {
				all[i].Partition = all[plain].Partition
			}
		}
	}
}

// ask asks about all ways: several in one round, then each way that this leaves open in a round of its own.
//
//	plain      a a a d d   d   d   d   d      the quota of 3 is used up
//	path                 d           d        draws on the same quota
//	address                  a   a            another quota, or units that came back: a round of its own
func (f *finder) ask(ctx context.Context) {
	queue := slices.Clone(f.ways)
	for len(queue) > 0 && f.out.Stopped == "" {
		var batch []Way
		for len(queue) > 0 && len(batch) < int(min(f.limit.Quota, mostTogether)) {
			w := queue[0]
			if _, known := f.rows[w.AliasOf]; w.AliasOf != "" && !known && len(batch) > 0 {
				break // this batch tells whether w is needed
			}
			if f.needed(w) {
				batch = append(batch, w)
			}
			queue = queue[1:]
		}
		for _, w := range f.together(ctx, batch) {
			if f.out.Stopped == "" {
				f.alone(ctx, w)
			}
		}
	}
}

// ClientsCosts is how many requests the first round takes at most, where spends requests use up the quota.
func ClientsCosts(spends int, ways []Way) int {
	own := 0
	for _, w := range ways {
		if w.AliasOf == "" && w.Moot == "" {
			own++
		}
	}
	return spends + 4*min(own, spends, mostTogether)
}

// mostTogether is the most ways that one round asks about.
const mostTogether = 16

// needed tells whether a way must be asked about. It notes why a way cannot be.
func (f *finder) needed(w Way) bool {
	if w.Moot != "" {
		f.rows[w.ID] = f.row(w, NotShown, w.Moot)
		return false
	}
	switch of := f.rows[w.AliasOf]; w.AliasOf {
	case "":
		return true
	case Key:
		return of.Observed == Separate
	default:
		return of.Observed != Shared
	}
}

// together asks about several ways in one round. It returns the ways that the round leaves open.
func (f *finder) together(ctx context.Context, batch []Way) []Way {
	if len(batch) == 0 {
		return nil
	}
	turns := []Phase{f.spend()}
	for i := range 2 * len(batch) { // the second time in reverse order
		w := &batch[min(i, 2*len(batch)-1-i)]
		turns = append(turns, f.once(w, ""), f.once(nil, ""))
	}
	spent := newRound(f.send(ctx, turns))
	var denied, later []Way
	var again []Phase
	for _, w := range batch {
		switch own := spent.other[w.ID]; {
		case answered(own, timeline.Unknown) == len(own) && len(own) > 0:
			f.rows[w.ID] = f.row(w, NotShown, fmt.Sprintf("answered %d", own[0].Status))
		case !spent.drawn(own):
			later = append(later, w)
		default:
			denied = append(denied, w)
			again = append(again, f.once(&denied[len(denied)-1], afterPrefix))
		}
	}
	if f.out.Stopped != "" || len(denied) == 0 {
		return later
	}
	whole := newRound(f.send(ctx, again))
	for _, w := range denied {
		switch own := whole.other[afterPrefix+w.ID]; {
		case len(own) == 0 || lost(own) > 0:
		case answered(own, timeline.Denied) > 0:
			f.rows[w.ID] = f.row(w, NotShown, "denied although the quota was not used up")
		default:
			f.rows[w.ID] = f.row(w, Shared,
				"denied 2 times after the quota was used up, but not after it came back")
		}
	}
	return later
}

// alone asks about one way in a round of its own. The other client uses some units, the plain client sends
// until its quota is used up, and the other client asks for a whole quota. The plain client must still be
// denied at the end, unless the requests between changed its quota.
func (f *finder) alone(ctx context.Context, w Way) {
	some, more, still := f.once(&w, ""), f.once(&w, ""), f.once(nil, "")
	some.Requests = max(1, int(f.limit.Quota)/3)
	more.Requests = max(1, min(int(f.limit.Quota)+2, f.left()-f.limit.Spends-some.Requests-1))
	more.Denials = 2
	turns := []Phase{some, f.spend(), more, still}
	if w.ID == Connection { // still would open a new one
		turns = turns[:3]
	}
	seen := f.send(ctx, turns)
	if len(seen) > 0 {
		f.rows[w.ID] = f.compared(w, newRound(seen))
	}
}

// once is one request of the client that differs in w; nil: of the plain client.
func (f *finder) once(w *Way, when string) Phase {
	t := Phase{Name: phasePrefix + "plain", Requests: 1, Every: f.budget.Every, Way: w}
	if w != nil {
		t.Name = phasePrefix + when + w.ID
	}
	return t
}

// spend uses up the quota as the plain client, until two requests are denied.
func (f *finder) spend() Phase {
	return Phase{Name: phasePrefix + "quota", Requests: f.limit.Spends, Every: f.budget.Every, Denials: 2}
}

// left is how many requests may still be sent.
func (f *finder) left() int { return f.budget.MaxRequests - len(f.out.Timeline.Observations) }

// send sends a round after the silence in which the whole quota comes back. It sends nothing that exceeds the
// budget. Stopped says why it did not, or why no other round follows.
func (f *finder) send(ctx context.Context, turns []Phase) []timeline.Observation {
	b, n := f.budget, 0
	for _, t := range turns {
		n += t.Requests
	}
	rest := max(f.limit.Recovery+f.limit.Trip, f.Wait())
	switch {
	case n > f.left():
		f.out.Stopped = fmt.Sprintf("it takes %s, and %d of the budget are left",
			text.Plural(n, "request"), f.left())
	case f.Now()+rest+time.Duration(n)*max(b.Every, f.limit.Trip) > b.MaxTime:
		f.out.Stopped = fmt.Sprintf("it takes a rest of %s, and %s of the budget are left",
			text.Brief(rest), text.Brief(max(0, b.MaxTime-f.Now())))
	}
	if f.out.Stopped != "" {
		return nil
	}
	seen, err := f.Turns(ctx, rest, b.MaxTime, turns)
	f.keep(seen)
	switch {
	case err != nil:
		f.out.Stopped = err.Error()
	case ctx.Err() != nil:
		f.out.Stopped = "interrupted"
	case f.errors >= mostErrors:
		f.out.Stopped = text.Plural(f.errors, "request") + " had no answer, or an error for an " +
			"answer"
	}
	return seen
}

// keep numbers what a round saw and adds it to the recording of all rounds.
func (f *finder) keep(seen []timeline.Observation) {
	tl := f.out.Timeline
	for i := range seen {
		o := &seen[i]
		o.Seq, o.Cost = len(tl.Observations), 1
		tl.Observations = append(tl.Observations, *o)
		if o.Outcome == timeline.Unknown && (!o.Answered || o.Status >= 500) {
			f.errors++
		}
	}
	tl.Header = f.Header()
}

// compared says which quota the other client draws on, from the round of w alone.
func (f *finder) compared(w Way, r round) result.Comparison {
	other := r.other[w.ID]
	plain, alone, both := f.oneClient(r.plain), f.oneClient(other), f.oneClient(slices.Concat(r.plain, other))
	n, m := answered(r.plain, timeline.Allowed), answered(other, timeline.Allowed)
	said := fmt.Sprintf("%d and %d admitted, but one quota gives %d", n, m, f.limit.Quota)
	explains := f.limit.Explains
	switch {
	case m == 0:
		return f.row(w, NotShown, "never admitted")
	case !explains(plain, result.UpperBound):
		return f.row(w, NotShown, "the plain requests beside it do not keep the limit")
	case elsewhere(r.plain, other) != "":
		return f.row(w, NotShown, elsewhere(r.plain, other))
	case w.ID != Connection && !explains(alone, result.UpperBound): // a new one each turn
		return f.row(w, Unlimited, fmt.Sprintf("%d admitted in a row, after the quota was used up", m))
	case !explains(both, result.UpperBound):
		return f.row(w, Separate, said)
	case lost(r.plain)+lost(other) == 0 && !explains(plain, result.LowerBound) &&
		explains(both, result.LowerBound):
		return f.row(w, Shared, said+" and not more")
	}
	return f.row(w, NotShown, said+": one quota explains it, and two quotas do")
}

// oneClient is the recording of some requests as if one client had sent them all.
func (f *finder) oneClient(seen []timeline.Observation) *timeline.Timeline {
	out := &timeline.Timeline{Header: f.out.Timeline.Header, Observations: slices.Clone(seen)}
	for i := range out.Observations {
		out.Observations[i].Partition = ""
	}
	slices.SortStableFunc(out.Observations, timeline.BySent)
	return out
}

// elsewhere says why the other client may have reached another resource; empty: nothing suggests it.
func elsewhere(plain, other []timeline.Observation) string {
	i, j := slices.IndexFunc(plain, allowed), slices.IndexFunc(other, allowed)
	if i >= 0 && j >= 0 && plain[i].Status != other[j].Status {
		return fmt.Sprintf("answered %d instead of %d: perhaps another resource", other[j].Status,
			plain[i].Status)
	}
	return ""
}

// row is what was observed of a way. If each connection has a quota of its own, another way that changes the
// connection proves nothing.
func (f *finder) row(w Way, observed, detail string) result.Comparison {
	moved := f.rows[Connection].Observed
	if w.Moves && w.ID != Connection && observed != Shared && moved != Shared && observed != NotShown {
		observed, detail = NotShown, "its requests came over another connection too"
	}
	row := result.Comparison{Attribute: w.Name, Plain: w.Plain, Other: w.Other, Expected: "either",
		Observed: observed, Detail: detail, Verdict: result.Pass}
	if observed == NotShown {
		row.Verdict = result.Inconclusive
	}
	return row
}

// Prefixes of phase names: of all phases, and of those after the quota came back.
const (
	phasePrefix = "apart-"
	afterPrefix = "after-"
)

// round is what the plain client saw and, by the ID of its way, what each other client saw.
type round struct {
	plain []timeline.Observation
	other map[string][]timeline.Observation
}

func newRound(seen []timeline.Observation) round {
	r := round{other: map[string][]timeline.Observation{}}
	for _, o := range seen {
		id := strings.TrimPrefix(o.Phase, phasePrefix)
		if id == "plain" || id == "quota" {
			r.plain = append(r.plain, o)
			continue
		}
		r.other[id] = append(r.other[id], o)
	}
	return r
}

// drawn tells whether a client was denied because the plain client had used up the quota. The plain client
// was denied before, and the other client was never admitted. The other clients of the round cannot have used
// up a shared quota: there are no more of them than units.
func (r round) drawn(own []timeline.Observation) bool {
	spent := func(p timeline.Observation) bool {
		return p.Outcome == timeline.Denied && p.FirstByte <= own[0].Sent
	}
	return len(own) > 1 && answered(own, timeline.Denied) == len(own) && slices.ContainsFunc(r.plain, spent)
}

// answered counts the requests that were answered with outcome.
func answered(all []timeline.Observation, outcome timeline.Outcome) (n int) {
	for i := range all {
		if all[i].Answered && all[i].Outcome == outcome {
			n++
		}
	}
	return n
}

// lost counts the requests without an answer.
func lost(all []timeline.Observation) (n int) {
	for i := range all {
		if !all[i].Answered {
			n++
		}
	}
	return n
}

// allowed tells whether a request was admitted.
func allowed(o timeline.Observation) bool { return o.Answered && o.Outcome == timeline.Allowed }

// Found is what tells clients apart.
type Found struct {
	// Rows has a row for each way: what was observed.
	Rows []result.Comparison
	// Stopped says why some ways were not asked about; empty: all were.
	Stopped string
	// Timeline is the recording of all rounds. Each way has a partition, except those that share the plain
	// one.
	Timeline *timeline.Timeline
}

// File is the name of the recording of Found, beside that of the limit.
const File = "clients.ndjson"

// What was observed of a way, in the words of timeline.Attributes. The other client draws on the quota of the
// plain client, has a quota of its own, or is not limited.
const (
	Shared    = "shared"
	Separate  = "separate"
	Unlimited = "unlimited"
	NotShown  = "not shown"
)

// Named returns the names of the ways with an observation; never nil.
func (f *Found) Named(observed string) []string {
	out := []string{}
	for _, row := range f.Rows {
		if row.Observed == observed {
			out = append(out, row.Attribute)
		}
	}
	return out
}

// Lines describes f for people.
func (f *Found) Lines() []string {
	var out []string
	say := func(format string, names []string) {
		if len(names) > 0 {
			out = append(out, fmt.Sprintf(format, strings.Join(names, ", ")))
		}
	}
	say("clients are told apart by: %s", f.Named(Separate))
	say("not told apart by: %s", f.Named(Shared))
	say("not limited with another: %s", f.Named(Unlimited))
	var reasons []string
	for _, row := range f.Rows {
		if row.Observed == NotShown && !slices.Contains(reasons, row.Detail) {
			reasons = append(reasons, row.Detail)
		}
	}
	for _, why := range reasons {
		var names []string
		for _, row := range f.Rows {
			if row.Observed == NotShown && row.Detail == why {
				names = append(names, row.Attribute)
			}
		}
		say("not known whether clients are told apart by: %s ("+strings.ReplaceAll(why, "%", "%%")+")", names)
	}
	return out
}

// Claim returns f as a claim of a scenario.
func (f *Found) Claim() result.Claim {
	out := result.Claim{ID: string(result.ClaimAttributes), Kind: result.ClaimAttributes,
		Verdict: result.Pass, Text: strings.Join(f.Lines(), "; "), Compared: f.Rows}
	if len(f.Named(NotShown)) == len(f.Rows) {
		out.Verdict, out.Reason = result.Inconclusive, result.TooFew
	}
	return out
}

// KeyField is the header field whose key tells clients apart, where the plain client has no key; empty where
// none was found.
func (f *Found) KeyField() string {
	for _, row := range f.Rows {
		name, header := strings.CutPrefix(row.Attribute, "header ")
		if header && row.Plain == NoKey && row.Observed == Separate {
			return name
		}
	}
	return ""
}

// JSONApart is Found for programs, as it stands in the identity document.
type JSONApart struct {
	ToldApartBy []string      `json:"told_apart_by"`
	NotBy       []string      `json:"not_by"`
	NotLimited  []string      `json:"not_limited"`
	Unknown     []JSONUnshown `json:"unknown"`
	Requests    int           `json:"requests"`
}

// JSONUnshown is a way of which nothing was shown.
type JSONUnshown struct {
	Attribute string `json:"attribute"`
	Why       string `json:"why"`
}

// JSON returns f for programs; nil for nil.
func (f *Found) JSON() *JSONApart {
	if f == nil {
		return nil
	}
	out := &JSONApart{ToldApartBy: f.Named(Separate), NotBy: f.Named(Shared), NotLimited: f.Named(Unlimited),
		Unknown: []JSONUnshown{}, Requests: len(f.Timeline.Observations)}
	for _, row := range f.Rows {
		if row.Observed == NotShown {
			out.Unknown = append(out.Unknown, JSONUnshown{row.Attribute, row.Detail})
		}
	}
	return out
}
