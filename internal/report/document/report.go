package document

import (
	"io"
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/latency"
	"github.com/rlcheck/rlcheck/internal/report/plain"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// The form of rlcheck.report/v1. Times are integers in nanoseconds. Instants count from the start of their
// recording, except the RFC 3339 wall times named started.
type jsonRun struct {
	Schema      string         `json:"schema"`
	ID          string         `json:"id"`
	Started     string         `json:"started,omitempty"`
	DurationNS  int64          `json:"duration_ns"`
	Version     string         `json:"version"`
	Command     []string       `json:"command"`
	Host        jsonHost       `json:"host"`
	Interrupted bool           `json:"interrupted"`
	NotBegun    []string       `json:"not_begun,omitempty"`
	Strict      bool           `json:"strict"`
	Verdict     string         `json:"verdict"`
	Counts      jsonCounts     `json:"counts"`
	Policy      *jsonPolicy    `json:"policy"`
	Hint        *jsonHint      `json:"hint,omitempty"`
	Notes       []jsonNote     `json:"notes"`
	Scenarios   []jsonScenario `json:"scenarios"`
}

// jsonPolicy is the measured policy of the run. null: nothing was measured.
type jsonPolicy struct {
	Limit    string       `json:"limit"`
	Measured jsonMeasured `json:"measured"`
	From     []string     `json:"from"`
	// Contradiction is null if none is known.
	Contradiction *jsonContradiction `json:"contradiction,omitempty"`
}

// jsonContradiction is two recordings that no single limiter made.
type jsonContradiction struct {
	Between [2]string `json:"between"`
	Text    string    `json:"text"`
}

// jsonNote is a result.Note.
type jsonNote struct {
	Unpromised string   `json:"unpromised"`
	Text       string   `json:"text"`
	NotJudged  []string `json:"not_judged"`
	InPart     []string `json:"in_part"`
}

type jsonHost struct {
	GoVersion string `json:"go_version"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPUs      int    `json:"cpus"`
}

type jsonCounts struct {
	Planned int `json:"planned"`
	Sent    int `json:"sent"`
	Unsent  int `json:"unsent"`
	Allowed int `json:"allowed"`
	Denied  int `json:"denied"`
	Unknown int `json:"unknown"`
}

type jsonScenario struct {
	ID         string            `json:"id"`
	Title      string            `json:"title"`
	Kind       string            `json:"kind"`
	Source     string            `json:"source"`
	File       string            `json:"file"`
	Target     string            `json:"target"`
	Origin     string            `json:"origin,omitempty"`
	Store      string            `json:"store,omitempty"`
	Fault      string            `json:"fault,omitempty"`
	Limit      string            `json:"limit"`
	Found      bool              `json:"limit_found,omitempty"`
	Answer     string            `json:"answer,omitempty"`
	Limits     map[string]string `json:"limits,omitempty"`
	Verdict    string            `json:"verdict"`
	Reason     string            `json:"reason"`
	Detail     string            `json:"detail"`
	DurationNS int64             `json:"duration_ns"`
	Timeline   string            `json:"timeline"`
	Fresh      bool              `json:"fresh"`
	ResolvedBy []string          `json:"resolved_by,omitempty"`
	Unfit      string            `json:"unfit,omitempty"`
	Counts     jsonCounts        `json:"counts"`
	Statuses   []jsonStatus      `json:"statuses"`
	Clients    []jsonClient      `json:"clients"`
	Claims     []jsonClaim       `json:"claims"`
	Judgement  *jsonJudgement    `json:"judgement"`
	Latency    jsonLatency       `json:"latency"`
	Recording  jsonRecording     `json:"recording"`
}

// jsonStatus is how many answers had one status and outcome.
type jsonStatus struct {
	Status   int    `json:"status"`
	Outcome  string `json:"outcome"`
	Answers  int    `json:"answers"`
	Location string `json:"location,omitempty"`
}

type jsonClaim struct {
	ID       string        `json:"id"`
	Kind     string        `json:"kind"`
	Verdict  string        `json:"verdict"`
	Reason   string        `json:"reason"`
	Text     string        `json:"text"`
	Findings []jsonFinding `json:"findings"`
	// Unpromised is what the target never had and did not promise, so that the claim does not count.
	Unpromised string `json:"unpromised,omitempty"`
	// Compared is only in claims of kind attributes.
	Compared []jsonAttribute `json:"compared,omitempty"`
}

// jsonAttribute is a verdict.Comparison.
type jsonAttribute struct {
	Attribute string `json:"attribute"`
	Plain     string `json:"plain"`
	Other     string `json:"other"`
	Expected  string `json:"expected"`
	Observed  string `json:"observed"`
	Detail    string `json:"detail"`
	Verdict   string `json:"verdict"`
}

type jsonRecording struct {
	Started      string       `json:"started,omitempty"`
	WallErrorNS  int64        `json:"wall_error_ns"`
	ClockErrorNS int64        `json:"clock_error_ns"`
	DriftPPM     int64        `json:"drift_ppm,omitempty"`
	TickNS       int64        `json:"tick_ns"`
	EndedNS      int64        `json:"ended_ns"`
	Unsent       int          `json:"unsent"`
	Interrupted  bool         `json:"interrupted"`
	Spreads      []jsonSpread `json:"spreads"`
	Phases       []jsonKept   `json:"phases,omitempty"`
	Notes        []string     `json:"notes"`
	Protocols    []string     `json:"protocols,omitempty"`
	Audit        jsonAudit    `json:"audit"`
}

type jsonSpread struct {
	Phase    string `json:"phase"`
	Requests int    `json:"requests"`
	WidthNS  int64  `json:"width_ns"`
}

type jsonKept struct {
	Phase     string `json:"phase"`
	Sent      int    `json:"sent"`
	Unsent    int    `json:"unsent"`
	LateP99NS int64  `json:"late_p99_ns"`
	LateMaxNS int64  `json:"late_max_ns"`
	StalledNS int64  `json:"stalled_ns"`
	ReadLagNS int64  `json:"read_lag_ns"`
}

type jsonAudit struct {
	CPUShare    float64 `json:"cpu_share"`
	LongestGCNS int64   `json:"longest_gc_ns"`
	Collections int     `json:"collections"`
	Connections int     `json:"connections"`
}

// jsonLatency has the latencies of each outcome. The members of a distribution are those of
// latency.Distribution.
type jsonLatency struct {
	Allowed    jsonLatencies    `json:"allowed"`
	Denied     jsonLatencies    `json:"denied"`
	Unknown    jsonLatencies    `json:"unknown"`
	Unanswered int64            `json:"unanswered"`
	Lateness   jsonDistribution `json:"lateness"`
}

type jsonLatencies struct {
	Corrected jsonDistribution `json:"corrected"`
	Service   jsonDistribution `json:"service"`
}

// jsonDistribution adds the buckets of a logarithmic histogram: [from_ns, to_ns, count], ascending. None is
// empty.
type jsonDistribution struct {
	latency.Distribution
	Buckets [][3]int64 `json:"buckets"`
}

// Write writes a run, without its recordings, as rlcheck.report/v1. Texts are exact and not cleaned; hidden
// characters are escapes. strict lets recommended scenarios count. Errors: those of w.
func Write(w io.Writer, r *result.Run, strict bool) error {
	text, err := marshal(toRun(r, strict))
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func toRun(r *result.Run, strict bool) *jsonRun {
	out := &jsonRun{
		Schema: reportForm, ID: r.ID, Started: wallText(r.Started), DurationNS: int64(r.Duration),
		Version: r.Version,
		Command: append([]string{}, r.Command...), Host: jsonHost(r.Host), Interrupted: r.Interrupted,
		NotBegun: r.NotBegun, Strict: strict,
		Verdict: r.Verdict(strict).String(), Counts: jsonCounts(r.Sum()),
		Scenarios: make([]jsonScenario, len(r.Scenarios)),
		Notes:     []jsonNote{}, Hint: toHint(r.Hint),
	}
	for _, n := range r.Notes() {
		out.Notes = append(out.Notes, jsonNote{Unpromised: string(n.Unpromised), Text: n.Text,
			NotJudged: append([]string{}, n.NotJudged...), InPart: append([]string{}, n.InPart...)})
	}
	if p := r.Policy; p != nil {
		out.Policy = &jsonPolicy{Limit: p.Limit.String(), Measured: toMeasured(p.Measured)}
		out.Policy.From = append([]string{}, p.From...)
		if c := p.Contradiction; c != nil {
			out.Policy.Contradiction = &jsonContradiction{c.Between, c.Text}
		}
	}
	for i := range r.Scenarios {
		out.Scenarios[i] = toScenario(&r.Scenarios[i])
	}
	return out
}

func toScenario(s *result.Scenario) jsonScenario {
	out := jsonScenario{
		ID: s.ID, Title: s.Title, Kind: s.Kind, Source: s.Source, File: s.File, Target: plain.URL(s.Target),
		Origin: plain.URL(s.Origin), Store: s.Store, Fault: s.Fault, Verdict: s.Verdict.String(),
		Reason: string(s.Reason),
		Detail: s.Detail, DurationNS: int64(s.Duration), Timeline: s.TimelinePath,
		Counts: jsonCounts(s.Counts),
		Claims: toClaims(s.Claims), Judgement: toJudgement(s.Judgement),
		Latency:   toLatency(s.Latency),
		Recording: toRecording(s.Header), Clients: toClients(s), Fresh: s.Fresh,
		ResolvedBy: s.ResolvedBy, Unfit: s.Unfit, Found: s.Answer != "", Answer: s.Answer,
		Statuses: make([]jsonStatus, len(s.Statuses)),
	}
	for i, x := range s.Statuses {
		out.Statuses[i] = jsonStatus{x.Status, x.Outcome.String(), x.Answers, plain.URL(x.Location)}
	}
	if len(s.Limit) > 0 {
		out.Limit = s.Limit.String()
	}
	for phase, l := range s.Limits {
		if out.Limits == nil {
			out.Limits = map[string]string{}
		}
		if out.Limits[phase] = ""; len(l) > 0 {
			out.Limits[phase] = l.String()
		}
	}
	return out
}

func toClaims(claims []verdict.Claim) []jsonClaim {
	out := make([]jsonClaim, len(claims))
	for i := range claims {
		c := &claims[i]
		out[i] = jsonClaim{ID: c.ID, Kind: string(c.Kind), Verdict: c.Verdict.String(),
			Reason: string(c.Reason), Text: c.Text,
			Findings: toFindings(c.Findings, ""), Unpromised: string(c.Unpromised),
			Compared: toCompared(c.Compared)}
	}
	return out
}

func toCompared(all []verdict.Comparison) (out []jsonAttribute) {
	for _, c := range all {
		out = append(out, jsonAttribute{c.Attribute, c.Plain, c.Other, c.Expected, c.Observed, c.Detail,
			c.Verdict.String()})
	}
	return out
}

func toLatency(l latency.Summary) jsonLatency {
	both := func(l latency.Latencies) jsonLatencies {
		return jsonLatencies{toDistribution(l.Corrected), toDistribution(l.Service)}
	}
	return jsonLatency{both(l.Allowed), both(l.Denied), both(l.Unknown), l.Unanswered,
		toDistribution(l.Lateness)}
}

func toDistribution(d latency.Distribution) jsonDistribution {
	out := jsonDistribution{Distribution: d, Buckets: [][3]int64{}}
	for _, b := range d.LogBuckets(latency.PerDecade) {
		if b.Count > 0 {
			out.Buckets = append(out.Buckets, [3]int64{int64(b.From), int64(b.To), b.Count})
		}
	}
	return out
}

func toRecording(h timeline.Header) jsonRecording {
	out := jsonRecording{
		Started: wallText(h.Started), WallErrorNS: int64(h.WallError), ClockErrorNS: int64(h.ClockError),
		DriftPPM: h.DriftPPM, TickNS: int64(h.Tick),
		EndedNS: int64(h.Ended), Unsent: h.Unsent, Interrupted: h.Interrupted, Spreads: []jsonSpread{},
		Notes: append([]string{}, h.Notes...), Protocols: h.Protocols,
		Audit: jsonAudit{finite(h.Audit.CPUShare), int64(h.Audit.LongestGC), h.Audit.Collections,
			h.Audit.Connections},
	}
	for _, x := range h.Spreads {
		out.Spreads = append(out.Spreads, jsonSpread{x.Phase, x.Requests, int64(x.Width)})
	}
	for _, k := range h.Phases {
		out.Phases = append(out.Phases, jsonKept{k.Phase, k.Sent, k.Unsent, int64(k.LateP99),
			int64(k.LateMax), int64(k.Stalled), int64(k.ReadLag)})
	}
	return out
}

// finite returns x, or 0 for a value that JSON cannot express.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// wallText prints a wall time in UTC to the nanosecond. Empty: it is not known.
func wallText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// jsonHint is what explains all recordings of a run. It is absent if nothing fails.
type jsonHint struct {
	Text   string   `json:"text"`
	Limits []string `json:"limits"`
	From   []string `json:"from"`
}

func toHint(h *result.Hint) *jsonHint {
	if h == nil {
		return nil
	}
	out := &jsonHint{Text: h.Text, Limits: []string{}, From: append([]string{}, h.From...)}
	for _, l := range h.Limits {
		out.Limits = append(out.Limits, l.String())
	}
	return out
}
