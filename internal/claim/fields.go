package claim

import (
	"fmt"
	"slices"

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

// fields judges that every answer, or every denial, has the fields of a group, and that they break no binding
// rule of their syntax. The kind of the claim is "fields-" and the group. Fields that are never sent fail
// only if they are promised, or if a standard asks for them. Broken conventions are reported and do not fail.
func (r *Recording) fields(name Group) result.Claim {
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
