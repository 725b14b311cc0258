package lab

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// store keeps partitions in a Redis server, version 5 or later. Each decision is one script, so it is atomic
// for all replicas of the limiter. Its time is the server's, in whole microseconds.
type store struct {
	client RedisClient
	// stop stops the server inside the process. May be nil.
	stop func()
}

// openStore returns a store in the Redis server at a URL, as OpenRedis reads it. A cluster keeps each
// partition on one node. A replica that takes over from a master may lack its last decisions, as Redis
// replicates after it has answered.
func openStore(url string) (Store, error) {
	client, err := OpenRedis(url)
	if err != nil {
		return nil, err
	}
	return &store{client: client}, nil
}

// openEmbedded returns a store in a Redis server inside the process.
func openEmbedded() (Store, error) {
	url, stop, err := EmbedRedis()
	if err != nil {
		return nil, err
	}
	client, err := OpenRedis(url)
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

// Close closes the connections, and an embedded server.
func (s *store) Close() error {
	err := s.client.Close()
	if s.stop != nil {
		s.stop()
	}
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
