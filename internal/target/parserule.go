package target

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/httpd"
	"github.com/rlcheck/rlcheck/internal/preset"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// ParseRule reads a rule as "WHERE... LIMIT": /PATH, METHOD and NAME:VALUE of a header field, each at most
// once but the last, all of which must fit; and a SPEC, none, or zero for a limit of nothing.
//
//	/login fixed-window,rate=5/1m
//	PUT /items token-bucket,rate=1/s,burst=5
//	X-Tier:gold token-bucket,rate=300/s,burst=60
//	/healthz none
func ParseRule(text string) (Rule, error) {
	var u Rule
	rest := strings.TrimSpace(text)
	wrong := func(what, why string) (Rule, error) {
		return Rule{}, fmt.Errorf("rule %q: %s: %s (write \"/login fixed-window,rate=5/1m\")", text, what,
			why)
	}
	for {
		word, after, more := strings.Cut(rest, " ")
		name, value, field := strings.Cut(word, ":")
		switch {
		case !more:
			if !u.forSome() {
				return wrong("nothing but a limit",
					"a rule says first whom it is for: /PATH, METHOD or NAME:VALUE")
			}
			return u.limitedBy(rest, text)
		case word == "":
		case field && known(name) && u.forSome():
			return u.limitedBy(rest, text) // a preset with spaces, not a field
		case word[0] == '/' && u.Path == "":
			u.Path = word
		case field && httpd.IsToken(name):
			if u.Header == nil {
				u.Header = map[string]string{}
			}
			u.Header[name] = value
		case httpd.IsToken(word) && strings.ToUpper(word) == word && u.Method == "":
			u.Method = word
		case !u.forSome(), word[0] == '/', strings.ToUpper(word) == word:
			return wrong(fmt.Sprintf("%q", word),
				"a rule is for a /PATH, a METHOD or a NAME:VALUE, and has one path and one method at most")
		default: // several policies have spaces between them
			return u.limitedBy(rest, text)
		}
		rest = strings.TrimLeft(after, " ")
	}
}

// forSome tells whether u already says whom it is for.
func (u Rule) forSome() bool { return u.Path != "" || u.Method != "" || u.Header != nil }

// known tells whether a name is that of a product that a SPEC may begin with.
func known(name string) bool {
	_, found := preset.Find(name)
	return found
}

// limitedBy completes a rule with the text of its limit.
func (u Rule) limitedBy(limit, text string) (Rule, error) {
	switch limit {
	case "none":
		return u, nil
	case "zero":
		u.Barred = true
		return u, nil
	}
	var err error
	if u.Limit, err = spec.Parse(limit); err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", text, err)
	}
	return u, nil
}
