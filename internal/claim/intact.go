package claim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const intactID = string(result.ClaimIntact)

// IntactExpect says what must arrive through a proxy as the origin sent it.
type IntactExpect struct {
	// Fields are names of header fields, in any case. A name that ends in * stands for all names that begin
	// so. Empty: no field must arrive.
	Fields []string
	// Status: the status must arrive. Body: the media type and the beginning of a denial's body must.
	Status, Body bool
}

// class is the answers of one outcome under one limit, at the origin and through the proxy. The same plan was
// sent to both.
type class struct {
	outcome timeline.Outcome
	// limit counts them. May be empty.
	limit         spec.Limit
	origin, proxy []*timeline.Observation
}

// judgeIntact judges that the answers of r.Origin arrive unchanged through the proxy, as r.Target. The claim
// is of kind result.ClaimIntact, with one finding for each difference. One answer through the proxy fails it
// if all answers of the origin with that outcome do otherwise. What only some of them do, and what the proxy
// adds, is reported and does not fail. Without answers of both sides, of both outcomes, it is Inconclusive
// (unreachable, too-few).
func judgeIntact(r *Recording, e IntactExpect) result.Claim {
	if len(r.Origin) == 0 {
		return result.Claim{ID: intactID, Reason: result.Unreachable,
			Text: "the origin answered no request, so there is nothing to compare with"}
	}
	j := &comparison{r: r, expect: e, notes: map[string]bool{}, rarer: len(r.Target)}
	var short []string
	for _, outcome := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
		origin, proxy, compared, n := 0, 0, false, 0
		for _, limit := range r.Limits() {
			is := func(o *timeline.Observation) bool {
				return o.Outcome == outcome && slices.Equal(r.LimitOf(o), limit) &&
					!(o.Origin && gatewayError(o))
			}
			c := class{outcome: outcome, limit: limit, origin: Only(r.Origin, is),
				proxy: Only(r.Target, is)}
			origin, proxy = origin+len(c.origin), proxy+len(c.proxy)
			if len(c.origin) > 0 && len(c.proxy) > 0 {
				j.compare(c)
				compared, n = true, n+len(c.proxy)
			}
		}
		j.rarer = min(j.rarer, n)
		switch {
		case compared:
		case origin > 0 && proxy > 0:
			short = append(short, "under no limit do origin and proxy both have answers that were "+
				outcome.String())
		default:
			if origin == 0 {
				short = append(short, "no answer of the origin was "+outcome.String())
			}
			if proxy == 0 {
				short = append(short, "no answer through the proxy was "+outcome.String())
			}
		}
	}
	return j.verdict(short)
}

// gatewayError tells whether an answer of the origin is that of a server which has no origin itself. No
// limiter denies so.
func gatewayError(o *timeline.Observation) bool {
	return o.Status == http.StatusBadGateway || o.Status == http.StatusGatewayTimeout
}

// comparison collects the differences.
type comparison struct {
	r        *Recording
	expect   IntactExpect
	findings []result.Finding
	// rarer is how many answers through the proxy were compared, of the outcome that had fewer.
	rarer int
	// notes are sentences, each once. order lists them in the order in which they came.
	notes map[string]bool
	order []string
	// compared are the names of the fields that the origin has in all answers of an outcome.
	compared []string
}

// verdict makes the claim of the findings. short names the sides without answers of an outcome.
func (j *comparison) verdict(short []string) result.Claim {
	notes := ""
	for _, n := range j.order {
		notes += "; " + n
	}
	chances := result.Of(j.rarer, "answers of the rarer outcome through the proxy, compared with the origin")
	switch {
	case len(j.findings) > 0:
		n := len(j.findings)
		return result.Settle(intactID, fmt.Sprintf("%s between the origin and the proxy%s",
			text.Plural(n, "difference"), notes), chances, j.findings...)
	case len(short) > 0:
		return TooFew(intactID, strings.Join(short, ", ")+": that outcome cannot be compared"+notes)
	case len(j.compared) == 0 && !j.expect.Status && !j.expect.Body:
		return result.Claim{ID: intactID, Reason: result.NeedsFailed,
			Text: "the origin sends none of the fields that must arrive in all of its answers" + notes}
	}
	what := j.compared
	if j.expect.Status {
		what = append(what, "status")
	}
	if j.expect.Body {
		what = append(what, "body")
	}
	return result.Settle(intactID, fmt.Sprintf("%s through the proxy are as %s of the origin in %s%s",
		text.Plural(len(j.r.Target), "answer"), text.Plural(len(j.r.Origin), "answer"),
		strings.Join(what, ", "), notes), chances)
}

// note adds a sentence, once.
func (j *comparison) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !j.notes[s] {
		j.notes[s] = true
		j.order = append(j.order, s)
	}
}

// find adds a finding about answers through the proxy, with one answer of the origin.
func (j *comparison) find(kind result.Kind, origin *timeline.Observation, proxy []*timeline.Observation,
	text string) {
	obs := append([]*timeline.Observation{origin}, proxy...)
	j.findings = append(j.findings,
		Witness(result.Finding{Kind: kind, Seen: int64(len(proxy)), Text: text}, obs...))
}

// compare compares the answers of one outcome.
func (j *comparison) compare(c class) {
	for _, name := range j.names(c) {
		j.presence(c, name)
	}
	j.retryAfter(c)
	j.quotas(c)
	j.date(c)
	if c.outcome != timeline.Denied {
		return
	}
	if j.expect.Status {
		j.status(c)
	}
	if j.expect.Body {
		j.body(c)
	}
}

// expects tells whether the field must arrive.
func (j *comparison) expects(name string) bool {
	return slices.ContainsFunc(j.expect.Fields, func(pattern string) bool { return matches(pattern, name) })
}

// matches tells whether name is pattern, in any case. If pattern ends in *, name must begin with the rest of
// it.
func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
	}
	return strings.EqualFold(name, pattern)
}

// names returns the expected fields that any answer of c has, ascending.
func (j *comparison) names(c class) []string {
	var names []string
	for _, side := range [][]*timeline.Observation{c.origin, c.proxy} {
		for _, o := range side {
			for _, f := range o.Fields {
				if i, found := slices.BinarySearch(names, f.Name); !found && j.expects(f.Name) {
					names = slices.Insert(names, i, f.Name)
				}
			}
		}
	}
	return names
}

// presence finds that a field was lost: the origin has it in all answers, and some answers through the proxy
// do not.
func (j *comparison) presence(c class, name string) {
	has := func(o *timeline.Observation) bool { _, ok := o.Fields.Get(name); return ok }
	lacks := func(o *timeline.Observation) bool { return !has(o) }
	at, through := Only(c.origin, has), Only(c.proxy, has)
	switch {
	case len(at) == 0:
		j.note("the proxy adds %s when %s", name, c.outcome)
		return
	case len(at) < len(c.origin):
		j.note("%s is in only %d of %d answers of the origin when %s, so it is not judged", name, len(at),
			len(c.origin), c.outcome)
		return
	}
	if !slices.Contains(j.compared, name) {
		j.compared = append(j.compared, name)
	}
	if lost := Only(c.proxy, lacks); len(lost) > 0 {
		j.find(result.FieldLost, at[0], lost,
			fmt.Sprintf("%s is in all %d answers of the origin to %s requests (#%d), and in %d of %d "+
				"through the proxy: %s lack it",
				name, len(at), c.outcome, at[0].Seq, len(through), len(c.proxy), Seqs(lost)))
	}
}

// status finds denials through the proxy with a status that the origin's denials never have.
func (j *comparison) status(c class) {
	known := Statuses(c.origin)
	changed := Only(c.proxy,
		func(o *timeline.Observation) bool { return !slices.Contains(known, o.Status) })
	if len(changed) > 0 {
		j.find(result.StatusChanged, c.origin[0], changed,
			fmt.Sprintf("%s of the origin have status %s (#%d); through the proxy %d of %d have %s: %s",
				text.Plural(len(c.origin), "denial"), OneOf(known), c.origin[0].Seq, len(changed),
				len(c.proxy), OneOf(Statuses(changed)), Seqs(changed)))
	}
}
