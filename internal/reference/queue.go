package reference

import "time"

// queue is the leaky bucket as a queue: requests are let through one every T = window/n, at most places of them wait, and
// only one that finds no place is denied. The first undelayed places are let through at once (nginx: burst=places,
// delay=undelayed), but hold their place as long as the others.
//
//	admitted when backlog + cost <= places + 1;  delayed by max(0, backlog - undelayed) * T
//
// The backlog, in places times the window in nanoseconds, includes the request in service and sinks by n a nanosecond.
type queue struct {
	n, per, capacity, undelayed uint64
	full                        int64
	empty                       bool
}

// queueState holds the backlog at the time last.
type queueState struct {
	last    time.Duration
	backlog uint64
}

// newQueue returns the queue of p.
func newQueue(p Policy) *queue {
	per := uint64(p.Rate.Per)
	return &queue{
		n: uint64(p.Rate.N), per: per, capacity: uint64(p.Full()) * per, undelayed: uint64(p.Undelayed) * per,
		full: p.Full(), empty: p.Start == StartEmpty,
	}
}

func (q *queue) open(at time.Duration) queueState {
	if q.empty {
		return queueState{last: at, backlog: q.capacity}
	}
	return queueState{last: at}
}

func (q *queue) advance(s queueState, at time.Duration) queueState {
	past := since(at, s.last)
	if past == 0 {
		return s
	}
	if past >= (s.backlog+q.n-1)/q.n {
		return queueState{last: at}
	}
	return queueState{last: at, backlog: s.backlog - past*q.n}
}

func (q *queue) wait(s queueState, cost int64) time.Duration {
	if cost > q.full {
		return Never
	}
	room := q.capacity - uint64(cost)*q.per
	if s.backlog <= room {
		return 0
	}
	return time.Duration((s.backlog - room + q.n - 1) / q.n)
}

func (q *queue) charge(s queueState, cost int64, allow bool) (queueState, time.Duration) {
	if !allow {
		return s, 0
	}
	var delay time.Duration
	if s.backlog > q.undelayed {
		delay = time.Duration((s.backlog - q.undelayed + q.n - 1) / q.n)
	}
	s.backlog += uint64(cost) * q.per
	return s, delay
}

func (q *queue) view(s queueState) (int64, time.Duration) {
	return int64((q.capacity - s.backlog) / q.per), time.Duration((s.backlog + q.n - 1) / q.n)
}
