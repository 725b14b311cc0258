package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/trial"
)

const maxRetries = 20

// course is one scenario of a run and its recordings so far.
type course struct {
	s *scenario.Scenario
	t trialOf
	// out is the last recording, with what the earlier ones measured. Those are kept as timeline-1.ndjson and
	// so on, and notes name them.
	out   result.Scenario
	notes []string
	// retried is how many recordings were made for --retries. sent is how many requests the recordings before
	// out sent.
	retried, sent int
	// idle is how many of the last recordings measured nothing new.
	idle int
}

// enough records a scenario until its recording is as planned, or as often as --retries says. If it only
// measured too little, what the whole run measures may settle it.
func (w *work) enough(ctx context.Context, c *course) error {
	out, err := recordOne(ctx, w.Env, c.s, c.t)
	c.out = out
	return errors.Join(err, w.more(ctx, c))
}

// more repeats a scenario that was late or showed too little, as enough does.
func (w *work) more(ctx context.Context, c *course) (err error) {
	for w.left(c) && !trial.Unresolved(&c.out) && c.again() && ctx.Err() == nil {
		err = errors.Join(err, w.retry(ctx, c))
	}
	return err
}

// left tells whether --retries and the budget allow another recording. Bursts that missed their boundary are
// sent once more in any case: only a recording tells how far away the target is.
func (w *work) left(c *course) bool {
	most := w.flags.retries
	if _, mend := trial.Mended(c.s, c.out.Timeline); mend != "" {
		most = max(most, 1)
	}
	return c.retried < most && w.affords(c.s)
}

// affords tells whether the budget allows another recording of s.
func (w *work) affords(s *scenario.Scenario) bool {
	sent := s.Summary().Requests
	for i, c := range w.courses {
		if c != nil {
			sent += c.sent + c.out.Counts.Sent
		} else if w.chosen[i] != s {
			sent += w.chosen[i].Summary().Requests
		}
	}
	return w.budget == 0 || sent <= w.budget
}

// again tells whether another recording may show more: the last one was late, or showed too little.
func (c *course) again() bool {
	return c.out.Verdict == result.Inconclusive &&
		(c.out.Reason == result.ScheduleMissed || c.out.Reason == result.TooFew)
}

// settle records scenarios again, alone, whose recording beside others does not count.
func (w *work) settle(ctx context.Context) {
	w.together()
	var all []*result.Scenario
	beside := map[*course]*result.Scenario{}
	for _, i := range besides(w.chosen, w.flags.serial) {
		if c := w.courses[i]; c != nil {
			at := slices.IndexFunc(w.run.Scenarios, func(o result.Scenario) bool { return o.ID == c.s.ID })
			beside[c], all = &w.run.Scenarios[at], append(all, &w.run.Scenarios[at])
		}
	}
	for i, c := range w.courses {
		if beside[c] == nil || ctx.Err() != nil || w.dead(i) || !w.affords(c.s) {
			continue
		}
		why, stands := trial.Stands(beside[c], all)
		if stands {
			continue
		}
		c.t.label, c.t.after = c.s.ID, 0
		word := strings.ToUpper(c.out.Verdict.String())
		wait, in := time.Duration(0), ""
		if why != "" {
			wait = forgets(c.s)
			in = " in " + text.Short(wait)
		}
		w.Say.Notef("%s: %s beside other scenarios; it is recorded again alone%s", c.s.ID, word, in)
		if !transport.Rest(ctx, wait, nil) {
			return
		}
		w.note(w.repeat(ctx, c, "beside other scenarios, ",
			func(before, alone result.Scenario, file string) result.Scenario {
				return trial.Settled(before, alone, file, why)
			}))
		w.note(w.more(ctx, c))
		w.keepSoFar()
	}
}

// longestForgetting is how long a run waits at most until others have left no trace.
const longestForgetting = time.Minute

// forgets returns how long to wait until the limiter of s may have forgotten what other scenarios sent.
func forgets(s *scenario.Scenario) (d time.Duration) {
	for _, p := range s.Limit {
		d = max(d, p.Recovery())
	}
	return min(d, longestForgetting)
}

// mostIdle is how many recordings in a row may measure nothing new before the repetitions end.
const mostIdle = 2

// resolve records scenarios again, for new clients, that measured too little alone and are not resolved by
// the run. It does so while that helps and --retries allows it.
func (w *work) resolve(ctx context.Context) (err error) {
	w.together()
	for i := range w.run.Scenarios {
		id := w.run.Scenarios[i].ID
		c := w.courses[slices.IndexFunc(w.chosen, func(s *scenario.Scenario) bool { return s.ID == id })]
		unresolved := func() bool { return trial.Unresolved(&w.run.Scenarios[i]) }
		for w.left(c) && unresolved() && c.idle < mostIdle && ctx.Err() == nil {
			err = errors.Join(err, w.retry(ctx, c))
			w.together()
		}
	}
	return err
}

// together writes into the run what the recordings are worth together, and which scenarios have not begun.
func (w *work) together() {
	var recorded []result.Scenario
	w.run.NotBegun = nil
	for i, c := range w.courses {
		if c == nil {
			w.run.NotBegun = append(w.run.NotBegun, w.chosen[i].ID)
			continue
		}
		out := c.out
		out.Header.Notes = slices.Concat(c.notes, out.Header.Notes)
		recorded = append(recorded, out)
	}
	w.run.Policy, w.run.Scenarios = trial.Together(recorded)
}

// retry records a scenario again that showed too little.
func (w *work) retry(ctx context.Context, c *course) error {
	wait := rest(c)
	in := ""
	if wait > 0 {
		in = " in " + text.Short(wait)
	}
	w.Say.Notef("%s: recording %d showed too little (%s); it is recorded again%s", c.s.ID, len(c.notes)+1,
		c.out.Reason, in)
	if !transport.Rest(ctx, wait, nil) {
		return nil
	}
	c.retried++
	return w.repeat(ctx, c, "", trial.Again)
}

// longestRest is the longest that a retry waits for a busy machine.
const longestRest = 4 * time.Second

// rest returns how long to wait for a machine to be less busy before c is recorded again. It is 0 the first
// time.
func rest(c *course) time.Duration {
	if c.retried == 0 || c.out.Reason != result.ScheduleMissed {
		return 0
	}
	return min(time.Second<<min(c.retried-1, 10), longestRest)
}

// repeat keeps the recording of a scenario under another name, and records it again for new clients, with
// what mends it. where says how the first recording was made. joined makes one result of both.
func (w *work) repeat(ctx context.Context, c *course, where string,
	joined func(before, after result.Scenario, file string) result.Scenario) error {
	n, before := len(c.notes)+1, c.out
	file := fmt.Sprintf("timeline-%d.ndjson", n) + c.t.dir.End(before.Timeline)
	gone, kept := c.t.dir.Gone()
	if !gone {
		_, kept = rundir.KeepTimeline(c.t.dir.Of(c.s.ID, file), before.Timeline)
	}
	c.notes = append(c.notes, fmt.Sprintf("%srecording %d (%s) was %s", where, n, file, saidOf(&before)))
	c.sent += before.Counts.Sent
	t := c.t
	t.keys = fmt.Sprintf("%s-%d", t.keys, n+1)
	again, mend := c.s, ""
	if before.Verdict != result.Fail { // a load that found something is repeated as it was
		again, mend = trial.Mended(c.s, before.Timeline)
	}
	if mend != "" {
		w.Say.Notef("%s: recording %d has %s", c.s.ID, n+1, mend)
		c.notes[n-1] += "; the next has " + mend
	}
	out, err := recordOne(ctx, w.Env, again, t)
	if c.out = joined(before, out, file); trial.Narrower(&before, &c.out) {
		c.idle = 0
	} else {
		c.idle++
	}
	return errors.Join(kept, err)
}

// saidOf says the verdict on a recording, and why.
func saidOf(s *result.Scenario) string {
	if s.Verdict == result.Inconclusive {
		return fmt.Sprintf("INCONCLUSIVE: %s: %s", s.Reason, s.Detail)
	}
	for _, c := range s.Claims {
		if c.Verdict == result.Fail {
			return fmt.Sprintf("FAIL: %s: %s", c.ID, c.Text)
		}
	}
	return strings.ToUpper(s.Verdict.String())
}
