package timeline

import (
	"iter"
	"time"
)

// Sorter puts observations into the order of a recording (BySent), in bounded memory. It is made for
// observations that come nearly in order, as requests end. It holds some, and passes on the first of them
// (replacement selection, Knuth, The Art of Computer Programming 5.4.1). Observations that come too late go
// to a run of their own. The runs are merged at the end.
type Sorter struct {
	open func() (Spill, error)
	runs []*Spool
	// held are observations of the run that is being written. late are observations that come before what was
	// written of it.
	held, late bySent
	spare      []*Observation
	window     int
	last       Observation
}

// sortWindow is how many observations a Sorter holds.
const sortWindow = 1 << 14

// held is an observation and the keys of its order.
type held struct {
	sent time.Duration
	seq  int
	o    *Observation
}

func heldOf(o *Observation) held { return held{o.Sent, o.Seq, o} }

// bySent is a heap of observations, the first on top. container/heap would look into 30 observations for each
// that is passed on, most of them not in the cache. It took twice the time.
type bySent []held

func (h bySent) less(i, j int) bool {
	return h[i].sent < h[j].sent || h[i].sent == h[j].sent && h[i].seq < h[j].seq
}

func (h *bySent) push(o *Observation) {
	all := append(*h, heldOf(o))
	for i := len(all) - 1; i > 0 && all.less(i, (i-1)/2); i = (i - 1) / 2 {
		all[i], all[(i-1)/2] = all[(i-1)/2], all[i]
	}
	*h = all
}

func (h *bySent) pop() *Observation {
	all, last := *h, len(*h)-1
	first := all[0].o
	all[0], all[last] = all[last], held{}
	*h = all[:last]
	h.sink()
	return first
}

// sink moves the top to its place.
func (h bySent) sink() {
	for i, k := 0, 1; k < len(h); i, k = k, 2*k+1 {
		if k+1 < len(h) && h.less(k+1, k) {
			k++
		}
		if !h.less(k, i) {
			return
		}
		h[i], h[k] = h[k], h[i]
	}
}

// NewSorter returns a Sorter without observations. open makes the files of its spools.
func NewSorter(open func() (Spill, error)) *Sorter { return &Sorter{open: open, window: sortWindow} }

// Add takes an observation. It keeps a copy, whose fields must not be changed.
func (s *Sorter) Add(o *Observation) {
	var x *Observation
	if n := len(s.spare); n > 0 {
		x, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		x = new(Observation)
	}
	if *x = *o; len(s.runs) > 0 && BySent(*x, s.last) < 0 {
		s.late.push(x)
	} else {
		s.held.push(x)
	}
	for len(s.held)+len(s.late) > s.window {
		s.pass()
	}
}

// Err returns the first error of a file, or nil. s may be nil.
func (s *Sorter) Err() error {
	if s == nil || len(s.runs) == 0 {
		return nil
	}
	return s.runs[len(s.runs)-1].Err()
}

// pass writes the first observation to its run.
func (s *Sorter) pass() {
	if len(s.held) == 0 {
		s.held, s.late = s.late, nil
		s.runs = append(s.runs, NewSpool(s.open))
	}
	if len(s.runs) == 0 {
		s.runs = append(s.runs, NewSpool(s.open))
	}
	x := s.held.pop()
	s.runs[len(s.runs)-1].Add(x)
	s.last = *x
	s.spare = append(s.spare, x)
}

// Finish returns all observations in their order. Nothing may be added afterwards.
func (s *Sorter) Finish() *Spool {
	for len(s.held)+len(s.late) > 0 {
		s.pass()
	}
	s.spare = nil
	switch len(s.runs) {
	case 0:
		return NewSpool(s.open)
	case 1:
		return s.runs[0]
	default:
		return s.merge()
	}
}

// merge joins the runs.
func (s *Sorter) merge() *Spool {
	out := NewSpool(s.open)
	var first bySent
	next := map[*Observation]func() (*Observation, bool){}
	for _, run := range s.runs {
		defer run.Close()
		pull, stop := iter.Pull(run.Each)
		defer stop()
		if o, ok := pull(); ok {
			next[o] = pull // each reader has one observation, which it overwrites
			first.push(o)
		}
	}
	for len(first) > 0 {
		o := first[0].o
		out.Add(o)
		if _, ok := next[o](); ok {
			first[0] = heldOf(o)
			first.sink()
		} else {
			first.pop()
		}
	}
	out.N = 0
	for _, run := range s.runs {
		out.shelf.failed(run.Err())
		out.N += run.N // also those that a broken file does not give back
	}
	return out
}
