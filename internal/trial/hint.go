package trial

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Explain looks for limits that explain all recordings of a failing limiter together. It first tries the
// limits that explain a single failure. If none of those is the declared limit with other numbers, it also
// tries the limits that identify finds in all recordings together. think is the time for that search, which
// is most of the work. Each recording is checked only on the side (upper, lower, exact) that its scenario
// judges.
//
// With fewer than two recordings of a failing limiter, the hint is nil, unless a queue was declared as a
// bucket (see waiting). The single hints of these scenarios are removed from the scenarios returned. If no
// limit is found, those that name one stay.
func Explain(ctx context.Context, recorded []result.Scenario, think time.Duration) (*result.Hint,
	[]result.Scenario) {
	of := failing(recorded)
	if len(of) < 2 {
		return waiting(recorded), recorded
	}
	h, g := &result.Hint{}, Near(of)
	texts, work := map[string]string{}, hintWork
	try := func(all []result.Explanation) {
		for _, e := range all {
			if explains(e.Limit, of, &work) {
				h.Limits = append(h.Limits, e.Limit)
				texts[e.Limit.String()] = e.Text
			}
		}
	}
	if try(g.All); !slices.ContainsFunc(h.Limits, g.Nearby) {
		try(g.Further(ctx, think))
		try(g.ByTheClock(h.Limits))
		h.Limits = g.Ordered(h.Limits)
		// A clock of whole seconds blurs everything, so it explains much. It counts where nothing else does.
		coarse := func(l spec.Limit) bool { return l[0].Tick >= time.Second }
		if fine := slices.DeleteFunc(slices.Clone(h.Limits), coarse); len(fine) > 0 {
			h.Limits = fine
		}
	}
	for _, s := range of {
		h.From = append(h.From, s.ID)
	}
	h.Text = sentence(h.Limits, texts, len(g.All), len(of))
	out := slices.Clone(recorded)
	for i := range out {
		j := out[i].Judgement
		if j == nil || len(h.Limits) == 0 && len(j.Explanations) > 0 {
			continue
		}
		if j.Hint != "" && slices.Contains(h.From, out[i].ID) {
			without := *j
			without.Hint, without.Explanations = "", nil
			out[i].Judgement = &without
		}
	}
	return h, out
}

// waiting looks for a queue that was declared as something else. In that case nothing fails: answers that
// wait hide when their requests were decided. It returns nil if no queue explains all recordings.
func waiting(recorded []result.Scenario) *result.Hint {
	for _, g := range groupsOf(recorded, func(s *result.Scenario) bool { return !single(s.Timeline) }) {
		rate, places := g.queue()
		if places < 1 || slowToDeny(g.of) {
			continue
		}
		l, err := spec.Parse(fmt.Sprintf("leaky-bucket-queue,rate=%s,queue=%d", rate, places))
		if work := hintWork; err == nil && explains(l, g.of, &work) {
			h := &result.Hint{Limits: []spec.Limit{l}}
			for _, s := range g.of {
				h.From = append(h.From, s.ID)
			}
			h.Text = sentence(h.Limits, map[string]string{l.String(): "a queue, which lets requests wait,"},
				1, len(g.of))
			return h
		}
	}
	return nil
}

// queue returns the rate and the places of the queue that a group may have instead of its limit; 0 places:
// none. Most recordings of a bucket then measure too little, and in those of a window or a log requests wait.
func (g *group) queue() (rate string, places int64) {
	p := g.limit[0]
	if len(g.limit) > 1 || p.Queued() || p.Completes() {
		return "", 0
	}
	waits := func(s *result.Scenario) bool { return identify.Waits(s.Timeline) }
	quota, window := Whole(p)
	switch {
	case !p.Refills() && slices.ContainsFunc(g.of, waits):
		return fmt.Sprintf("%d/%s", quota, window), quota - 1
	case !p.Refills() || !g.measured.Burst.HiSet:
		return "", 0
	}
	open := 0
	for _, s := range g.of {
		if Unresolved(s) {
			open++
		}
	}
	if open < 2 || 2*open < len(g.of) {
		return "", 0
	}
	return p.RateText(), int64(g.measured.Burst.Hi) - 1
}

// slowToDeny tells whether denials took half as long as admissions, or longer. A queue denies at once: such a
// target is slow with all.
func slowToDeny(of []*result.Scenario) bool {
	var took [3][]time.Duration // by outcome
	for _, s := range of {
		for o := range s.Timeline.All() {
			if o.Answered && !o.Origin {
				took[o.Outcome] = append(took[o.Outcome], o.FirstByte-o.Sent)
			}
		}
	}
	middle := func(d []time.Duration) time.Duration {
		slices.Sort(d)
		return d[len(d)/2]
	}
	allowed, denied := took[timeline.Allowed], took[timeline.Denied]
	return len(allowed) > 0 && len(denied) > 0 && 2*middle(denied) >= middle(allowed)
}

// hintWork is the ceiling on requests that are judged for one hint, summed over recordings and limits.
const hintWork = 1 << 21

// failing returns the scenarios of the limiter with the most failing recordings, including those that pass.
// It skips recordings that more than one policy or limit judges, those whose clients share a quota, and those
// without a denial: they met no limit. It returns nil if nothing fails.
func failing(recorded []result.Scenario) []*result.Scenario {
	of, fails, most := map[string][]*result.Scenario{}, map[string]int{}, ""
	for i := range recorded {
		s := &recorded[i]
		if j := s.Judgement; j == nil || j.Diagnosis != nil || len(s.Limit) != 1 || !single(s.Timeline) ||
			j.Verdict == result.Fail && !denies(s.Timeline) || s.Beyond() {
			continue
		}
		name := limiterOf(s)
		of[name] = append(of[name], s)
		if s.Judgement.Verdict == result.Fail {
			fails[name]++
		}
		if fails[name] > fails[most] {
			most = name
		}
	}
	return of[most] // none where nothing fails
}

// denies tells whether a recording in memory has a denial.
func denies(tl *timeline.Timeline) bool {
	denied := func(o timeline.Observation) bool { return o.Outcome == timeline.Denied }
	return slices.ContainsFunc(tl.Observations, denied)
}

// single tells whether a recording is in memory and one limit judges all of it.
func single(tl *timeline.Timeline) bool {
	if tl == nil || tl.Spool != nil || len(tl.Observations) == 0 {
		return false
	}
	t := tl.Header.Judged
	return len(t.Limits) == 1 && len(t.Limits[0].Phases)+len(t.Limits[0].Undecided) == 0 && !t.SingleUnits
}

// explains tells whether no recording refutes l, on the side that each scenario judges. The shortest
// recording is judged first. work is lowered by each request judged; below 0 the answer is false.
func explains(l spec.Limit, of []*result.Scenario, work *int) bool {
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(a, b *result.Scenario) int {
		return cmp.Compare(len(a.Timeline.Observations), len(b.Timeline.Observations))
	})
	for _, s := range of {
		if *work -= len(s.Timeline.Observations); *work < 0 {
			return false
		}
		t := s.Timeline.Header.Judged
		if !check.Explains(s.Timeline, l, check.Options{Shared: t.Shared,
			Conformance: cmp.Or(result.Conformance(t.Conformance), result.Exact)}) {
			return false
		}
	}
	return true
}

// sentence says which limits explain n recordings, or that none of the limits tried does.
func sentence(limits []spec.Limit, texts map[string]string, tried, n int) string {
	if len(limits) == 0 {
		return fmt.Sprintf("none of the %s tried explains all %s together",
			text.Plural(tried, "other limit"), text.Plural(n, "recording"))
	}
	const most = 3
	var names []string
	for _, l := range limits[1:] {
		names = append(names, l.String())
	}
	first := limits[0].String()
	what := "the recording"
	if n > 1 {
		what = "all " + text.Plural(n, "recording")
	}
	text := fmt.Sprintf("%s would explain %s (%s)", texts[first], what, first)
	switch more := len(names); {
	case more > most:
		text += fmt.Sprintf("; so would %s and %d more", strings.Join(names[:most], "; "), more-most)
	case more > 0:
		text += "; so would " + strings.Join(names, "; ")
	}
	return text
}
