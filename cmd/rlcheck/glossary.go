package main

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/request"
	"github.com/rlcheck/rlcheck/internal/preset"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// words are the closed lists of verdicts, reasons, findings and promises.
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
	{"over-admission", "finding",
		"More was admitted within a span than the limit can admit, wherever in their intervals the " +
			"admissions were decided.\nbucket: J[x,y] <= B + floor((y-x)/T); log: J <= " +
			"L*(floor((y-x)/W)+1); fixed window: by Hall's condition over windows."},
	{"under-admission", "finding",
		"A request was denied although not enough can have been in use, even with every earlier admission " +
			"decided as late as possible."},
	{"no-explanation", "finding", "Each question alone has an answer, but none answers all of them at once."},
	{"retry-after-early", "finding",
		"A client waited as its denial said, had no rival meanwhile, and was denied again."},
	{"retry-after-late", "finding",
		"A client was told to wait longer than the limit can need, rounded up to the unit of the field."},
	{"field-missing", "finding", "Answers lack a field that they should have."},
	{"field-invalid", "finding", "Answers have a field that breaks a binding rule of its syntax."},
	{"denied-in-phase", "finding", "A phase has more denials than it may have."},
	{"denied-unlimited", "finding", "Requests were denied that no limit counts."},
	{"answered-otherwise", "finding", "Answers of a phase have a status that they should not have."},
	{"unanswered", "finding", "Requests got no answer where one is expected: all of a phase, or exactly " +
		"those that the limit denies."},
	{"admitted-barred", "finding", "Requests were admitted of clients whose limit is nothing."},
	{"not-drained", "finding",
		"Clients that retried were never admitted, though the limit had room for them."},
	{"quota-conflict", "finding", "Answers tell two limits, or two numbers of remaining units."},
	{"limit-otherwise", "finding", "Answers tell a limit that is not the declared one."},
	{"reset-late", "finding", "An answer tells that quota comes back later than all of it can be back."},
	{"reset-early", "finding", "An answer tells a reset that is past, or before a window can have ended."},
	{"body-conflict", "finding", "The body of a denial tells another wait, limit, reset or status than " +
		"the denial itself."},
	{"remaining-too-high", "finding",
		"An answer tells more remaining units than there can be after the requests before."},
	{"remaining-too-low", "finding",
		"An answer tells fewer remaining units than there must be after the requests before."},
	{"counted-otherwise", "finding", "The target counted fewer denials than it answered."},
	{"mints-quota", "finding", "Requests of one client that differ in an attribute have a quota " +
		"each; they should share one."},
	{"shares-quota", "finding", "Requests that differ in an attribute draw on one quota; each should have " +
		"its own."},
	{"field-lost", "finding", "A field that the origin sends is missing behind the proxy."},
	{"field-changed", "finding", "A field arrives with another value than the origin sends."},
	{"status-changed", "finding", "A denial of the origin arrives with another status."},
	{"body-changed", "finding", "The body of a denial arrives changed."},
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
