package trial

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Disturbed says how the requests of scenarios that were recorded beside s may have caused its failure.
// Empty: nothing shows that they did. Clients that are counted apart cannot disturb each other, so something
// that they share must be shown: one counter that explains all of these recordings, and explains that of s
// only with the others.
//
//	s        admitted   denied?          one counter of 20: full, since the other scenario
//	beside   |||||||||||||||||||         used it up meanwhile
//
// A claim may fail although the recording keeps the limit. A counter is then shown only if it is the declared
// one, and explains each denial of all recordings.
func Disturbed(s *result.Scenario, beside []*result.Scenario) string {
	open := unexplained(s)
	if status := strange(s, open); status > 0 {
		return fmt.Sprintf("only the denials in question have status %d, as from something in front of the "+
			"limiter", status)
	}
	all := []*result.Scenario{s}
	for _, o := range beside {
		if o.ID != s.ID && limiterOf(o) == limiterOf(s) && o.Timeline != nil {
			all = append(all, o)
		}
	}
	long := func(o *result.Scenario) bool { return o.Whole() == nil || o.Timeline.Spool != nil }
	switch {
	case len(all) == 1 || len(s.Limit) == 0:
		return ""
	case slices.ContainsFunc(all, long):
		return "a recording is too long to be compared with the others"
	}
	exact := check.Options{Conformance: result.Exact}
	if check.Explains(oneClient(all, s, open, false), s.Limit, exact) {
		return fmt.Sprintf("one quota for all their clients explains it (%s)", s.Limit)
	}
	if len(open) == 0 {
		return ""
	}
	// A counter before the limiter also counts what that denies.
	for _, before := range []bool{false, true} {
		union, own := oneClient(all, s, open, before), oneClient(all[:1], s, open, before)
		if (!before || deniedTogether(all, s)) && (fullBucket(union) || fullWindow(union, own)) {
			return "one counter for all their clients may have been full at each denial in question"
		}
	}
	return ""
}

// deniedTogether tells whether clients of another scenario were denied without a reason, too, whenever those
// of s were: between the same two admissions, of whomever. A counter for all clients does that while it is
// full, and chance hardly does.
//
//	s        a a     d     a         d: a denial without a reason
//	beside   a   a   d d     a
func deniedTogether(all []*result.Scenario, s *result.Scenario) bool {
	type event struct {
		at time.Duration
		of *result.Scenario // nil: an admission
	}
	var events []event
	for _, o := range all {
		open, later := unexplained(o), o.Timeline.Header.Started.Sub(s.Timeline.Header.Started)
		for x := range o.Timeline.All() {
			switch {
			case x.Outcome == timeline.Allowed && !x.Origin:
				events = append(events, event{later + x.Sent, nil})
			case open[x.Seq]:
				events = append(events, event{later + x.Sent, o})
			}
		}
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	// Whether clients of s, and of others, were denied without a reason since the last admission.
	mine, others := false, false
	for _, e := range append(events, event{}) {
		switch e.of {
		case nil:
			if mine && !others {
				return false
			}
			mine, others = false, false
		case s:
			mine = true
		default:
			others = true
		}
	}
	return true
}

// fullWindow tells whether a fixed window of a usual length, with any quota, for all clients, explains the
// admissions and the unexplained denials of union, and not those of the failing scenario alone. Windows that
// begin anywhere must be short: one long window may end just after any denial.
func fullWindow(union, own *timeline.Timeline) bool {
	exact := check.Options{Conformance: result.Exact}
	explains := func(window time.Duration, align string) bool {
		l, err := spec.Parse(fmt.Sprintf("fixed-window,rate=1/%s,align=%s", window, align))
		if err != nil {
			return false
		}
		j, err := check.Judge(union, l, exact)
		if err != nil || j.Measured.Burst.Empty() || !j.Measured.Burst.HiSet {
			return false
		}
		l[0].Rate.N = max(1, int64(j.Measured.Burst.Lo))
		return !check.Explains(own, l, exact)
	}
	return slices.ContainsFunc([]time.Duration{time.Second, 10 * time.Second, time.Minute, time.Hour},
		func(window time.Duration) bool {
			return explains(window, "clock") || union.End() >= 3*window && explains(window, "unknown")
		})
}

// fullBucket tells whether a bucket of any size and rate, for all clients, may have been empty at each of the
// unexplained denials, and not with the requests of their own scenario alone. Within w, a bucket admits at
// most burst + rate w: a line that is nowhere below what was admitted within w. So at a denial, for some w,
// the line is not above what was admitted within w before it.
//
//	admitted   |        .-- the least such line at w: the concave hull of the most within each w
//	within w   |    .--'  x
//	           | .-'    x     x: within w before the denial. At the line a bucket may be empty.
//	           |____________ w
func fullBucket(union *timeline.Timeline) bool {
	var denials []*timeline.Observation
	var from, to []time.Duration // of the admissions
	for o := range union.All() {
		switch o.Outcome {
		case timeline.Denied:
			denials = append(denials, o)
		case timeline.Allowed:
			from, to = append(from, o.Sent), append(to, o.FirstByte)
		}
	}
	slices.Sort(from)
	slices.Sort(to)
	const step = 1.02
	var spans, most []float64
	for w := float64(time.Millisecond); w < step*float64(union.End()); w *= step {
		spans, most = append(spans, w), append(most, mostWithin(from, to, time.Duration(w)))
	}
	concave(spans, most)
	for i, w := range spans {
		denials = slices.DeleteFunc(denials, func(d *timeline.Observation) bool {
			all, own := before(union, d, time.Duration(step*w))
			return all+1 > most[i] && own+1 <= most[i]
		})
	}
	return len(denials) == 0
}

// concave raises y to its least concave majorant over x, which ascends.
func concave(x, y []float64) {
	var hull []int
	for i := range x {
		for len(hull) > 1 {
			a, b := hull[len(hull)-2], hull[len(hull)-1]
			if (y[b]-y[a])*(x[i]-x[a]) > (y[i]-y[a])*(x[b]-x[a]) {
				break
			}
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, i)
	}
	for k := 1; k < len(hull); k++ {
		a, b := hull[k-1], hull[k]
		for i := a + 1; i < b; i++ {
			y[i] = y[a] + (y[b]-y[a])*(x[i]-x[a])/(x[b]-x[a])
		}
	}
}

// mostWithin returns how many admissions surely were within some span of length w, at least. from and to are
// when each was sent and answered, both ascending.
func mostWithin(from, to []time.Duration, w time.Duration) (most float64) {
	earlier := 0
	for i, at := range to {
		for earlier < len(from) && from[earlier] < at-w {
			earlier++
		}
		most = max(most, float64(i+1-earlier))
	}
	return most
}

// before returns how many requests may have been admitted within w before d, and how many of them are of its
// own scenario.
func before(union *timeline.Timeline, d *timeline.Observation, w time.Duration) (all, own float64) {
	for o := range union.All() {
		if o.Outcome == timeline.Denied || o.Sent > d.FirstByte || o.Answered && o.FirstByte < d.Sent-w {
			continue
		}
		if all++; o.Phase == d.Phase {
			own++
		}
	}
	return all, own
}

// unexplained returns the denials of s that its findings on conformance rest on, by their Seq. Empty: there
// are no such findings.
func unexplained(s *result.Scenario) map[int]bool {
	open := map[int]bool{}
	for _, f := range s.Findings() {
		for seq := range f.Members() {
			open[seq] = true
		}
	}
	for o := range s.Timeline.All() {
		if o.Outcome != timeline.Denied {
			delete(open, o.Seq)
		}
	}
	return open
}

// strange returns the status of 500 or more that only the unexplained denials of s have; 0: there is none.
func strange(s *result.Scenario, open map[int]bool) (status int) {
	usual := map[int]bool{}
	for o := range s.Timeline.All() {
		switch {
		case open[o.Seq]:
			status = o.Status
		case o.Outcome == timeline.Denied:
			usual[o.Status] = true
		}
	}
	if status < 500 || len(usual) == 0 || usual[status] {
		return 0
	}
	return status
}

// oneClient returns recordings as one, in which all requests are of one client, each in the phase of its
// scenario. With open, the only denials are those of s: a client's own quota explains the others. A counter
// before the limiter may have admitted these. What another limit may have decided is unknown.
func oneClient(all []*result.Scenario, s *result.Scenario, open map[int]bool,
	before bool) *timeline.Timeline {
	out := &timeline.Timeline{Header: s.Timeline.Header}
	h := &out.Header
	h.Judged, h.Stalls, h.CompleteFrom = timeline.Terms{}, nil, 0
	for _, o := range all {
		if at := o.Timeline.Header.Started; at.Before(h.Started) {
			h.Started = at
		}
	}
	for _, r := range all {
		g := &r.Timeline.Header
		later := g.Started.Sub(h.Started)
		h.WallError, h.ClockError = max(h.WallError, g.WallError), max(h.ClockError, g.ClockError)
		h.Tick, h.DriftPPM = max(h.Tick, g.Tick), max(h.DriftPPM, g.DriftPPM)
		h.Ended = max(h.Ended, later+r.Timeline.End())
		for o := range r.Timeline.All() {
			one, counted := *o, judgedBy(r, o.Phase)
			kept := r == s && open[o.Seq] || len(open) == 0 && counted
			switch {
			case o.Origin || o.Outcome == timeline.Denied && !kept && !before:
				continue
			case o.Outcome == timeline.Denied && !kept, o.Outcome == timeline.Allowed && !counted:
				one.Outcome = timeline.Unknown
			}
			one.Partition, one.Phase, one.Done = "all", r.ID, 0
			one.At, one.Sent, one.FirstByte = one.At+later, one.Sent+later, one.FirstByte+later
			out.Observations = append(out.Observations, one)
		}
	}
	slices.SortStableFunc(out.Observations, timeline.BySent)
	for i := range out.Observations {
		out.Observations[i].Seq = i
	}
	return out
}

// judgedBy tells whether the declared limit of s alone decides on the requests of a phase.
func judgedBy(s *result.Scenario, phase string) bool {
	return slices.ContainsFunc(s.Timeline.Header.Judged.Limits, func(l timeline.PhaseLimit) bool {
		return l.Limit == s.Limit.String() && (l.Phases == nil || slices.Contains(l.Phases, phase))
	})
}
