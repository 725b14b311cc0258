package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// attempt is the verdict on a recording under another limit; sure tells that no search was cut short, which
// might refute it yet.
type attempt struct {
	verdict verdict.Verdict
	sure    bool
}

// tried judges all of a recording under another limit, on the side that o asks for. The bounds come first:
// they refute most limits, and are much faster. What cannot be judged fails.
func tried(tl *timeline.Timeline, limit spec.Limit, o Options) attempt {
	if _, err := reference.NewLimit(limit); err != nil || judge.Fits(tl, limit) != nil {
		return attempt{verdict: verdict.Fail}
	}
	var out attempt
	for _, bounds := range []bool{true, false} {
		c := judge.New(tl, limit,
			Options{Conformance: o.Conformance, Shared: o.Shared, SkipMeasure: true})
		c.Quick, c.BoundsOnly = true, bounds
		c.Judge()
		if out.verdict = c.Judgement().Verdict; out.verdict == verdict.Fail {
			return out
		}
		out.sure = !slices.ContainsFunc(c.Parts, func(p *judge.Part) bool { return p.Search.Capped })
	}
	return out
}

// inquiry looks for limits that explain a recording. It is the same for the same recording, since its work
// is counted in requests that are judged, and not in time.
type inquiry struct {
	tl *timeline.Timeline
	o  Options
	// left is how many requests may still be judged, tries how many limits were.
	left  int64
	tries int
	found []verdict.Explanation
	// known are the quotas that were measured.
	known map[spec.Rate][]int64
	// whole judges a recording of which tl is the beginning, nil where tl is all of it; wholes is how often
	// it may yet.
	whole  func(spec.Limit) attempt
	wholes int
}

func newInquiry(tl *timeline.Timeline, o Options) *inquiry {
	return &inquiry{tl: tl, o: o, left: hintWork, wholes: wholeTries}
}

// wholeTries is how many limits are tried on the whole of a recording that is too large to be judged at once.
const wholeTries = 4

// hintWork is how many requests an inquiry judges, over all limits that it tries.
const hintWork = 1 << 21

// spent takes the judging of n limits from what is left, and tells whether there was enough.
func (q *inquiry) spent(n int) bool {
	cost := int64(n) * int64(len(q.tl.Observations)+16)
	if q.left < cost {
		q.left = 0
		return false
	}
	q.left -= cost
	return true
}

// try looks for the first of some guesses that explains the recording: the nearest of its kind.
func (q *inquiry) try(guesses []guess) {
	var may *verdict.Explanation
	for _, g := range guesses {
		if !q.spent(1) {
			break
		}
		q.tries++
		limit := spec.Limit{g.policy}
		a := tried(q.tl, limit, q.o)
		if a.verdict == verdict.Pass && q.whole != nil {
			if q.wholes--; q.wholes < 0 {
				q.left = 0
				break
			}
			a = q.whole(limit)
		}
		switch {
		case a.verdict != verdict.Pass:
		case a.sure:
			q.found = append(q.found, verdict.Explanation{Text: g.text, Limit: limit, Sure: true})
			return
		case may == nil:
			may = &verdict.Explanation{Text: g.text, Limit: limit, Sure: false}
		}
	}
	if may != nil {
		q.found = append(q.found, *may)
	}
}

// explain returns what explains a recording that fails a limit of one policy, the nearest first, and a
// sentence that names it. It proves nothing: it is the next thing to look at.
func (q *inquiry) explain(limit spec.Limit, j *verdict.Judgement) ([]verdict.Explanation, string) {
	if j.Verdict != verdict.Fail || len(limit) != 1 {
		return nil, ""
	}
	for _, k := range families {
		if k.unless == nil || !slices.ContainsFunc(q.found, k.unless) {
			q.try(k.guesses(q, limit[0], j))
		}
	}
	if slices.ContainsFunc(q.found, func(e verdict.Explanation) bool { return e.Sure }) {
		q.found = slices.DeleteFunc(q.found, func(e verdict.Explanation) bool { return !e.Sure })
	} else if len(q.found) > 1 {
		q.found = q.found[:1]
	}
	return q.found, q.sentence()
}

// sentence names what was found.
func (q *inquiry) sentence() string {
	if len(q.found) == 0 {
		return fmt.Sprintf("something else: none of the %d other limits that were tried explains all "+
			"of this%s",
			q.tries, q.ended())
	}
	first, word := q.found[0], "would"
	if !first.Sure {
		word = "may"
	}
	text := fmt.Sprintf("%s %s explain all of this (%s)", first.Text, word, first.Limit)
	const most = 3
	var more []string
	for _, e := range q.found[1:] {
		more = append(more, e.Limit.String())
	}
	switch n := len(more); {
	case n > most:
		text += fmt.Sprintf("; so would %s and %d more", strings.Join(more[:most], "; "), n-most)
	case n > 0:
		text += "; so would " + strings.Join(more, "; ")
	}
	return text + q.usedBefore() + q.ended()
}

// ended says that not all limits were tried.
func (q *inquiry) ended() string {
	if q.left > 0 {
		return ""
	}
	return " (the budget of work ended before all limits were tried)"
}

// usedBefore says what a start of unknown level may mean of a client that is new.
func (q *inquiry) usedBefore() string {
	unknown := func(e verdict.Explanation) bool { return e.Limit[0].Start == spec.StartUnknown }
	if q.tl.Header.CompleteFrom > 0 || !slices.ContainsFunc(q.found, unknown) {
		return ""
	}
	return "; or others used the quota before: does the limiter count addresses?"
}
