package target

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// timeFaults are those of when a time is taken, and of what is read at different times.
var timeFaults = []Fault{
	{
		Name: "time-before-lock", Class: "A2",
		Sentence: "takes the time before it waits for its lock, so that time goes back where requests " +
			"overtake one another",
		Citation: "https://github.com/golang/go/issues/71360",
		fits:     oneBucket, limiter: sloppy(sloppyBucket{}),
		decider: func(b bench) Decider { return newOvertaken(b, 20*time.Millisecond) },
	},
	{
		Name: "ticks-lost", Class: "B9",
		Sentence: "refills by a ticker of 50 ms, which comes 12.5 ms late whenever a request came since, " +
			"and makes up for nothing",
		Citation: "https://github.com/envoyproxy/envoy/issues/24282",
		fits:     oneBucket,
		limiter:  func(_ reference.Limiter, l spec.Limit) reference.Limiter { return newTickedBucket(l[0]) },
	},
	{
		Name: "count-outlives-window", Class: "A12",
		Sentence: "reads count and expiry of a window apart: for the first quarter of a window it has the " +
			"count of the one before",
		Citation: "https://github.com/express-rate-limit/rate-limit-redis/issues/216",
		fits:     clockWindow,
		limiter: func(_ reference.Limiter, l spec.Limit) reference.Limiter {
			return outlived{quota: l[0].Rate.N, window: l[0].Rate.Per}
		},
	},
	{
		Name: "reset-of-next-window", Class: "C13",
		Sentence: "looks at its clock again, 100 ms later, to tell the reset: at the end of a window it " +
			"tells that of the next one",
		Citation: "https://github.com/rack/rack-attack/issues/283",
		fits:     clockWindow, answer: tellNextReset,
	},
}

// clockWindow wants one fixed window that begins by the clock.
func clockWindow(l spec.Limit) string {
	if len(l) == 1 && l[0].Fixed() && (l[0].Align == "" || l[0].Align == spec.AlignClock) &&
		l[0].Ban == 0 && l[0].Tick == 0 && l[0].Slots == 0 {
		return ""
	}
	return "it needs one fixed-window aligned to the clock, without ban, tick and slots"
}

// toldLater is how much later the fault reset-of-next-window looks at its clock again.
const toldLater = 100 * time.Millisecond

// tellNextReset tells the end of the next window where that of the decision ends before the fields are made.
func tellNextReset(a *answer) {
	rest, window := a.ruling.Reset, a.target.facts.window
	if rest > toldLater || rest <= 0 {
		return
	}
	a.setQuota(a.ruling.Remaining, rest+window)
	if len(a.header["Retry-After"]) > 0 {
		a.setRetryAfter(rest + window)
	}
}

// overtaken stamps requests before they wait for their lock, for a random time up to wait.
type overtaken struct {
	bench
	wait   time.Duration
	mu     sync.Mutex
	random *rand.Rand
	states map[string]reference.State
}

func newOvertaken(b bench, wait time.Duration) *overtaken {
	return &overtaken{bench: b, wait: wait, random: rand.New(rand.NewPCG(b.seed, 2)),
		states: map[string]reference.State{}}
}

// Decide decides at a time that may lie before that of the last decision.
func (o *overtaken) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	stamp := o.clock.at()
	o.mu.Lock()
	wait := time.Duration(o.random.Int64N(int64(o.wait)))
	o.mu.Unlock()
	if !o.clock.sleepUntil(ctx, stamp+wait) {
		return Ruling{}, ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	state, ok := o.states[key]
	if !ok {
		state = o.limiter.Init()
	}
	var d reference.Decision
	o.states[key], d = o.limiter.Step(state, stamp, cost)
	return Ruling{Decision: d, At: stamp}, nil
}

// outlived is a fixed window whose count is one window late for a while.
type outlived struct {
	quota  int64
	window time.Duration
}

type outlivedState struct {
	index       int64
	used, stale int64
	seen        bool
}

// Init returns the state of a partition never seen.
func (l outlived) Init() reference.State { return outlivedState{} }

// Step denies where either count is full while the old one is read.
func (l outlived) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	w, index := s.(outlivedState), int64(at/l.window)
	if !w.seen || index != w.index {
		stale := int64(0)
		if w.seen && index == w.index+1 {
			stale = w.used
		}
		w = outlivedState{index: index, stale: stale, seen: true}
	}
	into := at % l.window
	used := w.used
	if into < l.window/4 {
		used += w.stale
	}
	d := reference.Decision{Allow: used+cost <= l.quota, Reset: l.window - into}
	if d.Allow {
		w.used, used = w.used+cost, used+cost
	} else if d.RetryAfter = d.Reset; cost > l.quota {
		d.RetryAfter = reference.Never
	}
	d.Remaining = max(0, l.quota-used)
	return w, d
}
