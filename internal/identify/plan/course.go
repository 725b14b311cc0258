package plan

import (
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// Course is what the policies that are left of a kind predict of the next phases.
type Course struct {
	models []*Model
	// at is the end of the last phase, trip the time from a request to its answer.
	at, trip time.Duration
}

// NewCourse returns the course from an instant on of the models that miss the fewest outcomes.
func NewCourse(models []*Model, at, trip time.Duration) *Course {
	return &Course{models: truest(models), at: at, trip: trip}
}

// truest returns the models that miss the fewest outcomes.
func truest(models []*Model) []*Model {
	least := math.MaxInt
	for _, m := range models {
		least = min(least, m.Missed)
	}
	return slices.DeleteFunc(slices.Clone(models), func(m *Model) bool { return m.Missed > least })
}

// Clone returns a course that goes on without c.
func (c *Course) Clone() *Course {
	out := *c
	out.models = nil
	for _, m := range c.models {
		same := *m
		out.models = append(out.models, &same)
	}
	return &out
}

// Admits is how many requests of a phase the first model admits before it denies one.
func (c *Course) Admits(p Phase) int {
	const most = 100_000
	if len(c.models) == 0 {
		return 0
	}
	p.Requests, p.Denials = most, 1
	shown, _, _ := c.models[0].Predict(c.at, c.trip/2, []Phase{p})
	return shown[0].Admitted
}

// After brings all models past a phase. It returns the shortest and the longest time after which they admit
// one more request; 0 where there are none.
func (c *Course) After(p Phase) (soonest, latest time.Duration) {
	if len(c.models) == 0 {
		return 0, 0
	}
	soonest = reference.Never
	at := c.at
	for _, m := range c.models {
		_, m.State, c.at = m.Predict(at, c.trip/2, []Phase{p})
		w := m.Wait(c.at, 1)
		soonest, latest = min(soonest, w), max(latest, w)
	}
	return soonest, latest
}

// Back is the longest time after which models admit so many units; 0 where there are no models.
func (c *Course) Back(units int64) (latest time.Duration) {
	for _, m := range c.models {
		latest = max(latest, m.Wait(c.at, units))
	}
	return latest
}

// Idle is the longest silence after which each model admits fewer requests of p than of a new client, even if
// they come later by slack. It is 0 where there is none.
func (c *Course) Idle(p Phase, slack time.Duration) time.Duration {
	const steps = 20
	whole := c.Back(math.MaxInt64)
	blind := func(m *Model) bool {
		fresh := *m
		fresh.State = m.Limiter.Init()
		known, _, _ := m.Predict(c.at, c.trip+slack, []Phase{p})
		anew, _, _ := fresh.Predict(c.at, 0, []Phase{p})
		return known[0].Admitted >= anew[0].Admitted
	}
	for i := time.Duration(1); i < steps && len(c.models) > 0; i++ {
		if p.Rest = whole * (steps - i) / steps; !slices.ContainsFunc(c.models, blind) {
			return p.Rest
		}
	}
	return 0
}
