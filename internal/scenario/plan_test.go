package scenario_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestArrivalsAreNumberedThroughAllPhases(t *testing.T) {
	s, plan := PlanOf(t, 3, "token-bucket,rate=100/s,burst=20",
		"{name: a, shape: at-once, requests: 2}",
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

func TestClientPhases(t *testing.T) {
	_, plan := PlanOf(t, 2, "token-bucket,rate=10/s,burst=20",
		"{name: a, shape: closed, clients: 3, requests: 2x, duration: 5s, cost: 2}",
		"{name: b, shape: honor-retry-after, clients: 4, duration: 3s}")
	a, b := plan.Phases[0], plan.Phases[1]
	if a.Clients != 3 || a.Requests != 40 || a.Cost != 2 || len(a.Partitions) != 2 ||
		a.Duration != 5*time.Second {
		t.Errorf("closed: got %+v", a)
	}
	// This is twice what 20 and 10/s for 3 s admit, plus 20 for each of 4 clients; all that for each of 2
	// partitions.
	if b.Requests != 2*(2*(20+30)+80) || b.Clients != 4 {
		t.Errorf("honor-retry-after: got %+v", b)
	}
}

func TestPlanIsRepeatableAndFresh(t *testing.T) {
	s, one := PlanOf(t, 5, "token-bucket,rate=100/s,burst=20",
		"{name: a, shape: at-once, requests: 2}",
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
	const want = "x.yaml: a: 2 requests at once in 5 partitions: 10 requests, over the limit of 1 " +
		"(shorten the phase, or raise safety.max_requests)"
	if _, err := s.Plan("run", 3); err == nil || !strings.HasPrefix(err.Error(), want+"\nx.yaml: b: ") {
		t.Errorf("a plan over its ceiling: got %v, want %s, and the same of b", err, want)
	}
	s.Safety.MaxRequests = 34 // each phase keeps to it, but both together have 35
	const sum = "x.yaml: all phases: 35 requests, over the limit of 34 " +
		"(shorten a phase, or raise safety.max_requests)"
	if _, err := s.Plan("run", 3); err == nil || err.Error() != sum {
		t.Errorf("a plan whose sum is over its ceiling: got %v, want %s", err, sum)
	}
}

// TestAPlanThatIsNotListedIsTheSame: arrivals made one by one are the same as those in a list, whatever the
// shape. The plan is also as long.
func TestAPlanThatIsNotListedIsTheSame(t *testing.T) {
	s, want := PlanOf(t, 3, "token-bucket,rate=10/s,burst=3",
		"{name: a, shape: at-once, requests: 4}",
		"{name: b, shape: constant, rate: 7/s, requests: 50, cost: 2}",
		"{name: c, shape: ramp, from: 5/s, to: 40/s, duration: 3s, origin: true}",
		"{name: d, shape: steps, rates: [10/s, 3/s, 20/s], duration: 3s}",
		"{name: e, shape: poisson, rate: 20/s, duration: 2s}")
	got := s.PlanListing("run", 3, 10)
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
	_, long := PlanOf(t, 1, "token-bucket,rate=10/s,burst=3",
		"{name: a, shape: constant, rate: 1000/s, duration: 201s}")
	if p := &long.Phases[0]; p.Arrivals != nil || p.Count() != 201_000 {
		t.Errorf("%d of %d arrivals are listed", len(p.Arrivals), p.Count())
	}
}
