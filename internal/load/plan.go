package load

import (
	"errors"
	"fmt"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// check returns every reason why the schedule cannot be sent, joined. It also gathers the partitions of the
// schedule.
func (r *recorder) check() error {
	var errs []error
	var seen map[int]bool // for a long plan it would be larger than the plan itself
	if !ascending(r.s) {
		seen = map[int]bool{}
	}
	if r.o.Share != nil {
		for _, name := range r.o.Share.Partitions {
			r.add(name)
		}
	}
	for i := range r.s.Phases {
		p := &r.s.Phases[i]
		err := checkPhase(p, r.o)
		if err == nil {
			err = r.checkArrivals(p, seen)
		}
		for _, name := range p.Partitions {
			err = errors.Join(err, r.checkPartition(name))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("phase %q: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

// checkPhase tells whether a phase has what its shape needs.
func checkPhase(p *timeline.Phase, o *Options) error {
	if p.Origin && o.Origin == nil {
		return errors.New("it goes to the origin, and there is none (name its url)")
	}
	for _, name := range p.Forge {
		if err := transport.CheckName(name); err != nil {
			return fmt.Errorf("forge: %w", err)
		}
	}
	if err := transport.CheckOwn(&p.Request); err != nil {
		return err
	}
	if p.Duration < 0 {
		return fmt.Errorf("duration %v: the value may not be negative", p.Duration)
	}
	switch p.Shape {
	case timeline.AtOnce, timeline.Constant, timeline.Ramp, timeline.Steps, timeline.Poisson,
		timeline.Silence:
		return nil
	case timeline.Hook:
		if o.Do == nil {
			return fmt.Errorf("event %q: nothing can carry it out", p.Event.Action)
		}
		return nil
	case timeline.Closed, timeline.HonorRetryAfter, timeline.Backoff:
		switch {
		case p.Clients < 1 || len(p.Partitions) == 0:
			return fmt.Errorf("%d clients, %d partitions: shape %s needs at least one of each", p.Clients,
				len(p.Partitions), p.Shape)
		case p.Requests <= 0 && p.Duration <= 0:
			return fmt.Errorf("shape %s ends after a number of requests or a duration, and has neither",
				p.Shape)
		}
		return nil
	case timeline.Boundary:
		switch p.Aim {
		case timeline.AimClock, timeline.AimReset, timeline.AimProbe, timeline.AimFirst:
		default:
			return fmt.Errorf("aim %q: a boundary is found by clock, reset, probe or first", p.Aim)
		}
		if p.Window <= 0 {
			return fmt.Errorf("window %v: a boundary phase needs one", p.Window)
		}
		if p.Aim == timeline.AimProbe && p.ProbeRequests < 2 {
			return fmt.Errorf("%d probe requests: a probe drains a partition and asks again (allow at "+
				"least 2)", p.ProbeRequests)
		}
		return nil
	default:
		return fmt.Errorf("shape %q: there is no such shape", p.Shape)
	}
}

// checkArrivals tells whether the arrivals of p ascend, have unique numbers, and have partitions that can be
// sent. A nil seen means that the numbers are known to be unique.
func (r *recorder) checkArrivals(p *timeline.Phase, seen map[int]bool) error {
	if !p.Listed() {
		return fmt.Errorf("%d arrivals: only their number is known (plan the scenario again)", p.Count())
	}
	for i := range p.Arrivals {
		a := &p.Arrivals[i]
		if i > 0 && a.At < p.Arrivals[i-1].At {
			return fmt.Errorf("arrival %d at %v: arrivals ascend, the one before is at %v", i, a.At,
				p.Arrivals[i-1].At)
		}
		if a.At < 0 && p.Shape != timeline.Boundary {
			return fmt.Errorf("arrival %d at %v: only a boundary phase sends before its beginning", i, a.At)
		}
		if a.Origin && r.o.Origin == nil {
			return fmt.Errorf("arrival %d goes to the origin, and there is none (name its url)", i)
		}
		if p.Shape != timeline.Boundary {
			if seen[a.Seq] || a.Seq < 0 {
				return fmt.Errorf("arrival %d has seq %d: the arrivals of a schedule are numbered from 0, "+
					"each with its own", i, a.Seq)
			}
			if seen != nil {
				seen[a.Seq] = true
			}
		}
		if err := r.checkPartition(a.Partition); err != nil {
			return err
		}
	}
	return nil
}

// ascending tells whether the planned requests are numbered in their order. Then all numbers are unique.
func ascending(s *timeline.Schedule) bool {
	last := -1
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Shape == timeline.Boundary {
			continue
		}
		if p.Arrive != nil && p.Requests > 0 {
			if p.Arrive(0).Seq <= last {
				return false
			}
			last = p.Free() - 1
		}
		for j := range p.Arrivals {
			if p.Arrivals[j].Seq <= last {
				return false
			}
			last = p.Arrivals[j].Seq
		}
	}
	return true
}

// checkPartition tells whether name can be sent, and adds it to the partitions.
func (r *recorder) checkPartition(name string) error {
	if r.known[name] {
		return nil
	}
	if r.o.Partition.Kind == transport.ByHeader {
		if err := transport.CheckValue(name); err != nil {
			return fmt.Errorf("partition %q: %w", name, err)
		}
	}
	r.add(name)
	return nil
}

// add adds a partition to those of the schedule.
func (r *recorder) add(name string) {
	if !r.known[name] {
		r.known[name] = true
		r.partitions = append(r.partitions, name)
	}
}

// firstFree returns the first number above those of the planned arrivals.
func firstFree(s *timeline.Schedule) int {
	next := 0
	for i := range s.Phases {
		if p := &s.Phases[i]; p.Shape != timeline.Boundary {
			next = max(next, p.Free())
		}
	}
	return next
}
