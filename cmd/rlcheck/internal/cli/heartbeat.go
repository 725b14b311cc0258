package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Heartbeat says now and then how far a run of several scenarios is, if no line of progress is drawn. A job
// of many minutes that prints nothing seems to hang. A nil Heartbeat says nothing.
type Heartbeat struct {
	say  *Speaker
	said time.Time
}

// betweenBeats is the least time between two lines.
const betweenBeats = 30 * time.Second

// NewHeartbeat returns nil if a meter is drawn.
func NewHeartbeat(e *Env, now time.Time) *Heartbeat {
	if wantsMeter(e) {
		return nil
	}
	return &Heartbeat{e.Say, now}
}

// Tell says how many of all scenarios are done, and with which verdicts, if the last line is old enough. The
// report says so of the last scenario.
func (h *Heartbeat) Tell(now time.Time, done []result.Scenario, all int) {
	if h == nil || now.Sub(h.said) < betweenBeats || len(done) >= all {
		return
	}
	h.said = now
	var parts []string
	counts := map[string]int{}
	for i := range done {
		counts[became(&done[i])]++
	}
	for _, what := range []string{"PASS", "FAIL", "INCONCLUSIVE", notJudged} {
		if n := counts[what]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	h.say.Notef("%d of %s are done: %s", len(done), text.Plural(all, "scenario"),
		strings.Join(parts, ", "))
}

// recording says how far the recording of what is, and how long the rest takes by its plan; 0: not known.
func (h *Heartbeat) recording(now time.Time, what string, p load.Progress, left time.Duration) {
	rest := ""
	if left > 0 {
		rest = fmt.Sprintf(", %s left by plan", seconds(left))
	}
	h.busy(now, fmt.Sprintf("%s: %s of at most %s sent%s", what, text.Thousands(p.Sent),
		text.Plural(p.Planned, "request"), rest))
}

// busy says what is going on, if the last line is old enough.
func (h *Heartbeat) busy(now time.Time, what string) {
	if h == nil || now.Sub(h.said) < betweenBeats {
		return
	}
	h.said = now
	h.say.Notef("%s", what)
}

// notJudged is the report's word for a scenario that does not count.
const notJudged = "not judged"

// became returns the result of s in a word.
func became(s *result.Scenario) string {
	if s.Uncounted() {
		return notJudged
	}
	return strings.ToUpper(s.Verdict.String())
}
