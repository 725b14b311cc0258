package reference

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"time"
)

// queue is the leaky bucket as a queue. Requests are let through one every T = window/n. At most `places` of
// them wait, and a request is denied only if it finds no place. The first `undelayed` places are let through
// at once (nginx: burst=places, delay=undelayed), but hold their place as long as the others.
//
//	admitted when backlog + cost <= places + 1;  delayed by max(0, backlog - undelayed) * T
//
// It is the meter with the backlog as its level, the request in service included. It makes what it admits
// wait.
type queue struct {
	*leakyBucket
	undelayed uint64
}

// newQueue returns the queue of p.
func newQueue(p spec.Policy) queue {
	p.Burst = p.Full()
	return queue{newLeakyBucket(p), uint64(p.Undelayed) * uint64(p.Rate.Per)}
}

func (q queue) charge(s levelState, cost int64, allow bool) (levelState, time.Duration) {
	var delay time.Duration
	if allow && s.level > q.undelayed {
		delay = q.leak.until(s.level-q.undelayed, s.into)
	}
	s, _ = q.leakyBucket.charge(s, cost, allow)
	return s, delay
}
