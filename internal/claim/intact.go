package claim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
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
	name = strings.ToLower(name)
	return slices.ContainsFunc(j.expect.Fields,
		func(pattern string) bool { return text.Glob(strings.ToLower(pattern), []byte(name)) })
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

// shape is the part of a denial's body that is the same in every denial. Texts carry keys, times and numbers.
// So only the notation and, of a problem, the type are compared. An empty notation or problem is not known.
type shape struct {
	media, notation, problem string
}

// like tells whether s and t are the same as far as both are known.
func (s shape) like(t shape) bool {
	same := func(a, b string) bool { return a == "" || b == "" || a == b }
	return s.media == t.media && same(s.notation, t.notation) && same(s.problem, t.problem)
}

// String names the shape in a sentence.
func (s shape) String() string {
	media := cmp.Or(s.media, "no media type")
	if s.notation == "" {
		return media
	}
	if s.problem == "" {
		return media + " with " + s.notation
	}
	return media + " with " + s.notation + " of type " + text.Quote(s.problem)
}

// shapeOf reads the shape of a body, as far as the recorder kept it. It says that no body was sent only if
// the length says so.
func shapeOf(o *timeline.Observation) shape {
	body := strings.TrimSpace(o.Body)
	s := shape{media: MediaType(o)}
	switch {
	case body == "":
		if v, _ := o.Fields.Get("Content-Length"); strings.TrimSpace(v) == "0" {
			s.notation = "no body"
		}
	case !headers.IsText(body): // it has some notation
	case body[0] == '{':
		s.notation, s.problem = "a JSON object", problemType(body)
	case body[0] == '[':
		s.notation = "a JSON array"
	case body[0] == '<':
		s.notation = "markup"
	default:
		s.notation = "text"
	}
	return s
}

// problemType returns the member type of a JSON object. It is about:blank if there is none (RFC 9457 section
// 4.2.1), and empty if the text was cut off before.
func problemType(body string) string {
	d := json.NewDecoder(strings.NewReader(body))
	if _, err := d.Token(); err != nil {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return ""
		}
		var member any
		if err := d.Decode(&member); err != nil {
			return ""
		}
		if text, ok := member.(string); ok && name == "type" {
			return text
		}
	}
	if _, err := d.Token(); err != nil {
		return ""
	}
	return "about:blank"
}

// body finds denials through the proxy whose body has a shape that the origin's denials never have.
func (j *comparison) body(c class) {
	var known []shape
	for _, o := range c.origin {
		if s := shapeOf(o); !slices.Contains(known, s) {
			known = append(known, s)
		}
	}
	changed := Only(c.proxy,
		func(o *timeline.Observation) bool { return !slices.ContainsFunc(known, shapeOf(o).like) })
	if len(changed) == 0 {
		return
	}
	j.find(result.BodyChanged, c.origin[0], changed,
		fmt.Sprintf("%s of the origin have %s (#%d); through the proxy %d of %d have another body: #%d has "+
			"%s",
			text.Plural(len(c.origin), "denial"), shapeOf(c.origin[0]), c.origin[0].Seq, len(changed),
			len(c.proxy),
			changed[0].Seq, shapeOf(changed[0])))
}

// facts are the constant parts of what an answer says of a quota, by what they are about.
type facts map[string]string

// factsOf reads the constant parts of all quotas: limit, window, the form of the reset, and the broken rules.
func (j *comparison) factsOf(o *timeline.Observation, limit spec.Limit) facts {
	base, _ := Date(o)
	get := func(name string) (string, bool) {
		if !j.expects(name) {
			return "", false
		}
		return o.Fields.Get(name)
	}
	f, onePolicy := facts{}, len(limit) < 2
	quotas, problems := headers.Quotas(get, base)
	for _, q := range quotas {
		about := string(q.Dialect)
		if q.Name != "" {
			about += " " + text.Quote(q.Name)
		}
		// Without a name, the policy in force may differ from answer to answer.
		sure := q.Name != "" || onePolicy
		if q.HasLimit && sure {
			f["limit of "+about] = fmt.Sprint(q.Limit)
		}
		if q.Window > 0 && sure {
			f["window of "+about] = q.Window.String()
		}
		if q.Form != "" {
			f["form of the reset of "+about] = string(q.Form)
		}
	}
	for _, p := range problems {
		if structural(p) {
			f["rule "+string(p.Rule)+" of "+p.Field] = "broken"
		}
	}
	return f
}

// structural tells whether p is about how a field is built, whatever its numbers are. A server that keeps
// such a rule once keeps it always. presence judges rules about missing fields.
func structural(p headers.Problem) bool {
	switch p.Rule {
	case headers.SFParse, headers.SFNonEmpty, headers.RPName, headers.R3Limit:
		return true
	case headers.XRSet:
		return !strings.Contains(p.Field, "Remaining")
	default:
		return false
	}
}

// quotas finds parts of a quota that all answers of the origin state alike (limit, window, form of the reset,
// a kept rule) and answers through the proxy do not.
func (j *comparison) quotas(c class) {
	constant := j.factsOf(c.origin[0], c.limit)
	broken := map[string]bool{}
	for _, o := range c.origin {
		f := j.factsOf(o, c.limit)
		for about, v := range f {
			broken[about] = broken[about] || v == "broken"
		}
		for about := range constant {
			if f[about] != constant[about] {
				delete(constant, about)
			}
		}
	}
	changed := map[string][]*timeline.Observation{}
	for _, o := range c.proxy {
		for about, v := range j.factsOf(o, c.limit) {
			want, isConstant := constant[about]
			if v == "broken" && !broken[about] || isConstant && v != want {
				changed[about] = append(changed[about], o)
			}
		}
	}
	for _, about := range slices.Sorted(maps.Keys(changed)) {
		obs := changed[about]
		was, is := constant[about], j.factsOf(obs[0], c.limit)[about]
		if was == "" {
			was = "kept"
		}
		j.find(result.FieldChanged, c.origin[0], obs,
			fmt.Sprintf("the %s is %s in all %s of the origin to %s requests (#%d), and %s in %d of %d "+
				"through the proxy: %s",
				about, was, text.Plural(len(c.origin), "answer"), c.outcome, c.origin[0].Seq, is,
				len(obs),
				len(c.proxy), Seqs(obs)))
	}
}
