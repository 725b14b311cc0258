package result

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Run is everything that the formats print of one run.
type Run struct {
	// ID names the run; by convention its start in UTC and something random, 2006-01-02T15-04-05-abcdef.
	ID string
	// Started is the wall time of the start, Duration how long the run took.
	Started  time.Time
	Duration time.Duration
	// Version is the version of rlcheck.
	Version string
	// Command is the command line. The caller has redacted its secrets.
	Command []string
	Host    Host
	// Scenarios are in the order in which they ran. May be empty.
	Scenarios []Scenario
	// Interrupted: the run was stopped before its last scenario was done.
	Interrupted bool
	// NotBegun are the ids of the scenarios that a run did not begin, in their order. It was interrupted, or
	// nothing listened at its target.
	NotBegun []string
	// Policy is what the scenarios together measured. nil: none measured anything for clients of its own.
	Policy *Policy
	// Hint explains all recordings of a limit that some of them contradict. nil: nothing does, or there is
	// only one recording, whose judgement has its own hint.
	Hint *Hint
}

// Hint is the next thing to look at after a FAIL. It proves nothing.
type Hint struct {
	// Text says in a sentence what would explain the recordings, or that nothing does that was tried.
	Text string `json:"text"`
	// Limits are the limits that would explain them, the nearest first. Empty: no limit does.
	Limits []spec.Limit `json:"limits"`
	// From are the ids of the scenarios with these recordings, in the order of the run.
	From []string `json:"from"`
}

// Policy is the measured policy of a run: what scenarios with one declared limit together measured. No other
// run had their clients.
type Policy struct {
	Limit spec.Limit `json:"limit"`
	// Measured is the intersection of what each of them measured. An empty interval: no value fits all of
	// them.
	Measured Measured `json:"measured"`
	// From are the ids of these scenarios, in the order of the run. At least one.
	From []string `json:"from"`
	// Contradiction is a failure of the run: no single limiter made two of its recordings. nil: none is
	// known.
	Contradiction *Contradiction `json:"contradiction,omitempty"`
}

// Contradiction is two recordings of a run that no value of a parameter explains together, though each keeps
// the declared limit. That takes a declared range: a recording that keeps a single declared value also
// measures it.
type Contradiction struct {
	// Between are the ids of the two scenarios.
	Between [2]string `json:"between"`
	// Text says in one sentence what each of them measured.
	Text string `json:"text"`
}

// Host is the machine that generated the load.
type Host struct {
	GoVersion string `json:"go_version"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPUs      int    `json:"cpus"`
}

// The kinds of scenario. A failed scenario counts if it is Required, or Recommended and the run is strict, or
// if it Overruns the declared limit.
const (
	Required    = "required"
	Recommended = "recommended"
	Informative = "informative"
)

// Scenario is one scenario of a run and its result. Its JSON is a scenario of rlcheck.report/v1.
type Scenario struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Kind   string `json:"kind"`
	Source string `json:"source"`
	// File is where the scenario was read from.
	File string `json:"file"`
	// Target and Origin are URLs. Origin is empty if nothing is compared with an origin.
	Target string `json:"target"`
	Origin string `json:"origin,omitempty"`
	Embedded
	// Limit is the declared limit, or empty. Answer is what identify says of the limit that it asked for:
	// identified, open or none. It is empty if somebody declared the limit. Found is for the JSON: there is
	// an Answer.
	Limit  spec.Limit `json:"limit"`
	Found  bool       `json:"limit_found,omitempty"`
	Answer string     `json:"answer,omitempty"`
	// Limits are the limits of phases that have their own, by the phase of their requests. An empty limit: no
	// limit counts the phase.
	Limits  map[string]spec.Limit `json:"limits,omitempty"`
	Verdict Verdict               `json:"verdict"`
	// Reason and Detail say why Verdict is Inconclusive.
	Reason   Reason        `json:"reason"`
	Detail   string        `json:"detail"`
	Duration time.Duration `json:"duration_ns"`
	Kept
	Standing
	Answers
	// Claims are the judged expectations, conformance first. May be empty: nothing was judged.
	Claims []Claim `json:"claims"`
	// Judgement is nil where conformance was not judged.
	Judgement *Judgement              `json:"judgement"`
	Latency   timeline.LatencySummary `json:"latency"`
	Header    timeline.Header         `json:"recording"`
	// FailedBeside: it failed while other scenarios ran, in a way that they may have caused, and passed
	// alone.
	FailedBeside bool `json:"-"`
	// Timeline is nil for a report that was read back from JSON.
	Timeline *timeline.Timeline `json:"-"`
}

// Embedded describes the embedded target. It is empty for any other one.
type Embedded struct {
	Store string `json:"store,omitempty"`
	Fault string `json:"fault,omitempty"`
}

// Kept is how the recording of a scenario is kept.
type Kept struct {
	// TimelinePath is where the recording is kept. The command that replays it names it. May be empty.
	TimelinePath string `json:"timeline"`
	// Digest is the SHA-256 of that file, in hexadecimal digits. Empty: it is not known.
	Digest string `json:"timeline_sha256,omitempty"`
	// Replay are the words of the command that judges the recording again. Empty: check, with TimelinePath
	// and Limit.
	Replay []string `json:"-"`
	// Excerpt says why Timeline has only the observations around the findings. Empty: it has all.
	Excerpt string `json:"-"`
}

// Standing is what a scenario counts for in its run.
type Standing struct {
	// Fresh: no other run had its clients, so what it measured is of the limiter alone.
	Fresh bool `json:"fresh"`
	// ResolvedBy are the scenarios, or the earlier recordings of this one, whose measurements this one needed
	// to pass. Empty for all others.
	ResolvedBy []string `json:"resolved_by,omitempty"`
	// Unfit says which part of the scenario, or all of it, is left out. With its limit it would take longer,
	// or more requests or connections, than it may. Empty: all fits.
	Unfit string `json:"unfit,omitempty"`
}

// Answers counts what came back.
type Answers struct {
	Counts timeline.Counts `json:"counts"`
	// Statuses are the statuses of its answers, ascending. Empty: no answer came, or no status is known.
	Statuses []timeline.StatusCount `json:"statuses"`
	// Clients are the partitions, the most denials first. Empty: Timeline tells.
	Clients []Client `json:"clients"`
}

// Word returns the result of s in capitals: its verdict, or what identify says.
func (s *Scenario) Word() string { return strings.ToUpper(cmp.Or(s.Answer, s.Verdict.String())) }

// Word returns the same of a run.
func (r *Run) Word(strict bool) string {
	if len(r.Scenarios) == 1 && r.Scenarios[0].Answer != "" {
		return r.Scenarios[0].Word()
	}
	return strings.ToUpper(r.Verdict(strict).String())
}

// LimitWord says where the limit comes from: declared, or found.
func (s *Scenario) LimitWord() string {
	if s.Answer != "" {
		return "found"
	}
	return "declared"
}

// LimitWord returns the same of the limits of a run.
func (r *Run) LimitWord() string {
	if i := slices.IndexFunc(r.Scenarios, func(s Scenario) bool { return s.Answer != "" }); i >= 0 {
		return r.Scenarios[i].LimitWord()
	}
	return (&Scenario{}).LimitWord()
}

// OurClock begins the note of a recording that fails only if the target has our clock, which nobody said.
const OurClock = "this fails if the target has the clock of this machine"

// Unverified is the note of a recording whose target may have been anybody.
const Unverified = "certificates were not verified (target.insecure)"

// Remarks returns what a reader must know of a scenario beside its verdict. The target may have been another
// one, or may serve few connections at a time. For a recording that was judged by itself, it is what was left
// out, and what its pictures leave out. May be empty.
func (s *Scenario) Remarks() []string {
	out := slices.Clone(s.Header.Notes)
	// The notes of a generator stand with what it measured of itself.
	if s.Target != "" {
		out = slices.DeleteFunc(out, func(n string) bool {
			return n != Unverified && !strings.HasPrefix(n, timeline.OfTarget)
		})
	}
	if s.Verdict == Inconclusive { // its reason says it
		out = slices.DeleteFunc(out, func(n string) bool { return strings.HasPrefix(n, Foreign) })
	}
	if s.Excerpt != "" {
		out = append(out, s.Excerpt)
	}
	return out
}

// Remarks returns the remarks of all scenarios, each once.
func (r *Run) Remarks() []string {
	var out []string
	for i := range r.Scenarios {
		for _, text := range r.Scenarios[i].Remarks() {
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// Whole returns the timeline, or nil if it is only a part of the recording.
func (s *Scenario) Whole() *timeline.Timeline {
	if s.Excerpt != "" {
		return nil
	}
	return s.Timeline
}

// Timed tells whether the service times of answers are known. The intervals of a log may be wider.
func (s *Scenario) Timed() bool {
	l := &s.Latency
	return l.Allowed.Service.Count+l.Denied.Service.Count+l.Unknown.Service.Count > 0
}

// Verdict returns the verdict on the whole run, which decides the exit status. Fail: a scenario that counts
// failed, or two that count contradict each other. Which failures count says Weighs.
//
// Inconclusive: a scenario that is not informative was inconclusive, and not only since its target lacks
// something (needs-failed). Or nothing was judged at all, or the run was interrupted. Pass: anything else.
func (r *Run) Verdict(strict bool) Verdict {
	v, judged := Pass, false
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		judged = judged || s.Verdict != Inconclusive
		switch {
		case s.Verdict == Fail && s.Weighs(strict):
			v = Worst(v, Fail)
		case s.Verdict == Inconclusive && s.Kind != Informative && s.Reason != NeedsFailed:
			v = Worst(v, Inconclusive)
		}
	}
	if r.Contradicted(strict) {
		v = Fail
	}
	if r.Interrupted || !judged {
		v = Worst(v, Inconclusive)
	}
	return v
}

// Contradicted tells whether two scenarios that count contradict each other.
func (r *Run) Contradicted(strict bool) bool {
	if r.Policy == nil || r.Policy.Contradiction == nil {
		return false
	}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if slices.Contains(r.Policy.Contradiction.Between[:], s.ID) && !s.Weighs(strict) {
			return false
		}
	}
	return true
}

// Weighs tells whether a failure of s counts: by its kind, since it refutes the declared limit itself, or
// since it breaks an objective that the user stated for every scenario.
func (s *Scenario) Weighs(strict bool) bool {
	return s.Required() || s.Kind == Recommended && strict || s.Overruns() ||
		slices.ContainsFunc(s.Claims, func(c Claim) bool { return c.Kind == ClaimSLO && c.Verdict == Fail })
}

// Required tells whether each failure of s counts. An unknown kind does, so that no typo lets a failure
// through.
func (s *Scenario) Required() bool { return s.Kind != Informative && s.Kind != Recommended }

// Overruns tells whether s shows that more was admitted than the declared limit can (AL-UPPER). That counts
// in every kind of scenario: kinds are about what a scenario asks beyond the limit.
func (s *Scenario) Overruns() bool {
	return s.Verdict == Fail && slices.ContainsFunc(s.Findings(), func(f Finding) bool {
		return f.Kind == OverAdmission && !f.Beyond && (f.Limit == "" || f.Limit == s.Limit.String())
	})
}

// Beyond tells whether s fails its limit only by what it asks beyond it, such as who the client is. What it
// measured is then not of the declared limit.
func (s *Scenario) Beyond() bool {
	found := s.Findings()
	return len(found) > 0 && !slices.ContainsFunc(found, func(f Finding) bool { return !f.Beyond })
}

// Sum adds up the counts of all scenarios.
func (r *Run) Sum() (c timeline.Counts) {
	for i := range r.Scenarios {
		s := r.Scenarios[i].Counts
		c.Planned += s.Planned
		c.Sent += s.Sent
		c.Unsent += s.Unsent
		c.Lost += s.Lost
		c.Allowed += s.Allowed
		c.Denied += s.Denied
		c.Unknown += s.Unknown
	}
	return c
}
