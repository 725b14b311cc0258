package evidence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/load/cause"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

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

// wentAwayMend is the mend of a run whose target answered, and then did not; empty for others.
func wentAwayMend(s *result.Scenario, r verdict.Reason) string {
	if r != verdict.Unreachable || s.Counts.Allowed+s.Counts.Denied == 0 {
		return ""
	}
	return "see what became of the target: it answered other requests"
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

// unalikeMend is the mend of a run that compares attributes and shows none of them; empty for others.
func unalikeMend(s *result.Scenario, r verdict.Reason) string {
	open := func(c verdict.Claim) bool {
		return c.Kind == verdict.ClaimAttributes && c.Verdict == verdict.Inconclusive
	}
	if r != verdict.TooFew || !slices.ContainsFunc(s.Claims, open) {
		return ""
	}
	return "declare the limit that it has (rlcheck identify finds it), or let the phases send more requests"
}

// ofOurClock tells whether a note says that a recording fails where the target has our clock.
func ofOurClock(note string) bool { return strings.HasPrefix(note, result.OurClock) }

// Mend says what the reader of s can do about a reason. What an earlier run used of its partitions may
// explain what is seen until it is forgotten.
func Mend(s *result.Scenario, r verdict.Reason) string {
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
	if text := cmp.Or(recordedMend(s, r), unheardMend(s, r), wentAwayMend(s, r), slowMend(s, r),
		unalikeMend(s, r)); text != "" {
		return text
	}
	if s.Timeline == nil {
		return mends[r]
	}
	switch h := &s.Timeline.Header; {
	case r == verdict.UnclassifiedStatus && slices.Contains(h.Notes, cause.NoCertificate):
		return cause.Certify
	case r == verdict.TooFew && h.Interrupted:
		return mends[verdict.Interrupted]
	case r == verdict.TooFew && h.CompleteFrom > 0:
		return "begin with a silence in which the limiter forgets an earlier run, or use keys that are new " +
			"(partition: fresh: true)"
	case r == verdict.ScheduleMissed:
		return cmp.Or(cause.MissedRemedy(s.Timeline), mends[r])
	case r == verdict.Unreachable:
		return cmp.Or(cause.Remedy(s.Timeline), mends[r])
	}
	return mends[r]
}
