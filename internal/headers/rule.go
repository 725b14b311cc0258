package headers

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
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
type Level uint8

// The levels. Convention is the zero value: no standard says so.
const (
	Convention Level = iota
	Should
	Must
)

// String returns must, should or convention.
func (l Level) String() string {
	switch l {
	case Must:
		return "must"
	case Should:
		return "should"
	default:
		return "convention"
	}
}

// Draft is the revision of draft-ietf-httpapi-ratelimit-headers that rules refer to, unless they name
// another.
const Draft = "draft-ietf-httpapi-ratelimit-headers-10"

// ratelimit07 is the last revision of that draft that states the limit and the remaining quota beside each
// other.
const ratelimit07 = "draft-ietf-httpapi-ratelimit-headers-07"

// About is what a rule says, how binding it is, and where it is written.
type About struct {
	Level        Level
	Text, Source string
}

// About returns the rule's level, text and source, and whether there is such a rule.
func (r Rule) About() (About, bool) {
	if a, ok := abouts[r]; ok {
		return a, true
	}
	if row, ok := observed[r]; ok {
		return row.About, true
	}
	row, ok := unobserved[r]
	return row.About, ok
}

// Rules returns all rules, ascending by id: those about fields, those about behaviour, and those that no
// claim judges.
func Rules() []Rule {
	all := slices.Concat(slices.Collect(maps.Keys(abouts)), slices.Collect(maps.Keys(observed)),
		slices.Collect(maps.Keys(unobserved)))
	slices.Sort(all)
	return all
}

// Level returns how binding a rule about fields or problem bodies is. It returns Convention for any other
// rule.
func (r Rule) Level() Level { return abouts[r].Level }

// abouts is never written after init.
var abouts = map[Rule]About{
	RASyntax: {Must, "Retry-After is an HTTP-date, or a number of seconds in digits only",
		"RFC 9110 section 10.2.3"},
	RAIMF:    {Must, "a sender writes a date as an IMF-fixdate", "RFC 9110 section 5.6.7"},
	RASingle: {Must, "Retry-After is a single value, sent once", "RFC 9110 sections 5.3, 10.2.3"},
	DateSyntax: {Must, "an origin with a clock sends a Date in the form of an HTTP-date",
		"RFC 9110 section 6.6.1"},
	SFParse: {Must, "the field parses as a structured field; otherwise the whole field is ignored",
		"RFC 9651 section 4.2"},
	SFNonEmpty: {Must, "the list has at least one item", "RFC 9651 section 3.1"},
	RPName:     {Must, "a policy's name is a String in double quotes", Draft + " section 3"},
	RPQ:        {Must, "q is there and is an Integer of at least 0", Draft + " section 3.1.1"},
	RPQU:       {Must, "qu is a String", Draft + " section 3.1.2"},
	RPW:        {Must, "w is an Integer of seconds above 0", Draft + " section 3.1.3"},
	RPPK:       {Must, "pk is a Byte Sequence", Draft + " section 3.1.4"},
	RLR:        {Must, "r is there and is an Integer of at least 0", Draft + " section 4.1.1"},
	RLT:        {Must, "t is an Integer of seconds from now, at least 0", Draft + " section 4.1.2"},
	RLName: {Convention, "the names in RateLimit are among those in RateLimit-Policy",
		Draft + " section 4.1.3"},
	RLRLeQ: {Convention, "r is at most q", Draft + " section 4.1.1"},
	RLTLeW: {Convention, "t is at most w", Draft + " section 4.1.2"},
	R3Limit: {Must, "RateLimit-Limit is an Integer, or a list of them with w",
		"draft-ietf-httpapi-ratelimit-headers-03 section 3.1"},
	R3Remaining: {Must, "RateLimit-Remaining is an Integer of at least 0",
		"draft-ietf-httpapi-ratelimit-headers-03 section 3.3"},
	R3Range: {Convention, "RateLimit-Remaining is at most RateLimit-Limit", ratelimit07 + " section 3"},
	R3Delta: {Must, "RateLimit-Reset is an Integer of seconds from now",
		"draft-ietf-httpapi-ratelimit-headers-03 section 3.4"},
	R3Required: {Must, "RateLimit-Limit and RateLimit-Reset come together",
		"draft-ietf-httpapi-ratelimit-headers-03 section 3"},
	R307: {Must, "limit, remaining and reset are Integers of at least 0, and limit and reset are " +
		"there", "draft-ietf-httpapi-ratelimit-headers-07 section 3"},
	XRSet: {Convention, "X-RateLimit-Limit, -Remaining and -Reset come together, as numbers",
		"convention (GitHub and others)"},
	XRReset: {Convention, "X-RateLimit-Reset is a Unix time in seconds, or seconds from now",
		"convention (GitHub and others)"},
	XRRange: {Convention, "X-RateLimit-Remaining is a number from 0 to the limit",
		"convention (GitHub and others)"},
	STNoStore: {Must, "no cache may store a 429", "RFC 6585 section 4"},
	PDType:    {Must, "an application/problem+json body is a JSON object", "RFC 9457 section 3"},
	PDStatus:  {Must, "the member status equals the status of the answer", "RFC 9457 section 3.1.2"},
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

// quoteMax is the most bytes of a value in the text of an error.
const quoteMax = 80

// Error returns `field: what: why (mend)`. The value is quoted, so that no control character gets out, and
// cut after 80 bytes.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Field)
	b.WriteString(": ")
	b.WriteString(quote(p.Value))
	b.WriteString(": ")
	b.WriteString(p.Why)
	if p.Mend != "" {
		b.WriteString(" (")
		b.WriteString(p.Mend)
		b.WriteString(")")
	}
	return b.String()
}

// Problems returns the problem in the chain of err as a list of one; nil if there is none.
func Problems(err error) []Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return []Problem{*p}
	}
	return nil
}

// quote returns s as a Go string literal in ASCII, cut after quoteMax bytes.
func quote(s string) string {
	if len(s) > quoteMax {
		return strconv.QuoteToASCII(s[:quoteMax]) + "..."
	}
	return strconv.QuoteToASCII(s)
}
