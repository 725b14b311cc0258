package document

import (
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

type jsonJudgement struct {
	Schema     string          `json:"schema"`
	Verdict    string          `json:"verdict"`
	Reason     string          `json:"reason"`
	Detail     string          `json:"detail,omitempty"`
	Partitions []jsonPartition `json:"partitions"`
	Measured   jsonMeasured    `json:"measured"`
	Hint       string          `json:"hint,omitempty"`
	Diagnosis  *jsonDiagnosis  `json:"diagnosis,omitempty"`
	// Explanations are the limits that explain the whole recording, the nearest first.
	Explanations []jsonExplanation `json:"explanations,omitempty"`
	// Claims are the claims on clients.
	Claims []jsonClaim `json:"claims,omitempty"`
}

// jsonExplanation is a limit as a SPEC. sure: the recording passes.
type jsonExplanation struct {
	Text string `json:"text"`
	Spec string `json:"spec"`
	Sure bool   `json:"sure"`
}

type jsonDiagnosis struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Why  string `json:"why"`
}

type jsonPartition struct {
	Partition string        `json:"partition"`
	Verdict   string        `json:"verdict"`
	Reason    string        `json:"reason"`
	Detail    string        `json:"detail,omitempty"`
	Findings  []jsonFinding `json:"findings"`
	Measured  jsonMeasured  `json:"measured"`
	Judged    int           `json:"judged"`
	Search    *jsonSearch   `json:"search,omitempty"`
}

type jsonSearch struct {
	Visited int  `json:"visited"`
	Cap     int  `json:"cap"`
	Capped  bool `json:"capped"`
}

type jsonFinding struct {
	Kind         string `json:"kind"`
	Partition    string `json:"partition,omitempty"`
	Seen         int64  `json:"seen"`
	Bound        int64  `json:"bound"`
	FromNS       int64  `json:"from_ns"`
	ToNS         int64  `json:"to_ns"`
	Observations []int  `json:"observations"`
	Text         string `json:"text"`
	Limit        string `json:"limit,omitempty"`
	Rule         string `json:"rule,omitempty"`
}

// jsonMeasured has intervals [lo, hi]. An end that no observation bounds is null. An interval without ends,
// [], is empty: no value explains the recording.
type jsonMeasured struct {
	Burst []*float64  `json:"burst"`
	Rate  []*float64  `json:"rate_per_s"`
	Phase *[2]float64 `json:"phase_ns,omitempty"`
	// Policies has, for a limit of several policies, what was measured of each. The fields above are then
	// null.
	Policies []jsonMeasured `json:"policies,omitempty"`
}

// Verdict returns j in the form of rlcheck.verdict/v1, indented, with a newline at its end. `check -o json`
// prints it. Instants are nanoseconds since the start of the recording.
func Verdict(j *verdict.Judgement) ([]byte, error) {
	return marshal(toJudgement(j))
}

// Claims is Verdict with the claims that j sums up. `check --client -o json` prints it.
func Claims(j *verdict.Judgement, claims []verdict.Claim) ([]byte, error) {
	out := toJudgement(j)
	out.Claims = toClaims(claims)
	return marshal(out)
}

func toJudgement(j *verdict.Judgement) *jsonJudgement {
	if j == nil {
		return nil
	}
	out := &jsonJudgement{
		Schema: verdictForm, Verdict: j.Verdict.String(), Reason: string(j.Reason), Detail: j.Detail,
		Partitions: make([]jsonPartition, len(j.Partitions)), Measured: toMeasured(j.Measured), Hint: j.Hint,
	}
	if d := j.Diagnosis; d != nil {
		out.Diagnosis = &jsonDiagnosis{Kind: string(d.Kind), Text: d.Text, Why: d.Why}
	}
	for _, e := range j.Explanations {
		out.Explanations = append(out.Explanations, jsonExplanation{e.Text, e.Limit.String(), e.Sure})
	}
	for i := range j.Partitions {
		p := &j.Partitions[i]
		out.Partitions[i] = jsonPartition{
			Partition: p.Partition, Verdict: p.Verdict.String(), Reason: string(p.Reason), Detail: p.Detail,
			Findings: toFindings(p.Findings, p.Partition), Measured: toMeasured(p.Measured), Judged: p.Judged,
			Search: toSearch(p.Search),
		}
	}
	return out
}

// toSearch returns nil for a search that did not take place.
func toSearch(s verdict.Search) *jsonSearch {
	if s.Visited == 0 {
		return nil
	}
	out := jsonSearch(s)
	return &out
}

// toFindings leaves out a partition that the surrounding object names already.
func toFindings(fs []verdict.Finding, named string) []jsonFinding {
	out := make([]jsonFinding, len(fs))
	for i, f := range fs {
		if f.Partition == named {
			f.Partition = ""
		}
		out[i] = jsonFinding{
			Kind: string(f.Kind), Partition: f.Partition, Seen: f.Seen, Bound: f.Bound, FromNS: int64(f.From),
			ToNS:         int64(f.To),
			Observations: append([]int{}, f.Observations...), Text: f.Text, Limit: f.Limit, Rule: f.Rule,
		}
	}
	return out
}

func toMeasured(m verdict.Measured) jsonMeasured {
	out := jsonMeasured{Burst: toInterval(m.Burst), Rate: toInterval(m.Rate)}
	if m.Phase.LoSet && m.Phase.HiSet {
		out.Phase = &[2]float64{m.Phase.Lo, m.Phase.Hi}
	}
	for _, one := range m.Policies {
		out.Policies = append(out.Policies, toMeasured(one))
	}
	return out
}

func toInterval(v verdict.Interval) []*float64 {
	v = result.FiniteEnds(v)
	if v.Empty() {
		return []*float64{}
	}
	out := make([]*float64, 2)
	if v.LoSet {
		out[0] = &v.Lo
	}
	if v.HiSet {
		out[1] = &v.Hi
	}
	return out
}
