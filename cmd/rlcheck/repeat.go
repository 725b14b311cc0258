package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/trial"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// maxRetries bounds --retries.
const maxRetries = 20

// course is one scenario of a run and its recordings so far.
type course struct {
	s *scenario.Scenario
	t trialOf
	// out is the last recording, with what the earlier ones measured. Those are kept as timeline-1.ndjson and
	// so on, and notes tell of them.
	out   result.Scenario
	notes []string
	// idle is how many of the last recordings measured nothing that was not known.
	idle int
}

// enough records a scenario until its recording is what was planned, or as often as --retries says. One that
// only measured too little is left to what the whole run measures.
func (e *env) enough(ctx context.Context, c *course) error {
	out, err := e.one(ctx, c.s, c.t)
	c.out = out
	for c.left() && !trial.Unresolved(&c.out) && c.again() && ctx.Err() == nil {
		err = errors.Join(err, e.repeat(ctx, c))
	}
	return err
}

// left tells whether --retries allows another recording.
func (c *course) left() bool { return len(c.notes) < c.t.flags.retries }

// again tells whether another recording may show more: the last one was late, or showed too little.
func (c *course) again() bool {
	return c.out.Verdict == verdict.Inconclusive &&
		(c.out.Reason == verdict.ScheduleMissed || c.out.Reason == verdict.TooFew)
}

// mostIdle is how many recordings in a row may measure nothing new before no more are made.
const mostIdle = 2

// resolve records again, for new clients, what measured too little alone and is not resolved by the run,
// while that helps and --retries allows it.
func (e *env) resolve(ctx context.Context, all []*course, r *result.Run) (err error) {
	together(all, r)
	for i, c := range all {
		unresolved := func() bool { return i < len(r.Scenarios) && trial.Unresolved(&r.Scenarios[i]) }
		for c.left() && unresolved() && c.idle < mostIdle && ctx.Err() == nil {
			err = errors.Join(err, e.repeat(ctx, c))
			together(all, r)
		}
	}
	return err
}

// together writes what the recordings are worth together into the run.
func together(all []*course, r *result.Run) {
	var recorded []result.Scenario
	for _, c := range all {
		out := c.out
		out.Header.Notes = slices.Concat(c.notes, out.Header.Notes)
		recorded = append(recorded, out)
	}
	r.Policy, r.Scenarios = trial.Together(recorded)
}

// repeat keeps the recording of a scenario elsewhere, and records it again for new clients.
func (e *env) repeat(ctx context.Context, c *course) error {
	n, before := len(c.notes)+1, c.out
	e.say.notef("%s: recording %d showed too little (%s), and it is recorded again", c.s.ID, n, before.Reason)
	file := fmt.Sprintf("timeline-%d.ndjson", n)
	if c.t.dir.compress {
		file += packedEnd
	}
	kept := keepTimeline(c.t.dir.of(c.s.ID, file), before.Timeline)
	const note = "recording %d (%s) was INCONCLUSIVE: %s: %s"
	c.notes = append(c.notes, fmt.Sprintf(note, n, file, before.Reason, before.Detail))
	t := c.t
	t.keys = fmt.Sprintf("%s-%d", t.keys, n+1)
	out, err := e.one(ctx, c.s, t)
	if c.out = trial.Again(before, out, file); trial.Narrower(&before, &c.out) {
		c.idle = 0
	} else {
		c.idle++
	}
	return errors.Join(kept, err)
}
