package trial

import (
	"maps"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// manyOthers is how many clients a phase must have for them to be many others: so many that a limiter may be
// tempted to forget somebody for them. A report says how many they were.
const manyOthers = 50

// breaks returns what in a recording may have made the target forget its clients: the events, and the phases
// in which many other clients came. nil: there are none.
//
//	spend   restart      again              used-up   others            asks-again
//	a a d | ---------- | d d d              a a d   | b c d e f g ... | d d d
//	                   From = To                    From              To
//
// The bundled scenarios have these. Each shows its break only if the quota cannot have come back meanwhile:
//
//	restart             the target stops and starts again
//	hot-reload          it reads its configuration again, with the same limit or another one
//	store-outage        its store is gone, and comes back
//	identity-isolation  a thousand other clients come
//	many-clients        ten thousand come
func breaks(s *scenario.Scenario, tl *timeline.Timeline) (out []timeline.Break) {
	event := func(p scenario.Phase) bool {
		return p.Shape == timeline.Hook && p.Event.Action != timeline.Count
	}
	if s.Partition.Count < manyOthers && !slices.ContainsFunc(s.Phases, event) {
		return nil // spares reading a long recording
	}
	place := map[string]int{}
	for i := range s.Phases {
		for _, name := range s.Phases[i].Observed() {
			place[name] = i
		}
	}
	type seen struct {
		began   time.Duration
		clients map[string]bool // whether any answer came. nil: nothing was sent
	}
	phases := make([]seen, len(s.Phases))
	for o := range tl.All() {
		x := &phases[place[o.Phase]]
		if x.clients == nil {
			x.began, x.clients = o.Sent, map[string]bool{}
		}
		x.clients[o.Partition] = x.clients[o.Partition] || o.Outcome != timeline.Unknown
	}
	for i, x := range phases {
		after := slices.IndexFunc(phases[i+1:], func(x seen) bool { return x.clients != nil })
		if after < 0 {
			break
		}
		b := timeline.Break{Phase: s.Phases[i].Name, To: phases[i+1+after].began}
		// A client that takes part in the phase of the others did not come back after them.
		switch b.From = b.To; {
		case len(x.clients) >= manyOthers:
			b.From, b.Others = x.began, len(x.clients)
			maps.DeleteFunc(x.clients, func(_ string, answered bool) bool { return !answered })
			b.Answered = len(x.clients)
		case !event(s.Phases[i]):
			continue
		default:
			b.Event = s.Phases[i].Event.Action
		}
		out = append(out, b)
	}
	return out
}

// claimed returns the faults that a scenario is there for and that change how requests are counted. A defect
// of the limiter is none of them if the demanded resolution measures it, which others of the run may do; if
// phases were left out, which may have been there to show it; if another policy may deny first, unless the
// defect is one of several policies; or if it is one of new clients, and each may have come before.
func claimed(s *scenario.Scenario, tl *timeline.Timeline) []string {
	measured := []string{"burst-off-by-one", "burst-one-less", "refill-too-fast", "refill-too-slow"}
	return slices.DeleteFunc(slices.Clone(s.Catches), func(name string) bool {
		d, defect := wrong.Find(name)
		hidden := len(s.Limit) > 1 && d.Unfit(s.Limit[:1]) == ""
		known := name == "starts-empty" && tl.Header.CompleteFrom != 0
		return !check.Tells(name) || defect && d.Client == nil &&
			(s.Unfit != "" || hidden || known || slices.Contains(measured, name))
	})
}
