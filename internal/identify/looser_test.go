package identify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestWhatHoldsWindowsHoldsEach: no window and no counter is refuted by its own answers, whatever it counts
// and rounds.
func TestWhatHoldsWindowsHoldsEach(t *testing.T) {
	const counter = "sliding-window-counter,"
	for _, form := range []string{counter + "%s", counter + "%s,align=first", counter + "%s,rounding=up",
		counter + "%s,rounding=nearest", counter + "%s,count=all", counter + "%s,align=first,count=all",
		counter + "%s,count=all,rounding=up", counter + "%s,align=first,count=all,rounding=nearest",
		counter + "%s,align=first,rounding=nearest", "fixed-window,%s,phase=70ms"} {
		for seed := range uint64(12) {
			r := rand.New(rand.NewPCG(seed, 5))
			rate := fmt.Sprintf("rate=%d/%dms", 1+r.Int64N(12), 100+r.Int64N(900))
			limit := parsed(t, fmt.Sprintf(form, rate))
			sim := simulate(t, limit, seed)
			sim.trip, sim.jitter = time.Microsecond, 0
			x := &search{o: usualBudget(), s: sim, tl: &timeline.Timeline{}}
			for range 12 {
				x.send(t.Context(), Phase{Rest: time.Duration(r.Int64N(int64(time.Second))), Requests: 30,
					Every: time.Duration(1+r.Int64N(60)) * time.Millisecond})
			}
			if (&region{kind: &kind{}}).looser(x.tl, limit[0], verdict.Exact) ||
				limit[0].Count == spec.CountAll && weighed(x.tl, limit[0], verdict.Exact) {
				t.Errorf("%s, seed %d: got its own answers refuted", limit, seed)
			}
		}
	}
}

// TestAnswersThatAPlaceOfTheWindowsExplainsAreNotRefuted: of one answer after many requests in clusters, at
// each of many places in its window, whatever is rounded.
func TestAnswersThatAPlaceOfTheWindowsExplainsAreNotRefuted(t *testing.T) {
	const window, places = time.Second, 500
	refuted := map[timeline.Outcome]int{}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 9))
		tl := &timeline.Timeline{}
		at := time.Duration(0)
		for i := range 41 {
			if at += time.Duration(r.Int64N(int64(5 * time.Millisecond))); r.IntN(12) == 0 {
				at += time.Duration(r.Int64N(int64(window)))
			}
			o := timeline.Observation{Sent: at, FirstByte: at, Answered: true}
			o.Seq = i
			tl.Observations = append(tl.Observations, o)
		}
		last := &tl.Observations[40]
		last.Outcome = []timeline.Outcome{timeline.Allowed, timeline.Denied}[seed%2]
		quota, possible := 1+r.Int64N(41), false
		for place := range places {
			x, now, before := (float64(place)+0.5)/places, 0.0, 0.0
			for _, o := range tl.Observations[:40] {
				switch age := float64(last.Sent-o.Sent) / float64(window); {
				case age < x:
					now++
				case age < 1+x:
					before++
				}
			}
			least, most := now+math.Floor((1-x)*before), now+math.Ceil((1-x)*before)
			possible = possible || last.Outcome == timeline.Allowed && least < float64(quota) ||
				last.Outcome == timeline.Denied && most >= float64(quota)
		}
		p := spec.Policy{Rate: spec.Rate{N: quota, Per: window}}
		if weighed(tl, p, verdict.Exact) {
			if refuted[last.Outcome]++; possible {
				t.Errorf("seed %d, %s, quota %d: got it refuted", seed, last.Outcome, quota)
			}
		}
	}
	if refuted[timeline.Allowed] < 300 || refuted[timeline.Denied] < 300 {
		t.Errorf("got %v refuted, want some hundred of each", refuted)
	}
}
