package progress

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/quantity"
)

// Search shows the progress of many small recordings that share a budget: in one line of a terminal, or now
// and then in a separate line.
type Search struct {
	bar    *Meter
	beat   *Heartbeat
	most   int
	within time.Duration
	began  time.Time
}

// NewSearch returns a Search with a budget of so many requests and so much time. With --verbose it draws
// nothing, as results are printed meanwhile.
func NewSearch(e *cli.Env, label string, most int, within time.Duration) *Search {
	s := &Search{most: most, within: within, began: time.Now()}
	if !e.Verbose {
		s.bar = NewMeter(e, label, 0, 0)
		s.beat = NewHeartbeat(e, s.began)
	}
	if s.bar != nil {
		s.bar.budget = s.spent
	}
	return s
}

// Update takes the progress of all recordings together.
func (s *Search) Update(p load.Progress) {
	p.Planned = s.most
	s.bar.Update(p)
	s.beat.busy(time.Now(), fmt.Sprintf("%d of at most %s sent, %s", p.Sent,
		quantity.Plural(s.most, "request"), s.spent()))
}

// Stop removes the line.
func (s *Search) Stop() { s.bar.Stop() }

// spent says how much of the time is used.
func (s *Search) spent() string {
	return fmt.Sprintf("%s of at most %s", seconds(time.Since(s.began)), quantity.Short(s.within))
}
