package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// affordableOf returns the scenarios that fit into --budget, and prints which do not.
func affordableOf(e *cli.Env, chosen []*scenario.Scenario, f runFlags) ([]*scenario.Scenario, error) {
	b, err := scenario.ParseBudget(f.budget)
	if err != nil {
		return nil, cli.Usagef("--%s", err)
	}
	fit, left := b.Pick(chosen, f.serial)
	if len(fit) == 0 {
		return nil, cli.Usagef("--budget %s: no scenario fits into %s (--dry-run without --budget says "+
			"what each takes)", f.budget, b)
	}
	var ids []string
	for _, s := range left {
		ids = append(ids, s.ID)
	}
	if len(ids) > 0 {
		e.Say.Line(fmt.Sprintf("%s left out, to keep to %s: %s", text.Plural(len(ids), "scenario"), b,
			strings.Join(ids, ", ")))
	}
	return fit, nil
}

// runPatience is the longest run that is begun without a word of --budget.
const runPatience = 10 * time.Minute

// sayLength says in advance how much a long run, or one of several scenarios, sends, and how long it takes.
func sayLength(e *cli.Env, chosen []*scenario.Scenario, f runFlags) {
	took := scenario.Lasting(chosen, f.serial)
	if took.Duration < time.Minute && len(chosen) < 2 {
		return
	}
	rests := time.Duration(0)
	for _, s := range chosen {
		if s.Unmet() == "" {
			rests += s.Rests()
		}
	}
	how := ""
	if rests > 0 {
		how = fmt.Sprintf(", %s of them silence in which the limit recovers", text.Rough(rests))
	}
	if took.Duration > runPatience && len(chosen) > 1 && f.budget == "" {
		how += " (--budget time=5m runs only what fits)"
	}
	most := mostRequests(chosen, f)
	e.Say.Notef("%s are likely, at most %s, %s%s",
		text.Plural(min(likelyRequests(chosen), most), "request"), text.Thousands(most), took, how)
}

// mostSimulated is how many requests of a scenario are simulated to learn how many are likely.
const mostSimulated = 100_000

// likelyRequests returns how many requests the scenarios send if a right limiter answers within a millisecond
// and none is repeated.
func likelyRequests(chosen []*scenario.Scenario) (n int) {
	for _, s := range chosen {
		if s.Unmet() != "" {
			continue
		}
		sends := s.Summary().Requests
		if sends <= mostSimulated {
			x, err := trial.Simulate(s, trial.Options{ID: "likely"}, time.Millisecond)
			if err == nil {
				sends = x.Counts.Planned
			}
		}
		n += sends
	}
	return n
}

// mostRequests returns how many requests a run sends at most. A scenario that was recorded beside others may
// be recorded again alone, and any scenario as often as --retries says, once if it may miss a boundary.
// Within a budget, that holds only while the budget allows it.
func mostRequests(chosen []*scenario.Scenario, f runFlags) (n int) {
	beside := besides(chosen, f.serial)
	for i, s := range chosen {
		times := 1 + f.retries
		edge := func(p scenario.Phase) bool { return p.Shape == timeline.Boundary }
		if slices.ContainsFunc(s.Phases, edge) {
			times = max(times, 2)
		}
		if slices.Contains(beside, i) {
			times++
		}
		n += times * s.Summary().Requests
	}
	if b, err := scenario.ParseBudget(f.budget); err == nil && b.Requests > 0 {
		n = min(n, b.Requests)
	}
	return n
}

// besides returns the indices of the scenarios that are recorded beside each other: none, or at least two.
func besides(chosen []*scenario.Scenario, serial bool) (places []int) {
	for i, s := range chosen {
		if !serial && s.Unmet() == "" && s.Alone() == "" {
			places = append(places, i)
		}
	}
	if len(places) < 2 {
		return nil
	}
	return places
}
