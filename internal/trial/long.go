package trial

import (
	"fmt"
	"sync"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/timeline/latency"
)

// claims judges all claims but conformance; r has the counts. For a recording that is too long for memory,
// the schedule is judged whole and every other claim by the beginning of the recording.
func claims(tl *timeline.Timeline, s *scenario.Scenario, r *result.Scenario) []result.Claim {
	out := claim.Judge(tl.Beginning(), s.Limit, expected(s, tl, r.Counts.Unknown))
	if tl.Spool == nil {
		return out
	}
	for i := range out {
		if c := &out[i]; c.Kind == result.ClaimSchedule {
			*c = claim.Schedule(&tl.Header, tl.Sent(), r.Latency.Lateness.P99, "", s.Expect.LateP99)
		} else {
			c.Text += fmt.Sprintf("; judged by the first %s of %s", text.Thousands(len(tl.Observations)),
				text.Plural(tl.Sent(), "request"))
		}
	}
	return out
}

// tally fills the counts of a recording into out.
func tally(out *result.Scenario, tl *timeline.Timeline) { tallying(out, tl)() }

// tallying starts to fill the counts of a recording into out, and returns a function that waits until they
// are complete. A recording that is too long for memory is counted in the background. Until end returns,
// nobody else may touch Counts, Statuses, Clients and Latency.
func tallying(out *result.Scenario, tl *timeline.Timeline) (end func()) {
	out.Timeline, out.Header = tl, tl.Header
	end = sync.OnceFunc(func() { count(out, tl) })
	if tl.Spool != nil {
		go end()
	}
	return end
}

func count(out *result.Scenario, tl *timeline.Timeline) {
	out.Counts = tl.Header.Counts()
	var statuses timeline.StatusTally
	var clients result.ClientTally
	var times latency.Collector
	for o := range tl.All() {
		out.Counts.Add(o)
		statuses.Add(o)
		clients.Add(o)
		times.Add(o)
	}
	if tl.Spool != nil && tl.Spool.Err() != nil { // the requests were sent, but their answers are lost
		out.Counts = timeline.Counts{Planned: tl.Spool.N + tl.Header.Unsent, Unsent: tl.Header.Unsent,
			Lost: tl.Header.Lost, Sent: tl.Spool.N, Unknown: tl.Spool.N}
	}
	out.Statuses, out.Clients, out.Latency = statuses.Statuses(), clients.Clients(), times.Summary()
}
