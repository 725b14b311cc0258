package fleet

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
)

const (
	// probes is how often the clock of the Redis server is read, probesFor how long that may take.
	probes       = 200
	probesFor    = 2 * time.Second
	remeasureFor = ahead / 3
	// mostDrift is how much a clock that nobody corrects may drift, in millionths.
	mostDrift = 100
	// tick is how coarse the clock of a Redis server is: it cuts its time to whole microseconds.
	tick = time.Microsecond
)

// timeScript returns the time of the node that has the run. A cluster has other nodes with other clocks, and
// TIME alone names no node.
const timeScript = `return redis.call('TIME')`

// Offset says by how much the clock of the Redis server is ahead of ours: by at least Lo and at most Hi. The
// zero of our clock is any instant, so offsets are large.
type Offset struct{ Lo, Hi time.Duration }

// Middle returns the best guess of the offset.
func (o Offset) Middle() time.Duration { return o.Lo + (o.Hi-o.Lo)/2 }

// Error returns how wrong Middle may be, rounded up.
func (o Offset) Error() time.Duration { return (o.Hi - o.Lo + 1) / 2 }

// with returns the least offset that contains both.
func (o Offset) with(p Offset) Offset { return Offset{min(o.Lo, p.Lo), max(o.Hi, p.Hi)} }

// probe is what one exchange shows of an offset. The Redis server read its clock between asked and heard.
//
//	ours    asked |----------------------| heard
//	Redis              | t                          offset in [t-heard, t+tick-asked]
type probe struct {
	Offset
	asked, heard time.Duration
}

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

// Clock is what is known of an offset over a recording. A clock drifts, and may be set. So it is measured
// before and after, and read all the time in between.
type Clock struct {
	now           func() time.Duration
	before, after probe
	// looks are the probes in between.
	looks []probe
}

// measure reads the time several times, and keeps the shortest exchange, since its half bounds the error.
func (c *Clock) measure(ctx context.Context, conn Conn, run string, within time.Duration) (probe, error) {
	best := probe{heard: math.MaxInt64}
	began := c.now()
	for n := 0; n < probes && (best.heard == math.MaxInt64 || c.now()-began < within); n++ {
		asked := c.now()
		out, err := exchange(ctx, conn, []any{"eval", timeScript, 1, key(run, "lease")})
		heard := c.now()
		if err != nil && within == probesFor && c.now()-began < patience && ctx.Err() == nil {
			continue // this machine stood still
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

// Offset returns the offset that holds from the first measurement to the last. Between two probes a clock is
// taken to drift in one direction. A probe that contradicts the measurements means that a clock was set, and
// widens the offset.
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

// Drift returns by how many millionths our clock was slower than that of the Redis server, as far as the
// measurements show it.
func (c *Clock) Drift() float64 {
	span := c.after.asked - c.before.asked
	if span <= 0 {
		return 0
	}
	return float64(c.after.Middle()-c.before.Middle()) / float64(span) * 1e6
}
