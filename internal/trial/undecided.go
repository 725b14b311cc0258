package trial

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A client may use several partitions: one that no limit counts while the store is gone, and one that a
// limit counts before and after. A request that was never answered, or failed, may still be waiting
// somewhere. It may be decided in any later phase, for example when a Redis library runs its queue of
// commands after it is connected again, and is then charged to the client.
//
//	          phase "gone" (no limit)         phase "back"
//	client |--sent------- no answer ----- - - - - - - - - - -|  end of the recording
//	                                        ^ charged here, as may be

// undecided are the requests without an outcome, by the key of the client that sent them.
func undecided(tl *timeline.Timeline, phases map[string]*scenario.Phase) map[string][]timeline.Observation {
	var out map[string][]timeline.Observation
	for i := range tl.Observations {
		o := &tl.Observations[i]
		p := phases[o.Phase]
		if o.Outcome != timeline.Unknown || o.Origin || p == nil || p.Unnamed {
			continue
		}
		if out == nil {
			out = map[string][]timeline.Observation{}
		}
		key := p.ClientOf(o.Partition)
		out[key] = append(out[key], *o)
	}
	return out
}

// withUndecided adds to each partition of the shares the requests without an outcome that its client sent
// for other partitions.
func withUndecided(all []share, tl *timeline.Timeline, phases map[string]*scenario.Phase) []share {
	lost := undecided(tl, phases)
	if len(lost) == 0 {
		return all
	}
	for i := range all {
		more := ofClients(all[i].tl, lost, phases)
		if len(more) == 0 {
			continue
		}
		whole := slices.Concat(all[i].tl.Observations, more)
		slices.SortStableFunc(whole, bySent)
		all[i].tl = &timeline.Timeline{Header: all[i].tl.Header, Observations: whole}
	}
	return all
}

// ofClients returns the undecided requests that the clients of tl sent for other partitions, each in the
// partition of tl that it may be charged to.
func ofClients(tl *timeline.Timeline, lost map[string][]timeline.Observation,
	phases map[string]*scenario.Phase) []timeline.Observation {
	keys := keysOf(tl, phases, func(*scenario.Phase) bool { return true })
	var more []timeline.Observation
	for _, partition := range slices.Sorted(maps.Keys(keys)) {
		for _, o := range lost[keys[partition]] {
			if o.Partition != partition {
				o.Partition = partition
				more = append(more, o)
			}
		}
	}
	return more
}

// keysOf returns the keys of the clients of the partitions of tl, of those phases alone that count.
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

// lostBy returns the partitions, each once, of the requests without an outcome, by the key of their client.
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

// chargedTo returns, for each partition with undecided requests, those of keys that ofClients adds them to;
// nil for none.
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

func bySent(a, b timeline.Observation) int { return cmp.Compare(a.Sent, b.Sent) }

// expected returns what a scenario expects of a recording. Requests without an outcome, of which there are
// unknown, that a client sent for one partition are like those of others in its other partitions: they may
// explain a denial there.
func expected(s *scenario.Scenario, tl *timeline.Timeline, unknown int) claim.Expect {
	e := s.Expect.Expect
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

// phasesOf returns the phases of a scenario by the names of their requests in a recording.
func phasesOf(s *scenario.Scenario) map[string]*scenario.Phase {
	phases := map[string]*scenario.Phase{}
	for i := range s.Phases {
		for _, name := range s.Phases[i].Observed() {
			phases[name] = &s.Phases[i]
		}
	}
	return phases
}
