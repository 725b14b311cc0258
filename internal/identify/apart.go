package identify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Clients is what tells clients apart.
type Clients struct {
	// Rows are the ways in which two clients may differ, and what was observed of each.
	Rows []verdict.Comparison
	// Stopped says why some were not asked; empty: all were.
	Stopped string
	// Timeline is the recording of all rounds, in which each way has a partition.
	Timeline *timeline.Timeline
}

// What is observed of a way, in the words of timeline.Attributes: requests that differ in it draw on the
// quota of the plain ones, on one of their own, or on none.
const (
	shared    = "shared"
	separate  = "separate"
	unlimited = "unlimited"
	notShown  = "not shown"
)

// apart asks, of each way in which clients may differ, whether it makes another client.
type apart struct {
	x    *search
	t    Teller
	out  *Clients
	ways []Way
	rows map[string]verdict.Comparison
	// least and most are what the quota is, whole is the time in which all of it comes back.
	least, most int64
	whole       time.Duration
	// spends is how many requests use up the quota.
	spends int
	// errors counts the answers that are no decisions.
	errors int
}

// apart asks what tells clients apart, where the sender can tell; nil where it cannot.
func (x *search) apart(ctx context.Context, res *Result) *Clients {
	t, ok := x.s.(Teller)
	if !ok || x.o.Alike || res.Timeline.Counts().Denied == 0 {
		return nil
	}
	a := &apart{x: x, t: t, ways: t.Ways(), rows: map[string]verdict.Comparison{},
		out: &Clients{Timeline: &timeline.Timeline{}}}
	if a.out.Stopped = a.unfit(ctx); a.out.Stopped == "" {
		a.ask(ctx)
	}
	for _, w := range a.ways {
		row, asked := a.rows[w.ID]
		if !asked && w.AliasOf != "" {
			continue
		}
		if !asked {
			row = a.row(w, notShown, cmp.Or(w.Moot, a.out.Stopped, "not asked"))
		}
		a.out.Rows = append(a.out.Rows, row)
	}
	a.join()
	a.out.Timeline.Header = t.Header()
	a.out.Timeline.Header.Judged = timeline.Terms{Conformance: "none"}
	return a.out
}

// join gives the requests that draw on the quota of the plain client its partition in the recording: judged
// as clients of their own they would be denied for no reason.
func (a *apart) join() {
	all := a.out.Timeline.Observations
	plain := slices.IndexFunc(all, func(o timeline.Observation) bool { return o.Phase == a.spend().Name })
	for i := range all {
		for _, w := range a.ways {
			phase := strings.TrimPrefix(all[i].Phase, apartPhase)
			if phase == w.ID || phase == afterPhase+w.ID {
				if a.rows[w.ID].Observed == shared {
					all[i].Partition = all[plain].Partition
				}
			}
		}
	}
}

// unfit says why nothing can be asked; empty where it can. It measures the quota and its time.
func (a *apart) unfit(ctx context.Context) string {
	x := a.x
	for i, r := range x.regions {
		h := r.hull()
		whole := h.t2
		if r.kind.paced {
			whole *= time.Duration(h.q2)
		}
		if r.kind.base.Algorithm == spec.SlidingWindowCounter { // it remembers the window before
			whole *= 2
		}
		if i == 0 {
			a.least = h.q1
		}
		a.least, a.most, a.whole = min(a.least, h.q1), max(a.most, h.q2), max(a.whole, whole)
		comesBack := 0.0 // units between two requests
		if r.kind.paced {
			comesBack = min(0.75, float64(x.every)/float64(h.t1))
		}
		a.spends = max(a.spends, int(float64(h.q2)/(1-comesBack))+3)
	}
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case len(x.regions) == 0:
		return "no limit is known"
	case x.aside != nil:
		return "answers wait in a queue"
	case a.least < a.most:
		return fmt.Sprintf("the quota is not known: %d to %d", a.least, a.most)
	}
	return ""
}

// ask asks all ways: several in a round, and those that were admitted there each in a round of its own.
//
//	plain      a a a d d   d   d   d   d      the quota of 3 is spent
//	path                 d           d        drawn from the same
//	address                  a   a            from another, or from what comes back: a round of its own
func (a *apart) ask(ctx context.Context) {
	queue := slices.Clone(a.ways)
	for len(queue) > 0 && a.out.Stopped == "" {
		var batch []Way
		for len(queue) > 0 && len(batch) < int(min(a.least, mostTogether)) {
			w := queue[0]
			if _, known := a.rows[w.AliasOf]; w.AliasOf != "" && !known && len(batch) > 0 {
				break // the batch tells whether it is needed
			}
			if a.needed(w) {
				batch = append(batch, w)
			}
			queue = queue[1:]
		}
		for _, w := range a.together(ctx, batch) {
			if a.out.Stopped == "" {
				a.alone(ctx, w)
			}
		}
	}
}

// mostTogether is how many ways are asked in one round at most.
const mostTogether = 16

// needed tells whether a way is to be asked, and says why where it cannot be.
func (a *apart) needed(w Way) bool {
	if w.Moot != "" {
		a.rows[w.ID] = a.row(w, notShown, w.Moot)
		return false
	}
	switch of := a.rows[w.AliasOf]; w.AliasOf {
	case "":
		return true
	case wayKey:
		return of.Observed == separate
	default:
		return of.Observed != shared
	}
}

// together asks several ways in one round, and returns those of which it does not tell.
func (a *apart) together(ctx context.Context, batch []Way) []Way {
	if len(batch) == 0 {
		return nil
	}
	turns := []Turn{a.spend()}
	for i := range 2 * len(batch) { // the second time in the other order
		w := &batch[min(i, 2*len(batch)-1-i)]
		turns = append(turns, a.once(w, ""), a.once(nil, ""))
	}
	spent := newRound(a.send(ctx, turns))
	var denied, later []Way
	var again []Turn
	for _, w := range batch {
		switch own := spent.other[w.ID]; {
		case count(own, answeredAs(timeline.Unknown)) == len(own) && len(own) > 0:
			a.rows[w.ID] = a.row(w, notShown, fmt.Sprintf("answered %d", own[0].Status))
		case !spent.drawn(own):
			later = append(later, w)
		default:
			denied = append(denied, w)
			again = append(again, a.once(&denied[len(denied)-1], afterPhase))
		}
	}
	if a.out.Stopped != "" || len(denied) == 0 {
		return later
	}
	whole := newRound(a.send(ctx, again))
	for _, w := range denied {
		switch own := whole.other[afterPhase+w.ID]; {
		case len(own) == 0 || lost(own) > 0:
		case count(own, answeredAs(timeline.Denied)) > 0:
			a.rows[w.ID] = a.row(w, notShown, "denied while the quota was not spent too")
		default:
			a.rows[w.ID] = a.row(w, shared,
				"denied 2 times after the quota was spent, and not after it came back")
		}
	}
	return later
}

// alone asks one way in a round of its own: it uses some units before the plain client asks for its quota,
// and asks for one of its own after. Then the plain client is still denied, unless that changed its quota.
func (a *apart) alone(ctx context.Context, w Way) {
	some, more, still := a.once(&w, ""), a.once(&w, ""), a.once(nil, "")
	some.Requests = max(1, int(a.most)/3)
	more.Requests = max(1, min(int(a.most)+2, a.left()-a.spends-some.Requests-1))
	more.Denials = 2
	turns := []Turn{some, a.spend(), more, still}
	if w.ID == wayConnection { // it would begin with a new one
		turns = turns[:3]
	}
	seen := a.send(ctx, turns)
	if len(seen) > 0 {
		a.rows[w.ID] = a.compared(w, newRound(seen))
	}
}

// The names of phases begin with these: those of requests after the quota came back, and all.
const (
	afterPhase = "after-"
	apartPhase = "apart-"
)

// once is one request of a client that differs, or of the plain one.
func (a *apart) once(w *Way, when string) Turn {
	t := Turn{Name: apartPhase + "plain", Requests: 1, Every: a.x.every, Way: w}
	if w != nil {
		t.Name = apartPhase + when + w.ID
	}
	return t
}

// spend asks for one more than the quota as the plain client, until two are denied.
func (a *apart) spend() Turn {
	return Turn{Name: apartPhase + "quota", Requests: a.spends, Every: a.x.every, Denials: 2}
}

// left is how many requests may still be sent.
func (a *apart) left() int {
	return a.x.o.MaxRequests - len(a.x.tl.Observations) - len(a.out.Timeline.Observations)
}

// send sends a round after the silence in which all that was used comes back, within the budget. Stopped
// says why it did not, or why no other follows.
func (a *apart) send(ctx context.Context, turns []Turn) []timeline.Observation {
	x, n := a.x, 0
	for _, t := range turns {
		n += t.Requests
	}
	rest := max(a.whole*21/20+x.tl.Header.Tick+x.trip()+x.path.floor(), x.s.Wait())
	switch {
	case n > a.left():
		a.out.Stopped = fmt.Sprintf("it takes %s, and %d of the budget are left",
			quantity.Plural(n, "request"), a.left())
	case x.s.Now()+rest+time.Duration(n)*max(x.every, x.trip()+x.path.floor()) > x.o.MaxTime:
		a.out.Stopped = fmt.Sprintf("it takes a rest of %s, and %s of the budget are left",
			quantity.Brief(rest), quantity.Brief(max(0, x.o.MaxTime-x.s.Now())))
	}
	if a.out.Stopped != "" {
		return nil
	}
	seen, err := a.t.Turns(ctx, rest, x.o.MaxTime, turns)
	tl := a.out.Timeline
	for i := range seen {
		o := &seen[i]
		o.Seq, o.Cost = len(tl.Observations), 1
		tl.Observations = append(tl.Observations, *o)
		if o.Outcome == timeline.Unknown && (!o.Answered || o.Status >= 500) {
			a.errors++
		}
	}
	tl.Header = a.t.Header()
	switch {
	case err != nil:
		a.out.Stopped = err.Error()
	case ctx.Err() != nil:
		a.out.Stopped = "interrupted"
	case a.errors >= mostLost:
		a.out.Stopped = quantity.Plural(a.errors, "request") + " had no answer, or one of an error"
	}
	return seen
}

// answeredAs tells whether a request was answered so.
func answeredAs(outcome timeline.Outcome) func(timeline.Observation) bool {
	return func(o timeline.Observation) bool { return o.Answered && o.Outcome == outcome }
}

// compared tells from a round of one way on which quota it draws.
func (a *apart) compared(w Way, r round) verdict.Comparison {
	other := r.other[w.ID]
	both := &timeline.Timeline{Header: a.out.Timeline.Header, Observations: slices.Concat(r.plain, other)}
	plain, alone := *both, *both
	plain.Observations, alone.Observations = r.plain, other
	n, m := count(r.plain, answeredAs(timeline.Allowed)), count(other, answeredAs(timeline.Allowed))
	said := fmt.Sprintf("%d and %d admitted, of which one quota gives %d", n, m, a.most)
	switch {
	case m == 0:
		return a.row(w, notShown, "never admitted")
	case !a.explains(&plain, verdict.UpperBound):
		return a.row(w, notShown, "the plain requests beside it do not keep the limit")
	case elsewhere(w, r.plain, other) != "":
		return a.row(w, notShown, elsewhere(w, r.plain, other))
	case w.ID != wayConnection && !a.explains(&alone, verdict.UpperBound): // it has one a turn
		return a.row(w, unlimited, fmt.Sprintf("%d admitted in a row, after the quota was spent", m))
	case !a.explains(both, verdict.UpperBound):
		return a.row(w, separate, said)
	case lost(r.plain)+lost(other) == 0 && !a.explains(&plain, verdict.LowerBound) &&
		a.explains(both, verdict.LowerBound):
		return a.row(w, shared, said+" and not more")
	}
	return a.row(w, notShown, said+": one quota and two explain it")
}

// explains tells whether some policy that is left admits as many requests of one client as a recording has,
// or denies as many.
func (a *apart) explains(tl *timeline.Timeline, side verdict.Conformance) bool {
	one := *tl
	one.Observations = slices.Clone(tl.Observations)
	for i := range one.Observations {
		one.Observations[i].Partition = ""
	}
	slices.SortStableFunc(one.Observations, timeline.BySent)
	return slices.ContainsFunc(a.x.regions, func(r *region) bool {
		h := r.hull()
		at := box{h.q2, h.q2, h.t1, h.t1, h.d1, h.d1} // what admits the most
		if side == verdict.LowerBound {
			at = box{h.q1, h.q1, h.t2, h.t2, h.d2, h.d2}
		}
		return slices.ContainsFunc(r.kind.each(), func(k *kind) bool {
			return !refuted(&one, r.with(k.policy(at)), side, false)
		})
	})
}

// elsewhere says why admitted requests that differ may have reached something else; empty where they did
// not.
func elsewhere(w Way, plain, other []timeline.Observation) string {
	admitted := answeredAs(timeline.Allowed)
	i, j := slices.IndexFunc(plain, admitted), slices.IndexFunc(other, admitted)
	if i >= 0 && j >= 0 && plain[i].Status != other[j].Status {
		return fmt.Sprintf("answered %d in place of %d: another resource, perhaps", other[j].Status,
			plain[i].Status)
	}
	return ""
}

// row is what was observed of a way. Where connections have quotas of their own, nothing else is the cause
// of what came over another one.
func (a *apart) row(w Way, observed, detail string) verdict.Comparison {
	moved := a.rows[wayConnection].Observed
	if w.Moves && w.ID != wayConnection && observed != shared && moved != shared && observed != notShown {
		observed, detail = notShown, "its requests came over another connection too"
	}
	row := verdict.Comparison{Attribute: w.Name, Plain: w.Plain, Other: w.Other, Expected: "either",
		Observed: observed, Detail: detail, Verdict: verdict.Pass}
	if observed == notShown {
		row.Verdict = verdict.Inconclusive
	}
	return row
}

func count(all []timeline.Observation, is func(timeline.Observation) bool) (n int) {
	for _, o := range all {
		if is(o) {
			n++
		}
	}
	return n
}

// lost counts the requests without an answer.
func lost(all []timeline.Observation) int {
	return count(all, func(o timeline.Observation) bool { return !o.Answered })
}

// ClientsFile is the name of the recording of Clients, beside that of the limit.
const ClientsFile = "clients.ndjson"

// named are the ways of which something was observed.
func (c *Clients) named(observed string) []string {
	out := []string{}
	for _, row := range c.Rows {
		if row.Observed == observed {
			out = append(out, row.Attribute)
		}
	}
	return out
}

// lines say it for people.
func (c *Clients) lines() []string {
	var out []string
	say := func(format string, names []string) {
		if len(names) > 0 {
			out = append(out, fmt.Sprintf(format, strings.Join(names, ", ")))
		}
	}
	say("clients are told apart by: %s", c.named(separate))
	say("not told apart by: %s", c.named(shared))
	say("not limited with another: %s", c.named(unlimited))
	var reasons []string
	for _, row := range c.Rows {
		if row.Observed == notShown && !slices.Contains(reasons, row.Detail) {
			reasons = append(reasons, row.Detail)
		}
	}
	for _, why := range reasons {
		var names []string
		for _, row := range c.Rows {
			if row.Observed == notShown && row.Detail == why {
				names = append(names, row.Attribute)
			}
		}
		say("not known whether clients are told apart by: %s ("+strings.ReplaceAll(why, "%", "%%")+")", names)
	}
	return out
}

// Claim is the same as a claim of a scenario.
func (c *Clients) Claim() verdict.Claim {
	out := verdict.Claim{ID: string(verdict.ClaimAttributes), Kind: verdict.ClaimAttributes,
		Verdict: verdict.Pass, Text: strings.Join(c.lines(), "; "), Compared: c.Rows}
	if len(c.named(notShown)) == len(c.Rows) {
		out.Verdict, out.Reason = verdict.Inconclusive, verdict.TooFew
	}
	return out
}

// jsonApart is Clients for programs.
type jsonApart struct {
	ToldApartBy []string      `json:"told_apart_by"`
	NotBy       []string      `json:"not_by"`
	NotLimited  []string      `json:"not_limited"`
	Unknown     []jsonUnshown `json:"unknown"`
	Requests    int           `json:"requests"`
}

type jsonUnshown struct {
	Attribute string `json:"attribute"`
	Why       string `json:"why"`
}

func (c *Clients) json() *jsonApart {
	if c == nil {
		return nil
	}
	out := &jsonApart{ToldApartBy: c.named(separate), NotBy: c.named(shared),
		NotLimited: c.named(unlimited), Unknown: []jsonUnshown{}, Requests: len(c.Timeline.Observations)}
	for _, row := range c.Rows {
		if row.Observed == notShown {
			out.Unknown = append(out.Unknown, jsonUnshown{row.Attribute, row.Detail})
		}
	}
	return out
}
