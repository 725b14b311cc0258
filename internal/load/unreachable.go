package load

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Unreachable tells whether no request of tl was answered although some were sent, and why: the commonest error. Of
// equally common ones the first counts.
func Unreachable(tl *timeline.Timeline) (why string, unreachable bool) {
	counts := map[string]int{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if o.Answered {
			return "", false
		}
		counts[o.Error]++
		if counts[o.Error] > counts[why] || why == "" {
			why = o.Error
		}
	}
	if len(tl.Observations) == 0 {
		return "", false
	}
	return fmt.Sprintf("no request was answered: %d of %d %s", counts[why], len(tl.Observations), why), true
}
