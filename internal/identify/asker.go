package identify

import (
	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Asker asks the judge, until it is closed: then no judgement is waited for, and none refutes anything. One
// that had begun goes on unheard. nil is never closed.
type Asker <-chan struct{}

// Over tells whether nothing is asked any more.
func (a Asker) Over() bool {
	select {
	case <-a:
		return true
	default:
		return false
	}
}

// Ask is what f says, or false where that is not waited for.
func (a Asker) Ask(f func() bool) bool {
	if a == nil {
		return f()
	}
	if a.Over() {
		return false
	}
	said := make(chan bool, 1)
	go func() { said <- f() }()
	select {
	case yes := <-said:
		return yes
	case <-a:
		return false
	}
}

// Fails tells whether the judge finds something in a recording that speaks against a limit.
func (a Asker) Fails(tl *timeline.Timeline, l spec.Limit) bool { return a.judged(tl, l, true) }

// Explains tells whether the judge finds nothing in a recording that speaks against a limit.
func (a Asker) Explains(tl *timeline.Timeline, l spec.Limit) bool { return a.judged(tl, l, false) }

// judged tells whether the judge answered, and whether it found something as fails says.
func (a Asker) judged(tl *timeline.Timeline, l spec.Limit, fails bool) bool {
	return a.Ask(func() bool {
		j, err := check.Judge(tl, l, check.Options{SkipMeasure: true, VerdictOnly: true})
		return err == nil && (j.Verdict == result.Fail) == fails
	})
}
