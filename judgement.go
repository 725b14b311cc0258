package rlcheck

import (
	"fmt"
	"math"
	"strings"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Verdict is a judgement in a word. The zero value is Inconclusive, so nothing passes or fails by accident.
type Verdict int

// The verdicts.
const (
	// Inconclusive: the recording cannot tell. Judgement.Reason says why.
	Inconclusive Verdict = iota
	// Pass: decision times and an order exist that the limit explains, and the recording could have shown a
	// limit that admits too much.
	Pass
	// Fail: none exist. Judgement.Proof has the requests that show it.
	Fail
)

// String returns inconclusive, pass or fail.
func (v Verdict) String() string {
	switch v {
	case Pass:
		return result.Pass.String()
	case Fail:
		return result.Fail.String()
	default:
		return result.Inconclusive.String()
	}
}

// Reason is why a verdict is Inconclusive. It is empty for other verdicts.
type Reason string

// The reasons.
const (
	// TooFew: too little was asked or answered for a wrong limiter to show.
	TooFew Reason = Reason(result.TooFew)
	// Unanswered: no request got an answer.
	Unanswered Reason = Reason(result.Unreachable)
	// Unclassified: answers were neither admissions nor denials.
	Unclassified Reason = Reason(result.UnclassifiedStatus)
	// ForeignTraffic: requests that are not in the recording may explain it (see [Shared]).
	ForeignTraffic Reason = Reason(result.ForeignTraffic)
	// SearchLimit: the recording is too large, or its requests overlap too much, to try all orders.
	SearchLimit Reason = Reason(result.SearchLimit)
	// Malformed: a request has no time, or was answered before it was sent. Nothing was judged.
	Malformed Reason = "malformed"
)

// Judgement is what a recording says of a limit.
type Judgement struct {
	// Limit is what was judged.
	Limit   Limit
	Verdict Verdict
	// Reason and Detail say why the verdict is Inconclusive; Detail is a sentence. Both are empty otherwise.
	Reason Reason
	Detail string
	// Proof proves a Fail; the zero value otherwise.
	Proof Proof
	// Hint names, for a Fail, a limit that would explain the recording. It may be empty.
	Hint string
	// Measured is what a Pass is worth: one for each policy of the limit, in their order. nil if nothing was
	// measured.
	Measured []Measured
	// Chances are what a Pass rests on.
	Chances Chances
	// Kind is the SPEC of the limit that Measured and Proof are about: Limit itself, or for any:RATE the kind
	// of limit that explains the recording. It is empty if no kind does.
	Kind string

	lines []string
}

// ProofKind is what a proof shows. It is empty where the limit has the form any:, as each kind breaks in its
// own way.
type ProofKind string

// The kinds of proofs.
const (
	// OverAdmission: more was admitted than the limit can admit.
	OverAdmission ProofKind = ProofKind(result.OverAdmission)
	// UnderAdmission: a request was denied that had room.
	UnderAdmission ProofKind = ProofKind(result.UnderAdmission)
	// NoExplanation: each answer alone is right, and nothing explains all of them.
	NoExplanation ProofKind = ProofKind(result.NoExplanation)
)

// Proof is the fewest requests that no decision times explain. Judged alone they fail again.
type Proof struct {
	Kind ProofKind
	// Text is the arithmetic in a sentence with units.
	Text string
	// Requests are the indices of the requests, ascending. If one policy was broken by admissions, each of
	// them is needed.
	Requests []int
}

// Chances is how often a recording could have shown a limiter that admits too much.
type Chances struct {
	// Seen counts them. A Pass needs at least Needed.
	Seen, Needed int
	// Of names them in the plural: "clients that came back before their quota did".
	Of string
}

// Measured is what a recording says of one policy, each parameter with the others as they are declared.
type Measured struct {
	// Burst is in units: the burst of a bucket, the places of a queue, the quota of a window.
	Burst Interval
	// Rate is in units per second. Of a window, it is the quota over its measured length.
	Rate Interval
}

// Interval has the values that the recording does not refute. An end that nothing bounds is infinite.
type Interval struct{ Lo, Hi float64 }

// String returns LO..HI.
func (v Interval) String() string { return fmt.Sprintf("%.6g..%.6g", v.Lo, v.Hi) }

// String returns what the command prints: the verdict, and what it rests on. It has several lines for a Fail.
func (j Judgement) String() string {
	if j.lines == nil {
		return fmt.Sprintf("INCONCLUSIVE  %s: %s", j.Reason, j.Detail)
	}
	return strings.Join(j.lines, "\n")
}

// judged judges a recording by one kind of limit.
func judged(l Limit, tl *timeline.Timeline, kind spec.Limit, o check.Options) Judgement {
	out := Judgement{Limit: l, Kind: kind.String()}
	j, err := check.Judge(tl, kind, o)
	if err != nil {
		out.Reason, out.Detail = SearchLimit, err.Error()
		return out
	}
	j.Weigh()
	c := j.Chances()
	out.Chances = Chances{c.Seen, max(1, c.Demanded), c.Of}
	out.Verdict, out.Reason, out.Detail, out.Hint = verdictOf(j.Verdict), Reason(j.Reason), j.Detail, j.Hint
	for i := range kind {
		m := j.Measured.Of(i, len(kind))
		out.Measured = append(out.Measured, Measured{intervalOf(m.Burst), intervalOf(m.Rate)})
	}
	for i := range j.Partitions {
		result.NameRules(result.ClaimConformance, j.Partitions[i].Findings)
	}
	worth := strings.Join(result.Worth(kind, j), ", ")
	if len(l.kinds) > 1 {
		worth = "as " + out.Kind + ": " + worth
	}
	out.lines = j.Lines(false, worth)
	for i := range j.Partitions {
		if found := j.Partitions[i].Findings; len(found) > 0 && out.Proof.Text == "" {
			out.Proof = Proof{ProofKind(found[0].Kind), found[0].Text, found[0].Observations}
		}
	}
	return out
}

func verdictOf(v result.Verdict) Verdict {
	switch v {
	case result.Pass:
		return Pass
	case result.Fail:
		return Fail
	default:
		return Inconclusive
	}
}

func intervalOf(v result.Interval) Interval {
	out := Interval{math.Inf(-1), math.Inf(1)}
	if v.LoSet {
		out.Lo = v.Lo
	}
	if v.HiSet {
		out.Hi = v.Hi
	}
	return out
}
