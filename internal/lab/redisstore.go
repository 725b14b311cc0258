package lab

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// store keeps partitions in a Redis server, version 5 or later. Each decision is one script, so it is atomic
// for all replicas of the limiter. Its time is the server's, in whole microseconds.
type store struct {
	client RedisClient
	// stop stops the server inside the process.
	stop func()
}

// OpenStore opens the store of a target: a Redis at a URL (OpenRedis), scenario.EmbeddedRedis, or empty for
// memory (nil). A cluster keeps each partition on one node. A replica that takes over from a master may lack
// its last decisions, as Redis replicates after it has answered.
func OpenStore(redis string) (Store, error) {
	stop, err := func() {}, error(nil)
	switch redis {
	case "":
		return nil, nil
	case scenario.EmbeddedRedis:
		if redis, stop, err = EmbedRedis(); err != nil {
			return nil, err
		}
	}
	client, err := OpenRedis(redis)
	if err != nil {
		stop()
		return nil, err
	}
	return &store{client: client, stop: stop}, nil
}

// Decider returns the script for limit. The error says what the store cannot keep.
func (s *store) Decider(limit spec.Limit) (Decider, error) {
	if len(limit) == 0 {
		return nil, errors.New("redis: no limit: a script keeps at least one policy")
	}
	rule, err := scriptFor(limit)
	if err != nil {
		return nil, err
	}
	digest := fnv.New64a()
	// Write of a hash never fails.
	_, _ = io.WriteString(digest, limit.String())
	return &decider{
		script: rule, prefix: "rlcheck:" + strconv.FormatUint(digest.Sum64(), 36) + ":{:",
		run: RedisScript(s.client, rule.source),
	}, nil
}

func (s *store) Close() error {
	err := s.client.Close()
	s.stop()
	return err
}

// decider runs the script of a limit. Its keys are rlcheck:LIMIT:{:PARTITION}, followed by :1, :2 and so on
// for the logs. The hash tag is never empty, so that all of a partition is on one node of a cluster. Targets
// with other limits have other keys.
type decider struct {
	script script
	prefix string
	run    func(keys int, words []any) ([]int64, error)
}

// Decide runs the script. It does not begin if ctx has ended. Once it has begun it is not cancelled, since
// nobody would know what was charged.
func (d *decider) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	if err := ctx.Err(); err != nil {
		return Ruling{}, err
	}
	reply, err := d.run(1+d.script.logs, d.words(key, cost))
	if err != nil {
		return Ruling{}, fmt.Errorf("redis: %w", err)
	}
	if want := 2 + perPolicy*len(d.script.policies); len(reply) != want {
		return Ruling{}, fmt.Errorf("redis: script returned %d numbers: it has %d", len(reply), want)
	}
	return d.script.decision(cost, reply), nil
}

// words returns the keys and arguments of the script: KEYS and then ARGV.
func (d *decider) words(key string, cost int64) []any {
	state := d.prefix + key + "}"
	out := append(make([]any, 0, 2+d.script.logs+len(d.script.args)), state)
	for i := range d.script.logs {
		out = append(out, state+":"+strconv.Itoa(i+1))
	}
	return append(append(out, min(cost, exact-1)), d.script.args...)
}

// The parts of a script. Each algorithm's part says what it keeps and returns.
var (
	//go:embed lua/begin.lua
	beginSource string
	//go:embed lua/bucket.lua
	bucketSource string
	//go:embed lua/fixedwindow.lua
	fixedWindowSource string
	//go:embed lua/slidinglog.lua
	slidingLogSource string
	//go:embed lua/slidingcounter.lua
	slidingCounterSource string
	//go:embed lua/decide.lua
	decideSource string
)

// perPolicy is how many numbers a script returns for each policy, after the first two.
const perPolicy = 4

// exact is the first whole number that a double of a script cannot tell from its neighbour.
const exact = int64(1) << 53

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// scripted is one policy in a script: its part of the script, its arguments, and the meaning of its numbers.
type scripted struct {
	policy spec.Policy
	source string
	args   []any
	// view explains the three numbers of a state at an instant. at counts from the Unix epoch.
	view func(numbers []int64, at time.Duration, cost int64, allow bool) view
}

// view is what a state says of a request of some cost, by the algorithm alone.
type view struct {
	remaining          int64
	wait, reset, delay time.Duration
}

// script is a limit as a script.
type script struct {
	source   string
	policies []scripted
	args     []any
	// logs is how many of the policies keep a sorted set.
	logs int
}

// scriptFor returns the script that keeps a limit exactly. The error says what it cannot keep.
func scriptFor(limit spec.Limit) (script, error) {
	s := script{source: beginSource}
	used := map[string]bool{}
	for _, p := range limit {
		if p.Count == spec.CountOwn && len(limit) > 1 {
			return script{}, fmt.Errorf("redis: limit %s: there is no script that counts what another "+
				"policy denies (leave the store away)", p)
		}
		part, err := scriptedPolicy(p)
		if err != nil {
			return script{}, err
		}
		if !used[part.source] {
			used[part.source] = true
			s.source += "\n" + part.source
		}
		if p.HasWindow() && !p.Windowed() {
			s.logs++
		}
		s.policies, s.args = append(s.policies, part), append(s.args, part.args...)
	}
	s.source += "\n" + decideSource
	return s, nil
}

// scriptedPolicy returns p as a part of a script. Numbers in a script are doubles, which are exact for whole
// numbers below 2^53. The reference refuses policies whose quota times window is over 2^62 ns, and that is
// below 2^53 us.
func scriptedPolicy(p spec.Policy) (scripted, error) {
	refuse := func(what, why string) (scripted, error) {
		return scripted{}, fmt.Errorf("redis: %s: %s (leave the store away)", what, why)
	}
	switch {
	case p.Completes():
		return refuse("limit "+p.String(), "there is no script that is told of completions")
	case p.Align == spec.AlignCalendar:
		return refuse("limit "+p.String(), "there is no script that counts by calendar days")
	case p.Growth > 0:
		return refuse("limit "+p.String(), "there is no script whose bans grow")
	case p.Clear > 0:
		return refuse("limit "+p.String(), "there is no script whose count is cleared")
	case p.TTL > 0:
		return refuse("limit "+p.String(), "there is no script that forgets an idle client early")
	case p.Rate.Per%time.Microsecond != 0 || p.PhaseFrom%time.Microsecond != 0:
		return refuse("rate "+p.Rate.String(), "a script counts time in whole microseconds")
	case p.Tick%time.Microsecond != 0 && time.Microsecond%p.Tick != 0:
		return refuse("tick "+p.Tick.String(), "a script counts time in whole microseconds")
	case max(p.Full(), p.Rate.N) >= exact:
		return refuse("rate "+p.Rate.String(), "the numbers of a script are exact below 2^53")
	}
	s, name, x, y := scripted{policy: p}, "", int64(0), int64(0)
	switch {
	case p.Refills():
		s.source, name, s.view = bucketSource, "bucket", newBucketView(p).view
		_, level := p.StartLevels()
		x = p.Full() - level
		if p.Refill == spec.RefillInterval {
			y = p.Fill * int64(p.Rate.Per/time.Microsecond)
		}
	case p.Fixed():
		y = map[spec.Refresh]int64{spec.RefreshAdmitted: 1, spec.RefreshAll: 2}[p.Refresh]
		s.source, name, x, s.view = fixedWindowSource, "fixed", phaseOf(p), windowView{p}.view
	case p.HasWindow() && !p.Windowed():
		v := newLogView(p)
		// An entry a microsecond or more older than the window is outside it whatever the boundary.
		s.source, name, x, s.view = slidingLogSource, "log",
			int64((v.keep+time.Microsecond-1)/time.Microsecond), v.view
	case p.Weighs():
		s.source, name, x, s.view = slidingCounterSource, "counter", phaseOf(p), counterView{p}.view
		y = map[spec.Rounding]int64{spec.RoundUp: 1, spec.RoundNearest: 2}[p.Rounding]
	default:
		return refuse(fmt.Sprintf("algorithm %q", p.Algorithm), "there is no script for it")
	}
	all := 0
	if p.Count == spec.CountAll {
		all = 1
	}
	s.args = []any{name, p.Rate.N, int64(p.Rate.Per / time.Microsecond), p.Full(),
		int64(p.Tick / time.Microsecond), int64((p.Ban + time.Microsecond - 1) / time.Microsecond), all, x, y}
	return s, nil
}

// phaseOf returns the phase of the windows of p in microseconds, or -1 if windows begin with a request.
func phaseOf(p spec.Policy) int64 {
	switch p.Align {
	case spec.AlignFirst:
		return -1
	case spec.AlignPhase:
		return int64(p.PhaseFrom / time.Microsecond)
	default:
		return 0
	}
}

// decision reads the reply of the script to a request of some cost.
func (s *script) decision(cost int64, reply []int64) Ruling {
	d, at := reference.Decision{Allow: reply[0] == 1}, micros(reply[1])
	for i, p := range s.policies {
		v := p.look(reply[2+perPolicy*i:][:perPolicy], at, cost, d.Allow)
		if i == 0 || v.remaining < d.Remaining {
			d.Remaining = v.remaining
		}
		d.Reset = max(d.Reset, v.reset)
		if d.Allow {
			d.Delay = max(d.Delay, v.delay)
		} else {
			d.RetryAfter = max(d.RetryAfter, v.wait)
		}
	}
	return Ruling{Decision: d, At: at}
}

// look explains the numbers of one policy: its algorithm, inside its ban, inside its tick.
func (p scripted) look(numbers []int64, at time.Duration, cost int64, allow bool) view {
	past := time.Duration(0)
	if p.policy.Tick > 0 {
		past = at % p.policy.Tick
	}
	reads := at - past
	v := p.view(numbers, reads, cost, allow)
	if begun := numbers[3]; begun >= 0 && reads-micros(begun) < p.policy.Ban {
		rest := p.policy.Ban - (reads - micros(begun))
		// A ban that begins with this denial, and a ban during which it comes, have the same effect.
		v.remaining, v.wait, v.reset = 0, max(v.wait, rest), max(v.reset, rest)
	}
	v.wait, v.reset, v.delay = p.until(v.wait, past), p.until(v.reset, past), p.until(v.delay, past)
	return v
}

// until returns the time until the clock of the policy shows at least d more. It has shown its present time
// for past.
func (p scripted) until(d, past time.Duration) time.Duration {
	if tick := p.policy.Tick; tick > 0 && d > 0 && d != reference.Never {
		steps := (uint64(d) + uint64(tick) - 1) / uint64(tick)
		return time.Duration(min(steps*uint64(tick)-uint64(past), uint64(reference.Never)))
	}
	return d
}

// bucketView explains the state of a bucket or queue: how much is taken, and what has come back since
// something was last added. Amounts are in nanoseconds times N.
type bucketView struct {
	n, per, limit, batch, undelayed uint64
	full                            int64
	queue                           bool
}

func newBucketView(p spec.Policy) bucketView {
	b := bucketView{n: uint64(p.Rate.N), per: uint64(p.Rate.Per),
		limit: uint64(p.Full()) * uint64(p.Rate.Per), full: p.Full(),
		undelayed: uint64(p.Undelayed) * uint64(p.Rate.Per), queue: p.Queued()}
	if p.Refill == spec.RefillInterval {
		b.batch = uint64(p.Fill) * uint64(p.Rate.Per)
	}
	return b
}

func (b bucketView) view(numbers []int64, _ time.Duration, cost int64, allow bool) view {
	taken, into := uint64(numbers[0])*1000, uint64(numbers[1])*1000
	v := view{remaining: int64((b.limit - taken) / b.per), reset: b.until(taken, into)}
	switch {
	case allow && b.queue:
		if before := taken - uint64(cost)*b.per; before > b.undelayed {
			v.delay = b.until(before-b.undelayed, 0)
		}
	case cost > b.full:
		v.wait = reference.Never
	default:
		if room := b.limit - uint64(cost)*b.per; taken > room {
			v.wait = b.until(taken-room, into)
		}
	}
	return v
}

// until returns the time until need has come back, rounded up to the nanosecond.
func (b bucketView) until(need, into uint64) time.Duration {
	if need == 0 {
		return 0
	}
	if b.batch != 0 {
		need = (need+b.batch-1)/b.batch*b.batch - into
	}
	return time.Duration((need + b.n - 1) / b.n)
}

// windowView explains the state of a fixed window: its start, or -1 if none is open, and its count.
type windowView struct{ spec.Policy }

func (w windowView) view(numbers []int64, at time.Duration, cost int64, _ bool) view {
	start, used := numbers[0], numbers[1]
	v := view{remaining: w.Rate.N - used}
	if start >= 0 {
		v.reset = w.Rate.Per - (at - micros(start))
	}
	switch {
	case cost > w.Rate.N:
		v.wait = reference.Never
	case cost > v.remaining:
		v.wait = v.reset
	}
	return v
}

// logView explains the state of a log: its units, the time of its newest entry, and the time of the entry
// that must leave before a denied request fits.
type logView struct {
	quota int64
	keep  time.Duration
}

func newLogView(p spec.Policy) logView {
	l := logView{quota: p.Rate.N, keep: p.Rate.Per}
	if p.Boundary == spec.Closed {
		l.keep++
	}
	return l
}

func (l logView) view(numbers []int64, at time.Duration, cost int64, _ bool) view {
	v := view{remaining: l.quota - numbers[0]}
	if newest := numbers[1]; newest >= 0 {
		v.reset = l.keep - (at - micros(newest))
	}
	if leaves := numbers[2]; leaves >= 0 {
		v.wait = l.keep - (at - micros(leaves))
	}
	if cost > l.quota {
		v.wait = reference.Never
	}
	return v
}

// counterView explains the state of a sliding window counter: the start of the present window, or -1 if none
// is open, the count of the window before, and its own count.
type counterView struct{ spec.Policy }

func (c counterView) view(numbers []int64, at time.Duration, cost int64, _ bool) view {
	prev, cur, into := numbers[1], numbers[2], time.Duration(0)
	if numbers[0] >= 0 {
		into = at - micros(numbers[0])
	}
	counts := reference.Counts{Prev: prev, Cur: cur, Into: into, Window: c.Rate.Per, Rounding: c.Rounding}
	v := view{wait: counts.Wait(c.Rate.N, cost)}
	v.remaining, v.reset = counts.View(c.Rate.N)
	return v
}
