package claim

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// denials judges that a phase has no more denials than its bound. Requests that were sent late, or decided
// late on a busy machine, come closer together than planned. So more denials are nobody's fault if a request
// of the phase was late. They are also nobody's fault if the limit explains them at some possible decision
// times.
func (r *Recording) denials(b DenialBound) result.Claim {
	if b.Unlimited {
		return r.countedDenials(b)
	}
	return r.Alone(r.countedDenials(b))
}

// countedDenials is denials for partitions that nobody else uses.
func (r *Recording) countedDenials(b DenialBound) result.Claim {
	id := result.ClaimDenials.ID(b.Phase)
	var unclassified, unanswered int
	var denials []*timeline.Observation
	late, asked := time.Duration(0), r.sent(b.Phase)
	all := len(asked)
	for _, o := range asked {
		late = max(late, lateness(o))
		switch {
		case IsDenial(o):
			denials = append(denials, o)
		case !o.Answered:
			unanswered++
		case o.Outcome == timeline.Unknown:
			unclassified++
		}
	}
	s := fmt.Sprintf("%d of %s of phase %s were denied, expected at most %d", len(denials),
		text.Plural(all, "request"), text.Quote(b.Phase), b.Max)
	chances := result.Of(max(0, all-unanswered-unclassified-b.Max),
		fmt.Sprintf("decisions of phase %s beyond %d", text.Quote(b.Phase), b.Max))
	inconclusive := func(reason result.Reason, text string) result.Claim {
		return result.Claim{ID: id, Reason: reason, Text: text}
	}
	switch {
	case len(denials) > b.Max && late > r.latest() && !b.Unlimited:
		return inconclusive(result.ScheduleMissed,
			fmt.Sprintf("%s; but one was sent %s late, so they came closer together than planned", s,
				Millis(late)))
	case len(denials) > b.Max && !b.Unlimited && r.explained(denials):
		return inconclusive(result.ScheduleMissed,
			s+"; but they may have been decided so close together that the limit denies them")
	case len(denials) > b.Max:
		kind := result.DeniedInPhase
		if b.Unlimited {
			kind = result.DeniedUnlimited
		}
		return result.Settle(id, s, chances, Witness(result.Finding{Kind: kind,
			Seen:  int64(len(denials)),
			Bound: int64(b.Max), Text: s + ": " + Seqs(denials)}, denials...))
	case len(denials)+unclassified+unanswered <= b.Max:
		return result.Settle(id, s, chances)
	case unclassified > 0:
		return inconclusive(result.UnclassifiedStatus,
			fmt.Sprintf("%s; %s a status that no rule classifies", s, have(unclassified, "answer")))
	default:
		return inconclusive(result.TooFew,
			fmt.Sprintf("%s; %s had no answer", s, text.Plural(unanswered, "request")))
	}
}

// explained tells whether the denials of one phase, at least one, may be right under its limit: no proof was
// found that one of them is wrong. It reads all requests of their partitions that this limit counts.
func (r *Recording) explained(denials []*timeline.Observation) bool {
	limit := r.LimitOf(denials[0])
	if len(limit) == 0 {
		return false
	}
	concerned := map[string]bool{}
	for _, o := range denials {
		concerned[o.Partition] = true
	}
	tl := &timeline.Timeline{Header: r.Header}
	for i := range r.Observations {
		if o := &r.Observations[i]; concerned[o.Partition] && slices.Equal(r.LimitOf(o), limit) {
			tl.Observations = append(tl.Observations, *o)
		}
	}
	j, err := check.Judge(tl, limit, check.Options{SkipMeasure: true})
	if err != nil {
		return true // what cannot be judged accuses nobody
	}
	for _, p := range j.Partitions {
		for _, f := range p.Findings {
			if concerned[p.Partition] && f.Kind != result.OverAdmission {
				return false
			}
		}
	}
	return true
}

// have prints 1 answer has, 2 answers have.
func have(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " has"
	}
	return text.Plural(n, noun) + " have"
}
