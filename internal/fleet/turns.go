package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// beatScript reports a sign of life, and returns the time and the rest of the lease.
const beatScript = `redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
local t = redis.call('TIME')
return {t[1], t[2], redis.call('PTTL', KEYS[1])}`

// Turns keeps an agent together with the others while it sends. It learns when phases begin, and may not send
// without the lease of the coordinator. It is the transport.Turns of a recorder.
type Turns struct {
	a        *agent
	job      *job
	schedule *timeline.Schedule
	meets    []bool
	// begins are the begins of phases, since the start of the recording.
	begins []time.Duration
	start  time.Time
	late   string

	// until is when the permission to send ends, by the clock of the agent. stopped ends it at once. over:
	// nothing is sent any more.
	until         atomic.Int64
	stopped, over atomic.Bool
	// lapsed: the permission ended while the part was sent.
	lapsed atomic.Bool
	// stop ends the work. beating is closed after the last beat.
	stop    context.CancelFunc
	beating chan struct{}

	mu    sync.Mutex
	clock Clock
	count Beat
	heard []control
	last  string
	why   string
}

// Tell says how far the agent is.
func (t *Turns) Tell(b Beat) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b.Count = t.count.Count
	t.count = b
}

// Permit tells whether a request may be sent now. It does not wait.
func (t *Turns) Permit() bool { return !t.stopped.Load() && int64(t.a.Now()) < t.until.Load() }

// keepBeating beats until ctx ends. It ends the work when the permission to send ends. What was recorded must
// still be delivered.
func (t *Turns) keepBeating(ctx context.Context) {
	defer close(t.beating)
	for pause(ctx, beatEvery) {
		_ = t.beat(ctx) // without an answer the permission ends by itself
		if !t.over.Load() && !t.Permit() {
			t.lapsed.Store(true)
			t.stop()
		}
	}
}

// beat reports a sign of life, and learns whether the coordinator lives, the time, and its messages.
func (t *Turns) beat(ctx context.Context) error {
	run, round := t.job.run, t.job.round
	t.mu.Lock()
	t.count.Count++
	value, err := json.Marshal(t.count)
	last := t.last
	t.mu.Unlock()
	if err != nil {
		return err
	}
	asked := t.a.Now()
	out, err := exchange(ctx, t.a.conn,
		[]any{"eval", beatScript, 2, key(run, "lease"), keyOf(run, "beats", round), strconv.Itoa(t.job.Part),
			string(value), keptFor.Milliseconds()},
		[]any{"xrange", keyOf(run, "control", round), after(last), "+"})
	heard := t.a.Now()
	if err != nil {
		return err
	}
	words, _ := out[0].([]any)
	p, err := newProbe(asked, heard, out[0])
	if err != nil || len(words) < 3 {
		return errors.Join(err, errors.New("redis: a beat has three numbers"))
	}
	left, _ := words[2].(int64) // below 0 if there is no lease
	t.until.Store(int64(asked + time.Duration(max(left, 0))*time.Millisecond))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock.looks = append(t.clock.looks, p)
	for _, e := range entries(out[1]) {
		var c control
		if t.last = e.id; e.read(&c) != nil {
			continue
		}
		if t.heard = append(t.heard, c); c.Kind == tellStop {
			t.why = c.Why
			t.stopped.Store(true)
		}
	}
	return nil
}

// whyNot says why the agent had to stop; otherwise it returns other.
func (t *Turns) whyNot(other string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.why != "":
		return "stopped: " + t.why
	case t.stopped.Load() || int64(t.a.Now()) >= t.until.Load():
		return "it lost the coordinator, and stopped"
	default:
		return other
	}
}

// hear waits for a message of the coordinator about a phase.
func (t *Turns) hear(ctx context.Context, kind string, phase int) (control, bool) {
	for began := t.a.Now(); t.Permit(); {
		t.mu.Lock()
		for _, c := range t.heard {
			if c.Kind == kind && c.Phase == phase {
				t.mu.Unlock()
				return c, true
			}
		}
		t.mu.Unlock()
		if !pause(ctx, againAfter) {
			return control{}, false
		}
		if t.a.Now()-began < time.Second && phase > 0 { // mostly it comes soon
			_ = t.beat(ctx) // the next beat brings what this one misses
		}
	}
	return control{}, false
}

// patiently retries an exchange that failed. Before the begin, a machine that stands still for a while costs
// only time.
func (t *Turns) patiently(ctx context.Context, do func() error) error {
	for began := t.a.Now(); ; {
		err := do()
		if err == nil || t.a.Now()-began > patience || !pause(ctx, againAfter) {
			return err
		}
	}
}

// remeasure measures the clock again shortly before the begin, as the agent may have waited long. It keeps
// the earlier measurement if that is better, drift included.
func (t *Turns) remeasure(ctx context.Context) {
	p, err := t.clock.measure(ctx, t.a.conn, t.job.run, remeasureFor)
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.clock.before
	if err != nil || p.Error() > old.Error()+(p.asked-old.asked)*mostDrift/1_000_000 {
		return
	}
	t.clock.before, t.clock.looks = p, nil
}

// Meet returns when every agent has ended the phase before i. false: nothing more may be sent.
func (t *Turns) Meet(ctx context.Context, i int) bool {
	if !t.meets[i] {
		return true
	}
	if !t.report(ctx, report{Kind: saysMet, Phase: i}) {
		return false
	}
	_, ok := t.hear(ctx, tellMeet, i)
	return ok
}

// Begin returns when phase i begins, since start. false: nothing more may be sent.
func (t *Turns) Begin(ctx context.Context, i int, start time.Time, due time.Duration) (time.Duration, bool) {
	if i > 0 && !t.meets[i] {
		t.begins[i] = t.begins[i-1] + t.schedule.Phases[i-1].Duration
		return t.begins[i], true
	}
	r := report{Kind: saysArmed, Phase: i}
	if i == 0 {
		r = report{Kind: saysReady, Digest: t.job.Digest, Clock: t.clock.before.Error(),
			RoundTrip: t.clock.before.heard - t.clock.before.asked}
	}
	if !t.report(ctx, r) {
		return 0, false
	}
	c, ok := t.hear(ctx, tellBegin, i)
	if !ok {
		return 0, false
	}
	if t.start = start; i == 0 {
		t.remeasure(ctx)
	}
	begin := c.At - t.clock.before.Middle() - t.a.At(start)
	now := t.a.Now() - t.a.At(start)
	if now-begin > lateLimit {
		t.late = fmt.Sprintf("it heard of the start of phase %s %s too late", t.schedule.Phases[i].Name,
			(now - begin).Round(time.Microsecond))
		return 0, false
	}
	t.begins[i] = begin
	return begin, true
}

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
