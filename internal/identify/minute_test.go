package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
)

// Within five minutes a limit of a minute shows four windows.

// TestALimitOfAMinuteComesBackSoon: with twice the rest each time, the first window cost 83 s.
func TestALimitOfAMinuteComesBackSoon(t *testing.T) {
	s := simulate(t, parsed(t, "fixed-window,rate=1/1m,align=first"), 1)
	x := begun(s, usualBudget(), never)
	x.every = x.o.Every
	if x.send(t.Context(), plan.Phase{Requests: 2, Every: x.every}); !x.comeback(t.Context()) ||
		s.now > 66*time.Second {
		t.Errorf("got it back after %s, want a minute and little more", s.now)
	}
}

// TestABanOfAMinuteByTheClockCostsOneWindow: it was asked for a whole quota at rest, and a minute later.
func TestABanOfAMinuteByTheClockCostsOneWindow(t *testing.T) {
	s := simulate(t, parsed(t, "fixed-window,rate=60/1m"), 3)
	x := begun(s, usualBudget(), never)
	x.regions = []*space.Region{known(parsed(t, "fixed-window,rate=60/1m,align=unknown")[0])}
	x.every = x.o.Every
	for _, rest := range []time.Duration{0, 63 * time.Second} {
		x.send(t.Context(), plan.Phase{Rest: rest, Requests: 62, Every: x.every, Denials: 2})
	}
	x.send(t.Context(), plan.Phase{Rest: x.every, Requests: 100, Every: time.Second, Admits: 1})
	before, from := len(x.tl.Observations), s.now
	x.try(t.Context(), &unbanned)
	n, lasts := len(x.tl.Observations)-before, s.now-from
	if n == 0 || n > 75 || lasts > 70*time.Second || longestBan(x.shown()) > x.bearable() {
		t.Errorf("after %d requests in %s there is room for a ban of %s, want none over %s", n, lasts,
			longestBan(x.shown()), x.bearable())
	}
}
