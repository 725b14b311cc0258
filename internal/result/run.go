// Package result holds what a run found: its scenarios, their verdicts and recordings, and what they measured
// together.
package result

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/latency"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Run is everything that the formats print of one run.
type Run struct {
	// ID names the run; by convention its start in UTC and something random, 2006-01-02T15-04-05-abcdef.
	ID string
	// Started is the wall time of the start, Duration how long the run took.
	Started  time.Time
	Duration time.Duration
	// Version is that of rlcheck.
	Version string
	// Command is the command line, its secrets already redacted by the caller.
	Command []string
	Host    Host
	// Scenarios are in the order in which they ran. May be empty.
	Scenarios []Scenario
	// Interrupted tells that the run was stopped before its last scenario was done.
	Interrupted bool
	// NotBegun are the ids of the scenarios, in their order, that a run did not come to: it was interrupted,
	// or nothing listened at its target.
	NotBegun []string
	// Policy is what the scenarios together measured; nil where none measured anything for clients of its
	// own.
	Policy *Policy
	// Hint is what explains all recordings of a limit that some of them contradict; nil where none does, or
	// one alone was recorded: then the judgement of each has its own.
	Hint *Hint
}

// Hint is the next thing to look at after a FAIL. It proves nothing.
type Hint struct {
	// Text says in a sentence what would explain the recordings, or that nothing does that was tried.
	Text string
	// Limits are what would, the nearest first; empty where nothing does.
	Limits []spec.Limit
	// From are the ids of the scenarios whose recordings were judged, in the order of the run.
	From []string
}

// Policy is the measured policy of a run: what the scenarios that declare one limit, for clients that no
// other run had, measured together.
type Policy struct {
	Limit spec.Limit
	// Measured is the intersection of what each of them measured. An empty interval: no value fits all of
	// them.
	Measured verdict.Measured
	// From are the ids of these scenarios, in the order of the run. At least one.
	From []string
	// Contradiction is a failure of the run: no one limiter made two of its recordings. Nil where none is
	// known.
	Contradiction *Contradiction
}

// Contradiction is two recordings of a run that no value of a parameter explains, though each alone keeps the
// declared limit. That takes a range: of one declared value, a recording that keeps it measures it.
type Contradiction struct {
	// Between are the ids of their scenarios.
	Between [2]string
	// Text says in one sentence what each of them measured.
	Text string
}

// Host is the machine that generated the load.
type Host struct {
	GoVersion, OS, Arch string
	CPUs                int
}

// The kinds of scenario. A failed one counts if it is Required, or Recommended and the run is strict.
const (
	Required    = "required"
	Recommended = "recommended"
	Informative = "informative"
)

// Scenario is one scenario of a run and what became of it.
type Scenario struct {
	ID, Title, Kind, Source string
	// File is where the scenario was read from.
	File string
	// Target and Origin are URLs; Origin is empty where nothing is compared with an origin.
	Target, Origin string
	// Store and Fault describe the embedded target; empty for any other.
	Store, Fault string
	// Limit is the declared limit; empty where none is declared. Answer is what identify says of the limit it
	// asked for: identified, open or none. It is empty where somebody declared the limit.
	Limit  spec.Limit
	Answer string
	// Limits are those of the phases that have one of their own, by the names of their requests; empty for a
	// phase that none counts.
	Limits  map[string]spec.Limit
	Verdict verdict.Verdict
	// Reason and Detail say why Verdict is Inconclusive.
	Reason verdict.Reason
	Detail string
	// Claims are the judged expectations, conformance first. May be empty: nothing was judged.
	Claims []verdict.Claim
	// Judgement is nil where conformance was not judged.
	Judgement *verdict.Judgement
	// Fresh tells that no other run had its clients, so that what it measured is of the limiter alone.
	Fresh  bool
	Counts timeline.Counts
	// Statuses are its answers by status, ascending. Empty where none came, or where none is known.
	Statuses []timeline.StatusCount
	// Clients are the partitions, the most denials first. May be empty: then Timeline tells.
	Clients []Client
	Latency latency.Summary
	Header  timeline.Header
	// Unfit says what of the scenario is left out, or all of it: with such a limit it would take longer, or
	// more requests or connections, than it may. Empty where all fits.
	Unfit string
	// ResolvedBy are the scenarios, or the earlier recordings of this one, without which this one measured
	// too little for its pass. Empty for all others.
	ResolvedBy []string
	// FailedBeside tells that it failed beside other scenarios, for what they may have caused, and passed
	// alone.
	FailedBeside bool
	// Timeline is nil for a report that was read back from JSON.
	Timeline *timeline.Timeline
	Duration time.Duration
	// TimelinePath is where the recording is kept, for the line that tells how to replay it; may be empty.
	TimelinePath string
	// Replay are the words of the command that judges the recording again; empty: check, with TimelinePath
	// and Limit.
	Replay []string
	// Excerpt says why Timeline has only the observations around the findings; empty where it has all.
	Excerpt string
}

// Word is what became of s, in capitals: its verdict, or what identify says.
func (s *Scenario) Word() string { return strings.ToUpper(cmp.Or(s.Answer, s.Verdict.String())) }

// Word is the same of a run.
func (r *Run) Word(strict bool) string {
	if len(r.Scenarios) == 1 && r.Scenarios[0].Answer != "" {
		return r.Scenarios[0].Word()
	}
	return strings.ToUpper(r.Verdict(strict).String())
}

// LimitWord is how the limit came to be: declared, or found.
func (s *Scenario) LimitWord() string {
	if s.Answer != "" {
		return "found"
	}
	return "declared"
}

// LimitWord is the same of the limits of a run.
func (r *Run) LimitWord() string {
	if i := slices.IndexFunc(r.Scenarios, func(s Scenario) bool { return s.Answer != "" }); i >= 0 {
		return r.Scenarios[i].LimitWord()
	}
	return (&Scenario{}).LimitWord()
}

// OurClock begins the note of a recording that fails where the target has our clock, which nobody said.
const OurClock = "this fails if the target has the clock of this machine"

// Unverified is the note of a recording whose target may have been anybody.
const Unverified = "certificates were not verified (target.insecure)"

// Remarks are what a reader must know of a scenario beside its verdict: that its target may have been
// another one, or serves few connections at a time. Of a recording that was judged by itself they are what
// was left out of it, and what its pictures leave out. May be empty.
func (s *Scenario) Remarks() []string {
	out := slices.Clone(s.Header.Notes)
	if s.Target != "" { // the notes of a generator are with what it measured of itself
		out = slices.DeleteFunc(out, func(n string) bool {
			return n != Unverified && !strings.HasPrefix(n, timeline.OfTarget)
		})
	}
	if s.Excerpt != "" {
		out = append(out, s.Excerpt)
	}
	return out
}

// Remarks are those of all scenarios, each once.
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

// Whole is the timeline, nil where it is only a part of the recording.
func (s *Scenario) Whole() *timeline.Timeline {
	if s.Excerpt != "" {
		return nil
	}
	return s.Timeline
}

// Timed tells whether it is known how long answers took. The intervals of a log may be wider.
func (s *Scenario) Timed() bool {
	l := &s.Latency
	return l.Allowed.Service.Count+l.Denied.Service.Count+l.Unknown.Service.Count > 0
}

// Verdict is the verdict on the whole run, from which the exit status follows. Fail: a scenario failed that
// counts (a required one, with strict also a recommended one), or two that count contradict each other.
// Inconclusive: otherwise, if one that is not informative was inconclusive for want of more than what its
// target never had (needs-failed), nothing was judged at all, or the run was interrupted. Pass: anything
// else.
func (r *Run) Verdict(strict bool) verdict.Verdict {
	v, judged := verdict.Pass, false
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		judged = judged || s.Verdict != verdict.Inconclusive
		switch {
		case s.Verdict == verdict.Fail && s.Weighs(strict):
			v = verdict.Worst(v, verdict.Fail)
		case s.Verdict == verdict.Inconclusive && s.Kind != Informative && s.Reason != verdict.NeedsFailed:
			v = verdict.Worst(v, verdict.Inconclusive)
		}
	}
	if r.Contradicted(strict) {
		v = verdict.Fail
	}
	if r.Interrupted || !judged {
		v = verdict.Worst(v, verdict.Inconclusive)
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

// Weighs tells whether a failure of s counts. A kind that is none of the three counts: nothing is let through
// by a typo.
func (s *Scenario) Weighs(strict bool) bool {
	return s.Kind != Informative && (s.Kind != Recommended || strict)
}

// Sum adds up the counts of all scenarios.
func (r *Run) Sum() (c timeline.Counts) {
	for i := range r.Scenarios {
		s := r.Scenarios[i].Counts
		c.Planned += s.Planned
		c.Sent += s.Sent
		c.Unsent += s.Unsent
		c.Allowed += s.Allowed
		c.Denied += s.Denied
		c.Unknown += s.Unknown
	}
	return c
}
