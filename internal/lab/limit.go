package lab

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
)

// Read reads one Shown a line, as JSON, ascending by fault. It leaves out other lines, which are those of
// package testing.
func Read(text string) (out []Shown) {
	for line := range strings.Lines(text) {
		var s Shown
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &s) == nil {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Shown) int { return strings.Compare(a.Fault, b.Fault) })
	return out
}

// AtLimit is a self-test at one limit: what all of its trials showed, ascending by fault.
type AtLimit []Shown

// Verdict is Fail if a claimed fault was missed or a right target accused, else Pass.
func (a AtLimit) Verdict() result.Verdict {
	if slices.ContainsFunc(a, Shown.Missed) || slices.ContainsFunc(a, Shown.Accused) {
		return result.Fail
	}
	return result.Pass
}

// Text says of each fault whether it was caught at the limit, and by which scenarios. For the others it says
// why not, and what would show them.
func (a AtLimit) Text() string {
	caught, unshown, missed := map[string][]string{}, map[string][]string{}, map[string][]string{}
	var faults []string
	var b strings.Builder
	for _, s := range a {
		switch {
		case s.Accused():
			fmt.Fprintf(&b, "%s FAILS a right target: %s\n", s.Scenario, s.Why)
		case s.Fault == "":
			continue
		case s.Missed():
			missed[s.Fault] = append(missed[s.Fault], s.Scenario)
		case s.Verdict == result.Fail:
			caught[s.Fault] = append(caught[s.Fault], s.Scenario)
		default:
			at := len(unshown[s.Fault])
			if s.Tried { // what a run lacked says more than why there was none
				at = 0
			}
			unshown[s.Fault] = slices.Insert(unshown[s.Fault], at, s.Scenario+": "+s.Why)
		}
		if s.Fault != "" && !slices.Contains(faults, s.Fault) {
			faults = append(faults, s.Fault)
		}
	}
	section := func(title string, of func(fault string) string) (n int) {
		for _, fault := range faults {
			if text := of(fault); text != "" {
				if n++; n == 1 {
					b.WriteString(title + "\n")
				}
				fmt.Fprintf(&b, "  %s: %s\n", fault, text)
			}
		}
		return n
	}
	wrong := section("missed:", func(fault string) string { return strings.Join(missed[fault], ", ") })
	hidden := section("not shown at this limit:", func(fault string) string {
		if len(caught[fault])+len(missed[fault]) > 0 || len(unshown[fault]) == 0 {
			return ""
		}
		return unshown[fault][0]
	})
	found := section("caught:", func(fault string) string { return strings.Join(caught[fault], ", ") })
	fmt.Fprintf(&b, "%d of %d faults caught, %d not shown at this limit, %d missed\n", found, len(faults),
		hidden, wrong)
	return b.String()
}
