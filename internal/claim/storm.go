package claim

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// herdWidth is how close together the requests of a herd are.
const herdWidth = 10 * time.Millisecond

// storm says what the retries of a phase cost: how many requests were in vain, how long it took until each
// client was admitted, and how many came at once. If the phase must drain, clients that were never admitted
// are a failure if one of their denials was wrong. A client that waits too long, or gives up, is not the
// limiter's fault.
func (r *Recording) storm(e StormExpect) result.Claim { return r.Alone(r.retried(e)) }

// retried is storm for partitions that nobody else uses.
func (r *Recording) retried(e StormExpect) result.Claim {
	id := result.ClaimStorm.ID(e.Phase)
	obs := Only(r.Target, func(o *timeline.Observation) bool { return o.Phase == e.Phase })
	admitted := Only(obs, func(o *timeline.Observation) bool { return o.Outcome == timeline.Allowed })
	refused := Denied(obs)
	chances := result.Of(len(refused),
		"denials of phase "+text.Quote(e.Phase)+", after which clients retried")
	s := fmt.Sprintf("%d of %s admitted with %s, %d in vain", len(admitted),
		text.Plural(e.Clients, "client"), text.Plural(len(obs), "request"), len(refused))
	if len(admitted) > 0 {
		s += ", the last after " + Seconds(admitted[len(admitted)-1].FirstByte-obs[0].Sent,
			time.Millisecond)
	}
	s += fmt.Sprintf("; after the first, at most %d came within %s", herd(obs[min(e.Clients, len(obs)):]),
		Millis(herdWidth))
	left := e.Clients - len(admitted)
	switch {
	case !e.Drained || left <= 0, len(refused) == 0:
		return result.Settle(id, s, chances)
	case r.Header.Interrupted:
		return result.Claim{ID: id, Reason: result.Interrupted,
			Text: s + "; but the recording stopped before its plan was done"}
	case r.overloaded() != "":
		return result.Claim{ID: id, Reason: result.ScheduleMissed, Text: s + "; but " + r.overloaded()}
	case r.explained(refused):
		return TooFew(id, s+
			"; but the limit explains all of them: the clients did not come when there was room")
	default:
		last := refused[len(refused)-1]
		return result.Settle(id, s, chances, Witness(result.Finding{Kind: result.NotDrained,
			Seen: int64(left),
			Text: fmt.Sprintf("%s never admitted; the last denial is #%d", text.Plural(left, "client"),
				last.Seq)},
			refused[max(0, len(refused)-MostFindings):]...))
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
