package cli

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/text"
)

// SearchBar shows the progress of many small recordings that share a budget: in one line of a terminal, or
// now and then in a separate line.
type SearchBar struct {
	bar    *Meter
	beat   *Heartbeat
	most   int
	within time.Duration
	began  time.Time
}

// NewSearchBar returns a Search with a budget of so many requests and so much time. With --verbose it draws
// nothing, as results are printed meanwhile.
func NewSearchBar(e *Env, label string, most int, within time.Duration) *SearchBar {
	s := &SearchBar{most: most, within: within, began: time.Now()}
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
func (s *SearchBar) Update(p load.Progress) {
	p.Planned = s.most
	s.bar.Update(p)
	s.beat.busy(time.Now(), fmt.Sprintf("%d of at most %s sent, %s", p.Sent,
		text.Plural(s.most, "request"), s.spent()))
}

// Stop removes the line.
func (s *SearchBar) Stop() { s.bar.Stop() }

// spent says how much of the time is used.
func (s *SearchBar) spent() string {
	return fmt.Sprintf("%s of at most %s", seconds(time.Since(s.began)), text.Short(s.within))
}
