package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Crowd shows the progress of scenarios that are recorded beside each other: in one line of a terminal, or
// now and then in a separate line. A nil Crowd shows nothing.
type Crowd struct {
	bar  *Meter
	beat *Heartbeat
	// planned is how many requests all scenarios may send. all is the number of scenarios.
	planned, all int
	// ends is when the recordings end by their plans.
	ends time.Time
	// stop ends all recordings. It is called if nothing can be judged.
	stop func()

	mu       sync.Mutex
	recorded int
	seen     map[string]load.Progress
}

// NewCrowd returns the Crowd of so many scenarios, which may together send so many requests and take so long
// by their plans. bar and beat may be nil. stop is called once nothing can be judged.
func NewCrowd(bar *Meter, beat *Heartbeat, planned, all int, lasts time.Duration, stop func()) *Crowd {
	return &Crowd{bar: bar, beat: beat, planned: planned, all: all, ends: time.Now().Add(lasts), stop: stop,
		seen: map[string]load.Progress{}}
}

// LeastAnswers is how many answers must be neither admissions nor denials before a run ends. A target that
// restarts soon answers again.
const LeastAnswers = 100

// Mute tells whether nothing can be judged: so many scenarios had neither an admission nor a denial, and so
// many had one. Some ask for other routes or statuses than all the others.
func Mute(none, some int) bool { return none >= 2 && none >= 4*some }

// Update takes the progress of one scenario.
func (c *Crowd) Update(id string, p load.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[id] = p
	sum := load.Progress{Planned: c.planned, Phase: fmt.Sprintf("%d of %d recorded", c.recorded, c.all)}
	none, some := 0, 0
	for _, one := range c.seen {
		switch {
		case one.Allowed+one.Denied > 0:
			some++
		case one.Unknown > 0:
			none++
		}
		sum.Allowed += one.Allowed
		sum.Denied += one.Denied
		sum.Unknown += one.Unknown
		sum.Sent += one.Sent
		sum.Late = max(sum.Late, one.Late)
	}
	if sum.Unknown >= LeastAnswers && Mute(none, some) {
		c.stop()
	}
	c.bar.Update(sum)
	c.beat.recording(time.Now(), fmt.Sprintf("%d of %s recorded at the same time are done", c.recorded,
		text.Plural(c.all, "scenario")), sum, time.Until(c.ends))
}

// Over counts a scenario whose recording has ended.
func (c *Crowd) Over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recorded++
}
