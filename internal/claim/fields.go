package claim

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Group names a group of header fields.
type Group string

// The groups. No body is expected of phases without bodies.
//
//   - RetryAfter: every denial has a valid Retry-After.
//   - RateLimit: every answer, allowed or denied, states its quota in some dialect.
//   - Date: every answer has a Date.
//   - ProblemBody: every denial has a body of type application/problem+json.
//   - NoStore: no denial lets caches keep it.
//   - Explanation: every denial has a body.
const (
	RetryAfter  Group = "retry-after"
	RateLimit   Group = "ratelimit"
	DateField   Group = "date"
	ProblemBody Group = "problem"
	NoStore     Group = "no-store"
	Explanation Group = "explanation"
)

type group struct {
	// what names the fields in a sentence. deniedOnly: only denials must have them.
	what       string
	deniedOnly bool
	// inBody: it is read in the body, which answers to HEAD do not have.
	inBody bool
	// promise is the promise that the group rests on. Empty: every target must have the fields, since a
	// standard says MUST or SHOULD.
	promise result.Promise
	// read returns whether an answer has the fields, and the rules that they break.
	read func(o *timeline.Observation) (present bool, problems []headers.Problem)
}

// groups says how each group is judged. It is never written after init.
var groups = map[Group]group{
	RetryAfter: {"Retry-After", true, false, result.PromiseRetryAfter, readRetryAfter},
	RateLimit:  {"fields that state the quota", false, false, result.PromiseRateLimit, readQuotas},
	DateField:  {"Date", false, false, "", readDate},
	ProblemBody: {"body of type application/problem+json", true, true, result.PromiseProblem,
		readProblem},
	NoStore:     {"ban on caching", true, false, "", readStorable},
	Explanation: {"body that explains it", true, true, "", readExplanation},
}

// judgeFields judges that every answer, or every denial, has the fields of a group, and that they break no
// binding rule of their syntax. The kind of the claim is "fields-" and the group. Fields that are never sent
// fail only if they are promised, or if a standard asks for them. Broken conventions are reported and do not
// fail.
func judgeFields(r *Recording, name Group) result.Claim {
	g, id := groups[name], "fields-"+string(name)
	noun, obs := "answer", Only(r.Target, Heard)
	if g.deniedOnly {
		if c, ok := r.Unheard(id); ok {
			return c
		}
		noun, obs = "denial", Denied(obs)
	}
	if g.inBody {
		obs = Only(obs, func(o *timeline.Observation) bool {
			return !slices.Contains(r.Bodiless, o.Phase)
		})
	}
	if len(obs) > 0 && !r.KeepsFields() {
		return TooFew(id, "the recording has no header fields")
	}
	if len(obs) > 0 && g.promise != "" && LacksFields(r, g.promise) {
		c := Unpromised(id, g.promise, len(obs), noun, g.what)
		if i := slices.IndexFunc(obs, tellsOtherwise); name == RetryAfter && i >= 0 {
			c.Text += fmt.Sprintf("; #%d tells its wait by %s", obs[i].Seq, toldBy(obs[i])[0])
			c.Moot = true
		}
		return c
	}
	c := judgeGroup(r, id, noun, g, obs)
	if name == RetryAfter {
		return admittedToo(r, c)
	}
	return c
}

// tellsOtherwise tells whether a denial without Retry-After states a wait.
func tellsOtherwise(o *timeline.Observation) bool { return len(toldBy(o)) > 0 }

// chances counts the answers that were read: denials, or those of the rarer outcome if both must have the
// fields. A limiter that never answers what it denies has one outcome.
func (g group) chances(r *Recording, obs []*timeline.Observation) result.Chances {
	denials := len(Denied(obs))
	if _, unheard := r.Unheard(""); g.deniedOnly || unheard {
		return result.Of(len(obs), "denials read for "+g.what)
	}
	return result.Of(min(denials, len(obs)-denials), "answers of the rarer outcome, read for "+g.what)
}

// judgeGroup judges the fields of obs. It may be empty.
func judgeGroup(r *Recording, id, noun string, g group, obs []*timeline.Observation) result.Claim {
	var missing, invalid []*timeline.Observation
	// A convention binds if the answer says nothing because of it.
	binding, loose := Broken{}, Broken{}
	for _, o := range obs {
		present, problems := g.read(o)
		bad := false
		for _, p := range problems {
			if p.Rule.Level() == headers.Must || !present {
				binding.Add(p, o)
				bad = true
				continue
			}
			loose.Add(p, o)
		}
		switch {
		case bad:
			invalid = append(invalid, o)
		case !present:
			missing = append(missing, o)
		}
	}
	var findings []result.Finding
	if len(missing) > 0 {
		findings = append(findings, Count(result.FieldMissing, missing,
			fmt.Sprintf("%d of %s lack %s: %s%s", len(missing), text.Plural(len(obs), noun), g.what,
				Seqs(missing), byOutcome(missing, obs))))
	}
	findings = append(findings, binding.Findings(len(obs), noun, g.what)...)
	good := len(obs) - len(missing) - len(invalid)
	return result.Settle(id, fmt.Sprintf("%d of %s have a valid %s%s", good, text.Plural(len(obs), noun),
		g.what, loose.Note()), g.chances(r, obs), findings...)
}

// byOutcome says which of obs lack a field, if these are all of one outcome and none of the other.
func byOutcome(missing, obs []*timeline.Observation) string {
	d, all := len(Denied(missing)), len(Denied(obs))
	switch {
	case all == 0 || all == len(obs):
		return ""
	case d == 0 && len(missing) == len(obs)-all:
		return " (all that were allowed, none that was denied)"
	case d == len(missing) && d == all:
		return " (all that were denied, none that was allowed)"
	default:
		return ""
	}
}

// admittedToo also judges the syntax of Retry-After in admitted answers, and says how many have one. No
// standard says what it means there. Some limiters send when the quota is whole again.
func admittedToo(r *Recording, c result.Claim) result.Claim {
	var bad Broken
	n := 0
	for _, o := range r.Target {
		present, problems := readRetryAfter(o)
		if !present || o.Outcome != timeline.Allowed {
			continue
		}
		n++
		for _, p := range problems {
			bad.Add(p, o)
		}
	}
	if n == 0 {
		return c
	}
	noun := "admitted answer"
	text := fmt.Sprintf("%s; the field was sent, and only its syntax was judged: Retry-After in %s", c.Text,
		text.Plural(n, noun))
	return result.Settle(c.ID, text, c.Chances,
		append(c.Findings, bad.Findings(n, noun, "Retry-After")...)...)
}

// readRetryAfter reads Retry-After: whether it is present, and the rules of its syntax that it breaks.
func readRetryAfter(o *timeline.Observation) (bool, []headers.Problem) {
	v, ok := o.Fields.Get("Retry-After")
	if !ok {
		return false, nil
	}
	ra, err := headers.ParseRetryAfter(v)
	if err == nil {
		err = ra.Check()
	}
	return true, headers.Problems(err)
}

func readDate(o *timeline.Observation) (bool, []headers.Problem) {
	v, ok := o.Fields.Get("Date")
	if !ok {
		return false, nil
	}
	return true, headers.Problems(headers.CheckDate(v))
}

// readQuotas reads the quota in any dialect. It is present if a limit or the remaining units are stated.
func readQuotas(o *timeline.Observation) (bool, []headers.Problem) {
	base, _ := Date(o)
	quotas, problems := headers.Quotas(o.Fields.Get, base)
	tells := func(q headers.Quota) bool { return q.HasLimit || q.HasRemaining || q.Unlimited }
	return slices.ContainsFunc(quotas, tells), problems
}

// readStorable tells whether a denial lets caches keep it. A cache must not keep a 429 (RFC 6585 section 4).
// It may if the answer names a lifetime above 0 or calls itself public, and does not say no-store (RFC 9111
// section 3). A denial that says nothing about caches is right.
func readStorable(o *timeline.Observation) (bool, []headers.Problem) {
	if o.Status != http.StatusTooManyRequests {
		return true, nil
	}
	v, _ := o.Fields.Get("Cache-Control")
	stores, aged := "", false
	for _, part := range strings.Split(v, ",") {
		name, arg, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "no-store":
			return true, nil
		case "public":
			stores = part
		case "max-age", "s-maxage":
			aged = aged || strings.EqualFold(name, "max-age")
			if n, err := strconv.ParseUint(strings.Trim(arg, `" `), 10, 64); err == nil && n > 0 {
				stores = part
			}
		}
	}
	if stores != "" {
		return true, []headers.Problem{{Rule: headers.STNoStore, Field: "Cache-Control", Value: v,
			Why: "a cache must not store a 429", Mend: "send no-store"}}
	}
	if aged { // then Expires is ignored (RFC 9111 section 5.3)
		return true, nil
	}
	return true, expires(o)
}

// expires tells whether Expires makes a denial fresh. Cache-Control did not overrule it.
func expires(o *timeline.Observation) []headers.Problem {
	v, ok := o.Fields.Get("Expires")
	at, err := headers.ParseDate(v)
	now, dated := Date(o)
	if !ok || err != nil || !dated || !at.After(now) {
		return nil
	}
	return []headers.Problem{{Rule: headers.STNoStore, Field: "Expires", Value: v,
		Why: "a cache must not store a 429", Mend: "send Cache-Control: no-store"}}
}

// readExplanation tells whether a denial has a text that explains it (RFC 6585 section 4). Recordings without
// bodies have none, and HEAD requests never do.
func readExplanation(o *timeline.Observation) (bool, []headers.Problem) {
	return strings.TrimSpace(o.Body) != "", nil
}

// ProblemJSON is the media type of a problem (RFC 9457 section 3).
const ProblemJSON = "application/problem+json"

// MediaType returns the media type of an answer in lower case, without parameters. Empty: the answer has none
// that can be read.
func MediaType(o *timeline.Observation) string {
	v, _ := o.Fields.Get("Content-Type")
	t, _, _ := mime.ParseMediaType(v) // an error about parameters leaves the type
	return t
}

// readProblem reads the problem body of a denial. It is present if the media type says so. The body is judged
// as far as it was kept. It must be an object (RFC 9457 section 3), and its status member must be the status
// of the answer (section 3.1.2).
func readProblem(o *timeline.Observation) (bool, []headers.Problem) {
	if MediaType(o) != ProblemJSON {
		return false, nil
	}
	body := strings.TrimSpace(o.Body)
	if body == "" || !headers.IsText(body) {
		return true, nil
	}
	if body[0] != '{' {
		return true, []headers.Problem{{Rule: headers.PDType, Field: "body", Value: body,
			Why: "a problem must be a JSON object"}}
	}
	var p struct {
		Status *json.Number `json:"status"`
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil || p.Status == nil || o.Status == 0 {
		return true, nil
	}
	if n, err := p.Status.Float64(); err != nil || n != float64(o.Status) {
		want := fmt.Sprint(o.Status)
		return true, []headers.Problem{{Rule: headers.PDStatus, Field: "status", Value: p.Status.String(),
			Why: "it must be the status of the answer", Mend: "write " + want}}
	}
	return true, nil
}

// unjudged names the fields of answers that seem to state a quota or a wait, but whose meaning is unknown,
// and the quotas that are not declared. It may be empty.
func (j *Recording) unjudged(obs []*timeline.Observation) []string {
	read := map[string]bool{}
	var out []string
	for _, o := range obs {
		for _, f := range o.Fields {
			if read[f.Name] {
				continue
			}
			read[f.Name] = true
			if headers.Unread(f.Name) {
				out = append(out, fmt.Sprintf("%s (%s in #%d)", f.Name, text.Quote(f.Value), o.Seq))
			}
		}
	}
	named := map[string]bool{}
	for _, t := range j.tellers() {
		for _, q := range t.quotas {
			about := strings.TrimSpace(string(q.Dialect) + " " + q.Name)
			limit := j.LimitOf(t.o)
			if len(limit) > 0 && !named[about] && t.beside(q, limit) {
				named[about] = true
				out = append(out, fmt.Sprintf("%s (%s in #%d, which is not declared)", about, limitText(q),
					t.o.Seq))
			}
		}
	}
	return out
}
