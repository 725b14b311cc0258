package load

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// check returns every reason why the requests of the schedule cannot be sent, joined. All else of a schedule
// is as its planner made it. It also gathers the partitions of the schedule.
func (r *recorder) check() error {
	var errs []error
	if r.o.Share != nil {
		for _, name := range r.o.Share.Partitions {
			r.add(name)
		}
	}
	for i := range r.s.Phases {
		p := &r.s.Phases[i]
		err := transport.CheckOwn(&p.Request)
		for _, name := range p.Forge {
			if bad := transport.CheckName(name); bad != nil {
				err = errors.Join(err, fmt.Errorf("forge: %w", bad))
			}
		}
		for i := range p.Arrivals {
			err = cmp.Or(err, r.checkPartition(p.Arrivals[i].Partition))
		}
		for _, name := range p.Partitions {
			err = cmp.Or(err, r.checkPartition(name))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("phase %q: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
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
