package progress

import (
	"fmt"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/quantity"
)

// Crowd shows how far scenarios have come that are recorded beside each other: in one line of a terminal, or
// now and then in a line of their own. Nil shows nothing.
type Crowd struct {
	bar  *Meter
	beat *Heartbeat
	// planned is how many requests all of them may send, all how many there are.
	planned, all int

	mu       sync.Mutex
	recorded int
	seen     map[string]load.Progress
}

// NewCrowd is the crowd of all scenarios, which may send so many requests together; bar and beat may be nil.
func NewCrowd(bar *Meter, beat *Heartbeat, planned, all int) *Crowd {
	return &Crowd{bar: bar, beat: beat, planned: planned, all: all, seen: map[string]load.Progress{}}
}

// Update takes how far one scenario has come.
func (c *Crowd) Update(id string, p load.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[id] = p
	sum := load.Progress{Planned: c.planned, Phase: fmt.Sprintf("%d of %d recorded", c.recorded, c.all)}
	for _, one := range c.seen {
		sum.Allowed += one.Allowed
		sum.Denied += one.Denied
		sum.Unknown += one.Unknown
		sum.Sent += one.Sent
		sum.Late = max(sum.Late, one.Late)
	}
	c.bar.Update(sum)
	c.beat.busy(time.Now(), fmt.Sprintf("%d of %s recorded at the same time are done", c.recorded,
		quantity.Plural(c.all, "scenario")))
}

// Over counts a scenario that is recorded.
func (c *Crowd) Over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recorded++
}
