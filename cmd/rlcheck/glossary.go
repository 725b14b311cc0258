package main

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/request"
	"github.com/rlcheck/rlcheck/internal/preset"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// words are the closed lists of verdicts, reasons and promises.
var words = []entry{
	{"pass", "verdict", "The declared limit explains the recording, and the recording could have shown " +
		"a fault. The measured limit says how small a fault."},
	{"fail", "verdict", "No decision times inside the recorded intervals, no order and no hidden start " +
		"of windows explain the recording. The witness alone proves it."},
	{"inconclusive", "verdict", "The recording proves neither. The reason says why."},
	{"schedule-missed", "reason",
		"The load was not sent as planned, or not all of it. Mend: use a quieter machine or a lower " +
			"rate."},
	{"unreachable", "reason", "No request was answered. Mend: start the target, or check the URL."},
	{"setup-failed", "reason",
		"Something that the load needs was missing before it began: the embedded target, a " +
			"certificate, or a window boundary."},
	{"needs-failed", "reason", "The scenario needs something that the target neither has nor promised, " +
		"such as Retry-After, or an origin behind a proxy.\nThe report names it. The scenario does not " +
		"count: the other scenarios set the exit status."},
	{"too-few", "reason",
		"The recording could not have shown a fault as small as demanded. Mend: send more requests, or " +
			"make a phase longer."},
	{"foreign-traffic", "reason",
		"A denial is unexplained, or there are unexplained admissions in windows that requests open, " +
			"and others may use the same key (exclusive: false). Or a scenario passes alone, and fails " +
			"when others are recorded at the same time."},
	{"unclassified-status", "reason",
		"Answers had a status that no rule calls an admission or a denial. Mend: name it with denied: " +
			"{status: [...]}."},
	{"search-limit", "reason", "The search for an explanation stopped at its limit of work. Nothing " +
		"was proved."},
	{"interrupted", "reason", "The recording stopped before its plan was done."},
	{"retry-after", "promise", "Denials carry Retry-After (RFC 6585 section 4: MAY)." +
		request.UnpromisedField},
	{"ratelimit", "promise", "Answers report their quota in RateLimit or X-RateLimit fields " +
		"(conventions)." +
		request.UnpromisedField},
	{"problem", "promise", "Denials have a body of type application/problem+json (RFC 9457)." +
		request.UnpromisedField},
	{"cost", "promise", "A request takes as many units as its field X-Cost says.\nWithout the promise, " +
		"costs are tested only at a target that was seen to charge them."},
	{"methods", "promise", "The route takes the methods that are sent, such as HEAD and POST.\nWithout " +
		"the promise, a method that the target answers with 404, 405 or 501 is not judged."},
}

// findingWords returns the kinds of findings, for explain.
func findingWords() (out []entry) {
	for _, k := range verdict.FindingKinds() {
		out = append(out, entry{string(k), "finding", k.About()})
	}
	return out
}

// formatWords returns the formats of reports, for explain.
func formatWords() (out []entry) {
	for _, name := range report.Formats() {
		out = append(out, entry{name, "format", report.About(name)})
	}
	return out
}

// listPresets is `rlcheck list presets`. For each product it prints what may be written, the SPEC that it
// becomes, and the evidence for that.
func listPresets(e *cli.Env) {
	for _, p := range preset.All() {
		e.Say.Resultf("%-22s %s\n%-22s %s (%s)\n", p.Name, p.Written(), "", becomes(p.Written()), p.Proof())
	}
}

// becomes returns the SPEC of a preset. The examples of all products have one, which a test ensures.
func becomes(written string) string {
	limit, err := spec.Parse(written)
	if err != nil {
		return err.Error()
	}
	return limit.String()
}

// presetWords returns the products, for explain.
func presetWords() (out []entry) {
	for _, p := range preset.All() {
		text := fmt.Sprintf("%s: %s\n%s is %s", p.Title, p.Proof(), p.Written(), becomes(p.Written()))
		for _, k := range p.Keys {
			text += "\n" + k.Form() + needed(k)
		}
		if len(p.Also) > 0 {
			text += "\nalso: " + strings.Join(p.Also, ", ")
		}
		if p.Differs != "" {
			text += "\nknow: " + p.Differs
		}
		out = append(out, entry{p.Name, "preset", text + "\nsource: " + p.Source})
	}
	return out
}

// needed says what holds if a word of a configuration is left out.
func needed(k preset.Key) string {
	switch {
	case k.Needed:
		return " (needed)"
	case k.Default != "":
		return " (default " + k.Default + ")"
	}
	return ""
}
