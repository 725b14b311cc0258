package identify

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/identify/trip"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Once one class is left, the planner has nothing to tell apart. Then experiments ask for what could refute
// that class. Most of them rule out a rival: a limiter that is no kind, and that explains all answers too. No
// experiment reads its answers, which the judge does. To add one, write a variable of this type with its
// phases and its rival in a file, and name it in confirm. If it has a rival, name it in rivals, too.

// experiment is a question about the first kind that is left.
type experiment struct {
	// name is that of its phases. most is how often it is made of a kind.
	name string
	most int
	// of tells whether it says anything about a kind.
	of func(r *space.Region) bool
	// phases are what it sends next. made is how often it was made of the kind before. There are none where
	// nothing is to be told.
	phases func(x *search, made int) []step
	// rival explains all answers as c does, as long as the experiment has not refuted it; else it is nil.
	// While it is there, the experiment is made again and c is not named. nil: there is no rival.
	rival func(x *search, c identity.Candidate) *identity.Candidate
	// why is the reason not to name a limit beside its rival.
	why func(rival *identity.Candidate) string
	// least is how often it is made without a rival, too; nil: once.
	least func(x *search) int
}

// step is a phase of an experiment.
type step struct {
	plan.Phase
	// due is when the first request is due, if that depends on earlier answers; nil: after Rest, which is
	// about as long.
	due func() time.Duration
}

// inTurn are phases that do not depend on earlier answers.
func inTurn(phases ...plan.Phase) (out []step) {
	for _, p := range phases {
		out = append(out, step{Phase: p})
	}
	return out
}

// rivals are the experiments that rule out a limiter that is no kind.
func rivals() []*experiment { return []*experiment{&partly, &unbanned, &idle} }

// try makes an experiment, if it is due and fits the time. It reports false where it does not, or nothing
// more must be sent.
func (x *search) try(ctx context.Context, e *experiment) bool {
	if len(x.regions) == 0 || !e.of(x.regions[0]) {
		return false
	}
	name, least := e.name+" "+x.regions[0].Text(), 1
	if e.least != nil {
		least = e.least(x)
	}
	made := x.made[name]
	if made >= e.most || made >= least && (e.rival == nil || e.rival(x, x.candidate(x.regions[0])) == nil) {
		return false
	}
	steps := e.phases(x, made)
	if len(steps) > 0 && !x.fits(steps) {
		return false
	}
	x.made[name]++
	for _, s := range steps {
		if s.due != nil {
			s.Rest = max(x.every, s.due()-x.s.Now())
		}
		if s.Name = e.name; !x.send(ctx, s.Phase) {
			return false
		}
	}
	return len(steps) > 0
}

// rivalled adds a rival that explains the recording too, and says how to rule it out.
func (x *search) rivalled(res *identity.Result) bool {
	for _, e := range rivals() {
		if rival := e.rival(x, res.Found[0]); rival != nil {
			if steps := e.phases(x, 0); len(steps) > 0 && !x.recorded() {
				res.Next = costs(steps)
			}
			res.Found, res.Stopped = append(res.Found, *rival), e.why(rival)
			return true
		}
	}
	return false
}

// costs describes steps, with how many requests and how long they take.
func costs(steps []step) string {
	var phases []plan.Phase
	for _, s := range steps {
		phases = append(phases, s.Phase)
	}
	return plan.Costs(phases)
}

// fits tells whether there is time to make steps.
func (x *search) fits(steps []step) bool {
	at := x.s.Now()
	for _, s := range steps {
		at += s.Rest + time.Duration(s.Requests)*(s.Every+x.trip())
	}
	return at <= x.sendUntil()
}

// confirm makes experiments that could refute the only class that is left or, if none is left, looks for rare
// kinds. It reports false where nothing is to be asked.
func (x *search) confirm(ctx context.Context) bool {
	switch {
	case x.withoutQueue != nil && !x.queueExplains():
		x.unlike = x.regions
		x.noQueue()
		return true
	case len(x.regions) == 0:
		return x.path == nil && x.widen(ctx) || x.unshelve()
	}
	doubts := x.doubts()
	if x.path != nil { // as many as fit the budget, to belie a path that is not steady
		doubts = len(usualRests)
	}
	return x.try(ctx, &gently) || x.try(ctx, &onTheBeat) || x.try(ctx, &partly) || x.try(ctx, &unbanned) ||
		x.usualExperiment(ctx, 1) || x.try(ctx, &idle) || x.usualExperiment(ctx, doubts) ||
		x.try(ctx, &overrun)
}

// lastly asks what alone keeps the only class that is left from its name, with the requests that are kept for
// what tells clients apart: for a ban, for a time to live, and for a window in slots.
func (x *search) lastly(ctx context.Context) {
	stopped := x.stopped
	if stopped != "" && stopped != requestsUsed {
		return
	}
	x.dear = true
	asked := func(e *experiment) bool { return x.try(ctx, e) }
	for !x.asker.Over() && x.settled(x.regions) && !x.unlikely() && slices.ContainsFunc(rivals(), asked) {
		x.exclude()
	}
	x.dear, x.stopped = false, cmp.Or(x.stopped, stopped)
}

// slack is how long before or after an instant a request must be sent to be surely decided on that side of
// it.
func (x *search) slack() time.Duration {
	all := trip.Trips(x.shown(), timeline.Allowed, timeline.Denied)
	return all[len(all)*9/10] + x.tl.Header.Tick + time.Millisecond
}

// course is what is left of the first kind, from now on.
func (x *search) course() *plan.Course {
	var models []*plan.Model
	if r := x.regions[0]; len(r.Kind.Parts) == 0 {
		for _, b := range append([]space.Box{r.Kind.Conventional(r.Hull())}, r.Points(6, false)...) {
			b.Q1 = b.Q2
			for _, k := range r.Kind.ClockPhases() {
				if m := plan.NewModel(r, x.shown(), k, b); m != nil {
					models = append(models, m)
				}
			}
		}
	}
	return plan.NewCourse(models, x.s.Now(), x.trip())
}
