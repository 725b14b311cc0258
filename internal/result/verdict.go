package result

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Verdict is the judgement in a word. The zero value is Inconclusive, so nothing passes or fails by accident.
type Verdict uint8

// The verdicts.
const (
	Inconclusive Verdict = iota
	Pass
	Fail
)

// String returns the word used in JSON: pass, fail or inconclusive.
func (v Verdict) String() string {
	switch v {
	case Pass:
		return "pass"
	case Fail:
		return "fail"
	default:
		return "inconclusive"
	}
}

// MarshalText returns String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what String returns.
func (v *Verdict) UnmarshalText(word []byte) error {
	for *v = Inconclusive; *v <= Fail; *v++ {
		if v.String() == string(word) {
			return nil
		}
	}
	return fmt.Errorf("verdict %q: a verdict must be pass, fail or inconclusive", word)
}

// Worst returns the worse of two verdicts: Fail before Inconclusive before Pass.
func Worst(a, b Verdict) Verdict {
	if a == Fail || b == Fail {
		return Fail
	}
	return min(a, b)
}

// Reason is why a verdict is Inconclusive. Empty for other verdicts.
type Reason string

// The closed list of reasons.
const (
	ScheduleMissed     Reason = "schedule-missed"
	Unreachable        Reason = "unreachable"
	SetupFailed        Reason = "setup-failed"
	NeedsFailed        Reason = "needs-failed"
	TooFew             Reason = "too-few"
	ForeignTraffic     Reason = "foreign-traffic"
	UnclassifiedStatus Reason = "unclassified-status"
	SearchLimit        Reason = "search-limit"
	Interrupted        Reason = "interrupted"
)

// Kind names what a finding found.
type Kind string

// The kinds of the conformance judge.
const (
	OverAdmission  Kind = "over-admission"
	UnderAdmission Kind = "under-admission"
	NoExplanation  Kind = "no-explanation"
)

// Finding is one proved contradiction: the fewest observations that prove it, what was seen, and the bound.
type Finding struct {
	Kind      Kind   `json:"kind"`
	Partition string `json:"partition,omitempty"`
	// Seen and Bound are the integers that Text is printed from. Over-admission: the units admitted, and the
	// most that were possible. Under-admission: the units that could have been in use, and the fewest that a
	// denial needs.
	Seen  int64 `json:"seen"`
	Bound int64 `json:"bound"`
	// From and To are the span of the witness, from its first Sent to its last FirstByte.
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
	// Observations are the Seq numbers of the witness, ascending.
	Observations []int `json:"observations"`
	// Text is the arithmetic in one sentence with units, without the partition.
	Text string `json:"text"`
	// Limit is the SPEC of the limit of a partition that has its own. Empty: the limit that was judged.
	Limit string `json:"limit,omitempty"`
	// Rule is the id of the rule on which the finding rests, such as RA-SYNTAX. Empty: it rests on an
	// expectation of the scenario alone.
	Rule string `json:"rule,omitempty"`
	// Beyond: the witness changes who the client is or what it asks for, or something happened to the target
	// meanwhile. The finding then says nothing of the declared limit itself.
	Beyond bool `json:"beyond_limit,omitempty"`
}

// Members returns the Observations as a set.
func (f *Finding) Members() map[int]bool {
	in := make(map[int]bool, len(f.Observations))
	for _, seq := range f.Observations {
		in[seq] = true
	}
	return in
}

// Claim is the verdict on one expectation of a scenario: conformance, a header field, a latency.
type Claim struct {
	// ID is stable: conformance, retry-after-honored, storm-fixed, ... Kind is what the claim is about.
	ID      string    `json:"id"`
	Kind    ClaimKind `json:"kind"`
	Verdict Verdict   `json:"verdict"`
	// Required: in a report, a FAIL of the claim counts without --strict (Scenario.Required).
	Required bool   `json:"required,omitempty"`
	Reason   Reason `json:"reason"`
	// Text says in one sentence what was seen.
	Text     string    `json:"text"`
	Findings []Finding `json:"findings"`
	// Unpromised is what the target was never seen to have and did not promise, so that the claim could not
	// be judged. The claim is then Inconclusive (needs-failed), and does not weigh on the verdict of its
	// scenario. Empty for every other claim.
	Unpromised Promise `json:"unpromised,omitempty"`
	// Moot: the answers leave nothing to compare, such as two dialects. The claim is then Inconclusive
	// (needs-failed), and does not weigh. Moot and Unpromised: the target has the same in another form.
	Moot bool `json:"moot,omitempty"`
	// Unjudged are things that answers state and nothing judges, each with an example. May be empty.
	Unjudged []string `json:"unjudged,omitempty"`
	// Chances are what a Pass rests on.
	Chances Chances `json:"chances,omitzero"`
	// Compared are the attributes that a claim of kind ClaimAttributes compared, in their order. nil for all
	// other claims.
	Compared []Comparison `json:"compared,omitempty"`
}

// Comparison says whether the requests of one client that differ in one attribute draw on one quota.
type Comparison struct {
	// Attribute is what differs. Plain and Other are what the two kinds of requests send.
	Attribute string `json:"attribute"`
	Plain     string `json:"plain"`
	Other     string `json:"other"`
	// Expected is shared, separate or either. Observed is shared, separate, unlimited or "not shown".
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	// Detail says why nothing is shown, or which numbers show it.
	Detail  string  `json:"detail"`
	Verdict Verdict `json:"verdict"`
}

// Failed tells whether the observed result is not the expected one.
func (c Comparison) Failed() bool { return c.Verdict == Fail }

// Findings returns the findings of the judge, in the order of partitions, each with its partition. For a
// scenario that was read without a judgement, it returns those of the claim of conformance. May be empty.
func (s *Scenario) Findings() []Finding {
	var out []Finding
	if s.Judgement != nil {
		for _, p := range s.Judgement.Failed() {
			for _, f := range p.Findings {
				f.Partition = p.Partition
				out = append(out, f)
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	for i := range s.Claims {
		if s.Claims[i].ID == string(ClaimConformance) {
			out = append(out, s.Claims[i].Findings...)
		}
	}
	return out
}

// AttributeFindings returns the findings on attributes, in the order of the claims. ok=false: no attribute
// was compared.
func (s *Scenario) AttributeFindings() (out []Finding, ok bool) {
	for i := range s.Claims {
		if len(s.Claims[i].Compared) > 0 {
			out, ok = append(out, s.Claims[i].Findings...), true
		}
	}
	return out, ok
}

// FirstByte prints when the answer to o began, in seconds, or "never" if none came.
func FirstByte(o *timeline.Observation) string {
	if !o.Answered {
		return "never"
	}
	return text.Seconds(o.FirstByte)
}

// Sum returns the worst verdict of the claims that count, with the reason and detail of the first
// inconclusive one. Unpromised and moot claims do not count. The verdict is needs-failed if no claim counts,
// or if the target lacks the promise that the scenario is about. A claim that passes on too few chances
// becomes Inconclusive in claims itself.
func Sum(claims []Claim, about Promise) (v Verdict, r Reason, detail string) {
	if len(claims) == 0 {
		return Inconclusive, TooFew, "the scenario expects nothing"
	}
	v = Pass
	counted, missing := 0, -1
	for i := range claims {
		claims[i] = claims[i].weighed()
		c := &claims[i]
		if c.Unpromised != "" || c.Moot {
			if missing < 0 || lacks(c, about) && !lacks(&claims[missing], about) {
				missing = i
			}
			continue
		}
		counted++
		v = Worst(v, c.Verdict)
		if c.Verdict == Inconclusive && r == "" {
			r, detail = c.Reason, c.ID+": "+c.Text
		}
	}
	switch {
	case v == Fail:
		return v, "", ""
	case missing >= 0 && (counted == 0 || lacks(&claims[missing], about)):
		return Inconclusive, NeedsFailed, claims[missing].ID + ": " + claims[missing].Text
	case v == Inconclusive:
		return v, r, detail
	default:
		return v, "", ""
	}
}

// lacks tells whether c could not be judged for want of what its scenario is about.
func lacks(c *Claim, about Promise) bool { return about != "" && c.Unpromised == about && !c.Moot }

// CountsText prints the numbers that must add up as two equations, such as 3 planned = 3 sent + 0 unsent; 3
// sent = 2 allowed + 1 denied + 0 unknown. An equation that does not hold has != in place of =.
func CountsText(c timeline.Counts) string {
	unsent := "unsent"
	if c.Lost > 0 {
		unsent = "unsent or not known"
	}
	planned := fmt.Sprintf("%s planned %s %s sent + %s %s", text.Thousands(c.Planned),
		equals(c.Planned == c.Sent+c.Unsent), text.Thousands(c.Sent), text.Thousands(c.Unsent),
		unsent)
	sent := fmt.Sprintf("%s sent %s %s allowed + %s denied + %s unknown", text.Thousands(c.Sent),
		equals(c.Sent == c.Allowed+c.Denied+c.Unknown), text.Thousands(c.Allowed),
		text.Thousands(c.Denied), text.Thousands(c.Unknown))
	return planned + "; " + sent
}

func equals(holds bool) string {
	if holds {
		return "="
	}
	return "!="
}

// Unsent says how many requests are missing from what was planned.
func Unsent(c timeline.Counts) string {
	if c.Lost > 0 {
		return fmt.Sprintf("%d of %d planned requests were not sent, or it is not known", c.Unsent, c.Planned)
	}
	return fmt.Sprintf("%d of %d planned requests were not sent", c.Unsent, c.Planned)
}
