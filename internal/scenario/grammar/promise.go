package grammar

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spell"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// promiseKind is the kind of a promise.
func promiseKind() kind[*verdict.Promise] { return choice("a promise", verdict.Promises()...) }

// aboutKey and promisesKey are the keys of a scenario that name promises.
func aboutKey() field[*draft] {
	const doc = "What this scenario is about: a target that neither has nor promises it is not judged."
	return key("about", promiseKind(), doc, func(s *draft) *verdict.Promise { return &s.About })
}

func promisesKey() field[*draft] {
	const doc = "What the target promises. What it did not promise, and never shows, is a note and no " +
		"failure. The embedded target promises all."
	at := func(s *draft) *[]verdict.Promise { return &s.Expect.Promised }
	return key("promises", list("promises", promiseKind()), doc, at)
}

// promise adds what the caller knows of the promises of the target. The embedded one has all that there is
// to promise, so that a fault of it cannot hide behind what nobody promised.
func (s *draft) promise(more []verdict.Promise) {
	if s.Target.URL == scenario.Builtin {
		more = verdict.Promises()
	}
	for _, p := range more {
		if !slices.Contains(s.Expect.Promised, p) {
			s.Expect.Promised = append(s.Expect.Promised, p)
		}
	}
}

// ParsePromise reads one promise as --promise takes it. ok is false for another word; mend is then the one
// that was meant, in quotes, or empty.
func ParsePromise(word string) (p verdict.Promise, mend string, ok bool) {
	if p = verdict.Promise(word); slices.Contains(verdict.Promises(), p) {
		return p, "", true
	}
	return "", spell.Suggest(word, promiseWords()), false
}

// promiseWords are the promises as words.
func promiseWords() []string {
	var words []string
	for _, p := range verdict.Promises() {
		words = append(words, string(p))
	}
	return words
}
