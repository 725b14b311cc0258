package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// PartitionVerdict is the verdict on one partition.
type PartitionVerdict struct {
	Partition string  `json:"partition"`
	Verdict   Verdict `json:"verdict"`
	Reason    Reason  `json:"reason"`
	// Detail explains the reason of an Inconclusive verdict in a sentence. May be empty.
	Detail string `json:"detail,omitempty"`
	// Findings is not empty if Verdict is Fail, and empty otherwise.
	Findings []Finding `json:"findings"`
	Measured Measured  `json:"measured"`
	// Judged is the number of observations with a known outcome.
	Judged int `json:"judged"`
	// Left is the number of observations that were not judged, as the partition is too large. They are its
	// last ones.
	Left int `json:"left,omitempty"`
	// Asked: it was sent more than the limit can admit. Tested: enough of that was answered, and soon enough,
	// so that admitting all of it would have failed.
	Asked  bool `json:"asked"`
	Tested bool `json:"tested"`
	// Held is the least time that its answers took, if it would be tested by a limit that says so.
	Held time.Duration `json:"held_ns,omitempty"`
	// Returned: it came back after an event that may have made the target forget it, or after so many Others.
	// Remembered: a limiter that forgets it at each event of one kind, or after as many others, and then
	// admits one more quota, would have failed.
	Returned   bool `json:"returned,omitempty"`
	Remembered bool `json:"remembered,omitempty"`
	Others     int  `json:"others,omitempty"`
	// Blurred are wrong ways to count from which the recording does not tell the target, though its costs or
	// its clients are such that it could. Apart are those from which it does. Each says what such a gateway
	// does.
	Blurred []string `json:"blurred,omitempty"`
	Apart   []string `json:"apart,omitempty"`
	// Search is the work of the exact search in this partition. The zero value: nothing was searched.
	Search Search `json:"search,omitzero"`
}

// Search is the work of an exact search. Visited is how many decisions it tried: if a limiter remembers more
// than three times, each counts as several. Cap is the most that it tries for one phase of the windows. That
// leaves out what it spends on looking for an explanation along few branches. Capped: it reached the cap and
// proved nothing there.
type Search struct {
	Visited int  `json:"visited"`
	Cap     int  `json:"cap"`
	Capped  bool `json:"capped"`
}

// IsZero tells that nothing was searched.
func (s Search) IsZero() bool { return s.Visited == 0 }

// Schema is the member of a JSON document that names its form: always the same text.
type Schema struct{}

// MarshalText returns the name of the form of a Judgement.
func (Schema) MarshalText() ([]byte, error) { return []byte("rlcheck.verdict/v1"), nil }

// UnmarshalText reads any name.
func (Schema) UnmarshalText([]byte) error { return nil }

// Judgement is the verdict on a timeline. Its JSON is rlcheck.verdict/v1.
type Judgement struct {
	Schema  Schema  `json:"schema"`
	Verdict Verdict `json:"verdict"`
	Reason  Reason  `json:"reason"`
	Detail  string  `json:"detail,omitempty"`
	// Partitions ascend by name.
	Partitions []PartitionVerdict `json:"partitions"`
	// Measured is the intersection of the intervals of all partitions.
	Measured Measured `json:"measured"`
	// Hint names, for a Fail, a limit that explains the whole recording, or says that no tried limit does.
	// Empty: none was looked for.
	Hint string `json:"hint,omitempty"`
	// Diagnosis is, for a Fail, what a reader needs to know before any finding. nil: none was found or looked
	// for.
	Diagnosis *Diagnosis `json:"diagnosis,omitempty"`
	// Explanations are the limits of Hint, one of each kind, the nearest first. nil: none was found.
	Explanations []Explanation `json:"explanations,omitempty"`
	// Unresolved: each partition keeps the limit, and the verdict is no Pass only because too little was
	// measured. The other recordings of a run may show the rest.
	Unresolved bool `json:"-"`
	// Claims are the claims on clients of which it is the sum. Empty for a judgement on a limiter.
	Claims []Claim `json:"claims,omitempty"`
}

// Explanation is a limit that explains a whole recording: all partitions, judged on the side that was asked
// for.
type Explanation struct {
	// Text names the limit in a few words.
	Text  string     `json:"text"`
	Limit spec.Limit `json:"spec"`
	// Sure: the recording passes. Otherwise no proof against the limit was found, but not every order of
	// requests was tried.
	Sure bool `json:"sure"`
}

// Diagnosis is what a failing recording shows as a whole. It names one cause of all findings, so its reader
// needs it first.
type Diagnosis struct {
	Kind DiagnosisKind `json:"kind"`
	// Text says in one sentence what the cause seems to be, and what to try.
	Text string `json:"text"`
	// Why says in one sentence which judgements of the recording led to Text.
	Why string `json:"why"`
}

// DiagnosisKind names what a diagnosis found.
type DiagnosisKind string

// The diagnoses. SharedQuota: clients that are told apart share one quota. ToldByField: the target tells
// clients apart by a field that a client can invent.
const (
	SharedQuota DiagnosisKind = "shared-quota"
	ToldByField DiagnosisKind = "told-by-field"
)

// Merge returns the judgement on a recording of which several limits each judged a part, in the order of the
// limits. It leaves out the measured values if there is more than one limit, as each has its own.
func Merge(js []*Judgement) *Judgement {
	all := &Judgement{Verdict: Pass}
	if len(js) == 1 {
		all.Measured = js[0].Measured
	}
	for _, j := range js {
		if all.Verdict = Worst(all.Verdict, j.Verdict); j.Verdict == Inconclusive && all.Reason == "" {
			all.Reason, all.Detail = j.Reason, j.Detail
		}
		if all.Hint == "" {
			all.Hint, all.Explanations = j.Hint, j.Explanations
		}
		if all.Diagnosis == nil {
			all.Diagnosis = j.Diagnosis
		}
		all.Partitions = append(all.Partitions, j.Partitions...)
	}
	slices.SortStableFunc(all.Partitions, func(a, b PartitionVerdict) int {
		return strings.Compare(a.Partition, b.Partition)
	})
	if all.Verdict != Inconclusive {
		all.Reason, all.Detail = "", ""
	}
	return all
}

// Joined returns verdicts that ascend by partition, with those on several lives of a partition as one.
func Joined(all []PartitionVerdict) (out []PartitionVerdict) {
	for i := range all {
		n, v := len(out)-1, &all[i]
		if n < 0 || out[n].Partition != v.Partition {
			out = append(out, *v)
			continue
		}
		p := &out[n]
		if few := p.Verdict == Inconclusive && p.Reason == TooFew; few || v.Verdict != p.Verdict &&
			(v.Verdict == Fail || v.Verdict == Inconclusive && v.Reason != TooFew && p.Verdict != Fail) {
			p.Verdict, p.Reason, p.Detail = v.Verdict, v.Reason, v.Detail
		}
		p.Findings, p.Measured = append(p.Findings, v.Findings...), p.Measured.Intersect(v.Measured)
		p.Judged, p.Asked, p.Tested = p.Judged+v.Judged, p.Asked || v.Asked, p.Tested || v.Tested
		p.Search.Visited, p.Search.Cap = p.Search.Visited+v.Search.Visited, max(p.Search.Cap, v.Search.Cap)
		p.Search.Capped = p.Search.Capped || v.Search.Capped
	}
	return out
}

// Chances are what a Pass of j rests on: the clients that a wrong limiter could have admitted too much. At
// least half of those that were sent more than the limit admits must have been answered. If clients came back
// after something that may have made the target forget them, a Pass also needs one that shows it, and rests
// on these.
func (j *Judgement) Chances() Chances {
	asked, tested, returned, remembered, others, held := 0, 0, 0, 0, 0, time.Duration(0)
	for i := range j.Partitions {
		p := &j.Partitions[i]
		asked, tested = asked+one(p.Asked), tested+one(p.Tested)
		returned, remembered = returned+one(p.Returned), remembered+one(p.Remembered)
		others, held = max(others, p.Others), max(held, p.Held)
	}
	over := Chances{Seen: tested, Demanded: max(1, (asked+1)/2),
		Of: "clients that were answered more often than the limit admits"}
	if held > 0 && over.Short() != "" {
		over.Of += fmt.Sprintf(" (a charge may come at any time before an answer ends: declare hold=%s.. if "+
			"none takes less)", held.Truncate(10*time.Millisecond))
	}
	if over.Short() != "" {
		return over
	}
	for i := range j.Partitions {
		for _, wrong := range j.Partitions[i].Blurred {
			if !slices.ContainsFunc(j.Partitions,
				func(p PartitionVerdict) bool { return slices.Contains(p.Apart, wrong) }) {
				return Chances{Demanded: 1, Of: "clients that tell the target from a gateway that " + wrong}
			}
		}
	}
	if returned == 0 {
		return over
	}
	back := Of(remembered, "clients that came back before their quota did")
	if others > 0 {
		back.Of += fmt.Sprintf(", after %s others", text.Thousands(others))
	}
	return back
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Weigh makes a Pass of j that rests on too few chances Inconclusive (too-few). Other recordings do not
// resolve it: what could have failed in them could not in this one.
func (j *Judgement) Weigh() {
	short := j.Chances().Short()
	j.Unresolved = j.Unresolved && short == ""
	if j.Verdict == Pass && short != "" {
		j.Verdict, j.Reason, j.Detail = Inconclusive, TooFew, short
	}
}

// Own notes in the findings of j the limit that judged them. It is for a recording of which other parts have
// another limit, or none.
func (j *Judgement) Own(limit string) {
	for i := range j.Partitions {
		for k := range j.Partitions[i].Findings {
			j.Partitions[i].Findings[k].Limit = limit
		}
	}
}

// Doubt turns each Fail of j into an Inconclusive for a reason: the recording proves nothing against the
// limiter.
func (j *Judgement) Doubt(r Reason, detail string) {
	if j.Verdict != Fail {
		return
	}
	j.Verdict, j.Reason, j.Detail = Inconclusive, r, detail
	j.Hint, j.Explanations, j.Diagnosis = "", nil, nil
	for i := range j.Partitions {
		if p := &j.Partitions[i]; p.Verdict == Fail {
			p.Verdict, p.Reason, p.Detail, p.Findings = Inconclusive, r, detail, nil
		}
	}
}

// Failed returns the partitions that fail, those first that show the largest quota.
func (j *Judgement) Failed() (out []*PartitionVerdict) {
	for i := range j.Partitions {
		if p := &j.Partitions[i]; len(p.Findings) > 0 {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *PartitionVerdict) int {
		return cmp.Compare(b.Measured.Burst.Lo, a.Measured.Burst.Lo)
	})
	return out
}

// Conformance says which side of a limit is judged.
type Conformance string

// The sides. The zero value means Exact: both.
const (
	Exact      Conformance = "exact"
	UpperBound Conformance = "upper-bound"
	LowerBound Conformance = "lower-bound"
)

// Chances says what a Pass rests on: how often the recording could have shown the fault that the claim is
// about. Unknown outcomes are no chances.
type Chances struct {
	// Seen counts them. Demanded is how many a Pass needs, 0: 1.
	Seen     int `json:"seen"`
	Demanded int `json:"demanded"`
	// Of names them in the plural: "denials whose fields were read".
	Of string `json:"of"`
}

// Of returns n chances of which a Pass needs one.
func Of(n int, of string) Chances { return Chances{Seen: n, Demanded: 1, Of: of} }

// Short says that there were fewer chances than a Pass needs. Empty: there were enough.
func (c Chances) Short() string {
	need := max(1, c.Demanded)
	switch {
	case c.Of == "":
		return "nothing is known that could have shown a fault"
	case c.Seen == 0:
		return fmt.Sprintf("there are no %s, and a PASS needs %d", c.Of, need)
	case c.Seen < need:
		return fmt.Sprintf("a PASS needs %d %s, and there %s", need, c.Of,
			map[bool]string{true: "is only 1", false: fmt.Sprintf("are only %d", c.Seen)}[c.Seen == 1])
	default:
		return ""
	}
}

// Basis says what a Pass rests on: rests on 80 chances (denials whose fields were read). Empty: c is no Pass.
func (c *Claim) Basis() string {
	if c.Verdict != Pass || c.Chances.Of == "" {
		return ""
	}
	return fmt.Sprintf("rests on %s (%s)", text.Plural(c.Chances.Seen, "chance"), c.Chances.Of)
}

// Settle returns a claim that was judged. It is a Fail with at least one finding, a Pass with none, and
// Inconclusive (too-few) with none and fewer chances than a Pass needs. text says what was seen.
func Settle(id, text string, chances Chances, findings ...Finding) Claim {
	c := Claim{ID: id, Verdict: Pass, Text: text, Findings: findings, Chances: chances}
	if len(findings) > 0 {
		c.Verdict = Fail
	}
	return c.weighed()
}

// weighed returns c. A Pass that rests on too few chances is Inconclusive (too-few).
func (c Claim) weighed() Claim {
	if short := c.Chances.Short(); c.Verdict == Pass && short != "" {
		c.Verdict, c.Reason, c.Text = Inconclusive, TooFew, short+" ("+c.Text+")"
	}
	return c
}
