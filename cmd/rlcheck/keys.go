package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// readKeys reads the keys that a target has issued, one on each line. It skips blank lines and those that
// begin with #. No error shows a key.
func readKeys(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := cli.ReadFile(path, cli.MostKeys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("--api-keys %s: there is no such file%s", path, hintFile(path))
	}
	if err != nil {
		return nil, fmt.Errorf("--api-keys %s: %w", path, cli.Cause(err))
	}
	var keys []string
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		key := strings.TrimSpace(line)
		bad := func(why string) error { return fmt.Errorf("%s:%d: %s", path, number, why) }
		switch {
		case key == "" || strings.HasPrefix(key, "#"):
			continue
		case len(key) < trial.ShortestSecret:
			return nil, bad("a key needs four characters or more: a shorter key cannot be redacted")
		case strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) >= 0:
			return nil, bad("a key is printable ASCII without spaces (text around the key belongs into " +
				"--partition)")
		case slices.Contains(keys, key):
			return nil, bad("the key is there twice: two clients with one key are one client")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, cli.Usagef("--api-keys %s: the file has no key (write one key in each line)", path)
	}
	return keys, nil
}

// shareKeys makes the scenarios of a run take turns with the issued keys, so that they use different keys if
// there are enough.
func shareKeys(chosen []*scenario.Scenario) {
	used := 0
	for _, s := range chosen {
		if len(s.Keys) == 0 || s.Unmet() != "" {
			continue
		}
		s.SkipKeys = used
		if plan, err := s.Plan("", 1); err == nil {
			used += len(scenario.Clients(plan))
		}
	}
}
