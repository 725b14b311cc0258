package result

import (
	"fmt"
	"math"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Failure is one failure in words, ready for a reader.
type Failure struct {
	// Claim is the id of the claim that failed. Kind is the kind of the contradiction, and may be empty.
	Claim, Kind string
	// Sentence is the arithmetic in one sentence.
	Sentence string
	// Span says where in the recording it is. Empty: no observation is named.
	Span string
	// Replay is the command that judges the recording again. Empty: nothing is kept, or the command would
	// judge something else.
	Replay string
	// Hint names a policy that would explain the recording. Empty: none is known.
	Hint string
	// Nearest is Hint with only the nearest policy. It equals Hint if no other policy would explain the
	// recording.
	Nearest string
	// Whole: it is about all of the recording, and a reader needs it before any finding.
	Whole bool
	// Requests is how many requests prove it, or units if these are more; 0: none is named.
	Requests int
}

// ConformanceID is the id of the claim whose findings the check command finds again.
const ConformanceID = string(ClaimConformance)

// Lines returns the sentence, the span and the replay command, one on each line.
func (e Failure) Lines() []string {
	out := []string{e.Sentence}
	if e.Claim != ConformanceID && e.Claim != "" {
		out[0] = e.Claim + ": " + e.Sentence
	}
	if e.Span != "" {
		out = append(out, "  "+e.Span)
	}
	if e.Hint != "" {
		out = append(out, "  perhaps: "+e.Hint)
	}
	if e.Replay != "" {
		out = append(out, "  replay: "+e.Replay)
	}
	return out
}

// Failures returns the failures of s, one for each finding, those of conformance first. Before them stands
// what a reader needs to know of all of them. s is not cleaned yet. The texts of the failures are clean.
func (s *Scenario) Failures() []Failure {
	found := findings(s)
	if s.Judgement == nil || s.Judgement.Diagnosis == nil || len(found) == 0 {
		return found
	}
	d := s.Judgement.Diagnosis
	first := Failure{Claim: ConformanceID, Kind: text.Clean(string(d.Kind)), Sentence: text.Clean(d.Text)}
	first.Span, first.Whole = text.Clean(d.Why), true
	return append([]Failure{first}, found...)
}

// findings returns the failures of s, one for each finding.
func findings(s *Scenario) []Failure {
	var out []Failure
	for i := range s.Claims {
		c := &s.Claims[i]
		if c.Verdict != Fail {
			continue
		}
		if len(c.Findings) == 0 {
			out = append(out, Failure{Claim: text.Clean(c.ID), Sentence: text.Clean(c.Text)})
		}
		for k := range c.Findings {
			out = append(out, found(s, c.ID, &c.Findings[k]))
		}
	}
	if len(out) > 0 || s.Judgement == nil {
		return out
	}
	for _, p := range s.Judgement.Failed() {
		for k := range p.Findings {
			out = append(out, found(s, ConformanceID, &p.Findings[k]))
		}
	}
	return out
}

// FirstFailures returns the first failures of each claim, and says how many it leaves out.
func FirstFailures(all []Failure) []Failure {
	const most = 3
	var out []Failure
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n].Claim == all[i].Claim {
			n++
		}
		out = append(out, all[i:i+min(n, most)]...)
		if n > most {
			out = append(out, Failure{Claim: all[i].Claim,
				Sentence: fmt.Sprintf("and %d more like it (the JSON report has all)", n-most)})
		}
		i += n
	}
	for i := range out[:max(len(out)-1, 0)] { // the command once, below all failures that it shows
		if out[i].Replay == out[i+1].Replay || out[i+1].Kind == "" && out[i+1].Claim == out[i].Claim {
			out[i].Replay, out[i+1].Replay = "", out[i].Replay
			out[i].Hint, out[i+1].Hint = "", out[i].Hint
		}
	}
	return out
}

// found puts one finding into words.
func found(s *Scenario, claim string, f *Finding) Failure {
	e := Failure{Claim: text.Clean(claim), Kind: text.Clean(string(f.Kind)), Sentence: text.Clean(f.Text),
		Span: text.Clean(spanText(s.Timeline, f)), Requests: len(f.Observations)}
	if claim == string(ClaimAttributes) && f.Seen > f.Bound {
		e.Replay = replayPhase(s, f)
	}
	if claim == ConformanceID {
		if e.Replay = replay(s); f.Limit != "" && s.TimelinePath != "" {
			e.Replay = checkCommand(s) + text.Clean(f.Limit) + "' --partition " +
				text.ShellWord(text.Clean(f.Partition))
		}
		e.Requests = max(e.Requests, int(min(f.Seen, math.MaxInt32)))
		if s.Judgement != nil && !s.NeverDenied() { // any larger limit explains that
			e.Hint, e.Nearest = text.Clean(s.Judgement.Hint), nearest(s.Judgement)
		}
	}
	return e
}

// nearest returns the hint with only its first policy. It returns the whole hint if no policy surely explains
// the recording.
func nearest(j *Judgement) string {
	if len(j.Explanations) == 0 || !j.Explanations[0].Sure {
		return text.Clean(j.Hint)
	}
	first := j.Explanations[0]
	return text.Clean(fmt.Sprintf("%s would explain all of this (%s)", first.Text, first.Limit))
}

// replayPhase returns the command that judges all requests of the phase of a finding as those of one client.
func replayPhase(s *Scenario, f *Finding) string {
	first, _ := ends(s.Timeline, f)
	if first == nil || s.TimelinePath == "" {
		return ""
	}
	limit, own := s.Limits[first.Phase]
	if !own {
		limit = s.Limit
	}
	return checkCommand(s) + text.Clean(limit.String()) + "' --conformance upper-bound " +
		"--columns partition=phase,phase=partition --partition " + text.ShellWord(text.Clean(first.Phase))
}

// replay returns the command that judges the recording of s again.
func replay(s *Scenario) string {
	if len(s.Replay) > 0 {
		words := make([]string, len(s.Replay))
		for i, w := range s.Replay {
			words[i] = text.ShellWord(text.Clean(w))
		}
		return strings.Join(words, " ")
	}
	if s.TimelinePath == "" || len(s.Limit) == 0 {
		return ""
	}
	if s.Target != "" && s.Answer == "" { // the recording of a run has its limit itself
		return "rlcheck check " + text.ShellWord(text.Clean(s.TimelinePath))
	}
	return checkCommand(s) + text.Clean(s.Limit.String()) + "'"
}

// checkCommand returns the command that judges the recording of s again, up to the limit.
func checkCommand(s *Scenario) string {
	return "rlcheck check " + text.ShellWord(text.Clean(s.TimelinePath)) + " --limit '"
}

// spanText says on which requests a finding rests, when they were sent, and which rule it breaks.
func spanText(t *timeline.Timeline, f *Finding) string {
	if f.Rule == "" {
		return requestsText(t, f)
	}
	return requestsText(t, f) + "; rule " + text.Clean(f.Rule)
}

// requestsText says on which requests a finding rests and when they were sent. If the recording is at hand,
// it names the request that was sent first and the one that was answered last.
func requestsText(t *timeline.Timeline, f *Finding) string {
	where := ""
	if f.Partition != "" {
		where = fmt.Sprintf("partition %s: ", f.Partition)
	}
	if len(f.Observations) == 0 {
		return where + text.Seconds(f.From) + " .. " + text.Seconds(f.To)
	}
	if first, last := ends(t, f); first != nil {
		if first == last {
			return fmt.Sprintf("%s#%d sent %s, first byte %s", where, first.Seq, text.Seconds(first.Sent),
				FirstByte(first))
		}
		return fmt.Sprintf("%sfirst #%d sent %s, last #%d first byte %s", where, first.Seq,
			text.Seconds(first.Sent), last.Seq, FirstByte(last))
	}
	return fmt.Sprintf("%s%s (#%d .. #%d), first sent %s, last first byte %s", where,
		text.Plural(len(f.Observations), "request"), f.Observations[0], f.Observations[len(f.Observations)-1],
		text.Seconds(f.From), text.Seconds(f.To))
}

// ends returns the observations of the witness of f that were sent first and answered last. nil: t lacks one
// of its observations.
func ends(t *timeline.Timeline, f *Finding) (first, last *timeline.Observation) {
	if t == nil {
		return nil, nil
	}
	in := f.Members()
	n := 0
	for i := range t.Observations {
		o := &t.Observations[i]
		if !in[o.Seq] {
			continue
		}
		n++
		if first == nil || o.Sent < first.Sent {
			first = o
		}
		if last == nil || !last.Answered || (o.Answered && o.FirstByte > last.FirstByte) {
			last = o
		}
	}
	if n != len(in) {
		return nil, nil
	}
	return first, last
}

// NeverDenied tells whether s failed, and everything was admitted.
func (s *Scenario) NeverDenied() bool {
	c := s.Counts
	if s.Verdict != Fail || c.Denied > 0 || c.Allowed == 0 || 2*c.Unknown > c.Allowed {
		return false
	}
	for i := range s.Claims {
		for k := range s.Claims[i].Findings {
			if s.Claims[i].Findings[k].Kind == OverAdmission {
				return true
			}
		}
	}
	return false
}
