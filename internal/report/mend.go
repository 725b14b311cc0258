package report

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// mends has what a reader can do, for each reason of an Inconclusive verdict. It is never written after init.
var mends = map[result.Reason]string{
	result.ScheduleMissed: "lower the rate, or use a machine with more idle processors",
	result.Unreachable:    "start the target, or check the URL given with --target",
	result.SetupFailed:    "fix what the detail names and run again; nothing was learned about the limiter",
	result.NeedsFailed: "the scenario does not count; say what the target has (--promise, --set), or " +
		"leave it out (--skip)",
	result.TooFew: "make the phases send more requests or last longer, so that a fault could " +
		"show",
	result.ForeignTraffic:     "use keys that nobody else uses (partition: fresh: true)",
	result.UnclassifiedStatus: "say which statuses are denials, under denied: status:",
	result.SearchLimit:        "send fewer requests at once, so that fewer overlap",
	result.Interrupted:        "let the run finish",
}

// recordedMends are the mends of a recording that is judged alone, where nobody can send more.
var recordedMends = map[result.Reason]string{
	result.TooFew: "judge a longer recording, or accept a coarser measurement (--burst-resolution 0.1, " +
		"--rate-resolution 0.1)",
	result.ForeignTraffic:     "leave out --shared if nobody else uses these partitions",
	result.UnclassifiedStatus: "say which statuses are denials and admissions, with --denied and --allowed",
	result.SearchLimit: "judge one partition at a time with --only-partition, or judge a shorter " +
		"recording",
}

// RecordedMend returns the mend of a recording that is judged alone. Empty: there is none.
func RecordedMend(s *result.Scenario, r result.Reason) string {
	switch {
	case s.Target != "":
		return ""
	case r == result.TooFew && len(s.Claims) > 0 && s.Claims[0].Kind == result.ClaimClientWaits:
		return "make the clients retry more often, eight times or more, and record for at least twice " +
			"the longest wait"
	case r == result.TooFew && chanceless(s):
		return "judge a recording in which clients ask for more than the limit admits, and answers come soon"
	case r == result.TooFew && s.Header.CompleteFrom > 0:
		return "judge a longer recording, or say that the limiter saw no request before it (--complete, " +
			"for a log)"
	case r == result.UnclassifiedStatus && result.ForeignDetail(s.Header.Notes) != "":
		return "record the limited route; if these are the answers of its limiter, run the scenario with " +
			"their status as an admission (--set allowed.status=[302])"
	}
	return recordedMends[r]
}

// chanceless tells whether nothing in a recording could have shown that too much is admitted.
func chanceless(s *result.Scenario) bool {
	return len(s.Claims) > 0 && s.Claims[0].Kind == result.ClaimConformance &&
		s.Claims[0].Chances.Of != "" && s.Claims[0].Chances.Short() != ""
}

// mostCounters is how many counters beside each other a multiple of the declared quota may mean.
const mostCounters = 64

// severalMend returns what a multiple of the declared burst or quota means if counters that count apart are
// shown: that many times the quota was measured, and as many answers to one client state all of it but one
// unit. Empty for other failures: too many admissions alone have many causes.
func severalMend(s *result.Scenario, e *result.Failure) string {
	if e.Claim != result.ConformanceID || e.Whole || s.Judgement == nil || s.Timeline == nil ||
		len(s.Limit) != 1 || s.Limit[0].InFlight() || s.Counts.Denied == 0 {
		return ""
	}
	declared, v := s.Limit[0].Full(), s.Judgement.Measured.Burst
	times := int64(v.Lo) / declared
	if !v.LoSet || !v.HiSet || v.Lo != v.Hi || times < 2 || times > mostCounters ||
		times*declared != int64(v.Lo) || stateFull(s, declared) < int(times) {
		return ""
	}
	return fmt.Sprintf("%d is %d times %d, and %d answers to one client each state a quota of which one "+
		"unit is used: do %d workers or replicas count apart? let them share one store", int64(v.Lo), times,
		declared, times, times)
}

// stateFull returns the most answers to one client, before its first denial, that state a quota of which only
// one unit is used.
func stateFull(s *result.Scenario, quota int64) (most int) {
	full, denied := map[string]int{}, map[string]bool{}
	for o := range s.Timeline.All() {
		if denied[o.Partition] = denied[o.Partition] || o.Outcome == timeline.Denied; denied[o.Partition] {
			continue
		}
		stated, _ := headers.Quotas(o.Fields.Get, time.Time{})
		if slices.ContainsFunc(stated, func(q headers.Quota) bool {
			return q.HasRemaining && q.Remaining == quota-1
		}) {
			full[o.Partition]++
			most = max(most, full[o.Partition])
		}
	}
	return most
}

// tooFewMend returns the mend of a run that showed too little. Empty: nothing says why.
func tooFewMend(s *result.Scenario) string {
	if s.FromCache() {
		return "get past the cache (--past-caches), or use a route that is not cached"
	}
	if s.Judgement != nil && s.Judgement.Unresolved && len(s.ResolvedBy) == 0 {
		if _, finer := s.Coarse(); finer != "" {
			return finer
		}
	}
	if text := cmp.Or(RecordedMend(s, result.TooFew), unheardMend(s)); text != "" || s.Timeline == nil {
		return text
	}
	switch h := &s.Timeline.Header; {
	case h.Interrupted:
		return mends[result.Interrupted]
	case h.CompleteFrom > 0:
		return "begin with a silence in which the limiter forgets an earlier run, or use new keys " +
			"(partition: fresh: true)"
	}
	return ""
}

// unheardMend returns the mend of a run that showed too little: answers are missing, nobody said when an
// answer is charged, answers came late, or no attribute was shown. Empty: none of these.
func unheardMend(s *result.Scenario) string {
	lost := ""
	if n := s.Latency.Unanswered; n > 0 {
		lost = "find out why " + text.Plural(int(n), "request") + " got no answer"
	}
	open := func(c result.Claim) bool {
		return c.Kind == result.ClaimAttributes && c.Verdict == result.Inconclusive
	}
	switch charge := cmp.Or(s.ChargeMend(), slowMend(s)); {
	case lost != "" && slices.Contains(s.Header.Notes, transport.CauseBlurred):
		return transport.CauseApart
	case lost != "" && s.Counts.Allowed > 0 && s.Counts.Denied == 0:
		return lost + "; if the target denies by not answering, declare denied: {unanswered: true} " +
			"(--set denied.unanswered=true)"
	case charge != "":
		return charge
	case slices.ContainsFunc(s.Claims, open):
		return "declare the limit that the target has (rlcheck identify finds it), or make the phases send " +
			"more requests"
	}
	return lost
}

// slowMend returns the mend of a run that showed too little, since answers came late or nobody said which
// clock the target has. Empty for others.
func slowMend(s *result.Scenario) string {
	open := func(c result.Claim) bool { return c.Verdict == result.Inconclusive }
	first := slices.IndexFunc(s.Claims, open)
	if first >= 0 && s.Claims[first].Kind == result.ClaimLatency && s.Far() && s.Counts.Denied > 0 {
		bound := strings.ReplaceAll(result.ClaimLatency.Of(s.Claims[first].ID), "-", "_")
		return "add the round trip to the bound (--set expect.latency." + bound + "=DURATION), or send " +
			"from nearer to the target"
	}
	if text := s.Delays(); text != "" {
		return text
	}
	ofOurClock := func(note string) bool { return strings.HasPrefix(note, result.OurClock) }
	if slices.ContainsFunc(s.Header.Notes, ofOurClock) {
		return "say how far the target's clock may be from ours: --wall-error 1ms for a server on this " +
			"machine, --wall-error 500ms for a server behind a tunnel"
	}
	return s.Slow()
}

// strangeMend is the mend of a run by the commonest status that no rule classifies; empty if there is none.
func strangeMend(s *result.Scenario) string {
	most := timeline.StatusCount{}
	for _, x := range s.Statuses {
		if x.Outcome == timeline.Unknown && x.Answers > most.Answers {
			most = x
		}
	}
	if most.Answers == 0 {
		return ""
	}
	_, mend := strangeStatus("", most, s.Header.Notes)
	return strings.TrimSpace(fmt.Sprintf("%d %s", most.Status, http.StatusText(most.Status))) + ": " + mend
}

// Mend says what the reader of s can do about a reason. What an earlier run used of its partitions may
// explain the result until the limiter has forgotten it.
func Mend(s *result.Scenario, r result.Reason) string {
	if s.Timeline != nil && slices.Contains(s.Timeline.Header.Notes, transport.CauseSlept) {
		return "repeat the run: " + transport.CauseSlept
	}
	text := ""
	switch {
	case r == result.TooFew:
		text = tooFewMend(s)
	case r == result.ForeignTraffic && s.FailedBeside:
		text = "record the scenarios one after the other (--serial), or say what clients share " +
			"(--partition address, --partition none)"
	case RecordedMend(s, r) != "":
		text = RecordedMend(s, r)
	case r == result.UnclassifiedStatus:
		text = strangeMend(s)
	case r == result.Unreachable && s.Counts.Allowed+s.Counts.Denied > 0:
		text = "find out what happened to the target: it answered other requests"
	case r == result.ScheduleMissed && s.Timeline != nil:
		text = transport.CauseMissedRemedy(s.Timeline)
	case r == result.Unreachable && s.Timeline != nil:
		text = transport.CauseRemedy(s.Timeline)
	}
	return cmp.Or(text, mends[r])
}

// Trouble says why a scenario is Inconclusive: the reason, what it means here, and what to do about it.
type Trouble struct{ Reason, Detail, Mend string }

// Troubles returns why s is Inconclusive: its own reason first, then different reasons of inconclusive
// claims. Empty for another verdict.
func Troubles(s *result.Scenario) []Trouble {
	if s.Verdict != result.Inconclusive {
		return nil
	}
	var out []Trouble
	add := func(r result.Reason, detail string) {
		t := Trouble{text.Clean(string(r)), text.Clean(strings.TrimSpace(detail)), Mend(s, r)}
		if slices.ContainsFunc(out, func(o Trouble) bool {
			return o.Reason == t.Reason && o.Detail == t.Detail
		}) {
			return
		}
		if slices.ContainsFunc(out, func(o Trouble) bool { return o.Reason == t.Reason }) {
			t.Mend = "" // it is said already
		}
		out = append(out, t)
	}
	if s.Reason != "" || s.Detail != "" {
		add(s.Reason, s.Detail)
	}
	for i := range s.Claims {
		c := &s.Claims[i]
		if c.Unpromised != "" || c.Moot { // it is a note of the run
			continue
		}
		if c.Reason == result.UnclassifiedStatus && s.FromCache() { // a cache gave it, so by no rule
			continue
		}
		if c.Verdict == result.Inconclusive && (c.Text != "" || c.Reason != s.Reason) {
			add(c.Reason, c.ID+": "+c.Text)
		}
	}
	if len(out) == 0 {
		add(result.TooFew, "nothing was judged")
	}
	return out
}

// Line prints a trouble on one line, without its mend.
func (t Trouble) Line() string { return strings.Trim(t.Reason+": "+t.Detail, ": ") }
