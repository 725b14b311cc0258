package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
)

// deniedWords says what --denied names.
const deniedWords = "statuses such as 403,429, header:NAME, header:NAME=VALUE, or body:PATH=VALUE such as " +
	"body:errors.0.extensions.code=THROTTLED"

// deniedSettings turns the values of --denied into settings. It is empty if there are none. A word of the
// body or of a field takes the place of denied as a whole: beside a word of the body, only the statuses that
// are named deny.
func deniedSettings(values []string) ([]tree.Setting, error) {
	var statuses, marks []string
	for _, v := range values {
		kind, word, _ := strings.Cut(v, ":")
		name, value, valued := strings.Cut(word, "=")
		switch {
		case kind == "header" && name != "":
			if valued {
				name += ": " + value
			}
			marks = append(marks, "header: "+strconv.Quote(name))
		case kind == "body" && name != "" && valued:
			marks = append(marks, "body: "+strconv.Quote(word))
		case slices.Contains([]string{"header", "body"}, kind):
			return nil, cli.Usagef("--denied %s: a denial is %s", v, deniedWords)
		default:
			statuses = append(statuses, v)
		}
	}
	list, err := statusList(statuses)
	switch {
	case err != nil:
		return nil, cli.Usagef("--denied: %w", err)
	case len(values) == 0:
		return nil, nil
	case len(marks) == 0:
		return []tree.Setting{{Path: "denied.status", Value: list}}, nil // a list has no Flag
	case list != "":
		marks = append(marks, "status: "+list)
	}
	return []tree.Setting{{Path: "denied", Value: "{" + strings.Join(marks, ", ") + "}"}}, nil
}
