package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/quantity"
)

// crowd shows how far scenarios have come that are recorded beside each other: in one line of a terminal, or
// now and then in a line of their own. Nil shows nothing.
type crowd struct {
	bar  *meter
	beat *heartbeat
	// planned is how many requests all of them may send, all how many there are.
	planned, all int

	mu       sync.Mutex
	recorded int
	seen     map[string]load.Progress
}

// update takes how far one scenario has come.
func (c *crowd) update(id string, p load.Progress) {
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
	c.bar.update(sum)
	c.beat.busy(time.Now(), fmt.Sprintf("%d of %s recorded beside each other are done", c.recorded,
		quantity.Plural(c.all, "scenario")))
}

// over counts a scenario that is recorded.
func (c *crowd) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recorded++
}
