package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	generator "github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/report/plain"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// evidence is one failure in words, ready for a reader.
type evidence struct {
	// claim is the id of the claim that failed, kind what kind of contradiction it was; kind may be empty.
	claim, kind string
	// sentence is the arithmetic in one sentence.
	sentence string
	// span says where in the recording; empty where no observation is named.
	span string
	// replay is the command that judges the recording again; empty where nothing is kept or it would judge
	// another thing.
	replay string
	// hint names a policy that would explain the recording; empty where none is known.
	hint string
	// nearest is the hint without the policies that would explain it as well; the same as hint where no
	// other would.
	nearest string
	// whole tells that it is about all of the recording, and to be read before any finding.
	whole bool
	// requests is how many requests prove it; 0 where none is named.
	requests int
}

// conformance is the id of the claim whose findings the check command finds again.
const conformance = "conformance"

// mends says for each reason of an Inconclusive verdict what the reader can do.
var mends = map[verdict.Reason]string{
	verdict.ScheduleMissed: "lower the rate, or generate from a machine with more idle processors",
	verdict.Unreachable:    "start the target, or check the URL given with --target",
	verdict.SetupFailed: "mend what the detail names and run again; nothing was said about the " +
		"limiter",
	verdict.NeedsFailed: "it does not count; say what the target has (--promise, --set), or --skip it",
	verdict.TooFew: "let the phases send more requests or last longer, so that a fault could " +
		"show",
	verdict.ForeignTraffic:     "use keys that nobody else uses (partition: fresh: true)",
	verdict.UnclassifiedStatus: "name the statuses of a denial under denied: status:",
	verdict.SearchLimit:        "send less at once, so that fewer requests overlap",
	verdict.Interrupted:        "let the run finish",
}

// recordedMends are those of a recording that is judged alone: nobody can send more of it.
var recordedMends = map[verdict.Reason]string{
	verdict.TooFew: "judge a longer recording, or demand less of a pass (--exact-burst, " +
		"--burst-resolution, " +
		"--rate-resolution)",
	verdict.ForeignTraffic:     "leave out --shared if nobody else uses these partitions",
	verdict.UnclassifiedStatus: "name the statuses with --denied and --allowed",
	verdict.SearchLimit:        "judge partitions one by one with --partition, or a shorter recording",
}

// recordedMend is the mend of a recording that is judged alone; empty where there is none.
func recordedMend(s *result.Scenario, r verdict.Reason) string {
	switch {
	case s.Target != "":
		return ""
	case r == verdict.TooFew && len(s.Claims) > 0 && s.Claims[0].Kind == verdict.ClaimClientWaits:
		return "let the clients retry more often, eight times or more, and the recording go on for " +
			"twice the longest wait"
	}
	return recordedMends[r]
}

// unheardMend is the mend of a run that admitted, and denied nothing, where requests got no answer; empty for
// others.
func unheardMend(s *result.Scenario, r verdict.Reason) string {
	n := s.Latency.Unanswered
	if r != verdict.TooFew || n == 0 || s.Counts.Allowed == 0 || s.Counts.Denied > 0 {
		return ""
	}
	return "find out why " + quantity.Plural(int(n), "request") + " got no answer; a target that denies by " +
		"silence declares denied: {unanswered: true} (--set denied.unanswered=true)"
}

// slowMend is the mend of a run that showed too little as answers came late, or as nobody said which clock
// the target has; empty for others.
func slowMend(s *result.Scenario, r verdict.Reason) string {
	if r != verdict.TooFew {
		return ""
	}
	if slices.ContainsFunc(s.Header.Notes, ofOurClock) {
		return "say how far its clock may be from ours: --wall-error 1ms for a server on this machine, " +
			"--wall-error 500ms for one behind a tunnel"
	}
	return s.Slow()
}

// ofOurClock tells whether a note says that a recording fails where the target has our clock.
func ofOurClock(note string) bool { return strings.HasPrefix(note, result.OurClock) }

// mend says what the reader of s can do about a reason. What an earlier run used of its partitions may
// explain what is seen until it is forgotten.
func mend(s *result.Scenario, r verdict.Reason) string {
	if r == verdict.TooFew && s.FromCache() {
		return "ask past the cache (--past-caches), or name a route that is not cached"
	}
	if r == verdict.TooFew && s.Judgement != nil && s.Judgement.Unresolved && len(s.ResolvedBy) == 0 {
		if _, finer := s.Coarse(); finer != "" {
			return finer
		}
	}
	if r == verdict.ForeignTraffic && s.FailedBeside {
		return "record the scenarios one after the other (--serial), or find out what one client does to " +
			"another"
	}
	if text := cmp.Or(recordedMend(s, r), unheardMend(s, r), slowMend(s, r)); text != "" {
		return text
	}
	if s.Timeline == nil {
		return mends[r]
	}
	switch h := &s.Timeline.Header; {
	case r == verdict.UnclassifiedStatus && slices.Contains(h.Notes, generator.NoCertificate):
		return generator.Certify
	case r == verdict.TooFew && h.Interrupted:
		return mends[verdict.Interrupted]
	case r == verdict.TooFew && h.CompleteFrom > 0:
		return "begin with a silence in which the limiter forgets an earlier run, or use keys that are new " +
			"(partition: fresh: true)"
	case r == verdict.ScheduleMissed:
		return cmp.Or(generator.MissedRemedy(s.Timeline), mends[r])
	case r == verdict.Unreachable:
		return cmp.Or(generator.Remedy(s.Timeline), mends[r])
	}
	return mends[r]
}

// failures returns the failures of s, one for each finding, those of conformance first, and before them
// what a reader needs to know of all of them. s is not cleaned yet; the texts of the result are.
func failures(s *result.Scenario) []evidence {
	found := findings(s)
	if s.Judgement == nil || s.Judgement.Diagnosis == nil || len(found) == 0 {
		return found
	}
	d := s.Judgement.Diagnosis
	first := evidence{claim: conformance, kind: plain.Text(string(d.Kind)), sentence: plain.Text(d.Text)}
	first.span, first.whole = plain.Text(d.Why), true
	return append([]evidence{first}, found...)
}

// findings returns the failures of s, one for each finding.
func findings(s *result.Scenario) []evidence {
	var out []evidence
	for i := range s.Claims {
		c := &s.Claims[i]
		if c.Verdict != verdict.Fail {
			continue
		}
		if len(c.Findings) == 0 {
			out = append(out, evidence{claim: plain.Text(c.ID), sentence: plain.Text(c.Text)})
		}
		for k := range c.Findings {
			out = append(out, found(s, c.ID, &c.Findings[k]))
		}
	}
	if len(out) > 0 || s.Judgement == nil {
		return out
	}
	for i := range s.Judgement.Partitions {
		p := &s.Judgement.Partitions[i]
		for k := range p.Findings {
			out = append(out, found(s, conformance, &p.Findings[k]))
		}
	}
	return out
}

// shown returns the first failures of each claim, and says how many it leaves out.
func shown(all []evidence) []evidence {
	const most = 3
	var out []evidence
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n].claim == all[i].claim {
			n++
		}
		out = append(out, all[i:i+min(n, most)]...)
		if n > most {
			out = append(out, evidence{claim: all[i].claim,
				sentence: fmt.Sprintf("and %d more like it (the json report has all)", n-most)})
		}
		i += n
	}
	for i := range out[:max(len(out)-1, 0)] { // the command once, below all it shows
		if out[i].replay == out[i+1].replay || out[i+1].kind == "" && out[i+1].claim == out[i].claim {
			out[i].replay, out[i+1].replay = "", out[i].replay
			out[i].hint, out[i+1].hint = "", out[i].hint
		}
	}
	return out
}

// found puts one finding into words.
func found(s *result.Scenario, claim string, f *verdict.Finding) evidence {
	e := evidence{claim: plain.Text(claim), kind: plain.Text(string(f.Kind)), sentence: plain.Text(f.Text),
		span: plain.Text(spanText(s.Timeline, f)), requests: len(f.Observations)}
	if claim == string(verdict.ClaimAttributes) && f.Seen > f.Bound {
		e.replay = replayPhase(s, f)
	}
	if claim == conformance {
		if e.replay = replay(s); f.Limit != "" && s.TimelinePath != "" {
			e.replay = checkCommand(s) + plain.Text(f.Limit) + "' --partition " +
				plain.ShellWord(plain.Text(f.Partition))
		}
		if s.Judgement != nil {
			e.hint, e.nearest = plain.Text(s.Judgement.Hint), nearest(s.Judgement)
		}
	}
	return e
}

// nearest is the hint with its first policy alone; the whole hint where none is sure to explain the
// recording.
func nearest(j *verdict.Judgement) string {
	if len(j.Explanations) == 0 || !j.Explanations[0].Sure {
		return plain.Text(j.Hint)
	}
	first := j.Explanations[0]
	return plain.Text(fmt.Sprintf("%s would explain all of this (%s)", first.Text, first.Limit))
}

// replayPhase is the command line that judges all requests of the phase of a finding as those of one client.
func replayPhase(s *result.Scenario, f *verdict.Finding) string {
	first, _ := ends(s.Timeline, f)
	if first == nil || s.TimelinePath == "" {
		return ""
	}
	limit, own := s.Limits[first.Phase]
	if !own {
		limit = s.Limit
	}
	return checkCommand(s) + plain.Text(limit.String()) + "' --conformance upper-bound " +
		"--columns partition=phase,phase=partition --partition " + plain.ShellWord(plain.Text(first.Phase))
}

// replay is the command line that judges the recording of s again.
func replay(s *result.Scenario) string {
	if len(s.Replay) > 0 {
		words := make([]string, len(s.Replay))
		for i, w := range s.Replay {
			words[i] = plain.ShellWord(plain.Text(w))
		}
		return strings.Join(words, " ")
	}
	if s.TimelinePath == "" || len(s.Limit) == 0 {
		return ""
	}
	return checkCommand(s) + plain.Text(s.Limit.String()) + "'"
}

// checkCommand is the command line that judges the recording of s again, up to the limit.
func checkCommand(s *result.Scenario) string {
	return "rlcheck check " + plain.ShellWord(plain.Text(s.TimelinePath)) + " --limit '"
}

// spanText says which requests a finding rests on, when they were, and which rule says so.
func spanText(t *timeline.Timeline, f *verdict.Finding) string {
	if f.Rule == "" {
		return requestsText(t, f)
	}
	return requestsText(t, f) + "; rule " + plain.Text(f.Rule)
}

// requestsText says which requests a finding rests on and when they were. Where the recording is at hand it
// names the request sent first and the one answered last.
func requestsText(t *timeline.Timeline, f *verdict.Finding) string {
	where := ""
	if f.Partition != "" {
		where = fmt.Sprintf("partition %s: ", f.Partition)
	}
	if len(f.Observations) == 0 {
		return where + quantity.Seconds(f.From) + " .. " + quantity.Seconds(f.To)
	}
	if first, last := ends(t, f); first != nil {
		if first == last {
			return fmt.Sprintf("%s#%d sent %s, first byte %s", where, first.Seq, quantity.Seconds(first.Sent),
				result.FirstByte(first))
		}
		return fmt.Sprintf("%sfirst #%d sent %s, last #%d first byte %s", where, first.Seq,
			quantity.Seconds(first.Sent), last.Seq, result.FirstByte(last))
	}
	return fmt.Sprintf("%s%s (#%d .. #%d), first sent %s, last first byte %s", where,
		quantity.Plural(len(f.Observations), "request"),
		f.Observations[0], f.Observations[len(f.Observations)-1], quantity.Seconds(f.From),
		quantity.Seconds(f.To))
}

// ends returns the observations of the witness of f that were sent first and answered last; nil where t lacks
// one of them.
func ends(t *timeline.Timeline, f *verdict.Finding) (first, last *timeline.Observation) {
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

// trouble is why a scenario is Inconclusive, in words: the reason, what it means here, and what to do about
// it.
type trouble struct{ reason, detail, mend string }

// troubles returns why s is Inconclusive: its own reason first, then those of inconclusive claims that say
// something else. Empty for another verdict.
func troubles(s *result.Scenario) []trouble {
	if s.Verdict != verdict.Inconclusive {
		return nil
	}
	var out []trouble
	add := func(r verdict.Reason, detail string) {
		t := trouble{plain.Text(string(r)), plain.Text(strings.TrimSpace(detail)), mend(s, r)}
		if slices.ContainsFunc(out, func(o trouble) bool {
			return o.reason == t.reason &&
				o.detail == t.detail
		}) {
			return
		}
		if slices.ContainsFunc(out, func(o trouble) bool { return o.reason == t.reason }) {
			t.mend = "" // said already
		}
		out = append(out, t)
	}
	if s.Reason != "" || s.Detail != "" {
		add(s.Reason, s.Detail)
	}
	for i := range s.Claims {
		c := &s.Claims[i]
		if c.Unpromised != "" { // that is a note of the run
			continue
		}
		if c.Reason == verdict.UnclassifiedStatus && s.FromCache() { // by no rule, since a cache gave it
			continue
		}
		if c.Verdict == verdict.Inconclusive && (c.Text != "" || c.Reason != s.Reason) {
			add(c.Reason, c.ID+": "+c.Text)
		}
	}
	if len(out) == 0 {
		add(verdict.TooFew, "nothing was judged")
	}
	return out
}

// line puts a trouble on one line, without its mend.
func (t trouble) line() string {
	return strings.Trim(t.reason+": "+t.detail, ": ")
}
