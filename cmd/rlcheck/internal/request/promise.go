package request

import (
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/spell"
	"github.com/rlcheck/rlcheck/internal/target"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// ParsePromises reads the words of --promise; a strict run takes what is recommended for promised.
func ParsePromises(words []string, strict bool) ([]verdict.Promise, error) {
	var out []verdict.Promise
	if strict {
		out = verdict.RecommendedPromises()
	}
	for _, word := range words {
		all := WordsOf(verdict.Promises())
		if !slices.Contains(all, word) {
			return nil, cli.Usagef("--promise %q: a target promises %s%s", word, strings.Join(all, ", "),
				cli.Mend(spell.Suggest(word, all)))
		}
		out = append(out, verdict.Promise(word))
	}
	return out, nil
}

// WordsOf are promises as words.
func WordsOf(promises []verdict.Promise) []string {
	out := make([]string, len(promises))
	for i, p := range promises {
		out[i] = string(p)
	}
	return out
}

// UnpromisedField ends the explanation of a promise of fields.
const UnpromisedField = "\nWithout the promise (--promise, promises: in the scenario, --strict), a " +
	"field that is never sent is a note. A field that is sent is held to its rules."

// PromisedOnly says of a fault what has to be promised or declared for it to be one; empty for most.
func PromisedOnly(f target.Fault) string {
	switch {
	case f.Promise != "":
		return "\nonly if it is promised (--promise " + f.Promise +
			"): without the promise, a target that never did it is right"
	case f.Declared != "":
		return "\nonly if it is declared (--set " + f.Declared + "); for the embedded target it is " +
			"known"
	default:
		return ""
	}
}
