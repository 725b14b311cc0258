package claim

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/claim/answer"
	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// answers judges that the answers of a phase have one of the expected statuses, whatever they mean for the
// limit. If the target stops answering in that phase, no answer has one.
func (r *recording) answers(b AnswerBound) verdict.Claim {
	id := verdict.ClaimAnswers.ID(b.Phase)
	var answered, lost, bad []*timeline.Observation
	for i := range r.Observations {
		o := &r.Observations[i]
		switch {
		case o.Phase != b.Phase || o.Origin:
		case !o.Answered:
			lost = append(lost, o)
		default:
			answered = append(answered, o)
			if !slices.Contains(b.Status, o.Status) {
				bad = append(bad, o)
			}
		}
	}
	text := fmt.Sprintf("%d of %s of phase %s have status %s", len(answered)-len(bad),
		quantity.Plural(len(answered), "answer"), phrase.Quote(b.Phase), phrase.OneOf(b.Status))
	chances := verdict.Of(len(answered), "answers of phase "+phrase.Quote(b.Phase)+" whose status was read")
	switch {
	case len(bad) > 0:
		return verdict.Settle(id, text, chances, finding.Count(verdict.AnsweredOtherwise, bad,
			fmt.Sprintf("%d of %s of phase %s have status %s, expected is %s: %s", len(bad),
				quantity.Plural(len(answered), "answer"), phrase.Quote(b.Phase),
				phrase.OneOf(answer.Statuses(bad)), phrase.OneOf(b.Status), phrase.Seqs(bad))))
	case r.wentSilent(b.Phase, len(answered), lost):
		text = fmt.Sprintf("%d of %s of phase %s got no answer (%s), expected is status %s", len(lost),
			quantity.Plural(len(answered)+len(lost), "request"), phrase.Quote(b.Phase), lost[0].Error,
			phrase.OneOf(b.Status))
		return verdict.Settle(id, text, chances, finding.Count(verdict.Unanswered, lost,
			text+", and all earlier requests were answered: "+phrase.Seqs(lost)))
	case len(lost) > 0 && len(answered) > 0:
		return finding.TooFew(id, fmt.Sprintf("%s; %s not answered (%s)", text,
			quantity.Plural(len(lost), "request"), lost[0].Error))
	default:
		return verdict.Settle(id, text, chances)
	}
}

// wentSilent tells whether a target stopped answering in a phase. At least half of its requests got no
// answer, although every earlier request was answered in time. Fewer requests may be lost on their way. A
// recorder that is late may be too busy to read. Requests that could not be sent to the target prove nothing
// about it.
func (r *recording) wentSilent(phase string, answered int, lost []*timeline.Observation) bool {
	if len(lost) == 0 || len(lost) < answered || r.overloaded() != "" || slices.ContainsFunc(lost, ours) {
		return false
	}
	before := 0
	for i := range r.Observations {
		o := &r.Observations[i]
		if o.Phase == phase {
			return before > 0
		}
		if o.Origin {
			continue
		}
		if !o.Answered {
			return false
		}
		before++
	}
	return false
}

// ours tells whether a request got no answer for a reason that proves nothing about the target: the recording
// was stopped, or the way to it was barred or lost.
func ours(o *timeline.Observation) bool {
	return !timeline.NoAnswer(o.Error) && o.Error != "refused"
}

// Unheard returns the claim that fails a target which leaves unanswered exactly those requests of tl that
// limit denies.
func Unheard(tl *timeline.Timeline, limit string) verdict.Claim {
	var lost []*timeline.Observation
	for i := range tl.Observations {
		if o := &tl.Observations[i]; !o.Answered && !o.Origin {
			lost = append(lost, o)
		}
	}
	text := fmt.Sprintf("%d of %s got no answer (%s): exactly the requests that %s denies, and no "+
		"answer was a denial",
		len(lost), quantity.Plural(len(tl.Observations), "request"), lost[0].Error, limit)
	chances := verdict.Of(len(lost), "requests that the limit denies")
	c := verdict.Settle(string(verdict.ClaimAnswered), text, chances, finding.Count(verdict.Unanswered, lost,
		text+": "+phrase.Seqs(lost)+"; if the target does that on purpose, declare denied: "+
			"{unanswered: true} (--set denied.unanswered=true)"))
	c.Kind = verdict.ClaimAnswered
	return c
}
