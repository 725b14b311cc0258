package timeline

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Sorter puts observations into the order of a recording (BySent), in bounded memory. It is made for
// observations that come nearly in order, as requests end. It holds some, and passes on the first half of
// them. Observations that come too late for that go to a Sorter of their own. Both are merged at the end.
type Sorter struct {
	open func() (Spill, error)
	// sorted has what was passed on, up to last. late has what should have come before last.
	sorted *Spool
	last   Observation
	late   *Sorter
	// held waits to be passed on. spare is memory for the next observations.
	held   []held
	spare  []*Observation
	window int
}

// held is an observation and the keys of its order.
type held struct {
	sent time.Duration
	seq  int
	o    *Observation
}

// sortWindow is how many observations a Sorter holds at most.
const sortWindow = 1 << 14

// NewSorter returns a Sorter without observations. open makes the files of its spools.
func NewSorter(open func() (Spill, error)) *Sorter {
	return &Sorter{open: open, sorted: NewSpool(open), window: sortWindow}
}

// Add takes an observation. It keeps a copy, whose fields must not be changed.
func (s *Sorter) Add(o *Observation) {
	if s.sorted.N > 0 && BySent(*o, s.last) < 0 {
		if s.late == nil {
			s.late = NewSorter(s.open)
			s.late.window = s.window
		}
		s.late.Add(o)
		return
	}
	var x *Observation
	if n := len(s.spare); n > 0 {
		x, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		x = new(Observation)
	}
	*x = *o
	if s.held = append(s.held, held{o.Sent, o.Seq, x}); len(s.held) > s.window {
		s.pass(s.window/2 + 1)
	}
}

// pass passes on the first n of the observations that are held.
func (s *Sorter) pass(n int) {
	slices.SortFunc(s.held, func(a, b held) int {
		if a.sent != b.sent {
			return cmp.Compare(a.sent, b.sent)
		}
		return cmp.Compare(a.seq, b.seq)
	})
	for _, h := range s.held[:n] {
		s.sorted.Add(h.o)
		s.last = *h.o
		s.spare = append(s.spare, h.o)
	}
	s.held = append(s.held[:0], s.held[n:]...)
}

// Err returns the first error of a file, or nil. s may be nil.
func (s *Sorter) Err() error {
	if s == nil {
		return nil
	}
	if err := s.sorted.Err(); err != nil {
		return err
	}
	return s.late.Err()
}

// Finish returns all observations in their order. Nothing may be added afterwards.
func (s *Sorter) Finish() *Spool {
	s.pass(len(s.held))
	s.held, s.spare = nil, nil
	if s.late == nil {
		return s.sorted
	}
	late, out := s.late.Finish(), NewSpool(s.open)
	defer s.sorted.Close()
	defer late.Close()
	next, stop := iter.Pull(late.Each)
	defer stop()
	l, more := next()
	s.sorted.Each(func(o *Observation) bool {
		for ; more && BySent(*l, *o) < 0; l, more = next() {
			out.Add(l)
		}
		out.Add(o)
		return true
	})
	for ; more; l, more = next() {
		out.Add(l)
	}
	out.shelf.failed(s.sorted.Err())
	out.shelf.failed(late.Err())
	out.N = s.sorted.N + late.N // also those that a broken file does not give back
	return out
}
