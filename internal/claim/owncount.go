package claim

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ownCount compares the denials that the target counted with the denials that it sent, between each two
// counts. It may or may not have counted a request without an answer, or with an answer that no rule
// classifies. A higher count may include the denials of others.
func (r *Recording) ownCount() result.Claim {
	const id = string(result.ClaimOwnCount)
	counts := r.Header.Counted
	var found []result.Finding
	total, counted, more := 0, int64(0), int64(0)
	for i, phases := range r.Counted {
		if i+1 >= len(counts) {
			return TooFew(id, fmt.Sprintf("the target reported its count %d of %d times", len(counts),
				len(r.Counted)+1))
		}
		n := counts[i+1] - counts[i]
		if n < 0 {
			return TooFew(id, fmt.Sprintf("the target's count fell from %d to %d: it was reset",
				counts[i], counts[i+1]))
		}
		denials, doubtful := r.deniedIn(phases)
		total, counted = total+len(denials), counted+n
		if over := n - int64(len(denials)+doubtful); over > 0 {
			more += over
		}
		if n < int64(len(denials)) {
			text := fmt.Sprintf("the target counted %d of %s (its count went from %d to %d)", n,
				text.Plural(len(denials), "denial"), counts[i], counts[i+1])
			found = append(found, Witness(result.Finding{Kind: result.CountedOtherwise,
				Seen: int64(len(denials)), Bound: n, Text: text}, denials...))
		}
	}
	text := fmt.Sprintf("the target counted %d of %s", counted, text.Plural(total, "denial"))
	if len(found) == 0 && more > 0 {
		return result.Claim{ID: id, Reason: result.ForeignTraffic, Text: fmt.Sprintf("%s, %d more than it "+
			"answered to us: others were denied too, or it counts twice", text, more)}
	}
	return result.Settle(id, text, result.Of(total, "denials between two counts of the target"), found...)
}

// deniedIn returns the denials of some phases, and how many other requests of these phases may be denials.
func (r *Recording) deniedIn(phases []string) (denials []*timeline.Observation, doubtful int) {
	for _, o := range r.sent(phases...) {
		switch {
		case IsDenial(o):
			denials = append(denials, o)
		case !o.Answered || o.Outcome == timeline.Unknown:
			doubtful++
		}
	}
	return denials, doubtful
}
