package trial

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Disturbed says how the requests of scenarios that were recorded beside s may have caused its failure.
// Empty: they cannot have. A target may count all clients together, and nobody declared it. So a failure
// stands only if no counter of any kind, quota and window explains a denial that it rests on, or if what s
// sent alone explains it.
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
	if check.Explains(oneClient(all, s, open), s.Limit, exact) {
		return fmt.Sprintf("one quota for all their clients explains it (%s)", s.Limit)
	}
	if len(open) == 0 {
		return ""
	}
	t := trafficOf(all, s)
	if !slices.ContainsFunc(s.Findings(), func(f result.Finding) bool { return t.refutes(f, open) }) {
		return "one counter for all their clients may have been full at each denial in question"
	}
	return ""
}

// traffic is what a counter for all clients may have counted: the begins and ends of decisions, ascending. It
// counted what was admitted, at least. It may have counted everything, as one before the limiter does.
type traffic struct {
	every, own, admitted span
	denials              map[int]*timeline.Observation // of s, by their Seq
	whole                time.Duration
}

// span is when decisions may have begun, and when they had ended, each ascending.
type span struct{ from, to []time.Duration }

// within returns how many decisions surely lie in [a, b], at least.
func (s span) within(a, b time.Duration) int {
	early, _ := slices.BinarySearch(s.from, a)
	ended, _ := slices.BinarySearch(s.to, b+1)
	return max(0, ended-early)
}

// touching returns how many decisions may lie in [a, b].
func (s span) touching(a, b time.Duration) int {
	begun, _ := slices.BinarySearch(s.from, b+1)
	ended, _ := slices.BinarySearch(s.to, a)
	return begun - ended
}

// trafficOf returns the traffic of all recordings, in the time of s.
func trafficOf(all []*result.Scenario, s *result.Scenario) *traffic {
	t := &traffic{denials: map[int]*timeline.Observation{}}
	for _, r := range all {
		later := r.Timeline.Header.Started.Sub(s.Timeline.Header.Started)
		t.whole = max(t.whole, later+r.Timeline.End()) - min(0, later)
		for o := range r.Timeline.All() {
			if r == s && o.Outcome == timeline.Denied {
				t.denials[o.Seq] = o
			}
			if o.Origin {
				continue
			}
			end := later + o.FirstByte
			if !o.Answered {
				end = math.MaxInt64
			}
			add := func(to *span) { to.from, to.to = append(to.from, later+o.Sent), append(to.to, end) }
			add(&t.every)
			if r == s {
				add(&t.own)
			}
			if o.Outcome == timeline.Allowed {
				add(&t.admitted)
			}
		}
	}
	for _, x := range []*span{&t.every, &t.own, &t.admitted} {
		slices.Sort(x.from)
		slices.Sort(x.to)
	}
	return t
}

// refutes tells whether no counter for all clients was full at any denial in question of a finding, unless
// what its own scenario sent filled it alone.
func (t *traffic) refutes(f result.Finding, open map[int]bool) bool {
	denied := false
	for seq := range f.Members() {
		if open[seq] {
			if denied = true; !t.refutesAt(t.denials[seq]) {
				return false
			}
		}
	}
	return denied
}

// shortestWindow is the shortest window of products.
const shortestWindow = time.Second

// refutesAt does so for one denial d. A counter with n units that counts what lies at most w back denies only
// if n or more lie there. It admits only if less do: so n is over what it surely saw at any admission. A
// bucket is full where, for some w, more lie within w than a line allows. That line is nowhere below what was
// admitted within any w, so a bucket is refuted where every w is.
//
//	admitted   | | |||| |   |     the most within w: 4
//	d                     d       only 2 within w before d: no counter with this w denies d
//
// A window lasts a second or more, and may begin anywhere. It counts what lies since its beginning, l before
// d, and admits what follows d until it ends. Of any other span as long as a window, one window admitted at
// least half. A sliding counter adds a share of the window before. Where a span reaches into that one, the
// share is at least what the span leaves of a window.
func (t *traffic) refutesAt(d *timeline.Observation) bool {
	const step, parts = 1.05, 20
	var spans, most []float64
	for x := float64(time.Millisecond); x < 2*step*float64(t.whole); x *= step {
		w, wide := time.Duration(x), time.Duration(step*x)
		spans, most = append(spans, x), append(most, t.most(w)-1)
		last := len(spans) - 1
		if n, alone := t.before(d, wide); n > most[last] && !alone {
			return false
		}
		sliding := 0.0
		for i, m := range most {
			sliding = max(sliding, m*(1-spans[i]/x))
		}
		for i := range time.Duration(parts) {
			if w < shortestWindow {
				break
			}
			l, longer := w/parts*i, wide/parts*(i+1)
			n, alone := t.before(d, longer)
			same := t.admitted.within(d.FirstByte-l, d.Sent-longer+w) - 1
			if n > max(float64(same), math.Floor(most[last]/2)) && !alone {
				return false
			}
			past, alone := t.before(d, longer+wide)
			if n+float64(w-l)/x*(past-n) > sliding && !alone {
				return false
			}
		}
	}
	return true
}

// before returns how many requests may have been decided at most w before d. alone: none is of another
// scenario.
func (t *traffic) before(d *timeline.Observation, w time.Duration) (n float64, alone bool) {
	every := t.every.touching(d.Sent-w, d.FirstByte)
	return float64(every - 1), every == t.own.touching(d.Sent-w, d.FirstByte)
}

// most returns how many admissions surely were within some span of length w, at least.
func (t *traffic) most(w time.Duration) (most float64) {
	for _, at := range t.admitted.to {
		most = max(most, float64(t.admitted.within(at-w, at)))
	}
	return most
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
// scenario. With open, the only denials are those of s: a client's own quota explains the others. What
// another limit may have decided is unknown.
func oneClient(all []*result.Scenario, s *result.Scenario, open map[int]bool) *timeline.Timeline {
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
			case o.Origin || o.Outcome == timeline.Denied && !kept:
				continue
			case o.Outcome == timeline.Allowed && !counted:
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
