package reference

import (
	"encoding/binary"
	"github.com/rlcheck/rlcheck/internal/spec"
	"time"
)

// slottedWindow is a ring of sub-windows (slots). It admits a request when at most quota units, its own
// included, are counted in the slot of the request and in the slots-1 before it. Slots are half-open, and
// begin where windows do.
//
//	...[P, P+w)[P+w, P+2w)...       P a phase, w the slot: the window divided by the number of slots
//
// Denied requests that count fill their slot up to the quota, since more makes no difference.
type slottedWindow struct {
	grid grid // of the slots
	// slots is their number, at least 2.
	slots int64
	quota int64
	all   bool
}

// slotState holds the counts at the time last, which is into after the beginning of its slot. units is the
// count of all slots of the ring, current that of the slot of last. older has the other slots that are not 0,
// the newest first. Each is two varints: its units, and how many slots it lies before the next newer one.
type slotState struct {
	last, into     time.Duration
	units, current int64
	older          string
}

func newSlottedWindow(p spec.Policy) *slottedWindow {
	g := newGrid(p)
	g.window = p.Slot()
	return &slottedWindow{grid: g, slots: p.Slots, quota: p.Rate.N, all: p.Count == spec.CountAll}
}

func (w *slottedWindow) open(at time.Duration) slotState {
	return slotState{last: at, into: w.grid.into(at)}
}

func (w *slottedWindow) advance(s slotState, at time.Duration) slotState {
	past := since(at, s.last)
	if past == 0 {
		return s
	}
	slot := uint64(w.grid.window)
	age := uint64(s.into) + past
	if age < past || age/slot >= uint64(w.slots) {
		return w.open(at)
	}
	s.last, s.into = at, time.Duration(age%slot)
	if turned := int64(age / slot); turned > 0 {
		s = w.turn(s, turned)
	}
	return s
}

// turn returns s after the ring has turned by so many slots, fewer than it has. last and into of s are right
// already.
func (w *slottedWindow) turn(s slotState, turned int64) slotState {
	var b []byte
	gap, distance, units := turned, turned, int64(0)
	if s.current > 0 {
		b = appendSlot(b, s.current, gap)
		gap, units = 0, s.current
	}
	for rest := s.older; rest != ""; {
		counted, before, size := entry(rest)
		rest = rest[size:]
		gap, distance = gap+int64(before), distance+int64(before)
		if distance >= w.slots {
			break
		}
		b = appendSlot(b, counted, gap)
		gap, units = 0, units+counted
	}
	s.older, s.units, s.current = string(b), units, 0
	return s
}

func appendSlot(b []byte, units, gap int64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(units)), uint64(gap))
}

func (w *slottedWindow) wait(s slotState, cost int64) time.Duration {
	switch {
	case cost > w.quota:
		return Never
	case cost <= w.quota-s.units:
		return 0
	}
	// The newer slots may stay as long as they leave room. The next older one must go.
	kept, distance := s.current, int64(0)
	if cost > w.quota-kept {
		return w.leaves(s, 0)
	}
	for rest := s.older; rest != ""; {
		units, before, size := entry(rest)
		rest = rest[size:]
		distance += int64(before)
		if kept += units; cost > w.quota-kept {
			break
		}
	}
	return w.leaves(s, distance)
}

// leaves returns the time until a slot leaves the ring. distance is how many slots it lies before the present
// one.
func (w *slottedWindow) leaves(s slotState, distance int64) time.Duration {
	return time.Duration(w.slots-distance)*w.grid.window - s.into
}

func (w *slottedWindow) charge(s slotState, cost int64, allow bool) (slotState, time.Duration) {
	if allow || w.all {
		units := min(cost, w.quota-s.current)
		s.current, s.units = s.current+units, s.units+units
	}
	return s, 0
}

func (w *slottedWindow) view(s slotState) (int64, time.Duration) {
	remaining := max(0, w.quota-s.units)
	if s.current > 0 {
		return remaining, w.leaves(s, 0)
	}
	if s.older == "" {
		return remaining, 0
	}
	_, before, _ := entry(s.older)
	return remaining, w.leaves(s, int64(before))
}
