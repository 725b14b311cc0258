package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// attempt is the verdict on a recording under another limit. sure: no search was cut short that might still
// refute the limit.
type attempt struct {
	verdict result.Verdict
	sure    bool
}

// tried judges all of a recording under another limit, on the side that o asks for. The bounds come first, as
// they are fast and refute most limits. A limit that cannot be judged fails.
func tried(rec *history.Recording, limit spec.Limit, o Options) attempt {
	if _, err := reference.NewLimit(limit); err != nil || Fits(rec, limit) != nil {
		return attempt{verdict: result.Fail}
	}
	var out attempt
	for _, bounds := range []bool{true, false} {
		c := NewCase(rec, limit,
			Options{Conformance: o.Conformance, Shared: o.Shared, SkipMeasure: true})
		c.Quick, c.BoundsOnly = true, bounds
		c.Judge()
		if out.verdict = c.Judgement().Verdict; out.verdict == result.Fail {
			return out
		}
		out.sure = !slices.ContainsFunc(c.Parts, func(p *Part) bool { return p.Search.Capped })
	}
	return out
}

// Explains tells whether a recording does not refute limit. It is Judge without findings, whose witnesses are
// most of the work. Of o it takes Conformance and Shared.
func Explains(tl *timeline.Timeline, limit spec.Limit, o Options) bool {
	return tried(history.RecordingOf(tl), limit, o).verdict != result.Fail
}

// inquiry looks for limits that explain a recording. Its work is counted in judged requests and not in time,
// so the same recording always has the same result.
type inquiry struct {
	rec *history.Recording
	o   Options
	// left is how many requests may still be judged. tries is how many limits were tried.
	left  int64
	tries int
	found []result.Explanation
	// known are the quotas that were measured for each rate.
	known map[spec.Rate][]int64
	// whole judges the whole recording if rec is only its beginning, otherwise it is nil. wholes is how often
	// it may still be called.
	whole  func(spec.Limit) attempt
	wholes int
}

func newInquiry(rec *history.Recording, o Options) *inquiry {
	return &inquiry{rec: rec, o: o, left: hintWork, wholes: wholeTries}
}

// wholeTries is how many limits are tried on the whole of a recording that is too large to be judged at once.
const wholeTries = 4

// hintWork is how many requests an inquiry judges, under all limits together.
const hintWork = 1 << 21

// spent subtracts the work of judging n limits from what is left. It returns false if less is left.
func (q *inquiry) spent(n int) bool {
	cost := int64(n) * int64(q.rec.Len()+16)
	if q.left < cost {
		q.left = 0
		return false
	}
	q.left -= cost
	return true
}

// try looks for the first of the guesses that explains the recording. The guesses come nearest first.
func (q *inquiry) try(guesses []guess) {
	var may *result.Explanation
	for _, g := range guesses {
		if !q.spent(1) {
			break
		}
		q.tries++
		limit := spec.Limit{g.policy}
		a := tried(q.rec, limit, q.o)
		if a.verdict == result.Pass && q.whole != nil {
			if q.wholes--; q.wholes < 0 {
				q.left = 0
				break
			}
			a = q.whole(limit)
		}
		switch {
		case a.verdict != result.Pass:
		case a.sure:
			q.found = append(q.found, result.Explanation{Text: g.text, Limit: limit, Sure: true})
			return
		case may == nil:
			may = &result.Explanation{Text: g.text, Limit: limit, Sure: false}
		}
	}
	if may != nil {
		q.found = append(q.found, *may)
	}
}

// explain returns what explains a recording that fails a limit of one policy, the nearest first, and a
// sentence that names it. An explanation proves nothing. It is the next thing to look at.
func (q *inquiry) explain(limit spec.Limit, j *result.Judgement) ([]result.Explanation, string) {
	if j.Verdict != result.Fail || len(limit) != 1 {
		return nil, ""
	}
	for _, k := range families {
		if (k.completes || !limit[0].Completes()) &&
			(k.unless == nil || !slices.ContainsFunc(q.found, k.unless)) {
			q.try(k.guesses(q, limit[0], j))
		}
	}
	if slices.ContainsFunc(q.found, func(e result.Explanation) bool { return e.Sure }) {
		q.found = slices.DeleteFunc(q.found, func(e result.Explanation) bool { return !e.Sure })
	} else if len(q.found) > 1 {
		q.found = q.found[:1]
	}
	return q.found, q.sentence()
}

// sentence names the explanations. Empty: nothing was tried.
func (q *inquiry) sentence() string {
	if len(q.found) == 0 && q.tries == 0 {
		return ""
	}
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

// ended says that not all limits were tried. Empty: all were.
func (q *inquiry) ended() string {
	if q.left > 0 {
		return ""
	}
	return " (the budget of work ended before all limits were tried)"
}

// usedBefore says what an unknown level at the start may mean if the client is new.
func (q *inquiry) usedBefore() string {
	unknown := func(e result.Explanation) bool { return e.Limit[0].Start == spec.StartUnknown }
	if q.rec.Header.CompleteFrom > 0 || !slices.ContainsFunc(q.found, unknown) {
		return ""
	}
	return "; or others used the quota before: does the limiter count addresses?"
}
