package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// shared are the flags that run has too. Its requests need them as those of identify did.
var shared = []string{"from-curl", "header", "method", "data", "host", "http2", "unix-socket", "proxy",
	"cacert", "cert", "key", "insecure", "past-caches", "allow-host", "cost"}

// own are further flags of identify that say how it asks.
var own = []string{"max-rate", "polite", "clients"}

// next returns the command that asks again, and one that runs scenarios with clients of a partition. They
// have the flags that were given, without the budget and the limit. Secrets are redacted. A variable that
// rlcheck reads is no secret.
func (f *identifyFlags) next(fl *pflag.FlagSet, target string, red trial.Redactor) (again string,
	run func(partition string) string) {
	url, flags, statuses := " "+text.ShellWord(target), "", ""
	for _, name := range []string{"allowed", "denied"} {
		if fl.Changed(name) {
			given := strings.Trim(fl.Lookup(name).Value.String(), "[]")
			statuses += " --" + name + " " + text.ShellWord(given)
		}
	}
	if f.Target == "" { // --from-curl names it
		url = ""
	}
	fl.Visit(func(x *pflag.Flag) {
		if slices.Contains(shared, x.Name) {
			flags += flagWords(x, red)
		}
	})
	again = "rlcheck identify" + url + flags
	fl.Visit(func(x *pflag.Flag) {
		if slices.Contains(own, x.Name) {
			again += flagWords(x, red)
		}
	})
	run = func(partition string) string {
		out := "rlcheck run builtin:"
		if url != "" {
			out += " -t" + url
		}
		return out + flags + " --partition " + text.ShellWord(partition) + statuses
	}
	if f.Partition != "none" {
		again += " --partition " + text.ShellWord(f.Partition)
	}
	return again + statuses, run
}

// flagWords prints a flag as it was given, by its short name if it has one.
func flagWords(x *pflag.Flag, red trial.Redactor) (out string) {
	for i, word := range red.Words(withoutCurl(given(x))) {
		if i%2 == 0 && x.Shorthand != "" {
			word = "-" + x.Shorthand
		}
		out += " " + text.ShellWord(word)
	}
	return out
}
