package text

// Problem is one mistake in something that a user wrote: what it is, which rule it breaks, and an edit that
// mends it. What quotes the text, unless it may be a secret. Mend is empty rather than guessed.
type Problem struct{ What, Why, Mend string }

// NewProblem returns a mistake.
func NewProblem(what, why, mend string) *Problem { return &Problem{what, why, mend} }

// Error returns "what: why (mend)".
func (p *Problem) Error() string {
	if p.Mend == "" {
		return p.What + ": " + p.Why
	}
	return p.What + ": " + p.Why + " (" + p.Mend + ")"
}
