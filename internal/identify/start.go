package identify

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A new client may have less than a whole bucket (start). That refutes each bucket that starts full. So
// buckets are looked for that start with no more units than were admitted before the first denial.

// anew tells whether the recording begins with the first request of a client.
func (x *search) anew() bool { return x.o.Fresh && x.skip == 0 }

// starts returns the buckets that may not have been full for a new client.
func (x *search) starts() []*space.Region {
	if !x.anew() {
		return nil
	}
	all := x.shown().Observations
	n := slices.IndexFunc(all, func(o timeline.Observation) bool { return o.Outcome == timeline.Denied })
	k := space.StartKind(int64(max(n, 0)))
	return []*space.Region{{Kind: k, Live: []space.Box{x.widest(k)}}}
}

// begunSo tells whether a bucket of StartKind that is left may explain all answers. A start shows soon.
// Later, one must be found that explains them: the bounds leave many, and to ask for the return of such a
// bucket may cost all the time that is left.
func (x *search) begunSo() bool {
	const soon = 20 // of so many parts of the time, one
	likely := x.likely()
	return len(likely) > 0 && (x.s.Now() < x.o.MaxTime/soon || !x.fails(x.candidate(likely[0])))
}

// startOf is a bucket of StartKind with the starts that explain the recording. It is p where none does, or
// there is no time to try them.
func (x *search) startOf(p spec.Policy) spec.Policy {
	one, left := p, []int64(nil)
	one.Start, one.LevelTo = spec.StartLevel, 0
	for least, most := p.StartLevels(); least <= min(most, p.Full()-1); least++ {
		if one.Level = least; x.overdue() {
			return p
		} else if !x.fails(identity.Candidate{Limit: spec.Limit{one}}) {
			left = append(left, least)
		}
	}
	if len(left) == 0 {
		return p
	}
	one.Level, one.LevelTo = left[0], left[len(left)-1]
	return space.Complete(one)
}

// untoldStart says that a new client may find a queue in use, where that would explain the recording too: it
// delays the first answer alone. Empty: it would not.
func (x *search) untoldStart(queue spec.Policy) string {
	queue.Start, queue.Level = spec.StartLevel, queue.Full()-1
	if !x.anew() || x.overdue() || x.fails(identity.Candidate{Limit: spec.Limit{queue}}) {
		return ""
	}
	return ", which may not be empty for a new client: only the first answer was later than it releases one"
}
