package headers

import (
	"errors"
	"strconv"
	"strings"
)

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
