package claim

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/claim/answer"
	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// group is how one group of fields is judged.
type group struct {
	// what names the fields in a sentence, deniedOnly tells that only denials must have them.
	what       string
	deniedOnly bool
	// inBody tells that it is read in the body, which answers to HEAD do not have.
	inBody bool
	// read returns whether an answer has the fields, and the rules they break.
	read func(o *timeline.Observation) (present bool, problems []headers.Problem)
}

// groupOf returns how g is judged, and whether it is a known group.
func groupOf(g FieldGroup) (group, bool) {
	switch g {
	case RetryAfterField:
		return group{"Retry-After", true, false, readRetryAfter}, true
	case RateLimitFields:
		return group{"fields that tell the quota", false, false, readQuotas}, true
	case DateField:
		return group{"Date", false, false, readDate}, true
	case ProblemBody:
		return group{"body of type application/problem+json", true, true, readProblem}, true
	case NoStore:
		return group{"leave to be stored by no cache", true, false, readStorable}, true
	case Explanation:
		return group{"body that explains it", true, true, readExplanation}, true
	default:
		return group{}, false
	}
}

// fields judges that every answer, or every denial, has the fields of a group, and that they break no binding
// rule of their syntax. Fields that are never sent fail only where they are promised, or where a standard
// asks for them. Conventions that are broken are told, they do not fail.
func (r *recording) fields(name FieldGroup) verdict.Claim {
	c := r.group(name, "fields-"+string(name))
	c.Kind = verdict.ClaimKind(c.ID)
	return c
}

// group is fields, as the claim with an id.
func (r *recording) group(name FieldGroup, id string) verdict.Claim {
	g, ok := groupOf(name)
	if !ok {
		return verdict.Claim{ID: id, Reason: verdict.SetupFailed, Text: "no group of fields is named " +
			phrase.Quote(string(name))}
	}
	noun, obs := "answer", answer.Only(r.Target, heard)
	if g.deniedOnly {
		if r.neverHeard() {
			return unheard(id)
		}
		noun, obs = "denial", answer.Denied(obs)
	}
	if g.inBody {
		obs = answer.Only(obs, func(o *timeline.Observation) bool {
			return !slices.Contains(r.bodiless, o.Phase)
		})
	}
	if len(obs) == 0 {
		return finding.TooFew(id, "there is no "+noun+" with a known outcome")
	}
	if !r.KeepsFields() {
		return finding.TooFew(id, "the recording keeps no header fields")
	}
	if p, ok := promiseOf(name); ok && r.lacks(p) {
		return finding.Unpromised(id, p, len(obs), noun, g.what)
	}
	c := judgeGroup(id, noun, g, obs)
	if name == RetryAfterField {
		return r.admittedToo(c)
	}
	return c
}

// heard tells whether an answer came: a denial may be the end of its connection, where the target declares
// that. Then there is no status, no field and no body to judge.
func heard(o *timeline.Observation) bool {
	return o.Outcome != timeline.Denied || o.Status != 0 || len(o.Fields) > 0 || o.Body != ""
}

// neverHeard tells whether requests were denied, and no answer said so, though the recording keeps answers.
func (r *recording) neverHeard() bool {
	denials := answer.Denied(r.Target)
	return len(denials) > 0 && r.KeepsFields() && !slices.ContainsFunc(denials, heard)
}

// unheard is the verdict of a claim on the answers to denied requests where none was answered.
func unheard(id string) verdict.Claim {
	return verdict.Claim{ID: id, Reason: verdict.NeedsFailed, Text: "no denial was answered"}
}

// judgeGroup judges the fields of obs, which is not empty.
func judgeGroup(id, noun string, g group, obs []*timeline.Observation) verdict.Claim {
	var missing, invalid []*timeline.Observation
	// A convention binds where the answer tells nothing because of it.
	binding, loose := finding.Broken{}, finding.Broken{}
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
	var findings []verdict.Finding
	if len(missing) > 0 {
		findings = append(findings, finding.Witness(verdict.Finding{Kind: verdict.FieldMissing,
			Seen: int64(len(missing)),
			Text: fmt.Sprintf("%d of %s lack %s: %s%s", len(missing), phrase.Plural(len(obs), noun), g.what,
				phrase.Seqs(missing), byOutcome(missing, obs))},
			missing...))
	}
	findings = append(findings, binding.Findings(len(obs), noun, g.what)...)
	good := len(obs) - len(missing) - len(invalid)
	return finding.Settle(id, fmt.Sprintf("%d of %s have a valid %s%s", good, phrase.Plural(len(obs), noun),
		g.what, loose.Note()), findings)
}

// byOutcome says which of obs lack a field, where it is all of one outcome and none of the other.
func byOutcome(missing, obs []*timeline.Observation) string {
	d, all := len(answer.Denied(missing)), len(answer.Denied(obs))
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

// admittedToo judges the syntax of Retry-After in answers that were admitted, too, and says how many have
// one: no standard says what it means there. Some limiters send when the quota is whole again.
func (r *recording) admittedToo(c verdict.Claim) verdict.Claim {
	var bad finding.Broken
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
	text := fmt.Sprintf("%s; sent, judged for its syntax only: Retry-After in %s", c.Text,
		phrase.Plural(n, noun))
	return finding.Settle(c.ID, text, append(c.Findings, bad.Findings(n, noun, "Retry-After")...))
}

// readRetryAfter reads Retry-After: present, and every rule of its syntax.
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

// readDate reads Date.
func readDate(o *timeline.Observation) (bool, []headers.Problem) {
	v, ok := o.Fields.Get("Date")
	if !ok {
		return false, nil
	}
	return true, headers.Problems(headers.CheckDate(v))
}

// readQuotas reads the quota in any dialect: present if one tells a limit or what remains of it.
func readQuotas(o *timeline.Observation) (bool, []headers.Problem) {
	base, _ := answer.Date(o)
	quotas, problems := headers.Quotas(o.Fields.Get, base)
	tells := func(q headers.Quota) bool { return q.HasLimit || q.HasRemaining }
	return slices.ContainsFunc(quotas, tells), problems
}
