package trial

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

const (
	// staleDate is how old a Date may be beyond its own second: servers keep one for up to a second.
	staleDate = time.Second
	// noClock is the most that a clock can be told to be off: windows are shorter.
	noClock = 366 * 24 * time.Hour
)

// reading is what the Dates of a recording say of the clock that wrote them: how far it is ahead of ours, as
// closed intervals. The zero value has read none.
type reading struct {
	dates dates
	n     int
	// lo..hi is in all intervals, where they are those of one clock; least..most is all of them.
	lo, hi, least, most time.Duration
}

// add reads one observation.
func (r *reading) add(tl *timeline.Timeline, o *timeline.Observation) {
	from, to, ok := r.dates.clockOf(tl, o)
	if !ok {
		return
	}
	if r.n++; r.n == 1 {
		r.lo, r.hi, r.least, r.most = from, to, from, to
	}
	r.lo, r.hi, r.least, r.most = max(r.lo, from), min(r.hi, to), min(r.least, from), max(r.most, to)
}

// refutes tells whether a Date shows that the clock is not known as well as that.
func (r *reading) refutes(wallError time.Duration) bool {
	return r.n > 0 && (r.lo > wallError || r.hi < -wallError)
}

// widen makes the error of the target's wall clock as large as the Dates of its answers show, where that is
// more than was assumed. Whoever decides may have another clock than who writes the Dates, so it is never
// made smaller.
func (r *reading) widen(h *timeline.Header) {
	if !r.refutes(h.WallError) {
		return
	}
	lo, hi := r.lo, r.hi
	if lo > hi { // not those of one clock
		lo, hi = r.least, r.most
	}
	h.WallError = min(max(h.WallError, lo.Abs(), hi.Abs()), noClock)
	h.Notes = append(h.Notes, fmt.Sprintf("the clock of the target's Date fields is %s to %s ahead of "+
		"ours",
		lo.Round(time.Millisecond), hi.Round(time.Millisecond)))
}

// dates reads Dates: one that comes again, as all of one second do, once.
type dates struct {
	text string
	at   time.Time
	err  error
}

// clockOf returns by how much the clock that wrote the Date of an answer is ahead of ours, as a closed
// interval: the answer was written between Sent and FirstByte, when that clock read between its Date and a
// second more, or two. Answers of the origin or of a cache tell nothing of the target.
func (d *dates) clockOf(tl *timeline.Timeline, o *timeline.Observation) (from, to time.Duration, ok bool) {
	v, dated := o.Fields.Get("Date")
	_, aged := o.Fields.Get("Age")
	if !dated || aged || !o.Answered || o.Origin || tl.Header.Started.IsZero() {
		return 0, 0, false
	}
	if v != d.text || v == "" {
		d.text = v
		d.at, d.err = headers.ParseDate(v)
	}
	if d.err != nil {
		return 0, 0, false
	}
	since := min(max(d.at.Sub(tl.Header.Started), -noClock), noClock)
	return since - o.FirstByte, since + time.Second + staleDate - o.Sent, true
}

// CutClock makes what a cut recording says of the target's clock as careful as a whole one would.
func CutClock(tl *timeline.Timeline) {
	var r reading
	for o := range tl.All() {
		r.add(tl, o)
	}
	r.cut(&tl.Header)
}

// cut is widen for a cut recording: nothing is assumed of a clock that its Dates refute.
func (r *reading) cut(h *timeline.Header) {
	if r.refutes(h.WallError) {
		h.WallError = max(h.WallError, otherClock)
	}
	r.widen(h)
}

// doubtClock judges a recording again that fails where the target has the clock of this machine, as was
// assumed of one on loopback: behind a tunnel or in a virtual machine it has another. What is left holds for
// both; what fails by one of them is no Pass.
func doubtClock(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, judge judgement) {
	if out.Verdict != verdict.Fail || tl.Header.WallError >= otherClock || !readsClock(s) {
		return
	}
	assumed, hint := tl.Header.WallError, ""
	if out.Judgement != nil && len(out.Judgement.Explanations) > 0 {
		hint = "; perhaps " + out.Judgement.Hint
	}
	tl.Header.WallError, out.Claims = otherClock, nil
	judge(out, s, tl)
	if out.Verdict == verdict.Fail {
		return
	}
	tl.Header.Notes = append(tl.Header.Notes, fmt.Sprintf("%s (say so with --wall-error %s)", result.OurClock,
		assumed))
	out.Header = tl.Header
	if out.Verdict == verdict.Pass {
		*out = inconclusive(*out, verdict.TooFew, fmt.Sprintf("%s, but not if its clock may be %s off%s",
			result.OurClock, otherClock, hint))
	}
}

// judgement fills the verdict of a recording into out.
type judgement func(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline)

// readsClock tells whether a limit of s has windows that begin by the clock.
func readsClock(s *scenario.Scenario) bool {
	byClock := func(p spec.Policy) bool {
		return p.Windowed() && (p.Align == "" || p.Align == spec.AlignClock)
	}
	if slices.ContainsFunc(s.Limit, byClock) {
		return true
	}
	for _, l := range s.Expect.Limits {
		if slices.ContainsFunc(l, byClock) {
			return true
		}
	}
	return false
}
