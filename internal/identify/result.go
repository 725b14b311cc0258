package identify

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Verdict tells whether one class is left.
type Verdict string

// The verdicts.
const (
	Identified Verdict = "identified"
	Open       Verdict = "open"
	None       Verdict = "none"
)

// Result is what was found out about a limit.
type Result struct {
	Verdict Verdict
	// Found are the classes that are left. Identified: one. Open: several, or one that is too wide to name.
	Found    []Candidate
	Timeline *timeline.Timeline
	// Before counts the requests that were sent before Timeline begins. They showed that the quota was in
	// use.
	Before int
	// Used is the time since the first request, including that for judging and for Before.
	Used time.Duration
	// Recorded tells that nothing was sent: Timeline is a recording that was there before.
	Recorded bool
	// Next is, where Verdict is Open, the experiment that would tell most, and what it costs; may be empty.
	Next string
	// Sharper is what would narrow the identified time to 2 %; nil where it is that narrow.
	Sharper *Sharper
	// Wide are the kinds that are not refuted, and of which hardly anything was measured. Out are those that
	// are refuted.
	Wide, Out []string
	// Under is what a log leaves under a smaller allowance for its times; empty for nothing.
	Under string
	// Raised is the budget with which identify would tell more; zero where none would.
	Raised Budget
	// Also are limits that answers state beside the identified one.
	Also []string
	// Stopped says why the verdict is Open; empty otherwise.
	Stopped string
	// Trip is the median time from a request to its answer.
	Trip time.Duration
	// Gone are the nearest kinds, where nothing is left.
	Gone []Candidate
	// Clients is what tells clients apart; nil where nobody asked.
	Clients *Found
}

// Sent counts the requests of Timeline, Before and Clients.
func (r *Result) Sent() int {
	n := r.Before + len(r.Timeline.Observations)
	if r.Clients != nil {
		n += len(r.Clients.Timeline.Observations)
	}
	return n
}

// OrElse adds queues to what explains a recording without waiting. It returns the queues alone where nothing
// else explains it; nil for none.
func (r *Result) OrElse(queue *Result) *Result {
	switch {
	case queue == nil:
		return r
	case len(r.Found) == 0:
		return queue
	}
	r.Verdict, r.Stopped = Open, MayQueue
	r.Found, r.Also, r.Sharper = append(r.Found, queue.Found...), nil, nil
	return r
}

// MayQueue is the reason where answers took as long as in a queue that is not well known.
const MayQueue = "admitted requests waited, for reasons of their own or in a queue"

// Undenied is the reason where a limit denied nothing.
const Undenied = "no request was denied"

// Undenied says which limits a recording without a denial would not have shown.
func (r *Result) Undenied() string {
	b := r.unseen()
	return fmt.Sprintf(Undenied+": a limit above %s in %s, or of more than %d in flight, would not "+
		"have been seen", text.Plural(int(b.requests), "request"), text.Brief(b.within), r.crowd()) +
		r.lost() + r.redirected()
}

// lost says how many requests got no answer; empty where all did.
func (r *Result) lost() string {
	lost, word := 0, ""
	for o := range r.Timeline.All() {
		if !o.Answered && timeline.NoAnswer(o.Error) {
			lost, word = lost+1, o.Error
		}
	}
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf(", but %s got no answer (%s), which may be a way to deny (rlcheck run judges "+
		"that with --set denied.unanswered=true)", text.Plural(lost, "request"), word)
}

// redirected says that all answers send the client elsewhere; empty where one does not.
func (r *Result) redirected() string {
	all := r.Timeline.Statuses()
	stays := func(x timeline.StatusCount) bool { return !x.Redirects() }
	if len(all) == 0 || slices.ContainsFunc(all, stays) {
		return ""
	}
	return fmt.Sprintf(", and every answer redirects (%d): is this the limited URL?", all[0].Status)
}

// crowd is the most requests that may have been in flight at once.
func (r *Result) crowd() (most int64) {
	all := PlacesOf(r.Timeline)
	for i := range r.Timeline.Observations {
		o := &r.Timeline.Observations[i]
		n := all.Held(o.Partition, o.Sent, o.Sent)
		if o.Outcome == timeline.Denied { // it was in flight too, but held no place
			n++
		}
		most = max(most, n)
	}
	return most
}

// bound is a number of requests within a time. A slower limit above it would not have been seen.
type bound struct {
	requests int64
	within   time.Duration
}

// sentence describes the bound for people.
func (b bound) sentence() string {
	return fmt.Sprintf("a further limit above %s in %s would not have been seen: no more were admitted",
		text.Plural(int(b.requests), "request"), text.Brief(b.within))
}

// unseen returns the most requests that one client had admitted, and the time from its first request until
// then. A limit of more in that time was never reached.
func (r *Result) unseen() (out bound) {
	type client struct {
		admitted    int64
		first, last time.Duration
	}
	all := map[string]client{}
	for i := range r.Timeline.Observations {
		o := &r.Timeline.Observations[i]
		c, has := all[o.Partition]
		if !has {
			c.first = o.Sent
		}
		if c.last = max(c.last, o.Sent, o.FirstByte); o.Outcome == timeline.Allowed {
			c.admitted++
		}
		if all[o.Partition] = c; c.admitted > out.requests {
			out = bound{c.admitted, c.last - c.first}
		}
	}
	return out
}
