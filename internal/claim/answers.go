package claim

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// answers judges that the answers of a phase have one of the expected statuses, whatever they mean for the limit.
func (r *recording) answers(b AnswerBound) check.Claim {
	id := "answers-" + b.Phase
	var answered, lost, bad []*timeline.Observation
	for i := range r.tl.Observations {
		o := &r.tl.Observations[i]
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
	text := fmt.Sprintf("%d of %s of phase %s have status %s", len(answered)-len(bad), plural(len(answered), "answer"), quote(b.Phase), oneOf(b.Status))
	switch {
	case len(bad) > 0:
		return settle(id, text, []check.Finding{witness(check.Finding{Kind: AnsweredOtherwise, Seen: int64(len(bad)),
			Text: fmt.Sprintf("%d of %s of phase %s have status %s where %s is expected: %s", len(bad), plural(len(answered), "answer"),
				quote(b.Phase), oneOf(statuses(bad)), oneOf(b.Status), seqs(bad))}, bad...)})
	case len(answered) == 0:
		return tooFew(id, "no request of phase "+quote(b.Phase)+" was answered")
	case len(lost) > 0:
		return tooFew(id, fmt.Sprintf("%s; %s not answered (%s)", text, plural(len(lost), "request"), lost[0].Error))
	default:
		return settle(id, text, nil)
	}
}
