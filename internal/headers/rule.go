package headers

import (
	"cmp"
	_ "embed" // the rules
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rlcheck/rlcheck/internal/text"
)

// Rule is the id of a rule about header fields. Ids are stable for ever.
type Rule string

// The rules about fields and problem bodies. About tells what each one says and where it is written.
const (
	RASyntax    Rule = "RA-SYNTAX"
	RAIMF       Rule = "RA-IMF"
	RASingle    Rule = "RA-SINGLE"
	DateSyntax  Rule = "ST-DATE"
	SFParse     Rule = "SF-PARSE"
	SFNonEmpty  Rule = "SF-NONEMPTY"
	RPName      Rule = "RP-NAME"
	RPQ         Rule = "RP-Q"
	RPQU        Rule = "RP-QU"
	RPW         Rule = "RP-W"
	RPPK        Rule = "RP-PK"
	RLR         Rule = "RL-R"
	RLT         Rule = "RL-T"
	RLName      Rule = "RL-PK-MATCH"
	RLRLeQ      Rule = "RL-R-LE-Q"
	RLTLeW      Rule = "RL-T-LE-W"
	R3Limit     Rule = "R3-LIMIT"
	R3Remaining Rule = "R3-REMAINING"
	R3Range     Rule = "R3-REM-RANGE"
	R3Delta     Rule = "R3-RESET-DELTA"
	R3Required  Rule = "R3-REQUIRED"
	R307        Rule = "R3-07"
	XRSet       Rule = "XR-SET"
	XRReset     Rule = "XR-EPOCH"
	XRRange     Rule = "XR-REM-RANGE"
	STNoStore   Rule = "ST-429-NOSTORE"
	PDType      Rule = "PD-TYPE"
	PDStatus    Rule = "PD-STATUS"
)

// Level is how binding a rule is.
type Level string

// The levels. Convention: no standard says so.
const (
	Convention Level = "convention"
	Should     Level = "should"
	Must       Level = "must"
)

// Draft is the revision of draft-ietf-httpapi-ratelimit-headers that rules refer to, unless they name
// another.
const Draft = "draft-ietf-httpapi-ratelimit-headers-10"

// About is what a rule says, how binding it is, and where it is written.
type About struct {
	Level        Level
	Text, Source string
	// seen and unseen are what Rule.Seen and Rule.Unseen return.
	seen, unseen string
}

// rulesText has the rules about fields, those that claims judge beyond the syntax of fields (seen), and those
// that no claim judges (unseen). Behind the id of a rule stand its level and its source.
//
//go:embed rules.txt
var rulesText string

// rules has the entries of rulesText, by the id.
var rules = sync.OnceValue(func() map[Rule]About {
	out := map[Rule]About{}
	for _, e := range text.Entries(rulesText) {
		id, about, _ := strings.Cut(e.Name, " ")
		level, source, _ := strings.Cut(about, " ")
		a := About{Level(level), e.Get("text"), source, e.Get("seen"), e.Get("unseen")}
		if a.seen == "" && a.unseen == "" {
			a.seen = "the values of fields and bodies as they were sent: claims fields-*, quota-conventions"
		}
		out[Rule(id)] = a
	}
	return out
})

// About returns the rule's level, text and source, and whether there is such a rule.
func (r Rule) About() (About, bool) {
	a, ok := rules()[r]
	return a, ok
}

// Seen says what a claim looks at to judge r. It is "" for a rule that no claim judges; Unseen then says why.
func (r Rule) Seen() string { return rules()[r].seen }

// Unseen says why no claim judges r. It is "" for a rule that a claim judges.
func (r Rule) Unseen() string { return rules()[r].unseen }

// Rules returns all rules, ascending by id.
func Rules() []Rule { return slices.Sorted(maps.Keys(rules())) }

// Level returns how binding a rule is. It returns Convention where there is no such rule.
func (r Rule) Level() Level {
	return cmp.Or(rules()[r].Level, Convention)
}

// Problem is one rule that a field value breaks. As an error its text is `field: what: why (mend)`.
type Problem struct {
	Rule Rule
	// Field is the name of the field in its usual spelling.
	Field string
	// Value is the offending text as it arrived, never cleaned or shortened.
	Value string
	// Why states the rule. Mend is an edit that the sender can make; it may be "".
	Why, Mend string
}

// Error returns `field: what: why (mend)`. The value is quoted, so that no control character gets out, and
// cut after 80 bytes.
func (p *Problem) Error() string {
	return p.Field + ": " + text.NewProblem(text.Quote(p.Value), p.Why, p.Mend).Error()
}

// Problems returns the problem in the chain of err as a list of one; nil if there is none.
func Problems(err error) []Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return []Problem{*p}
	}
	return nil
}
