package main

import (
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// panel returns the panel that judges a recording: by --limit, or by the limits by which it was judged when
// it was made.
func (f *checkFlags) panel(h timeline.Header) (*check.Panel, error) {
	limits := h.Judged.Limits
	switch {
	case f.Limit != "":
		limits = inPlaceOf(limits, f.Limit)
	case len(limits) == 0:
		return nil, cli.Usagef("check: --limit is missing (write --limit token-bucket,rate=10/s,burst=20)")
	}
	if len(f.only) > 0 {
		limits = onlyTo(limits, f.only)
	}
	return check.NewPanel(limits, h, f.options(h.Judged))
}

// inPlaceOf returns one limit in place of several. What no limit counts it does not count either.
func inPlaceOf(limits []timeline.PhaseLimit, limit string) []timeline.PhaseLimit {
	one := timeline.PhaseLimit{Limit: limit, Undecided: chargedTo(limits)}
	for _, l := range limits {
		if one.Phases = append(one.Phases, l.Phases...); len(l.Phases) == 0 {
			one.Phases = nil
			break
		}
	}
	return []timeline.PhaseLimit{one}
}

// onlyTo leaves out the charges to partitions that are not judged.
func onlyTo(limits []timeline.PhaseLimit, judged []string) []timeline.PhaseLimit {
	out := slices.Clone(limits)
	for i := range out {
		kept := map[string][]string{}
		for from, to := range out[i].Undecided {
			other := func(p string) bool { return !slices.Contains(judged, p) }
			kept[from] = slices.DeleteFunc(slices.Clone(to), other)
		}
		out[i].Undecided = kept
	}
	return out
}

// chargedTo joins what several limits say of requests without an outcome. May be empty.
func chargedTo(limits []timeline.PhaseLimit) map[string][]string {
	out := map[string][]string{}
	for _, l := range limits {
		for partition, others := range l.Undecided {
			for _, other := range others {
				if !slices.Contains(out[partition], other) {
					out[partition] = append(out[partition], other)
				}
			}
		}
	}
	return out
}

// options returns the options of a judgement. What the flags do not say is as when the recording was made.
func (f *checkFlags) options(t timeline.Terms) check.Options {
	o := check.OptionsOf(t)
	o.Hint, o.Spill = true, rundir.Spill
	if o.Conformance == "" || f.Changed("conformance") {
		o.Conformance = result.Conformance(f.conformance)
	}
	if f.shared || f.Changed("shared") { // a log that lost lines is shared, too
		o.Shared = f.shared
	}
	// The recording does not say what a PASS of another limit must measure.
	same := func(l timeline.PhaseLimit) bool { return l.Limit == f.Limit }
	other := f.Limit != "" && !slices.ContainsFunc(t.Limits, same)
	if other || f.Changed("exact-burst") || f.Changed("burst-resolution") {
		o.Resolution.BurstExact, o.Resolution.Burst = f.exactBurst, f.burst
	}
	// Quotas less than a request apart look alike.
	if each := f.Log.each(); each > 1 && o.Resolution.BurstExact {
		limit, _ := spec.Parse(f.Limit)
		o.Resolution.BurstExact = false
		o.Resolution.Burst = (float64(each) - 0.5) / float64(max(1, limit.Full()))
	}
	if other || f.Changed("rate-resolution") {
		o.Resolution.Rate = f.rate
	}
	return o
}

// sayTerms says on standard error what the recording said instead of flags, and what no limit counts.
func sayTerms(e *cli.Env, name string, f *checkFlags, t timeline.Terms) {
	var said []string
	for _, l := range t.Limits {
		of := ""
		if len(t.Limits) > 1 {
			of = " for " + strings.Join(l.Phases, " and ")
		}
		if f.Limit == "" {
			said = append(said, "--limit '"+l.Limit+"'"+of)
		}
	}
	if t.Conformance != "" && t.Conformance != string(result.Exact) && !f.Changed("conformance") {
		said = append(said, "--conformance "+t.Conformance)
	}
	if t.Shared && !f.Changed("shared") {
		said = append(said, "--shared")
	}
	if len(said) > 0 {
		remark(e, f, false, name+": judged by the terms of its recording: "+strings.Join(said, ", "))
	}
	if t.SingleUnits {
		remark(e, f, false, name+": each request counts one unit, because no cost was seen to be charged")
	}
	if n := f.kept.judges.Free(); n > 0 {
		remark(e, f, false, name+": "+text.Plural(n, "request")+" of phases that no limit counts: left out")
	}
}

// worth says what a PASS is worth. It leaves out what was measured under each of several limits.
func worth(p *check.Panel, j *result.Judgement) string {
	limits := p.Limits()
	if len(limits) == 1 {
		return strings.Join(result.Worth(limits[0], j), ", ")
	}
	var out []string
	for _, l := range limits {
		out = append(out, l.String())
	}
	return strings.Join(out, "; ")
}
