package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/target"
)

func newExplainCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [ID]",
		Short: "What a reason, a finding, a claim, a fault or a scenario means, and how it is observed",
		Args:  needs(0, 1, "one word (rlcheck explain lists them all)"),
		RunE: func(_ *cobra.Command, args []string) error {
			entries, err := e.glossary()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				for _, en := range entries {
					e.say.resultf("%-28s %s\n", en.id, en.kind)
				}
				return nil
			}
			i := slices.IndexFunc(entries, func(en entry) bool { return en.id == args[0] })
			if i < 0 {
				return usagef("%q: there is nothing of that name%s", args[0], mend(nearestEntry(args[0], entries)))
			}
			e.say.resultf("%s (%s)\n%s\n", entries[i].id, entries[i].kind, entries[i].text)
			return nil
		},
	}
}

// nearestEntry suggests the word that was meant.
func nearestEntry(word string, entries []entry) string {
	ids := make([]string, len(entries))
	for i, en := range entries {
		ids[i] = en.id
	}
	if near := scenario.Suggest(word, ids); near != "" {
		return near
	}
	return "rlcheck explain lists them all"
}

// entry explains one word of rlcheck.
type entry struct{ id, kind, text string }

// glossary is every word that a verdict uses, and every fault and bundled scenario.
func (e *env) glossary() ([]entry, error) {
	out := slices.Clone(words)
	catches, err := caughtBy(e.getenv)
	if err != nil {
		return nil, err
	}
	for _, f := range target.Faults() {
		text := f.Sentence + "\nseen: " + f.Citation
		if by := catches[f.Name]; len(by) > 0 {
			text += "\ncaught by: " + strings.Join(by, ", ")
		}
		out = append(out, entry{f.Name, "fault", text})
	}
	sources, err := readBuiltin("")
	if err != nil {
		return nil, err
	}
	for _, src := range sources {
		s, err := scenario.Parse(src.text, src.name, scenario.ParseOptions{Env: e.getenv})
		if err != nil {
			return nil, err
		}
		out = append(out, entry{s.ID, "scenario", fmt.Sprintf("%s\nkind: %s\nsource: %s\ncatches: %s\nlimit: %s", s.Title, s.Kind, s.Source, strings.Join(s.Catches, ", "), s.Limit)})
	}
	return out, nil
}

// words are the closed lists of reasons, findings and claims.
var words = []entry{
	{"pass", "verdict", "The recording can be explained by the declared limit, and could have shown a fault: the measured policy says how small a one."},
	{"fail", "verdict", "No decision times inside the recorded intervals, no order and no hidden window phase explain the recording. The witness alone proves it."},
	{"inconclusive", "verdict", "Neither: the reason says why."},
	{"schedule-missed", "reason", "The load was not sent as planned, by our own fault. Mend: a quieter machine, a lower rate."},
	{"unreachable", "reason", "No request was answered. Mend: is the target up, is the URL right?"},
	{"setup-failed", "reason", "Something that had to be there before the load was not: the embedded target, a certificate, a boundary to aim at."},
	{"needs-failed", "reason", "The scenario needs something that the target does not have, such as an origin behind a proxy."},
	{"too-few", "reason", "The recording was not able to show a fault as small as demanded. Mend: more requests, a longer phase."},
	{"foreign-traffic", "reason", "A denial is unexplained, and others may use the same key (exclusive: false)."},
	{"unclassified-status", "reason", "Answers had a status that no rule calls an admission or a denial. Mend: denied: {status: [...]}."},
	{"search-limit", "reason", "The search for an explanation was stopped at its limit; nothing was proved."},
	{"interrupted", "reason", "The recording was stopped before its plan was done."},
	{"over-admission", "finding", "More was admitted within a span than the limit can admit, wherever in their intervals the admissions were decided.\nbucket: J[x,y] <= B + floor((y-x)/T); log: J <= L*(floor((y-x)/W)+1); fixed window: by Hall's condition over windows."},
	{"under-admission", "finding", "A request was denied although not enough can have been in use, even with every earlier admission decided as late as possible."},
	{"no-explanation", "finding", "Each question alone has an answer, but none answers all of them at once."},
	{"conformance", "claim", "The recording as a whole against the declared limit."},
	{"retry-after-honored", "claim", "A client that waited as its denial said, and had no rival meanwhile, is admitted (RFC 9110 section 10.2.3)."},
	{"retry-after-not-longer", "claim", "Nobody is told to wait longer than the limit needs, rounded up to the unit of the field."},
}
