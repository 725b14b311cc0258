package identify

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// wholeSeconds is why a window that lasts no whole number of half seconds is not named.
const wholeSeconds = "the window that was measured lasts no whole number of half seconds, and a clock of " +
	"whole seconds explains all answers too"

// coarseKinds are the limiters of products whose clock has whole seconds (fiber, gin-rate-limit), for a quota
// and a window.
var coarseKinds = []struct{ text, spec string }{
	{"a fixed window by the first request", "fixed-window,rate=%d/%s,align=first,tick=1s"},
	{"a fixed window that every admitted request starts anew",
		"fixed-window,rate=%d/%s,align=first,refresh=admitted,tick=1s"},
	{"a sliding window counter that counts denied requests too",
		"sliding-window-counter,rate=%d/%s,align=first,count=all,rounding=down,tick=1s"},
}

// ofWholeSeconds returns the limiters of a clock of whole seconds that explain the recording as the window
// does that was measured; none where that one lasts half seconds, or no answer tells of a limit. Such a
// clock explains so much that it is asked for nowhere else.
func (x *search) ofWholeSeconds(c Candidate) (out []Candidate) {
	const longest = 30 * time.Second
	if !c.Limit[0].HasWindow() || c.most > longest || len(Told(x.tl)) == 0 ||
		c.most.Truncate(time.Second/2) >= c.least {
		return nil
	}
	tl := *x.tl
	tl.Observations = tl.Observations[x.skip:]
	for _, k := range coarseKinds {
		for _, beside := range []time.Duration{0, time.Second, -time.Second} { // the nearest first
			w := max(c.least.Truncate(time.Second)+beside, time.Second)
			limit, err := spec.Parse(fmt.Sprintf(k.spec, c.Limit[0].Rate.N, w))
			if err == nil && explains(&tl, limit) {
				out = append(out, Candidate{Text: k.text + ", by a clock of whole seconds",
					Class: []spec.Algorithm{limit[0].Algorithm}, Limit: limit, Measured: c.Measured,
					least: w, most: w})
				break
			}
		}
	}
	return out
}

// explains tells whether the judge finds nothing in a recording that speaks against a limit.
func explains(tl *timeline.Timeline, limit spec.Limit) bool {
	j, err := check.Judge(tl, limit, check.Options{SkipMeasure: true})
	return err == nil && j.Verdict != verdict.Fail
}
