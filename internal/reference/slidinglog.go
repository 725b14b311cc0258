package reference

import (
	"encoding/binary"
	"github.com/rlcheck/rlcheck/internal/spec"
	"time"
)

// windowLog admits a request when at most quota units, its own included, fall into the window that ends with
// it: (t-W, t], or [t-W, t] for a closed boundary. It keeps the time of every admission inside the window. A
// step costs time and memory linear in their number.
//
// A denied request that is counted is logged too. At most the newest quota units are kept. While all of them
// are inside the window nothing is admitted, and older ones leave before them.
type windowLog struct {
	// keep is how long an admission counts: W, and a nanosecond more for a closed boundary.
	keep  time.Duration
	quota int64
	all   bool
}

// logState holds the entries inside the window at the time last. Those at one instant are one entry. units is
// the sum of all. oldest and newest are the times of the first and the last entry, and atNewest the units of
// the last. log holds the other entries in order, each as two varints: its units, and the time to the next
// entry. Without entries all but last are zero, so that equal contents are equal states.
type logState struct {
	last, oldest, newest time.Duration
	units, atNewest      int64
	log                  string
}

func newWindowLog(p spec.Policy) *windowLog {
	w := &windowLog{keep: p.Rate.Per, quota: p.Rate.N, all: p.Count == spec.CountAll}
	if p.Boundary == spec.Closed {
		w.keep++
	}
	return w
}

func (w *windowLog) open(at time.Duration) logState { return logState{last: at} }

func (w *windowLog) advance(s logState, at time.Duration) logState {
	s.last = max(s.last, at)
	for s.units > 0 && since(s.last, s.oldest) >= uint64(w.keep) {
		s = s.dropOldest()
	}
	return s
}

func (w *windowLog) wait(s logState, cost int64) time.Duration {
	if cost > w.quota {
		return Never
	}
	if cost <= w.quota-s.units {
		return 0
	}
	for s.log != "" {
		if units, _, _ := entry(s.log); s.units-units <= w.quota-cost {
			break
		}
		s = s.dropOldest()
	}
	return w.left(s, s.oldest)
}

// left returns the time until an admission at the instant at leaves the window.
func (w *windowLog) left(s logState, at time.Duration) time.Duration {
	return w.keep - time.Duration(since(s.last, at))
}

func (w *windowLog) charge(s logState, cost int64, allow bool) (logState, time.Duration) {
	if !allow && !w.all {
		return s, 0
	}
	s = s.add(min(cost, w.quota))
	if over := s.units - w.quota; over > 0 {
		s = s.trim(over)
	}
	return s, 0
}

func (w *windowLog) view(s logState) (int64, time.Duration) {
	if s.units == 0 {
		return w.quota, 0
	}
	return w.quota - s.units, w.left(s, s.newest)
}

// amend logs units, which are not negative. The newest units of a quota say for how long nothing is left.
func (w *windowLog) amend(s logState, units int64) logState {
	if units == 0 {
		return s
	}
	s, _ = (&windowLog{w.keep, w.quota, true}).charge(s, units, false)
	return s
}

// add returns s with more units at its time.
func (s logState) add(units int64) logState {
	switch {
	case s.units == 0:
		s.oldest, s.newest = s.last, s.last
	case s.newest != s.last:
		s.log += written(s.atNewest, since(s.last, s.newest))
		s.newest, s.atNewest = s.last, 0
	}
	s.units += units
	s.atNewest += units
	return s
}

// trim returns s without so many of its oldest units.
func (s logState) trim(over int64) logState {
	for s.log != "" {
		units, gap, size := entry(s.log)
		if units > over {
			s.log = written(units-over, gap) + s.log[size:]
			s.units -= over
			return s
		}
		if over -= units; over == 0 {
			return s.dropOldest()
		}
		s = s.dropOldest()
	}
	s.units -= over
	s.atNewest -= over
	return s
}

// dropOldest returns s, which has an entry, without its first entry.
func (s logState) dropOldest() logState {
	if s.log == "" {
		return logState{last: s.last}
	}
	units, gap, size := entry(s.log)
	s.units -= units
	s.oldest += time.Duration(gap)
	s.log = s.log[size:]
	return s
}

// written is an entry of a log.
func written(units int64, gap uint64) string {
	return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(units)), gap))
}

// entry reads the first entry of a log: its units, the time to the next entry, and its size in bytes.
func entry(log string) (units int64, gap uint64, size int) {
	u, n := uvarint(log)
	gap, m := uvarint(log[n:])
	return int64(u), gap, n + m
}

// uvarint is binary.Uvarint of a string.
func uvarint(s string) (x uint64, size int) {
	for i := 0; ; i++ {
		x |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return x, i + 1
		}
	}
}
