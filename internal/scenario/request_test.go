package scenario_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestPhasesHaveRequestsOfTheirOwn(t *testing.T) {
	_, plan := Planned(t,
		"name: a, shape: at-once, requests: 1, path: /p?q, method: HEAD, header: {x-tier: gold}, spelling: "+
			"[query, plain], connections: fresh",
		"name: b, shape: at-once, requests: 1, partition: route, client: app",
		"name: c, shape: at-once, requests: 1, partition: app, client: app",
		"name: d, shape: at-once, requests: 1, forge: [Forwarded], addresses: one-network",
		"name: e, shape: at-once, requests: 1, forge: [Forwarded], addresses: any")
	want := timeline.Request{Path: "/p?q", Method: "HEAD", Header: map[string]string{"X-Tier": "gold"},
		Spellings: []timeline.Spelling{timeline.Queried, timeline.Plain}, Fresh: true}
	if d := cmp.Diff(want, plan.Phases[0].Request); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"run-route-1": "run-app-1", "run-route-2": "run-app-2"},
		plan.Phases[1].Request.Keys); d != "" {
		t.Error(d)
	}
	for _, i := range []int{2, 4} {
		if !plan.Phases[i].Request.IsZero() {
			t.Errorf("phase %d: got %+v, want nothing", i, plan.Phases[i].Request)
		}
	}
	if got := plan.Phases[3].Request.Addresses; got != timeline.OneNetwork {
		t.Errorf("addresses: got %q, want %q", got, timeline.OneNetwork)
	}
}

func TestStepsAndRandomArrivals(t *testing.T) {
	_, plan := Planned(t, "name: steps, shape: steps, rates: [1x, 40/s, 1/s], duration: 3s",
		"name: random, shape: poisson, rate: 5x, requests: 200")
	count := map[time.Duration]int{}
	last := time.Duration(-1)
	for _, a := range plan.Phases[0].Arrivals {
		count[a.At/time.Second]++
		if a.At < last {
			t.Errorf("arrival at %v after one at %v", a.At, last)
		}
		last = a.At
	}
	if d := cmp.Diff(map[time.Duration]int{0: 20, 1: 80, 2: 2}, count); d != "" {
		t.Errorf("requests of two partitions by second: %s", d)
	}
	p := plan.Phases[1]
	gaps := map[time.Duration]bool{}
	for i := 2; i < len(p.Arrivals); i += 2 {
		gaps[p.Arrivals[i].At-p.Arrivals[i-2].At] = true
	}
	if len(p.Arrivals) != 400 || p.Duration != 4*time.Second || len(gaps) < 190 ||
		p.Arrivals[399].At > p.Duration {
		t.Errorf("got %d arrivals in %v with %d gaps, want 400 in 4s, hardly two gaps alike", len(p.Arrivals),
			p.Duration, len(gaps))
	}
	_, again := Planned(t, "name: steps, shape: steps, rates: [1x, 40/s, 1/s], duration: 3s",
		"name: random, shape: poisson, rate: 5x, requests: 200")
	if !slices.Equal(p.Arrivals, again.Phases[1].Arrivals) {
		t.Error("the same seed gives other arrivals")
	}
}
