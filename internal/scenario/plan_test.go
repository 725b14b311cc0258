package scenario

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/exact"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"pgregory.net/rapid"
)

// planOf parses a scenario with the given limit and phases, and plans it.
func planOf(t *testing.T, count int, limit string, phases ...string) (*Scenario, *timeline.Schedule) {
	t.Helper()
	src := fmt.Sprintf("id: x\ntitle: T\nkind: required\ntarget: {origin: builtin}\npartition: {header: K, "+
		"count: %d}\nlimit: %s\nphases:\n  - %s\n",
		count, limit, strings.Join(phases, "\n  - "))
	s, err := Parse([]byte(src), "x.yaml", ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan("run", 3)
	if err != nil {
		t.Fatal(err)
	}
	return s, plan
}

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
		s, _ := planOf(t, 1, row.limit, phases...)
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

func TestArrivalsAreNumberedThroughAllPhases(t *testing.T) {
	s, plan := planOf(t, 3, "token-bucket,rate=100/s,burst=20", "{name: a, shape: at-once, requests: 2}",
		"{name: q, shape: silence, duration: 1s}",
		"{name: b, shape: constant, rate: 10/s, duration: 1s, partition: own, origin: true, cost: 2}",
		"{name: c, shape: boundary, requests: 5, aim: first, partition: own}")
	next := 0
	for i, p := range plan.Phases {
		per := map[string]int{}
		last := time.Duration(math.MinInt64)
		for _, a := range p.Arrivals {
			if a.Seq != next || a.At < last || a.Phase != s.Phases[i].Name || a.Cost != s.Phases[i].Cost ||
				a.Origin != s.Phases[i].Origin {
				t.Fatalf("phase %s: arrival %+v, want seq %d at %s or later", p.Name, a, next, last)
			}
			prefix := "run-"
			if s.Phases[i].Partition != "" {
				prefix = "run-own-"
			}
			if !strings.HasPrefix(a.Partition, prefix) ||
				strings.Count(a.Partition, "-") != strings.Count(prefix, "-") {
				t.Fatalf("phase %s: partition %q, want %sN", p.Name, a.Partition, prefix)
			}
			per[a.Partition]++
			next, last = next+1, a.At
		}
		want := s.Phases[i].Requests
		if p.Shape != timeline.Silence && (len(per) != 3 || per[p.Arrivals[0].Partition] != want) {
			t.Errorf("phase %s: got %v, want %d for each of 3 partitions", p.Name, per, want)
		}
	}
	// Three more open the windows of the last phase.
	if requests, _ := plan.Planned(); requests != next+3 || next != 6+30+15 {
		t.Errorf("got %d arrivals and %d planned, want 51 and 54", next, requests)
	}
}

func TestConstantArrivalsAreEvenAndExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Phase{Shape: timeline.Constant,
			Rate: spec.Rate{N: rapid.Int64Range(1, 1e6).Draw(t, "n"),
				Per: time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "per"))}}
		k := rapid.IntRange(0, 1e6).Draw(t, "k")
		if exact.MulDiv(int64(k), int64(p.Rate.Per), p.Rate.N, true) == math.MaxInt64 {
			t.Skip("no plan lasts that long")
		}
		// Request k is due at k*per/n, rounded down: k*per - due*n is in [0, n). Both products wrap alike.
		if rest := int64(k)*int64(p.Rate.Per) - int64(p.due(k))*p.Rate.N; rest < 0 || rest >= p.Rate.N {
			t.Fatalf("request %d of rate %s is due at %s: the remainder is %d", k, p.Rate, p.due(k), rest)
		}
	})
}

func TestRampFollowsItsIntegral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Phase{Shape: timeline.Ramp, From: spec.Rate{N: rapid.Int64Range(1, 5000).Draw(t, "from"),
			Per: time.Second},
			To:       spec.Rate{N: rapid.Int64Range(1, 5000).Draw(t, "to"), Per: time.Second},
			Duration: time.Duration(rapid.Int64Range(1e7, 1e11).Draw(t, "duration"))}
		n := int(rampCount(p.From, p.To, p.Duration))
		// The mean rate times the duration, rounded up.
		if mean := float64(p.From.N+p.To.N) / 2 * p.Duration.Seconds(); math.Abs(float64(n)-mean) > 1.001 {
			t.Fatalf("%s to %s for %s: got %d requests, want about %.1f", p.From, p.To, p.Duration, n, mean)
		}
		k := rapid.IntRange(0, max(0, n-1)).Draw(t, "k")
		at := p.due(k)
		f, g, d, x := float64(p.From.N), float64(p.To.N), p.Duration.Seconds(), at.Seconds()
		if sent := f*x + (g-f)*x*x/(2*d); math.Abs(sent-float64(k)) > 0.01 {
			t.Fatalf("request %d is due at %s, when %.3f were due", k, at, sent)
		}
		if p.due(k+1) < at {
			t.Fatalf("request %d is due before request %d", k+1, k)
		}
	})
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
		s, plan := planOf(t, 1, row.limit, "{name: a, shape: boundary, requests: 4x, "+row.phase+"}")
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

func TestClientPhases(t *testing.T) {
	_, plan := planOf(t, 2, "token-bucket,rate=10/s,burst=20",
		"{name: a, shape: closed, clients: 3, requests: 2x, duration: 5s, cost: 2}",
		"{name: b, shape: honor-retry-after, clients: 4, duration: 3s}")
	a, b := plan.Phases[0], plan.Phases[1]
	if a.Clients != 3 || a.Requests != 40 || a.Cost != 2 || len(a.Partitions) != 2 ||
		a.Duration != 5*time.Second {
		t.Errorf("closed: got %+v", a)
	}
	// Twice what 20 and 10/s for 3 s admit, and 20 for each of 4 clients; for each of 2 partitions.
	if b.Requests != 2*(2*(20+30)+80) || b.Clients != 4 {
		t.Errorf("honor-retry-after: got %+v", b)
	}
}

func TestPlanIsRepeatableAndFresh(t *testing.T) {
	s, one := planOf(t, 5, "token-bucket,rate=100/s,burst=20", "{name: a, shape: at-once, requests: 2}",
		"{name: b, shape: closed, clients: 1, requests: 5}")
	again, _ := s.Plan("run", 3)
	other, _ := s.Plan("run2", 4)
	if fmt.Sprint(one) != fmt.Sprint(again) {
		t.Error("the same seed gives another plan")
	}
	if fmt.Sprint(one.Phases[1].Partitions) == fmt.Sprint(other.Phases[1].Partitions) ||
		!strings.HasPrefix(other.Phases[0].Arrivals[0].Partition, "run2-") {
		t.Errorf("another run: got %v", other.Phases[1].Partitions)
	}
	s.Partition.Fresh = false
	kept, _ := s.Plan("run3", 4)
	if !strings.HasPrefix(kept.Phases[0].Arrivals[0].Partition, "rlcheck-") {
		t.Errorf("without fresh partitions: got %q", kept.Phases[0].Arrivals[0].Partition)
	}
	s.Safety.MaxRequests = 1
	if _, err := s.Plan("run", 3); err == nil {
		t.Error("a plan over its ceiling: got no error")
	}
}

func TestForgedFieldsLeaveThePartitionAlone(t *testing.T) {
	src := strings.Replace(small, "requests: 2x}", "requests: 2x, forge: [X-Forwarded-For, X-Real-IP]}", 1)
	for partition, want := range map[string]int{"header:X-Api-Key": 2, "header:x-forwarded-for": 1,
		"address": 2} {
		s, err := Parse([]byte(src), "s.yaml", ParseOptions{Partition: partition})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.Plan("r", 1)
		if err != nil || len(plan.Phases[0].Forge) != want {
			t.Errorf("partition %s: got forged %q, %v, want %d fields", partition, plan.Phases[0].Forge, err,
				want)
		}
	}
}

func TestUnmetTellsAProxyWithoutItsOrigin(t *testing.T) {
	src := bundled(t)["proxy-header-stripping.yaml"]
	for _, row := range []struct {
		env   tree.Env
		unmet bool
	}{{nil, false}, {environment("TARGET=http://p/"), true},
		{environment("TARGET=http://p/", "ORIGIN=http://o/"), false},
		{environment("ORIGIN=http://o/"), true}} {
		s, err := Parse(src, "p.yaml", ParseOptions{Env: row.env})
		if err != nil {
			t.Fatal(err)
		}
		if (s.Unmet() != "") != row.unmet {
			t.Errorf("url %q, origin %q: got %q, want unmet=%v", s.Target.URL, s.Target.Origin, s.Unmet(),
				row.unmet)
		}
	}
}

// TestAPlanThatIsNotListedIsTheSame: arrivals that are made one by one are those that a list has, whatever
// the shape, and the plan is as long.
func TestAPlanThatIsNotListedIsTheSame(t *testing.T) {
	s, want := planOf(t, 3, "token-bucket,rate=10/s,burst=3",
		"{name: a, shape: at-once, requests: 4}",
		"{name: b, shape: constant, rate: 7/s, requests: 50, cost: 2}",
		"{name: c, shape: ramp, from: 5/s, to: 40/s, duration: 3s, origin: true}",
		"{name: d, shape: steps, rates: [10/s, 3/s, 20/s], duration: 3s}",
		"{name: e, shape: poisson, rate: 20/s, duration: 2s}")
	got := s.plan("run", 3, 10)
	for i := range want.Phases {
		w, g := &want.Phases[i], &got.Phases[i]
		if listed := g.Arrive == nil; listed != (i == 0) || g.Count() != w.Count() || g.Free() != w.Free() {
			t.Errorf("%s: listed %v, %d arrivals, then number %d, want %d and %d", w.Name, listed, g.Count(),
				g.Free(), w.Count(), w.Free())
		}
		n := 0
		for i, a := range g.All() {
			if n++; a != w.Arrivals[i] {
				t.Fatalf("%s: arrival %d is %+v, want %+v", w.Name, i, a, w.Arrivals[i])
			}
		}
		if n != len(w.Arrivals) || n == 0 {
			t.Errorf("%s: %d arrivals, want %d", w.Name, n, len(w.Arrivals))
		}
	}
	n, lasts := got.Planned()
	if wn, wl := want.Planned(); n != wn || lasts != wl {
		t.Errorf("planned %d in %v, want %d in %v", n, lasts, wn, wl)
	}
	_, long := planOf(t, 1, "token-bucket,rate=10/s,burst=3",
		"{name: a, shape: constant, rate: 1000/s, duration: 201s}")
	if p := &long.Phases[0]; p.Arrivals != nil || p.Count() != 201_000 {
		t.Errorf("%d of %d arrivals are listed", len(p.Arrivals), p.Count())
	}
}
