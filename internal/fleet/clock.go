package fleet

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
)

const (
	// probes is how often the clock of the Redis is asked, probesFor how long that may take.
	probes       = 200
	probesFor    = 2 * time.Second
	remeasureFor = ahead / 3
	// mostDrift is how much a clock that nobody corrects may drift, in millionths.
	mostDrift = 100
	// tick is how coarse the clock of a Redis is: it cuts its time to whole microseconds.
	tick = time.Microsecond
)

// timeScript tells the time of the node that has the run: a cluster has other nodes with other clocks, and
// TIME alone names none.
const timeScript = `return redis.call('TIME')`

// Offset says by how much the clock of the Redis is ahead of ours: by at least Lo and at most Hi. Zero of
// ours is any instant, so that offsets are large.
type Offset struct{ Lo, Hi time.Duration }

// Middle is the best guess, Error how wrong it may be.
func (o Offset) Middle() time.Duration { return o.Lo + (o.Hi-o.Lo)/2 }

// Error is how wrong Middle may be, rounded up.
func (o Offset) Error() time.Duration { return (o.Hi - o.Lo + 1) / 2 }

// with widens o so that it has all of p.
func (o Offset) with(p Offset) Offset { return Offset{min(o.Lo, p.Lo), max(o.Hi, p.Hi)} }

// probe is what one exchange shows of an offset: the Redis read its clock between asked and heard.
//
//	ours    asked |----------------------| heard
//	Redis              | t                          offset in [t-heard, t+tick-asked]
type probe struct {
	Offset
	asked, heard time.Duration
}

// newProbe returns what an answer tells.
func newProbe(asked, heard time.Duration, answer any) (probe, error) {
	words, _ := answer.([]any)
	if len(words) < 2 {
		return probe{}, fmt.Errorf("redis: the time is two numbers: got %v", answer)
	}
	var n [2]int64
	for i := range n {
		v, err := strconv.ParseInt(fmt.Sprint(words[i]), 10, 64)
		if err != nil {
			return probe{}, fmt.Errorf("redis: the time is two numbers: %w", err)
		}
		n[i] = v
	}
	at := time.Duration(n[0])*time.Second + time.Duration(n[1])*time.Microsecond
	return probe{Offset{at - heard, at + tick - asked}, asked, heard}, nil
}

// Clock is what is known of an offset over a recording. A clock drifts, and may be set, so that it is
// measured before and after, and looked at all the time between.
type Clock struct {
	now           func() time.Duration
	before, after probe
	// looks are those that came between.
	looks []probe
}

// measure asks for the time, and keeps the shortest exchange: its half bounds the error.
func (c *Clock) measure(ctx context.Context, conn Conn, run string, within time.Duration) (probe, error) {
	best := probe{heard: math.MaxInt64}
	began := c.now()
	for n := 0; n < probes && (best.heard == math.MaxInt64 || c.now()-began < within); n++ {
		asked := c.now()
		out, err := exchange(ctx, conn, []any{"eval", timeScript, 1, key(run, "lease")})
		heard := c.now()
		if err != nil && within == probesFor && c.now()-began < patience && ctx.Err() == nil {
			continue // a machine that stands still
		}
		if err != nil {
			return probe{}, err
		}
		p, err := newProbe(asked, heard, out[0])
		if err != nil {
			return probe{}, err
		}
		if heard-asked < best.heard-best.asked {
			best = p
		}
	}
	return best, nil
}

// Offset is what holds from the first measurement to the last. Between two looks a clock is taken to go one
// way. A look that contradicts the measurements tells of a clock that was set, and widens it.
func (c *Clock) Offset() Offset {
	all := c.before.Offset.with(c.after.Offset)
	out := all
	for _, p := range c.looks {
		if p.Lo > all.Hi || p.Hi < all.Lo {
			out = out.with(p.Offset)
		}
	}
	return out
}

// Drift is by how many millionths our clock was slower than that of the Redis, as far as the measurements
// show it.
func (c *Clock) Drift() float64 {
	span := c.after.asked - c.before.asked
	if span <= 0 {
		return 0
	}
	return float64(c.after.Middle()-c.before.Middle()) / float64(span) * 1e6
}
