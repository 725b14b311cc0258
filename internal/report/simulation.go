package report

import (
	"io"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/text/columns"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// WriteSimulation writes simulated scenarios for a terminal: a row for each phase with what a right limiter
// admits and denies, and below it the clients that it denies most. Errors: those of w.
func WriteSimulation(w io.Writer, r *result.Run, o Options) error {
	s := newScreen(o)
	for i := range r.Scenarios {
		x := &r.Scenarios[i]
		if i > 0 && !o.Quiet {
			s.line("")
		}
		s.wrapped(0, s.bold(text.Clean(x.ID))+": "+limitText(x)+" admits "+
			text.Thousands(x.Counts.Allowed)+" of "+
			text.Plural(x.Counts.Sent, "request")+", denies "+text.Thousands(x.Counts.Denied)+" ("+
			percent(float64(x.Counts.Denied)/float64(max(x.Counts.Sent, 1)))+")")
		if o.Quiet {
			continue
		}
		for _, note := range []string{x.Unfit, result.CacheNote(x.Header.Notes)} {
			if note != "" {
				s.wrapped(2, "note: "+text.Clean(note))
			}
		}
		if rows := phaseRows(x); len(rows) > 1 || o.Verbose && len(rows) > 0 {
			s.line("")
			head := []string{"PHASE", "REQUESTS", "ADMITTED", "DENIED", "FROM", "TO", "FIRST DENIAL"}
			align := "lrrrrrr"
			if err := s.table(head, align, rows); err != nil {
				return err
			}
		}
		if err := s.clients(x); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, s.text.String())
	return err
}

// phaseRows returns the phases of a recording in their order: what was sent when, and how it was answered.
func phaseRows(s *result.Scenario) (rows [][]string) {
	var tallies []*phaseTally
	if s.Timeline == nil {
		return nil
	}
	for i := range s.Timeline.Observations {
		o := &s.Timeline.Observations[i]
		at := slices.IndexFunc(tallies, func(t *phaseTally) bool { return t.name == o.Phase })
		if at < 0 {
			at, tallies = len(tallies), append(tallies, &phaseTally{name: o.Phase, from: o.Sent, first: -1})
		}
		tallies[at].add(o)
	}
	for _, t := range tallies {
		first := "-"
		if t.first >= 0 {
			first = text.Instant(t.first)
		}
		rows = append(rows, []string{columns.Clip(text.Clean(t.name), 32), text.Thousands(t.sent),
			text.Thousands(t.allowed),
			text.Thousands(t.denied), text.Instant(t.from), text.Instant(t.to), first})
	}
	return rows
}

// phaseTally counts the requests of one phase.
type phaseTally struct {
	name                  string
	sent, allowed, denied int
	from, to, first       time.Duration
}

func (t *phaseTally) add(o *timeline.Observation) {
	t.sent++
	t.to = max(t.to, o.Sent)
	switch o.Outcome {
	case timeline.Allowed:
		t.allowed++
	case timeline.Denied:
		if t.denied++; t.first < 0 {
			t.first = o.Sent
		}
	}
}
