package transport

import "time"

// tight is how wide the bounds of the wall clock may be for a stamp to be used: a sample takes some 50 ns,
// unless the thread lost its processor within it.
const tight = 500 * time.Nanosecond

// stamps turns the kernel's stamps, which are of the wall clock, into times of the loop's clock. Both clocks
// are slewed alike, so their difference is constant until the wall clock is set.
//
//	before        arrival         read        after
//	sample          stamp                    sample     no step between the samples: the stamp is used
//
// A sample bounds the difference from both sides. Bounds that exclude those before show a step, and bounds
// that are not tight may hide one: what came before the sample is not turned then.
type stamps struct {
	// least and most bound how far the wall clock is ahead of the loop's, since a time of the loop's clock.
	// fresh is how wide the newest sample was.
	least, most, since, fresh time.Duration
}

// sample takes in that the wall clock was at wall, in nanoseconds since 1970, between two times of the loop's
// clock.
func (s *stamps) sample(before time.Duration, wall int64, after time.Duration) {
	least, most := time.Duration(wall)-after, time.Duration(wall)-before
	s.fresh = most - least
	if s.most-s.least > tight || least > s.most || most < s.least {
		s.least, s.most, s.since = least, most, after
		return
	}
	s.least, s.most = max(s.least, least), min(s.most, most)
}

// arrival returns a time of the loop's clock by which what was stamped had come, at most read: the time after
// the read that brought it. A sample was taken after that read. stamp is 0 where there is none.
func (s *stamps) arrival(stamp int64, read time.Duration) time.Duration {
	if stamp == 0 || s.fresh > tight {
		return read
	}
	at := time.Duration(stamp)
	if at-s.most < s.since {
		return read
	}
	// A step that two samples do not show is at most as wide as both. Two steps that cancel out between two
	// samples stay unseen.
	return min(at-s.least+2*tight, read)
}
