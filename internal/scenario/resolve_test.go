package scenario_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestMultiplesFollowTheTightestPolicy(t *testing.T) {
	for _, row := range []struct {
		limit, phase string
		requests     int
		duration     time.Duration
		rate         string
	}{
		{"token-bucket,rate=100/s,burst=20", "{name: a, shape: at-once, requests: 3x}", 60, 0, ""},
		// 4.5, rounded up
		{"token-bucket,rate=100/s,burst=3", "{name: a, shape: at-once, requests: 1.5x}", 5, 0, ""},
		{"token-bucket,rate=100/s,burst=3", "{name: a, shape: at-once, requests: 2x+4}", 10, 0, ""},
		// 40 units, 3 each
		{"token-bucket,rate=100/s,burst=20", "{name: a, shape: at-once, requests: 2x, cost: 3}", 14, 0, ""},
		{"leaky-bucket-queue,rate=10/s,queue=50", "{name: a, shape: at-once, requests: 2x}", 102, 0, ""},
		{"fixed-window,rate=100/1m", "{name: a, shape: constant, rate: 1.5x, requests: 2x}", 200,
			80 * time.Second, "300/2m"},
		{"token-bucket,rate=100/s,burst=20", "{name: a, shape: constant, rate: 0.9x, duration: 1s}", 90,
			time.Second, "900/10s"},
		{"token-bucket,rate=100/s,burst=20", "{name: a, shape: constant, rate: 7/s, duration: 1.5s}", 11,
			1500 * time.Millisecond, "7/s"},
		{"token-bucket,rate=100/s,burst=20 + fixed-window,rate=10/1m",
			"{name: a, shape: constant, rate: 2x, duration: 0.5x}", 10, 30 * time.Second, "20/1m"},
		{"token-bucket,rate=10/s,burst=3", "{name: a, shape: ramp, from: 0.5x, to: 1.5x, requests: 2x+14}",
			20, 2 * time.Second, ""},
		// 19.6
		{"token-bucket,rate=10/s,burst=3", "{name: a, shape: ramp, from: 0.5x, to: 1.5x, duration: 1.96s}",
			20, 1960 * time.Millisecond, ""},
		{"sliding-window-counter,rate=10/2s", "{name: a, shape: silence, duration: 1.1x}", 0,
			4400 * time.Millisecond, ""},
		{"token-bucket,rate=100/s,burst=20", "{name: a, shape: silence, duration: {x: 2, min: 1s}}", 0,
			time.Second, ""},
		{"token-bucket,rate=1/s,burst=20", "{name: a, shape: silence, duration: {x: 2, max: 3s}}", 0,
			3 * time.Second, ""},
	} {
		phases := []string{row.phase}
		if strings.Contains(row.phase, "silence") {
			phases = append(phases, "{name: z, shape: at-once, requests: 1}")
		}
		s, _ := PlanOf(t, 1, row.limit, phases...)
		p := s.Phases[0]
		rate := ""
		if p.Rate.N > 0 {
			rate = p.Rate.String()
		}
		if p.Requests != row.requests || p.Duration != row.duration || rate != row.rate {
			t.Errorf("%s, %s: got %d requests, %s, %q, want %d, %s, %q", row.limit, row.phase, p.Requests,
				p.Duration, rate, row.requests, row.duration, row.rate)
		}
	}
}

func TestBoundaryPhases(t *testing.T) {
	for _, row := range []struct {
		limit, phase string
		aim          timeline.Aim
		window, lead time.Duration
	}{
		{"token-bucket,rate=100/s,burst=20", "aim: auto", timeline.AimClock, 200 * time.Millisecond,
			20 * time.Millisecond},
		{"token-bucket,rate=100/s,burst=3", "aim: auto", timeline.AimClock, 210 * time.Millisecond,
			21 * time.Millisecond},
		{"fixed-window,rate=10/50ms", "aim: auto", timeline.AimClock, 50 * time.Millisecond,
			5 * time.Millisecond},
		{"fixed-window,rate=10/1m", "aim: auto", timeline.AimClock, time.Minute, 25 * time.Millisecond},
		{"fixed-window,rate=10/1m,align=first", "lead: 50ms", timeline.AimFirst, time.Minute,
			50 * time.Millisecond},
		{"fixed-window,rate=10/1m,align=unknown", "aim: auto", timeline.AimProbe, time.Minute,
			25 * time.Millisecond},
		{"fixed-window,rate=10/1m,phase=1s", "aim: auto", timeline.AimProbe, time.Minute,
			25 * time.Millisecond},
		{"sliding-window-log,rate=10/1s", "aim: reset, window: 0.5x", timeline.AimReset,
			500 * time.Millisecond, 25 * time.Millisecond},
	} {
		s, plan := PlanOf(t, 1, row.limit, "{name: a, shape: boundary, requests: 4x, "+row.phase+"}")
		p := plan.Phases[0]
		if p.Aim != row.aim || p.Window != row.window || s.Phases[0].Lead != row.lead {
			t.Errorf("%s, %s: got aim %s, window %s, lead %s, want %s, %s, %s", row.limit, row.phase, p.Aim,
				p.Window, s.Phases[0].Lead, row.aim, row.window, row.lead)
		}
		before, after := 0, 0
		for _, a := range p.Arrivals {
			switch a.At {
			case -row.lead:
				before++
			case row.lead:
				after++
			}
		}
		if full := int(s.Limit[0].Full()); before != 2*full || after != 2*full ||
			(p.ProbeRequests > 0) != (p.Aim == timeline.AimProbe) {
			t.Errorf("%s: got %d before, %d after, %d to probe, want %d each and a probe only for its aim",
				row.limit, before, after, p.ProbeRequests, 2*full)
		}
	}
}
