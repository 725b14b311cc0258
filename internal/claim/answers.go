package claim

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// answers judges that the answers of a phase have one of the expected statuses, whatever they mean for the
// limit. If the target stops answering in that phase, no answer has one.
func (r *Recording) answers(b AnswerBound) result.Claim {
	id := result.ClaimAnswers.ID(b.Phase)
	asked := r.sent(b.Phase)
	answered := Only(asked, func(o *timeline.Observation) bool { return o.Answered })
	lost := Only(asked, func(o *timeline.Observation) bool { return !o.Answered })
	s, bad := statuses(answered, "answer", " of phase "+text.Quote(b.Phase), b.Status,
		result.AnsweredOtherwise)
	chances := result.Of(len(answered), "answers of phase "+text.Quote(b.Phase)+" whose status was read")
	switch {
	case bad != nil:
		return result.Settle(id, s, chances, bad...)
	case r.wentSilent(b.Phase, len(answered), lost):
		s = fmt.Sprintf("%d of %s of phase %s got no answer (%s), expected is status %s", len(lost),
			text.Plural(len(answered)+len(lost), "request"), text.Quote(b.Phase), lost[0].Error,
			OneOf(b.Status))
		return result.Settle(id, s, chances, Count(result.Unanswered, lost,
			s+", and all earlier requests were answered: "+Seqs(lost)))
	case len(lost) > 0 && len(answered) > 0:
		return TooFew(id, fmt.Sprintf("%s; %s not answered (%s)", s,
			text.Plural(len(lost), "request"), lost[0].Error))
	default:
		return result.Settle(id, s, chances)
	}
}

// statuses says how many of obs have one of the expected statuses, and returns the finding of those that do
// not, if there are any. noun names one of obs, and of says which they are.
func statuses(obs []*timeline.Observation, noun, of string, expected []int, kind result.Kind) (says string,
	found []result.Finding) {
	bad := Only(obs, func(o *timeline.Observation) bool { return !slices.Contains(expected, o.Status) })
	all := text.Plural(len(obs), noun) + of
	if len(bad) > 0 {
		found = []result.Finding{Count(kind, bad, fmt.Sprintf("%d of %s have status %s, expected is %s: %s",
			len(bad), all, OneOf(Statuses(bad)), OneOf(expected), Seqs(bad)))}
	}
	return fmt.Sprintf("%d of %s have status %s", len(obs)-len(bad), all, OneOf(expected)), found
}

// wentSilent tells whether a target stopped answering in a phase. At least half of its requests got no
// answer, although every earlier request was answered in time. Fewer requests may be lost on their way. A
// recorder that is late may be too busy to read. Requests that could not be sent to the target prove nothing
// about it.
func (r *Recording) wentSilent(phase string, answered int, lost []*timeline.Observation) bool {
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
func Unheard(tl *timeline.Timeline, limit string) result.Claim {
	var lost []*timeline.Observation
	for i := range tl.Observations {
		if o := &tl.Observations[i]; !o.Answered && !o.Origin {
			lost = append(lost, o)
		}
	}
	text := fmt.Sprintf("%d of %s got no answer (%s): exactly the requests that %s denies, and no "+
		"answer was a denial",
		len(lost), text.Plural(len(tl.Observations), "request"), lost[0].Error, limit)
	chances := result.Of(len(lost), "requests that the limit denies")
	c := result.Settle(string(result.ClaimAnswered), text, chances, Count(result.Unanswered, lost,
		text+": "+Seqs(lost)+"; if the target does that on purpose, declare denied: "+
			"{unanswered: true} (--set denied.unanswered=true)"))
	c.Kind = result.ClaimAnswered
	return c
}
