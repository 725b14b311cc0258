package request

import (
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/spell"
	"github.com/rlcheck/rlcheck/internal/target"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// ParsePromises reads the words of --promise. A strict run also takes the recommended promises as given.
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

// WordsOf returns promises, or formats, as words.
func WordsOf[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = string(p)
	}
	return out
}

// UnpromisedField is the end of the explanation of a promise of fields.
const UnpromisedField = "\nWithout the promise (--promise, promises: in the scenario, --strict), a " +
	"field that is never sent is a note. A field that is sent is held to its rules."

// PromisedOnly says what must be promised or declared for something to be the fault f. Empty for most faults.
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
