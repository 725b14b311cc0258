package claim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// What may be seen of the two sides of a client, beside OneQuota and TwoQuotas.
const (
	unlimited = "unlimited"
	refused   = "refused" // a cost that is no number of units, by a limiter that held the plain requests
	notShown  = "not shown"
)

// judgeAttributes judges, for each attribute, whether requests of a client that differ in it draw on the
// quota of its plain requests.
//
//	plain      a a a a a d d d      the quota is 10
//	otherwise  a a a a a d d d      shared: a side that was alone would not be denied
//
//	plain      a a a a a a a a
//	otherwise  a a a a a a a a      separate: one quota does not admit 16
//
// An attribute is the cause only if requests that do not differ are held to one quota.
//
// Each result is stated only if the opposite is refuted. Separate: all requests together exceed the limit.
// Shared: together they keep it, and one side by itself was denied what the limit gives it.
func judgeAttributes(r *Recording) result.Claim {
	c := result.Claim{ID: string(result.ClaimAttributes)}
	var open []result.Comparison
	control := func(a timeline.Attribute) string { return r.control(r.Expect.Attributes, a) }
	for _, x := range r.Expect.Attributes {
		row, f, asked := r.compare(x, control)
		if f != nil {
			c.Findings = append(c.Findings, *f)
		}
		if row.Observed == notShown && asked && x.Sharing != Either && !x.Unsure {
			open = append(open, row)
		}
		c.Compared = append(c.Compared, row)
	}
	var shared, apart, differ int
	for _, row := range c.Compared {
		switch row.Observed {
		case string(OneQuota), refused:
			shared++
		case string(TwoQuotas), unlimited:
			apart++
		default:
			continue
		}
		if a := timeline.Attribute(row.Attribute); a != timeline.Nothing && a != timeline.OneConnection {
			differ++ // requests of these two do not, so they are no chance
		}
	}
	c.Chances = result.Of(differ, "attributes of which it was shown whether they share a quota")
	c.Text = fmt.Sprintf("of %s, %d share one quota between requests that differ in the attribute, %d "+
		"have separate quotas, and %d are not shown",
		text.Plural(len(c.Compared), "attribute"), shared, apart,
		len(c.Compared)-shared-apart)
	switch {
	case len(c.Findings) > 0:
		c.Verdict, c.Text = result.Fail, c.Findings[0].Text
		if n := len(c.Findings); n > 1 {
			c.Text += fmt.Sprintf("; and %d more", n-1)
		}
	case shared+apart == 0 && control(timeline.Accept) != "": // whatever differs, except the connection
		c.Reason = result.TooFew
		c.Text = fmt.Sprintf("nothing was learned about %s: %s",
			text.Plural(len(c.Compared), "attribute"),
			control(timeline.Accept))
	case len(open) > 0 || differ == 0:
		c.Reason, c.Text = result.TooFew, c.Text+r.open(slices.Concat(open, c.Compared))
	default:
		c.Verdict = result.Pass
	}
	return c
}

// open names the first rows that show nothing, each once, with the reason of the first.
func (r *Recording) open(rows []result.Comparison) string {
	var names []string
	why := ""
	for _, row := range rows {
		if row.Observed == notShown && !slices.Contains(names, row.Attribute) {
			names, why = append(names, row.Attribute), cmp.Or(why, row.Detail)
		}
	}
	if most := 5; len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return fmt.Sprintf(": %s (%s)", strings.Join(names, ", "), why)
}

// sides are the observations of one client, ascending by Sent.
type sides struct{ plain, other []*timeline.Observation }

// compare judges one attribute. asked: the requests reached the limiter, so that it could be shown.
func (r *Recording) compare(x AttributeExpect,
	control func(timeline.Attribute) string) (row result.Comparison, f *result.Finding, asked bool) {
	a := x.Attribute.Row()
	row = result.Comparison{Attribute: string(x.Attribute), Expected: string(x.Sharing), Observed: notShown,
		Verdict: result.Inconclusive, Plain: a.Plain, Other: a.Other}
	if row.Detail = x.Moot; row.Detail != "" {
		return row, nil, false
	}
	s := r.sidesOf(x.Phase)
	if row.Detail = s.unreached(x.Attribute); row.Detail != "" {
		if x.Attribute.IsCost() && s.refused() && control(x.Attribute) == "" {
			row.Observed, row.Verdict = refused, result.Pass
		}
		return row, nil, false
	}
	observed, detail, witnessed := r.quotas(x.Attribute, s)
	row.Observed, row.Detail = observed, detail
	if (observed == unlimited || observed == string(TwoQuotas)) && control(x.Attribute) != "" {
		row.Observed, row.Detail = notShown, control(x.Attribute)
	}
	switch {
	case row.Observed == notShown && r.outpaced(x.Attribute, slices.Concat(s.plain, s.other)):
		row.Detail = "one request after the other, as the test needs: " + detail
		return row, nil, false
	case row.Observed == notShown:
		return row, nil, true
	case x.Sharing == Either, string(x.Sharing) == observed:
		row.Verdict = result.Pass
		return row, nil, true
	}
	row.Verdict = result.Fail
	found := *witnessed
	found.Kind, found.Partition = result.MintsQuota, s.plain[0].Partition
	draws := "do not share the quota of its plain requests"
	if observed == string(OneQuota) {
		found.Kind = result.SharesQuota
		draws = "share the quota of its plain requests, but are declared to have another quota"
	}
	found.Text = fmt.Sprintf("%s: requests of one client with %s%s %s: %s", row.Attribute,
		row.Other, inPlaceOf(row.Plain), draws, detail)
	return row, &found, true
}

// outpaced tells whether a limit gives units back as fast as the clients of a connection attribute ask. Each
// has one connection and sends one request at a time. Nothing is denied, and the limit is kept.
func (r *Recording) outpaced(a timeline.Attribute, all []*timeline.Observation) bool {
	if a != timeline.OneConnection && a != timeline.Connection || len(Denied(all)) > 0 {
		return false
	}
	f, ok := r.refuted(result.UpperBound, all)
	return f == nil && ok
}

// inPlaceOf says what a plain request sends. Empty: it sends nothing of the kind.
func inPlaceOf(plain string) string {
	if plain == "none" || plain == "no more" {
		return ""
	}
	return " in place of " + plain
}

// control says that even requests without a difference are not held to one quota, so the attribute cannot be
// the cause. Empty: they are held to one, or nobody asked. Requests that are sent at once have a connection
// each, so the attribute of connections has its own control.
func (r *Recording) control(all []AttributeExpect, of timeline.Attribute) string {
	alike := timeline.Nothing
	if of == timeline.Connection {
		alike = timeline.OneConnection
	}
	for _, x := range all {
		if s := r.sidesOf(x.Phase); x.Attribute == alike && s.unreached(alike) == "" {
			if observed, detail, _ := r.quotas(alike, s); observed != string(OneQuota) {
				return "even requests that do not differ are not seen to share one quota: " + detail
			}
		}
	}
	return ""
}

func (r *Recording) sidesOf(phase string) (s sides) {
	for _, o := range r.sent(phase) {
		if timeline.IsOtherSide(o.Partition) {
			s.other = append(s.other, o)
		} else {
			s.plain = append(s.plain, o)
		}
	}
	return s
}

// refused tells whether all requests that differ were answered as bad ones (RFC 9110 section 15.5), and some
// plain ones were denied.
func (s sides) refused() bool {
	bad := Only(s.other, func(o *timeline.Observation) bool { return o.Status/100 == 4 })
	return len(bad) == len(s.other) && len(Denied(s.plain)) > 0
}

// unreached says why the requests that differ do not, or do not visibly, reach the resource of the plain
// ones. Empty: they reach it.
func (s sides) unreached(a timeline.Attribute) string {
	if len(s.plain) == 0 || len(s.other) == 0 && a != timeline.OneConnection {
		return "no request was sent"
	}
	is := func(o timeline.Outcome) func(*timeline.Observation) bool {
		return func(x *timeline.Observation) bool { return x.Answered && x.Outcome == o }
	}
	admitted, plain := Only(s.other, is(timeline.Allowed)), Only(s.plain, is(timeline.Allowed))
	if len(admitted) == 0 && len(Only(s.other, is(timeline.Denied))) == 0 && len(s.other) > 0 {
		if answered := Only(s.other, is(timeline.Unknown)); len(answered) > 0 {
			return "answered " + OneOf(Statuses(answered))
		}
		return "not answered"
	}
	elsewhere := a.IsPath() || a == timeline.QueryString || a == timeline.HostName || a == timeline.HostPort
	if a == timeline.Leaves && couldNotLeave(admitted, plain) {
		return "each answer was whole with its head, so no client could leave before (name a route with a " +
			"long or slow answer)"
	}
	if len(admitted) == 0 || len(plain) == 0 || !elsewhere {
		return ""
	}
	typed := func(o *timeline.Observation) string { v, _ := o.Fields.Get("Content-Type"); return v }
	if p, o := plain[0], admitted[0]; p.Status != o.Status || typed(p) != typed(o) {
		return fmt.Sprintf("answered %d %s instead of %d %s: perhaps another resource", o.Status, typed(o),
			p.Status, typed(p))
	}
	return ""
}

// left tells whether the client left before the answer to an admitted request was whole.
func left(o *timeline.Observation) bool { return o.Done == 0 }

// couldNotLeave tells whether no client left before an answer was whole, nor could have.
func couldNotLeave(admitted, plain []*timeline.Observation) bool {
	if len(admitted) > 0 {
		return !slices.ContainsFunc(admitted, left)
	}
	return !slices.ContainsFunc(plain, slow)
}

// slow tells whether a client could have left before an answer was whole. It is not said of answers that were
// read a little later than they came.
func slow(o *timeline.Observation) bool { return o.Done > o.FirstByte+10*time.Millisecond }

// returned tells whether a request was sent after a client had left.
func (s sides) returned() bool {
	return slices.ContainsFunc(s.other, func(gone *timeline.Observation) bool {
		return gone.Outcome == timeline.Allowed && left(gone) &&
			slices.ContainsFunc(s.other, func(o *timeline.Observation) bool {
				return o.Sent > gone.FirstByte
			})
	})
}

// quotas says on how many quotas the two sides draw, which differ in an attribute, the numbers that show it,
// and the proof. A cost that is no number of units draws on the quota if both sides together keep it, and
// would not if it were free: how many units it takes is not known.
func (r *Recording) quotas(of timeline.Attribute, s sides) (observed, detail string, proof *result.Finding) {
	if len(r.LimitOf(s.plain[0])) == 0 {
		return notShown, "no limit counts the requests", nil
	}
	all := slices.Concat(s.plain, s.other)
	// What a client that leaves is given back, its plain requests may take.
	if f, ok := r.refuted(result.UpperBound, s.plain); f != nil && of != timeline.Leaves || !ok {
		return notShown, "its plain requests alone do not keep the limit", nil
	}
	if f, _ := r.refuted(result.UpperBound, all); f != nil {
		if alone, _ := r.refuted(result.UpperBound, s.other); alone != nil {
			return unlimited, alone.Text, alone
		}
		return string(TwoQuotas), f.Text, f
	}
	if f, _ := r.refuted(result.UpperBound, s.ifFree()); f != nil && of.IsCost() {
		return string(OneQuota), fmt.Sprintf("%d and %d of %d admitted, so it is not free",
			admissions(s.plain), admissions(s.other), len(all)), f
	}
	f, ok := r.refuted(result.Exact, all)
	switch {
	case f != nil || !ok:
		return notShown, "neither one quota nor two explain it", nil
	case len(s.other) == 0 && len(Denied(all)) > 0:
		return string(OneQuota), fmt.Sprintf("%d of %d admitted", admissions(all), len(all)), nil
	case of == timeline.Leaves && !s.returned():
		return notShown, "no request was sent after a client had left", nil
	case len(s.other) == 0:
		return notShown, fmt.Sprintf("all of %d admitted", len(all)), nil
	}
	for _, side := range [][]*timeline.Observation{s.other, s.plain} {
		// Only its denials can refute it: all requests keep the upper bound.
		if f, _ := r.refuted(result.Exact, side); f != nil {
			return string(OneQuota), fmt.Sprintf("%d and %d of %d admitted, as one quota gives",
				admissions(s.plain), admissions(s.other), len(all)), f
		}
	}
	return notShown, fmt.Sprintf("%d and %d of %d admitted: one quota explains it, and two quotas do",
		admissions(s.plain), admissions(s.other), len(all)), nil
}

// refuted judges some observations as those of one client. proof is how they contradict their limit, or nil.
// ok=false: they cannot be judged.
func (r *Recording) refuted(c result.Conformance, obs []*timeline.Observation) (proof *result.Finding,
	ok bool) {
	obs = slices.SortedStableFunc(slices.Values(obs), func(a, b *timeline.Observation) int {
		return cmp.Compare(a.Sent, b.Sent)
	})
	tl := &timeline.Timeline{Header: r.Header}
	for _, o := range obs {
		one := *o
		one.Partition = ""
		tl.Observations = append(tl.Observations, one)
	}
	o := check.Options{Conformance: c, Shared: r.Shared, SkipMeasure: true}
	j, err := check.Judge(tl, r.LimitOf(obs[0]), o)
	if err != nil || j.Verdict != result.Fail {
		return nil, err == nil
	}
	return &j.Partitions[0].Findings[0], true
}

// ifFree returns the requests of both sides as they would have been answered if those that differ were free:
// each that was denied is admitted.
func (s sides) ifFree() []*timeline.Observation {
	out := slices.Clone(s.plain)
	for _, o := range s.other {
		one := *o
		if one.Outcome == timeline.Denied {
			one.Outcome = timeline.Allowed
		}
		out = append(out, &one)
	}
	return out
}

// admissions returns how many of obs were admitted.
func admissions(obs []*timeline.Observation) int {
	return len(Only(obs, func(o *timeline.Observation) bool { return o.Outcome == timeline.Allowed }))
}
