package main

import (
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// parsePromises reads the words of --promise. A strict run also takes the recommended promises as given.
func parsePromises(words []string, strict bool) ([]result.Promise, error) {
	var out []result.Promise
	if strict {
		out = result.RecommendedPromises()
	}
	for _, word := range words {
		all := wordsOf(result.Promises())
		if !slices.Contains(all, word) {
			return nil, cli.Usagef("--promise %q: a target promises %s%s", word, strings.Join(all, ", "),
				cli.Mend(text.Suggest(word, all)))
		}
		out = append(out, result.Promise(word))
	}
	return out, nil
}

// wordsOf returns promises, or formats, as words.
func wordsOf[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = string(p)
	}
	return out
}

// promisedOnly says what must be promised or declared for something to be the fault f. Empty for most faults.
func promisedOnly(f lab.Fault) string {
	switch {
	case f.Promise != "":
		return "\nonly if it is promised (--promise " + f.Promise +
			"): without the promise, a target that never did it is right"
	case f.Declared != "":
		return "\nonly if it is declared (--set " + f.Declared + "); for the embedded target it is known"
	default:
		return ""
	}
}
