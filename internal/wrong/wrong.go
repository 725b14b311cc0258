// Package wrong has limiters with one defect each. The laboratory serves them, and the judge asks whether a
// recording tells its target from them.
package wrong

import (
	_ "embed" // the defects in words
	"slices"
	"strings"
	"sync"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Defect is a deliberate mistake of a limiter. A nil hook changes nothing.
type Defect struct {
	// Name is stable, lower case with dashes.
	Name string
	// Sentence says what a limiter with the defect does. Class is that of docs/faults.md. Citation is the
	// address of a public report. All three come from defects.txt.
	Sentence, Class, Citation string
	// Costs: the defect is about requests that cost more than a unit.
	Costs bool
	// Promise is what a target must promise for this to be a defect. Empty: it is always one.
	Promise string
	// Fits says in a sentence which limits can show the defect. Empty: this limit can.
	Fits func(spec.Limit) string
	// Policy edits each policy that is enforced. Answers still describe the declared policy.
	Policy func(spec.Policy) spec.Policy
	// Limiter replaces or wraps the limiter.
	Limiter func(reference.Limiter, spec.Limit) reference.Limiter
	// Client returns for whom the requests of a client are counted, by its name. Empty: for its address.
	Client func(name string) string
}

// defectsText has what a limiter with a defect does. Behind the name of a defect stand its class, - for none,
// and where it was seen.
//
//go:embed defects.txt
var defectsText string

// Defects are all defects, in no order.
var Defects = sync.OnceValue(func() []Defect {
	all := slices.Concat(policies, limiters, mixUps)
	for _, e := range text.Entries(defectsText) {
		head := strings.Fields(e.Name)
		d := &all[slices.IndexFunc(all, func(d Defect) bool { return d.Name == head[0] })]
		d.Class, d.Citation, d.Sentence = strings.Trim(head[1], "-"), head[2], e.Get("text")
	}
	return all
})

// Find returns the defect with a name. ok=false: there is none.
func Find(name string) (d Defect, ok bool) {
	i := slices.IndexFunc(Defects(), func(d Defect) bool { return d.Name == name })
	if i < 0 {
		return Defect{}, false
	}
	return Defects()[i], true
}

// Unfit returns "" if l can show the defect. Otherwise it returns a sentence with the rule that l breaks.
func (d Defect) Unfit(l spec.Limit) string {
	if d.Limiter != nil && l.Completes() {
		return "the fault keeps no completions (declare a limit that charges at the decision)"
	}
	if d.Fits != nil {
		if why := d.Fits(l); why != "" {
			return why
		}
	}
	if _, err := reference.NewLimit(d.Edited(l)); err != nil {
		return "the limit would contradict itself with this fault (declare another)"
	}
	return ""
}

// Edited returns the limit that is enforced where l is declared.
func (d Defect) Edited(l spec.Limit) spec.Limit {
	if d.Policy == nil {
		return l
	}
	l = slices.Clone(l)
	for i := range l {
		l[i] = d.Policy(l[i])
	}
	return l
}

// Of returns the limiter with the defect where l is declared. An error is one of reference.NewLimit.
func (d Defect) Of(l spec.Limit) (reference.Limiter, error) {
	l = d.Edited(l)
	limiter, err := reference.NewLimit(l)
	if err == nil && d.Limiter != nil {
		limiter = d.Limiter(limiter, l)
	}
	return limiter, err
}
