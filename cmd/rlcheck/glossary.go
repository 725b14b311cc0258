package main

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/request"
	"github.com/rlcheck/rlcheck/internal/preset"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// words are the closed lists of verdicts, reasons and promises.
var words = []entry{
	{"pass", "verdict", "The recording can be explained by the declared limit, " +
		"and could have shown a fault. The measured policy tells how small."},
	{"fail", "verdict", "No decision times inside the recorded intervals, no order and no hidden window " +
		"phase explain the recording. The witness alone proves it."},
	{"inconclusive", "verdict", "Neither: the reason says why."},
	{"schedule-missed", "reason",
		"The load was not sent as planned, or not all of it. Mend: a quieter machine, a lower rate."},
	{"unreachable", "reason", "No request was answered. Mend: is the target up, is the URL right?"},
	{"setup-failed", "reason",
		"Something that had to be there before the load was not: the embedded target, a certificate, a " +
			"boundary to aim at."},
	{"needs-failed", "reason", "The scenario needs something that the target neither has nor promised, " +
		"such as Retry-After, or an origin behind a proxy.\n" +
		"It is named and does not count: the exit status is that of the other scenarios."},
	{"too-few", "reason",
		"The recording was not able to show a fault as small as demanded. Mend: more requests, a longer " +
			"phase."},
	{"foreign-traffic", "reason",
		"A denial is unexplained, or so many admissions in windows that requests open, and others may use " +
			"the same key (exclusive: false). Or a scenario passes alone, and fails where others are " +
			"recorded at the same time."},
	{"unclassified-status", "reason",
		"Answers had a status that no rule calls an admission or a denial. Mend: denied: {status: [...]}."},
	{"search-limit", "reason", "The search for an explanation was stopped at its limit; nothing was proved."},
	{"interrupted", "reason", "The recording was stopped before its plan was done."},
	{"retry-after", "promise", "Denials carry Retry-After (RFC 6585 section 4: MAY)." +
		request.UnpromisedField},
	{"ratelimit", "promise", "Answers tell their quota in RateLimit or X-RateLimit fields (conventions)." +
		request.UnpromisedField},
	{"problem", "promise", "Denials have a body of type application/problem+json (RFC 9457)." +
		request.UnpromisedField},
	{"cost", "promise", "A request takes as many units as its field X-Cost says.\n" +
		"Without the promise, costs are asked only of a target that was seen to charge them."},
	{"methods", "promise", "The route takes the methods that are sent, such as HEAD and POST.\n" +
		"Without the promise, one that is answered 404, 405 or 501 is not judged."},
}

// findingWords are the kinds of findings, for explain.
func findingWords() (out []entry) {
	for _, k := range verdict.FindingKinds() {
		out = append(out, entry{string(k), "finding", k.About()})
	}
	return out
}

// listPresets is `rlcheck list presets`: what may be written for each product, the SPEC that it becomes, and
// what that rests on.
func listPresets(e *cli.Env) {
	for _, p := range preset.All() {
		e.Say.Resultf("%-22s %-30s %s\n%-22s %s\n", p.Name, p.Proof(), p.Written(), "", becomes(p.Written()))
	}
}

// becomes is the SPEC that a preset stands for. The examples of all products have one, which a test holds.
func becomes(written string) string {
	limit, err := spec.Parse(written)
	if err != nil {
		return err.Error()
	}
	return limit.String()
}

// presetWords are the products, for explain.
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

// needed says what a word of a configuration is where it is left out.
func needed(k preset.Key) string {
	switch {
	case k.Needed:
		return " (needed)"
	case k.Default != "":
		return " (default " + k.Default + ")"
	}
	return ""
}
