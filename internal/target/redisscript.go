package target

import (
	_ "embed" // the scripts
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// The scripts; each says what it keeps and returns.
var (
	//go:embed lua/gcra.lua
	gcraSource string
	//go:embed lua/fixedwindow.lua
	fixedWindowSource string
	//go:embed lua/slidinglog.lua
	slidingLogSource string
	//go:embed lua/slidingcounter.lua
	slidingCounterSource string
)

// script is one policy as a script: what it is asked with, and what its numbers mean.
type script struct {
	source *redis.Script
	// args returns ARGV of a request.
	args func(cost int64) []any
	// replies is how many numbers it returns; the first two are whether the request is admitted, and when that was decided.
	replies int
	// decision reads them.
	decision func(cost int64, reply []int64) reference.Decision
}

// micros returns a number of microseconds as a duration.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// gcraScript is the script of a bucket. Its state is the theoretical arrival time as whole microseconds and a fraction with
// the denominator N, so that nothing rounds.
func gcraScript(p reference.Policy) script {
	n, window, burst := p.Rate.N, int64(p.Rate.Per/time.Microsecond), p.Burst
	// time returns how long grains (microseconds times N) take to come back, rounded up to the nanosecond.
	comesBack := func(grains int64) time.Duration {
		whole, rest := grains/n, grains%n
		return micros(whole) + time.Duration((rest*1000+n-1)/n)
	}
	return script{
		source:  redis.NewScript(gcraSource),
		args:    func(cost int64) []any { return []any{n, window, burst, min(cost, burst+1)} },
		replies: 3,
		decision: func(cost int64, reply []int64) reference.Decision {
			ahead := reply[2]
			d := reference.Decision{Allow: reply[0] == 1, Remaining: (burst*window - ahead) / window, Reset: comesBack(ahead)}
			switch {
			case cost > burst:
				d.RetryAfter = reference.Never
			case !d.Allow:
				d.RetryAfter = comesBack(ahead + (cost-burst)*window)
			}
			return d
		},
	}
}

// phaseOf returns the phase of the windows of p in microseconds, or -1 for windows that begin with a request.
func phaseOf(p reference.Policy) int64 {
	switch p.Align {
	case reference.AlignFirst:
		return -1
	case reference.AlignPhase:
		return int64(p.PhaseFrom / time.Microsecond)
	default:
		return 0
	}
}

// fixedWindowScript is the script of a fixed window.
func fixedWindowScript(p reference.Policy) script {
	quota, window, all := p.Rate.N, p.Rate.Per, 0
	if p.Count == reference.CountAll {
		all = 1
	}
	return script{
		source: redis.NewScript(fixedWindowSource),
		args: func(cost int64) []any {
			return []any{quota, int64(window / time.Microsecond), min(cost, quota+1), phaseOf(p), all}
		},
		replies: 4,
		decision: func(cost int64, reply []int64) reference.Decision {
			now, start, used := reply[1], reply[2], reply[3]
			d := reference.Decision{Allow: reply[0] == 1, Remaining: quota - used}
			if start >= 0 {
				d.Reset = window - micros(now-start)
			}
			switch {
			case cost > quota:
				d.RetryAfter = reference.Never
			case !d.Allow:
				d.RetryAfter = d.Reset
			}
			return d
		},
	}
}

// slidingLogScript is the script of a sliding window log.
func slidingLogScript(p reference.Policy) script {
	quota, window := p.Rate.N, p.Rate.Per
	return script{
		source:  redis.NewScript(slidingLogSource),
		args:    func(cost int64) []any { return []any{quota, int64(window / time.Microsecond), min(cost, quota+1)} },
		replies: 5,
		decision: func(cost int64, reply []int64) reference.Decision {
			now, used, leaves, newest := reply[1], reply[2], reply[3], reply[4]
			d := reference.Decision{Allow: reply[0] == 1, Remaining: quota - used}
			if newest >= 0 {
				d.Reset = window - micros(now-newest)
			}
			switch {
			case cost > quota:
				d.RetryAfter = reference.Never
			case !d.Allow:
				d.RetryAfter = window - micros(now-leaves)
			}
			return d
		},
	}
}

// slidingCounterScript is the script of a sliding window counter.
func slidingCounterScript(p reference.Policy) script {
	c := counter{quota: p.Rate.N, window: p.Rate.Per}
	return script{
		source: redis.NewScript(slidingCounterSource),
		args: func(cost int64) []any {
			return []any{c.quota, int64(c.window / time.Microsecond), min(cost, c.quota+1), phaseOf(p)}
		},
		replies: 5,
		decision: func(cost int64, reply []int64) reference.Decision {
			return c.decision(cost, reply[0] == 1, micros(reply[1]-reply[2]), reply[3], reply[4])
		},
	}
}

// counter reads the state of a sliding window counter.
type counter struct {
	quota  int64
	window time.Duration
}

// decision describes the state x into a window with the count cur after one with prev.
func (c counter) decision(cost int64, allow bool, x time.Duration, prev, cur int64) reference.Decision {
	left := int64((c.window - x) / time.Microsecond)
	d := reference.Decision{Allow: allow, Remaining: max(0, c.quota-cur-prev*left/int64(c.window/time.Microsecond))}
	switch {
	case cur > 0:
		d.Reset = 2*c.window - x
	case prev > 0:
		d.Reset = c.window - x
	}
	switch {
	case cost > c.quota:
		d.RetryAfter = reference.Never
	case !allow:
		d.RetryAfter = c.wait(cost, x, prev, cur)
	}
	return d
}

// wait returns how long a denied request waits: in this window until the weighted part of prev leaves room, or in the next
// one until that of cur does.
func (c counter) wait(cost int64, x time.Duration, prev, cur int64) time.Duration {
	if room := c.quota - cost - cur; room >= 0 {
		if at := c.window - c.largest(prev, room); at < c.window {
			return max(0, at-x)
		}
	}
	return 2*c.window - c.largest(cur, c.quota-cost) - x
}

// largest returns the largest rest of a window, in nanoseconds, at which the weighted part of count is less than room+1.
func (c counter) largest(count, room int64) time.Duration {
	if count == 0 {
		return c.window
	}
	return min(c.window, time.Duration(((room+1)*int64(c.window)-1)/count))
}
