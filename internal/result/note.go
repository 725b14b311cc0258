package result

import (
	"slices"
	"strings"
)

// Note is something that could not be judged of a run, since the targets never had it and nobody promised it.
// It is no failure.
type Note struct {
	// Unpromised is what is missing. Empty for needs that no promise names, such as an origin behind a proxy.
	Unpromised Promise `json:"unpromised"`
	// Text says it in a few words: sends no Retry-After: recommended.
	Text string `json:"text"`
	// NotJudged are the ids of the scenarios that could not be judged without it. InPart are those that could
	// not be judged in part. Both are in the order of the run, each once. One of them may be empty.
	NotJudged []string `json:"not_judged"`
	InPart    []string `json:"in_part"`
}

// Notes returns what was not judged and does not count, in the order of Promises. The scenarios that
// needed something else follow. Empty: everything was judged.
func (r *Run) Notes() []Note {
	var out []Note
	for _, p := range Promises() {
		n := Note{Unpromised: p, Text: p.Lack()}
		for i := range r.Scenarios {
			n.add(&r.Scenarios[i])
		}
		if lacks := r.lacking(); p == PromiseRateLimit && len(lacks) > 0 {
			n.Text = "states its quota in part, without what " + strings.Join(lacks, ", ") +
				" judges: recommended"
		}
		if len(n.NotJudged)+len(n.InPart) > 0 {
			out = append(out, n)
		}
	}
	out = append(append(out, r.unfit()...), r.unjudged()...)
	other := Note{Text: "lacks what they need (other limits or clients, a proxy, a command)"}
	for i := range r.Scenarios {
		if s := &r.Scenarios[i]; s.Uncounted() && len(s.unpromised()) == 0 && s.Unfit == "" {
			other.NotJudged = append(other.NotJudged, s.ID)
		}
	}
	if len(other.NotJudged) > 0 {
		out = append(out, other)
	}
	return out
}

// lacking returns the claims about the stated quota that could not be judged, each once, if others could: the
// target states a part of its quota. Empty: it states nothing, or all.
func (r *Run) lacking() (ids []string) {
	stated := false
	for i := range r.Scenarios {
		for _, c := range r.Scenarios[i].Claims {
			ours := c.Kind == ClaimFieldsRateLimit || strings.HasPrefix(c.ID, "quota-")
			stated = stated || ours && c.Verdict != Inconclusive
			if c.Unpromised == PromiseRateLimit && !slices.Contains(ids, c.ID) {
				ids = append(ids, c.ID)
			}
		}
	}
	if !stated {
		return nil
	}
	return ids
}

// unjudged returns a note of each thing that answers state and nothing judges.
func (r *Run) unjudged() (out []Note) {
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, c := range s.Claims {
			for _, what := range c.Unjudged {
				name, _, _ := strings.Cut(what, " (")
				at := slices.IndexFunc(out,
					func(n Note) bool { return strings.HasPrefix(n.Text, "states "+name+" (") })
				if at < 0 {
					out = append(out, Note{Text: "states " + what, InPart: []string{s.ID}})
				} else if !slices.Contains(out[at].InPart, s.ID) {
					out[at].InPart = append(out[at].InPart, s.ID)
				}
			}
		}
	}
	return out
}

// unfit returns the notes of what takes more than a scenario may: one note of all scenarios that were not
// begun, and one of each part that was left out.
func (r *Run) unfit() []Note {
	whole := Note{Text: "exceeds a ceiling of time, requests or connections (--dry-run names it)"}
	var parts []Note
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		switch at := slices.IndexFunc(parts, func(n Note) bool { return n.Text == s.Unfit }); {
		case s.Unfit == "":
		case s.Uncounted():
			whole.NotJudged = append(whole.NotJudged, s.ID)
		case at >= 0:
			parts[at].InPart = append(parts[at].InPart, s.ID)
		default:
			parts = append(parts, Note{Text: s.Unfit, InPart: []string{s.ID}})
		}
	}
	if len(whole.NotJudged) > 0 {
		return append([]Note{whole}, parts...)
	}
	return parts
}

// add notes what s could not judge without n.Unpromised.
func (n *Note) add(s *Scenario) {
	switch {
	case !slices.Contains(s.unpromised(), n.Unpromised):
	case s.Uncounted():
		n.NotJudged = append(n.NotJudged, s.ID)
	default:
		n.InPart = append(n.InPart, s.ID)
	}
}

// Uncounted tells whether s says nothing of its target, since something is missing that the target never had.
// That is neither a failure nor a doubt.
func (s *Scenario) Uncounted() bool {
	return s.Verdict == Inconclusive && s.Reason == NeedsFailed
}

// unpromised returns the promises without which claims of s were not judged.
func (s *Scenario) unpromised() []Promise {
	var out []Promise
	for _, c := range s.Claims {
		if c.Unpromised != "" && !slices.Contains(out, c.Unpromised) {
			out = append(out, c.Unpromised)
		}
	}
	return out
}

// String writes a note on one line: not judged: sends no Retry-After: recommended (retry-after; in part
// denial-response).
func (n Note) String() string {
	var where []string
	if len(n.NotJudged) > 0 {
		where = append(where, strings.Join(n.NotJudged, ", "))
	}
	if len(n.InPart) > 0 {
		where = append(where, "in part "+strings.Join(n.InPart, ", "))
	}
	return n.Text + " (not judged: " + strings.Join(where, "; ") + ")"
}

// Promise is a feature that a target may have or lack. A lack is held against it only if the feature was
// promised.
type Promise string

// The promises. The first three are header fields and bodies that standards leave open or that are
// conventions.
const (
	// PromiseRetryAfter: denials carry Retry-After (RFC 6585 section 4: MAY).
	PromiseRetryAfter Promise = "retry-after"
	// PromiseRateLimit: answers state their quota, in RateLimit, RateLimit-Limit, X-RateLimit-Limit or their
	// kin (no standard).
	PromiseRateLimit Promise = "ratelimit"
	// PromiseProblem: denials have a body of type application/problem+json (RFC 9457 asks nobody to send it).
	PromiseProblem Promise = "problem"
	// PromiseCost: a request takes as many units as its field X-Cost says.
	PromiseCost Promise = "cost"
	// PromiseMethods: the route answers the methods that are sent.
	PromiseMethods Promise = "methods"
)

// Promises returns all promises, in the order of the documentation.
func Promises() []Promise {
	return append(RecommendedPromises(), PromiseCost, PromiseMethods)
}

// RecommendedPromises returns the promises that are recommended to all limiters. A strict run takes them as
// given.
func RecommendedPromises() []Promise {
	return []Promise{PromiseRetryAfter, PromiseRateLimit, PromiseProblem}
}

// Lack says what is missing if p was never seen: sends no Retry-After (recommended).
func (p Promise) Lack() string {
	switch p {
	case PromiseRetryAfter:
		return "sends no Retry-After: recommended"
	case PromiseRateLimit:
		return "states no quota in RateLimit or X-RateLimit fields: recommended"
	case PromiseProblem:
		return "sends no application/problem+json with denials: recommended"
	case PromiseCost:
		return "takes no costs from X-Cost"
	case PromiseMethods:
		return "does not answer every method"
	default:
		return "has no " + string(p)
	}
}
