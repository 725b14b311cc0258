package claim

import (
	"iter"
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// LimitOf returns the limit that counts o. Empty: no limit does.
func (r *Recording) LimitOf(o *timeline.Observation) spec.Limit {
	if own, ok := r.Expect.Limits[o.Phase]; ok {
		return own
	}
	return r.Limit
}

// Limits returns the limits that count any observation, each once, in the order of the recording. One of them
// may be empty.
func (r *Recording) Limits() []spec.Limit {
	var out []spec.Limit
	var last string
	for i := range r.Observations {
		o := &r.Observations[i]
		if i > 0 && o.Phase == last {
			continue
		}
		last = o.Phase
		l := r.LimitOf(o)
		if !slices.ContainsFunc(out, func(x spec.Limit) bool { return slices.Equal(x, l) }) {
			out = append(out, l)
		}
	}
	return out
}

// partition is the requests of one partition, ascending by Sent, and the recording with the limit that counts
// all of them as its Limit.
type partition struct {
	*Recording
	obs []*timeline.Observation
}

// counted yields the partitions, in the order of their first requests. It leaves out a partition if several
// limits count its requests, or if no limit counts one of them although one is declared.
func (r *Recording) counted() iter.Seq[*partition] {
	var order []string
	all := map[string][]*timeline.Observation{}
	for i := range r.Observations {
		o := &r.Observations[i]
		if all[o.Partition] == nil {
			order = append(order, o.Partition)
		}
		all[o.Partition] = append(all[o.Partition], o)
	}
	return func(yield func(*partition) bool) {
		for _, name := range order {
			of, obs := *r, all[name]
			of.Limit = r.LimitOf(obs[0])
			other := func(o *timeline.Observation) bool {
				l := r.LimitOf(o)
				return !slices.Equal(l, of.Limit) || len(l) == 0 && len(r.Limit) > 0
			}
			if !slices.ContainsFunc(obs, other) && !yield(&partition{&of, obs}) {
				return
			}
		}
	}
}

// CountsDenials tells whether a denial may leave a trace under Limit: denials are counted, by all policies or
// by one of several, or they bring a ban, or no limit is declared.
func (r *Recording) CountsDenials() bool {
	traces := func(p spec.Policy) bool {
		return p.Count == spec.CountAll || p.Count == spec.CountOwn || p.Ban > 0
	}
	return len(r.Limit) == 0 || slices.ContainsFunc(r.Limit, traces)
}

// Forgotten tells whether one of some policies may have forgotten the partition between two requests, so that
// the second met a fresh one.
func (r *Recording) Forgotten(first, second *timeline.Observation, limit spec.Limit) bool {
	h := &r.Header
	// The last request that a policy saw may have come a ban earlier.
	return slices.ContainsFunc(limit, func(p spec.Policy) bool {
		past := second.FirstByte - first.Sent + p.LongestBan() + max(h.Tick, p.Tick) + 2*h.ClockError +
			h.Drift(second.FirstByte)
		return p.Clear > 0 || p.TTL > 0 && past >= p.TTL
	})
}
