package identify

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestTroubleNamesWhatIsMissing: if a target asked for a certificate and answers 400, the URL may well be
// right.
func TestTroubleNamesWhatIsMissing(t *testing.T) {
	tl := &timeline.Timeline{Observations: []timeline.Observation{{Answered: true, Status: 400}}}
	if got := trouble(tl); !strings.Contains(got, "(status 400): is it the right URL") {
		t.Errorf("got %q", got)
	}
	tl.Header.Notes = []string{transport.CauseNoCertificate}
	if got := trouble(tl); !strings.HasSuffix(got, "(status 400): "+transport.CauseCertify) {
		t.Errorf("asked for a certificate: got %q", got)
	}
}

// TestAQueueWithoutAnEndIsNoWrongURL: its answers came ever later, until none came in time.
func TestAQueueWithoutAnEndIsNoWrongURL(t *testing.T) {
	tl := &timeline.Timeline{Observations: took(timeline.Allowed, ms, 400*ms, 4*time.Second)}
	for range MostLost {
		tl.Observations = append(tl.Observations, timeline.Observation{Sent: time.Minute, Error: "timeout"})
	}
	if got, want := trouble(tl), "at last 4.00 s, so the limit delays"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	tl.Observations[2].FirstByte = tl.Observations[2].Sent + ms
	if got, want := trouble(tl), "is it the right URL"; !strings.Contains(got, want) {
		t.Errorf("a quick admission: got %q, want %q", got, want)
	}
}

// TestAnInterruptedJudgementIsNotWaitedFor: after Ctrl-C identify thought for 22 s.
func TestAnInterruptedJudgementIsNotWaitedFor(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	for _, began := range []bool{true, false} {
		never, asked := make(chan bool), false
		if Asker(ctx.Done()).Ask(func() bool {
			asked = true
			interrupt()
			return <-never
		}) {
			t.Error("got a judgement that did not end")
		}
		if !began && asked {
			t.Error("got a judgement that began later")
		}
		close(never)
	}
}

// TestAnInterruptedSearchTellsWhatIsKnown, whether it sends or thinks, and judges nothing more.
func TestAnInterruptedSearchTellsWhatIsKnown(t *testing.T) {
	for _, phase := range []string{quotaPhase, comebackPhase, "thinking"} {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		o := usualBudget()
		o.Think = time.Minute
		o.OnPhase = func(p Phase, _ *timeline.Timeline, _ []string) {
			if p.Name == phase {
				interrupt()
			}
		}
		limit := parsed(t, "fixed-window,rate=5/2s,align=first")
		sent := 0
		o.Spent = func() time.Duration {
			if phase == "thinking" && sent > 30 {
				interrupt()
			}
			return 0
		}
		onPhase := o.OnPhase
		o.OnPhase = func(p Phase, tl *timeline.Timeline, left []string) {
			sent = len(tl.Observations)
			onPhase(p, tl, left)
		}
		res := Identify(ctx, simulate(t, limit, 1), o)
		if res.Verdict != Open || res.Stopped != interrupted || len(res.Timeline.Observations) == 0 {
			t.Errorf("in %s: got %s: %q after %d requests", phase, res.Verdict, res.Stopped,
				len(res.Timeline.Observations))
		}
		if phase != quotaPhase && len(res.Found)+len(res.Wide) == 0 {
			t.Errorf("in %s: got nothing of what is left", phase)
		}
		if again := Recorded(ctx, []*timeline.Timeline{res.Timeline}, o); again.Stopped != interrupted {
			t.Errorf("a recording, asked in %s: got %q", phase, again.Stopped)
		}
	}
}
