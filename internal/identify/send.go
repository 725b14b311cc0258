package identify

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Sender sends a phase and returns what was seen, ascending by Sent. Times count from the start of the
// recording. A request without an answer is an observation too.
type Sender interface {
	// Now is the time since the start of the recording.
	Now() time.Duration
	// Wait is how long nothing will be sent from now on.
	Wait() time.Duration
	// Header is what is known about the clocks.
	Header() timeline.Header
	Send(ctx context.Context, p Phase) ([]timeline.Observation, error)
}

// spare is how many requests may still be sent to name the limit. Once something was denied, a quarter of all
// is kept to find out what tells clients apart. That must be wanted, and the quarter must suffice.
func (w *wire) spare() int {
	most := w.o.MaxRequests
	asker, can := w.s.(ClientsAsker)
	if can && !w.o.Alike && w.tl.Counts().Denied > 0 {
		if kept := most / 4; ClientsCosts(w.drained(), asker.Ways()) <= kept {
			most -= kept
		}
	}
	return most - len(w.tl.Observations)
}

// sendUntil is the latest time of the last request. A part of MaxTime is kept for the judge.
func (w *wire) sendUntil() time.Duration {
	const judging = 20
	return w.o.MaxTime - min(w.o.Think, w.o.MaxTime/judging)
}

// late returns what tells that the judge was asked for long enough from now on: that it used Think of
// processor time.
func (w *wire) late() func() bool {
	if w.o.Think == 0 || w.o.Spent == nil {
		return w.asker.Over
	}
	until, over := w.o.Spent()+w.o.Think, false
	return func() bool {
		over = over || w.asker.Over() || w.o.Spent() > until
		return over
	}
}

// Why nothing more is sent.
const (
	timeUsed     = "the budget of time is used"
	requestsUsed = "the budget of requests is used"
	interrupted  = "interrupted"
)

// send sends one phase within the budget. It reports false where nothing more must be sent.
func (x *search) send(ctx context.Context, p Phase) bool {
	switch left := x.spare(); {
	case left <= 0:
		x.stopped = requestsUsed
		return false
	case x.s.Now()+max(p.Rest, x.s.Wait()) >= x.sendUntil():
		x.stopped = timeUsed
		return false
	default:
		p.Requests = max(1, min(p.Requests, left))
	}
	switch {
	case x.queue.without != nil || x.pace.far && p.Every < x.trip():
		p.AtOnce = p.Requests
	case !x.pace.far && x.pace.every > 0:
		p.AtOnce = max(1, x.pace.atOnce)
	}
	p.Until = x.sendUntil()
	seen, err := x.s.Send(ctx, p)
	for _, o := range seen {
		o.Seq, o.Phase, o.Cost = len(x.tl.Observations), p.Name, 1
		x.tl.Observations = append(x.tl.Observations, o)
	}
	x.tl.Header = x.s.Header()
	if x.o.OnPhase != nil {
		x.o.OnPhase(p, x.tl, x.kindNames())
	}
	switch {
	case err != nil:
		x.stopped = err.Error()
	case ctx.Err() != nil:
		x.stopped = interrupted
	default:
		x.stopped = trouble(x.tl)
	}
	return x.stopped == ""
}

// MostLost is how many requests in a row without an outcome, or how many errors in all, end the search.
const MostLost = 3

// trouble says why no phase follows: too many requests had no outcome. Empty: go on.
func trouble(tl *timeline.Timeline) string {
	all := tl.Observations
	unknown, errors, last := 0, 0, timeline.Observation{}
	for i := range all {
		o := &all[i]
		if o.Outcome != timeline.Unknown {
			unknown = 0
			continue
		}
		if o.Answered {
			errors++
		}
		last = *o
		unknown++
	}
	refused := unknown > 0 && unknown == len(all) && last.Error != "timeout"
	if errors < MostLost && unknown < MostLost && !refused {
		return ""
	}
	if why, down := transport.CauseUnreachable(tl); down {
		if mend := transport.CauseRemedy(tl); mend != "" {
			why += " (" + strings.ReplaceAll(mend, "; ", ", or ") + ")" // a semicolon ends a reason
		}
		return why
	}
	seen := last.Error
	if last.Answered {
		seen = fmt.Sprintf("status %d", last.Status)
	}
	return fmt.Sprintf("%s neither admitted nor denied (%s): %s",
		text.Plural(max(unknown, errors), "request"), seen, unclear(tl, &last))
}

// unclear asks the user what may be wrong with a request that was neither admitted nor denied.
func unclear(tl *timeline.Timeline, o *timeline.Observation) string {
	switch {
	case o.Answered && slices.Contains(tl.Header.Notes, transport.CauseNoCertificate):
		return transport.CauseCertify
	case o.Answered && (o.Status == http.StatusUnauthorized || o.Status == http.StatusForbidden):
		return fmt.Sprintf("is the key right (-H 'NAME: VALUE'), or is this a denial (--denied %d)?",
			o.Status)
	case !o.Answered && o.Error == "timeout" && everLater(tl) > 0:
		return fmt.Sprintf("admissions took ever longer, at last %s, so the limit delays requests, and "+
			"denied none of these (leaky-bucket-queue,rate=RATE,queue=N describes that)",
			text.Brief(everLater(tl)))
	default:
		return "is it the right URL, and which status denies (--denied)?"
	}
}

// everLater returns how long the last admission took if it took much longer than the first; else 0.
func everLater(tl *timeline.Timeline) (last time.Duration) {
	const much = 100
	first := time.Duration(0)
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Allowed {
			last = o.FirstByte - o.Sent
			first = cmp.Or(first, last)
		}
	}
	if last < max(time.Second, much*first) {
		return 0
	}
	return last
}

// perform makes an experiment that was planned some time ago. It reports false where nothing more is sent.
func (x *search) perform(ctx context.Context, e Experiment, planned time.Duration) bool {
	x.made[Family(e)]++
	x.made[e.Phases[0].Name]++
	e.Phases[0].Rest = x.rest(e.Phases[0].Rest, planned)
	for _, p := range e.Phases {
		if !x.send(ctx, p) {
			x.exclude()
			return false
		}
	}
	return true
}

// rest is what is left of a rest that was planned some time ago: planning is part of it.
func (w *wire) rest(rest, planned time.Duration) time.Duration {
	return max(min(rest, w.pace.every), rest-(w.s.Now()-planned))
}
