package trial

import (
	"maps"
	"slices"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A client may use several partitions: in one phase no limit counts it, for example while the store is down,
// and in another a limit does. A request that was never answered, or failed, may still wait somewhere. It may
// be decided in a later phase and charged to the client there, for example when a Redis client replays its
// queue after a reconnect.
//
//	          phase "gone" (no limit)         phase "back"
//	client |--sent------- no answer ----- - - - - - - - - - -|  end of the recording
//	                                        ^ charged here, as may be

// keysOf returns the client key of each partition of tl, for phases for which counts is true.
func keysOf(tl *timeline.Timeline, phases map[string]*scenario.Phase,
	counts func(*scenario.Phase) bool) map[string]string {
	keys := map[string]string{}
	for o := range tl.All() {
		if p := phases[o.Phase]; p != nil && counts(p) {
			keys[o.Partition] = p.ClientOf(o.Partition)
		}
	}
	return keys
}

// lostBy returns, for each client key, the partitions with requests without an outcome, each once.
func lostBy(tl *timeline.Timeline, phases map[string]*scenario.Phase) map[string][]string {
	out := map[string][]string{}
	for o := range tl.All() {
		if o.Outcome != timeline.Unknown || o.Origin {
			continue
		}
		p := phases[o.Phase]
		if p == nil || p.Unnamed {
			continue
		}
		if key := p.ClientOf(o.Partition); !slices.Contains(out[key], o.Partition) {
			out[key] = append(out[key], o.Partition)
		}
	}
	return out
}

// chargedTo returns, for each partition with undecided requests, the other partitions of the same client that
// they may be charged to. It is nil if there are none.
func chargedTo(keys map[string]string, lost map[string][]string) map[string][]string {
	var out map[string][]string
	for _, partition := range slices.Sorted(maps.Keys(keys)) {
		for _, from := range lost[keys[partition]] {
			if from == partition {
				continue
			}
			if out == nil {
				out = map[string][]string{}
			}
			out[from] = append(out[from], partition)
		}
	}
	return out
}

// expected returns the expectations of a scenario for a recording with unknown requests without an outcome. A
// client may have lost a request in one partition and use others. The request may then explain a denial
// there, so Expect.Shared is set. Only the spool of a long recording keeps no fields.
func expected(s *scenario.Scenario, tl *timeline.Timeline, unknown int) claim.Expect {
	e := s.Expect.Expect
	e.Kept = tl.Spool == nil
	if unknown == 0 {
		return e
	}
	phases := phasesOf(s)
	lost := lostBy(tl, phases)
	if len(lost) == 0 {
		return e
	}
	first := map[string]string{} // the first partition of each client
	for o := range tl.All() {
		p := phases[o.Phase]
		if p == nil || p.Unnamed || len(lost[p.ClientOf(o.Partition)]) == 0 {
			continue
		}
		key := p.ClientOf(o.Partition)
		if was, ok := first[key]; ok && was != o.Partition {
			e.Shared = true
		}
		first[key] = o.Partition
	}
	return e
}

// phasesOf returns the phases of a scenario by the phase names that a recording uses.
func phasesOf(s *scenario.Scenario) map[string]*scenario.Phase {
	phases := map[string]*scenario.Phase{}
	for i := range s.Phases {
		for _, name := range s.Phases[i].Observed() {
			phases[name] = &s.Phases[i]
		}
	}
	return phases
}
