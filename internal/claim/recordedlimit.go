package claim

import (
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

// CountedBy returns the recording with the limit that counts all of n observations as its Limit. ok=false:
// several limits do, or no limit counts one of them although one is declared.
func (r *Recording) CountedBy(n int, at func(i int) *timeline.Observation) (counted *Recording, ok bool) {
	out := *r
	out.Limit = nil
	for i := range n {
		l := r.LimitOf(at(i))
		if i > 0 && !slices.Equal(l, out.Limit) || len(l) == 0 && len(r.Limit) > 0 {
			return nil, false
		}
		out.Limit = l
	}
	return &out, true
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
