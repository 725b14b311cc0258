package trial

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// staleDate is how much older than its own second a Date may be: servers reuse a Date for up to a second.
	staleDate = time.Second
	// noClock caps the measured offset of a clock. All windows are shorter.
	noClock = 366 * 24 * time.Hour
)

// reading collects the Dates of a recording. Each Date gives a closed interval for how far the clock that
// wrote it is ahead of ours. The zero value has read no Date.
type reading struct {
	dates dates
	n     int
	// lo..hi is the intersection of all intervals; it is empty (lo > hi) if the Dates are not of one clock.
	// least..most is the union of all intervals.
	lo, hi, least, most time.Duration
}

// add reads the Date of one observation, if it has one.
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

// refutes tells whether the Dates show that the clock is off by more than wallError.
func (r *reading) refutes(wallError time.Duration) bool {
	return r.n > 0 && (r.lo > wallError || r.hi < -wallError)
}

// widen raises the header's WallError to the offset that the Dates show, if that is larger. It never lowers
// WallError: the process that decides may have another clock than the one that writes the Date.
func (r *reading) widen(h *timeline.Header) {
	if !r.refutes(h.WallError) {
		return
	}
	lo, hi := r.lo, r.hi
	if lo > hi { // the Dates are not of one clock
		lo, hi = r.least, r.most
	}
	h.WallError = min(max(h.WallError, lo.Abs(), hi.Abs()), noClock)
	h.Notes = append(h.Notes, fmt.Sprintf("the clock of the target's Date fields is %s to %s ahead of "+
		"ours",
		lo.Round(time.Millisecond), hi.Round(time.Millisecond)))
}

// dates parses Dates and caches the last one, as all answers of one second carry the same.
type dates struct {
	text string
	at   time.Time
	err  error
}

// clockOf returns how far the clock that wrote the Date of an answer is ahead of ours, as a closed interval.
// The answer was written between Sent and FirstByte. At that time the clock was between its Date and one
// second later, or two seconds if the Date is stale. ok is false for an answer without a readable Date, from
// an origin, or from a cache (Age): those say nothing about the target.
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

// CutClock widens the WallError of a recording that was cut short by the Dates that it has.
func CutClock(tl *timeline.Timeline) {
	var r reading
	for o := range tl.All() {
		r.add(tl, o)
	}
	r.cut(&tl.Header)
}

// cut is widen for a recording that was cut short. If the Dates refute the assumed error, it is at least
// otherClock.
func (r *reading) cut(h *timeline.Header) {
	if r.refutes(h.WallError) {
		h.WallError = max(h.WallError, otherClock)
	}
	r.widen(h)
}

// ownClock excuses a target that was assumed to have the clock of this machine. One on loopback is, but a
// server behind a tunnel or in a virtual machine has its own. A Fail stays a Fail only if both judgements
// fail.
func ownClock(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, ends *endpoints) *excuse {
	if !ends.assumed || tl.Header.WallError >= otherClock || !readsClock(s) {
		return nil
	}
	hint := ""
	if out.Judgement != nil && len(out.Judgement.Explanations) > 0 {
		hint = "; perhaps " + out.Judgement.Hint
	}
	x := &excuse{header: tl.Header, as: s, reason: result.TooFew, certain: true,
		why:  fmt.Sprintf("%s, but not if its clock may be %s off%s", result.OurClock, otherClock, hint),
		note: fmt.Sprintf("%s (say so with --wall-error %s)", result.OurClock, tl.Header.WallError)}
	x.header.WallError = otherClock
	return x
}

// readsClock tells whether a limit of s has windows that are aligned to the wall clock.
func readsClock(s *scenario.Scenario) bool {
	byClock := func(p spec.Policy) bool {
		return p.Windowed() && (p.Align == "" || p.Align == spec.AlignClock || p.Align == spec.AlignCalendar)
	}
	all := slices.Concat(slices.Collect(maps.Values(s.Expect.Limits))...)
	return slices.ContainsFunc(append(all, s.Limit...), byClock)
}
