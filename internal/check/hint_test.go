package check

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// TestGuessesAreSPECs: every policy that may be named beside a FAIL can be given back as a SPEC.
func TestGuessesAreSPECs(t *testing.T) {
	for _, spec := range []string{
		"token-bucket,rate=10/s,burst=20", "gcra,rate=100/1m,burst=5", "leaky-bucket-queue,rate=10/s,queue=5", "fixed-window,rate=10/1s",
		"sliding-window-log,rate=10/1s", "sliding-window-counter,rate=10/1s", "concurrency,limit=10,hold=100ms..1s",
		"fixed-window,rate=10/1s,charge=completion,linger=1ms",
	} {
		limit, err := reference.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		guessed := guesses(limit[0], &Judgement{})
		if len(guessed) < 2 {
			t.Errorf("%s: %d guesses, want one more and one less at least", spec, len(guessed))
		}
		for _, g := range guessed {
			if _, err := reference.Parse(reference.Limit{g.policy}.String()); err != nil {
				t.Errorf("%s: guess %q is no SPEC: %v", spec, g.text, err)
			}
		}
	}
}
