package claim

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim/answer"
	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// herdWidth is how close together the requests of a herd are.
const herdWidth = 10 * time.Millisecond

// storm says what the retries of a phase cost: how many requests were in vain, how long it took until each
// client was admitted, and how many came at once. If the phase must drain, clients that were never admitted
// are a failure if one of their denials was wrong. A client that waits too long, or gives up, is not the
// limiter's fault.
func (r *recording) storm(e StormExpect) verdict.Claim { return r.Alone(r.retried(e)) }

// retried is storm for partitions that nobody else uses.
func (r *recording) retried(e StormExpect) verdict.Claim {
	id := verdict.ClaimStorm.ID(e.Phase)
	obs := answer.Only(r.Target, func(o *timeline.Observation) bool { return o.Phase == e.Phase })
	admitted := answer.Only(obs, func(o *timeline.Observation) bool { return o.Outcome == timeline.Allowed })
	refused := answer.Denied(obs)
	chances := verdict.Of(len(refused),
		"denials of phase "+phrase.Quote(e.Phase)+", after which clients retried")
	text := fmt.Sprintf("%d of %s admitted with %s, %d in vain", len(admitted),
		quantity.Plural(e.Clients, "client"), quantity.Plural(len(obs), "request"), len(refused))
	if len(admitted) > 0 {
		text += ", the last after " + phrase.Seconds(admitted[len(admitted)-1].FirstByte-obs[0].Sent,
			time.Millisecond)
	}
	text += fmt.Sprintf("; after the first, at most %d came within %s", herd(obs[min(e.Clients, len(obs)):]),
		phrase.Millis(herdWidth))
	left := e.Clients - len(admitted)
	switch {
	case !e.Drained || left <= 0, len(refused) == 0:
		return verdict.Settle(id, text, chances)
	case r.Header.Interrupted:
		return verdict.Claim{ID: id, Reason: verdict.Interrupted,
			Text: text + "; but the recording stopped before its plan was done"}
	case r.overloaded() != "":
		return verdict.Claim{ID: id, Reason: verdict.ScheduleMissed, Text: text + "; but " + r.overloaded()}
	case r.explained(refused):
		return finding.TooFew(id, text+
			"; but the limit explains all of them: the clients did not come when there was room")
	default:
		last := refused[len(refused)-1]
		return verdict.Settle(id, text, chances, finding.Witness(verdict.Finding{Kind: verdict.NotDrained,
			Seen: int64(left),
			Text: fmt.Sprintf("%s never admitted; the last denial is #%d", quantity.Plural(left, "client"),
				last.Seq)},
			refused[max(0, len(refused)-finding.Most):]...))
	}
}

// herd returns the most requests of obs, ascending by Sent, that were sent within herdWidth.
func herd(obs []*timeline.Observation) int {
	most, from := 0, 0
	for i := range obs {
		for obs[i].Sent-obs[from].Sent > herdWidth {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}
