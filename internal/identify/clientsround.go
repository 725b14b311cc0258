package identify

import (
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Prefixes of phase names: of all phases, and of those after the quota came back.
const (
	phasePrefix = "apart-"
	afterPrefix = "after-"
)

// round is what the plain client saw and, by the ID of its way, what each other client saw.
type round struct {
	plain []timeline.Observation
	other map[string][]timeline.Observation
}

func newRound(seen []timeline.Observation) round {
	r := round{other: map[string][]timeline.Observation{}}
	for _, o := range seen {
		id := strings.TrimPrefix(o.Phase, phasePrefix)
		if id == "plain" || id == "quota" {
			r.plain = append(r.plain, o)
			continue
		}
		r.other[id] = append(r.other[id], o)
	}
	return r
}

// drawn tells whether a client was denied because the plain client had used up the quota. The plain client
// was denied before, and the other client was never admitted. The other clients of the round cannot have used
// up a shared quota: there are no more of them than units.
func (r round) drawn(own []timeline.Observation) bool {
	spent := func(p timeline.Observation) bool {
		return p.Outcome == timeline.Denied && p.FirstByte <= own[0].Sent
	}
	return len(own) > 1 && answered(own, timeline.Denied) == len(own) && slices.ContainsFunc(r.plain, spent)
}

// answered counts the requests that were answered with outcome.
func answered(all []timeline.Observation, outcome timeline.Outcome) (n int) {
	for i := range all {
		if all[i].Answered && all[i].Outcome == outcome {
			n++
		}
	}
	return n
}

// lost counts the requests without an answer.
func lost(all []timeline.Observation) (n int) {
	for i := range all {
		if !all[i].Answered {
			n++
		}
	}
	return n
}

// allowed tells whether a request was admitted.
func allowed(o timeline.Observation) bool { return o.Answered && o.Outcome == timeline.Allowed }
