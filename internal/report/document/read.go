package document

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/latency"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Read reads a report that Write wrote. Everything but the timelines comes back. The latencies have the
// buckets of a logarithmic histogram. It skips unknown members, which later versions added. Errors: no JSON
// (with the offset in bytes), another schema, or a verdict, limit or time that does not parse (with its
// place).
func Read(r io.Reader) (*result.Run, error) {
	var in jsonRun
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, jsonError(err)
	}
	if in.Schema != reportForm {
		return nil, fmt.Errorf("report: schema %q: this version reads %s (write it again with `rlcheck run "+
			"-o json`)", in.Schema, reportForm)
	}
	return fromRun(&in)
}

// jsonError says where in the file the mistake is.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("report: byte %d: %w (is this the report.json of a run?)", syntax.Offset, err)
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("report: byte %d: %s: a JSON %s was found, expected %s", kind.Offset, kind.Field,
			kind.Value, kind.Type)
	}
	return fmt.Errorf("report: %w", err)
}

func fromRun(in *jsonRun) (*result.Run, error) {
	p := &reading{}
	out := &result.Run{
		ID: in.ID, Started: p.wall("started", in.Started), Duration: time.Duration(in.DurationNS),
		Version: in.Version,
		Command: in.Command, Host: result.Host(in.Host), Interrupted: in.Interrupted, NotBegun: in.NotBegun,
		Scenarios: make([]result.Scenario, len(in.Scenarios)),
	}
	if in.Policy != nil {
		l, m := p.limit("policy", in.Policy.Limit), fromMeasured(in.Policy.Measured)
		out.Policy = &result.Policy{Limit: l, Measured: m, From: in.Policy.From}
		if c := in.Policy.Contradiction; c != nil {
			out.Policy.Contradiction = &result.Contradiction{Between: c.Between, Text: c.Text}
		}
	}
	out.Hint = p.hint(in.Hint)
	for i := range in.Scenarios {
		out.Scenarios[i] = p.scenario(fmt.Sprintf("scenarios[%d]", i), &in.Scenarios[i])
	}
	if p.err != nil {
		return nil, p.err
	}
	return out, nil
}

// reading keeps the first mistake.
type reading struct{ err error }

func (p *reading) fail(where, text, why string) {
	if p.err == nil {
		p.err = fmt.Errorf("report: %s %q: %s", where, text, why)
	}
}

func (p *reading) wall(where, s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		p.fail(where, s, "a time must be written as in RFC 3339")
	}
	return t.UTC()
}

func (p *reading) verdict(where, s string) verdict.Verdict {
	for _, v := range []verdict.Verdict{verdict.Pass, verdict.Fail, verdict.Inconclusive} {
		if v.String() == s {
			return v
		}
	}
	p.fail(where+".verdict", s, "a verdict must be pass, fail or inconclusive")
	return verdict.Inconclusive
}

// answer returns what identify says. Older documents have no such member. There, a limit with `found` and no
// other member means that identify was asked.
func (p *reading) answer(where string, in *jsonScenario) string {
	switch known := []identity.Verdict{identity.Identified, identity.Open, identity.None}; {
	case in.Answer == "" && in.Found && in.Verdict == verdict.Pass.String():
		return string(identity.Identified)
	case in.Answer == "" && in.Found:
		return string(identity.Open)
	case in.Answer != "" && !slices.Contains(known, identity.Verdict(in.Answer)):
		p.fail(where+".answer", in.Answer, "an answer must be identified, open or none")
	}
	return in.Answer
}

func (p *reading) outcome(where, s string) timeline.Outcome {
	for _, o := range []timeline.Outcome{timeline.Allowed, timeline.Denied, timeline.Unknown} {
		if o.String() == s {
			return o
		}
	}
	p.fail(where+".statuses", s, "an outcome must be allowed, denied or unknown")
	return timeline.Unknown
}

func (p *reading) limit(where, s string) spec.Limit {
	if s == "" {
		return nil
	}
	l, err := spec.Parse(s)
	if err != nil {
		p.fail(where+".limit", s, err.Error())
	}
	return l
}

func (p *reading) scenario(where string, in *jsonScenario) result.Scenario {
	out := result.Scenario{
		ID: in.ID, Title: in.Title, Kind: in.Kind, Source: in.Source, File: in.File, Target: in.Target,
		Origin: in.Origin,
		Store:  in.Store, Fault: in.Fault, Limit: p.limit(where, in.Limit),
		Verdict: p.verdict(where, in.Verdict),
		Reason:  verdict.Reason(in.Reason), Detail: in.Detail, Duration: time.Duration(in.DurationNS),
		TimelinePath: in.Timeline,
		Counts:       timeline.Counts(in.Counts), Judgement: p.judgement(where+".judgement", in.Judgement),
		Latency: fromLatency(in.Latency), Header: p.header(where+".recording", &in.Recording),
		Claims: make([]verdict.Claim, len(in.Claims)), Fresh: in.Fresh, ResolvedBy: in.ResolvedBy,
		Unfit: in.Unfit, Answer: p.answer(where, in),
	}
	out.Clients = fromClients(in.Clients)
	for _, x := range in.Statuses {
		o := p.outcome(where, x.Outcome)
		count := timeline.StatusCount{Status: x.Status, Outcome: o, Answers: x.Answers, Location: x.Location}
		out.Statuses = append(out.Statuses, count)
	}
	for phase, text := range in.Limits {
		if out.Limits == nil {
			out.Limits = map[string]spec.Limit{}
		}
		out.Limits[phase] = p.limit(where+".limits."+phase, text)
	}
	for i, c := range in.Claims {
		kind := cmp.Or(verdict.ClaimKind(c.Kind),
			verdict.KindOf(c.ID)) // reports of older versions keep no kind
		out.Claims[i] = verdict.Claim{ID: c.ID, Kind: kind, Verdict: p.verdict(fmt.Sprintf("%s.claims[%d]",
			where, i), c.Verdict),
			Reason: verdict.Reason(c.Reason), Text: c.Text, Findings: fromFindings(c.Findings, ""),
			Unpromised: verdict.Promise(c.Unpromised), Compared: p.compared(where, c.Compared)}
	}
	return out
}

func (p *reading) judgement(where string, in *jsonJudgement) *verdict.Judgement {
	if in == nil {
		return nil
	}
	out := &verdict.Judgement{
		Verdict: p.verdict(where, in.Verdict), Reason: verdict.Reason(in.Reason), Detail: in.Detail,
		Partitions: make([]verdict.PartitionVerdict, len(in.Partitions)), Measured: fromMeasured(in.Measured),
		Hint: in.Hint,
	}
	if d := in.Diagnosis; d != nil {
		out.Diagnosis = &verdict.Diagnosis{Kind: verdict.DiagnosisKind(d.Kind), Text: d.Text, Why: d.Why}
	}
	for i, e := range in.Explanations {
		x := verdict.Explanation{Text: e.Text, Sure: e.Sure}
		x.Limit = p.limit(fmt.Sprintf("%s.explanations[%d]", where, i), e.Spec)
		out.Explanations = append(out.Explanations, x)
	}
	for i, x := range in.Partitions {
		out.Partitions[i] = verdict.PartitionVerdict{
			Partition: x.Partition, Verdict: p.verdict(fmt.Sprintf("%s.partitions[%d]", where, i), x.Verdict),
			Reason: verdict.Reason(x.Reason), Detail: x.Detail,
			Findings: fromFindings(x.Findings, x.Partition),
			Measured: fromMeasured(x.Measured), Judged: x.Judged,
		}
		if x.Search != nil {
			out.Partitions[i].Search = verdict.Search(*x.Search)
		}
	}
	return out
}

// fromFindings gives a finding the partition of the object in which it stands, if it names none.
func fromFindings(in []jsonFinding, partition string) []verdict.Finding {
	var out []verdict.Finding
	for _, f := range in {
		if f.Partition == "" {
			f.Partition = partition
		}
		out = append(out, verdict.Finding{Kind: verdict.Kind(f.Kind), Partition: f.Partition, Seen: f.Seen,
			Bound: f.Bound,
			From:  time.Duration(f.FromNS), To: time.Duration(f.ToNS), Observations: f.Observations,
			Text: f.Text, Limit: f.Limit, Rule: f.Rule})
	}
	return out
}

func fromMeasured(m jsonMeasured) verdict.Measured {
	out := verdict.Measured{Burst: fromInterval(m.Burst), Rate: fromInterval(m.Rate)}
	if m.Phase != nil {
		out.Phase = verdict.Interval{Lo: m.Phase[0], Hi: m.Phase[1], LoSet: true, HiSet: true}
	}
	for _, one := range m.Policies {
		out.Policies = append(out.Policies, fromMeasured(one))
	}
	return out
}

// fromInterval reads what toInterval writes. An empty list is an empty interval. Any other length but two is
// an unset interval.
func fromInterval(in []*float64) (out verdict.Interval) {
	if in != nil && len(in) == 0 {
		return verdict.Interval{Lo: 1, Hi: 0, LoSet: true, HiSet: true}
	}
	if len(in) != 2 {
		return out
	}
	if in[0] != nil {
		out.Lo, out.LoSet = *in[0], true
	}
	if in[1] != nil {
		out.Hi, out.HiSet = *in[1], true
	}
	return out
}

func fromLatency(in jsonLatency) latency.Summary {
	both := func(l jsonLatencies) latency.Latencies {
		return latency.Latencies{Corrected: fromDistribution(l.Corrected),
			Service: fromDistribution(l.Service)}
	}
	return latency.Summary{Allowed: both(in.Allowed), Denied: both(in.Denied), Unknown: both(in.Unknown),
		Unanswered: in.Unanswered, Lateness: fromDistribution(in.Lateness)}
}

func fromDistribution(in jsonDistribution) latency.Distribution {
	out := in.Distribution
	for _, b := range in.Buckets {
		out.Buckets = append(out.Buckets, latency.Bucket{From: time.Duration(b[0]), To: time.Duration(b[1]),
			Count: b[2]})
	}
	return out
}

func (p *reading) header(where string, in *jsonRecording) timeline.Header {
	out := timeline.Header{
		Started: p.wall(where+".started", in.Started), WallError: time.Duration(in.WallErrorNS),
		ClockError: time.Duration(in.ClockErrorNS), DriftPPM: in.DriftPPM, Tick: time.Duration(in.TickNS),
		Ended:  time.Duration(in.EndedNS),
		Unsent: in.Unsent, Interrupted: in.Interrupted, Protocols: in.Protocols,
		Audit: timeline.Audit{CPUShare: in.Audit.CPUShare, LongestGC: time.Duration(in.Audit.LongestGCNS),
			Collections: in.Audit.Collections, Connections: in.Audit.Connections},
	}
	if len(in.Notes) > 0 {
		out.Notes = in.Notes
	}
	for _, x := range in.Spreads {
		out.Spreads = append(out.Spreads,
			timeline.Spread{Phase: x.Phase, Requests: x.Requests, Width: time.Duration(x.WidthNS)})
	}
	for _, k := range in.Phases {
		out.Phases = append(out.Phases, timeline.Kept{Phase: k.Phase, Sent: k.Sent, Unsent: k.Unsent,
			LateP99: time.Duration(k.LateP99NS), LateMax: time.Duration(k.LateMaxNS),
			Stalled: time.Duration(k.StalledNS), ReadLag: time.Duration(k.ReadLagNS)})
	}
	return out
}

func (p *reading) hint(in *jsonHint) *result.Hint {
	if in == nil {
		return nil
	}
	out := &result.Hint{Text: in.Text, From: in.From}
	for _, text := range in.Limits {
		out.Limits = append(out.Limits, p.limit("hint", text))
	}
	return out
}

func (p *reading) compared(where string, in []jsonAttribute) (out []verdict.Comparison) {
	for _, c := range in {
		out = append(out, verdict.Comparison{Attribute: c.Attribute, Plain: c.Plain, Other: c.Other,
			Expected: c.Expected, Observed: c.Observed, Detail: c.Detail,
			Verdict: p.verdict(where+".compared."+c.Attribute, c.Verdict)})
	}
	return out
}
