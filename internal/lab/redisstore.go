package lab

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"sync"

	"github.com/rlcheck/rlcheck/internal/fleet"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// store keeps partitions in a Redis server, version 5 or later. Each decision is one script, so it is atomic
// for all replicas of the limiter. Its time is the server's, in whole microseconds.
type store struct {
	client fleet.RedisClient
	// stop stops the server inside the process. May be nil.
	stop func()
}

// OpenRedis returns a store in the Redis server at a URL, as fleet.OpenRedis reads it. A cluster keeps each
// partition on one node. A replica that takes over from a master may lack its last decisions, as Redis
// replicates after it has answered.
func OpenRedis(url string) (Store, error) {
	client, err := fleet.OpenRedis(url)
	if err != nil {
		return nil, err
	}
	return &store{client: client}, nil
}

// OpenEmbeddedRedis returns a store in a Redis server inside the process. It makes about 3,000 decisions a
// second, so it is for tests and first tries. A measured load needs a real server.
func OpenEmbeddedRedis() (Store, error) {
	url, stop, err := fleet.EmbedRedis()
	if err != nil {
		return nil, err
	}
	client, err := fleet.OpenRedis(url)
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
		flights: newFlights(s.client, fleet.RedisHash(rule.source), rule.source),
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
	script  script
	prefix  string
	flights *flights
}

// Decide runs the script, in one exchange with other requests of the same time. It does not begin if ctx has
// ended. Once it has begun it is not cancelled, since nobody would know what was charged.
func (d *decider) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	if err := ctx.Err(); err != nil {
		return Ruling{}, err
	}
	reply, err := d.flights.run(d.call(key, cost)).Int64Slice()
	if err != nil {
		return Ruling{}, fmt.Errorf("redis: %w", err)
	}
	if want := 2 + perPolicy*len(d.script.policies); len(reply) != want {
		return Ruling{}, fmt.Errorf("redis: script returned %d numbers: it has %d", len(reply), want)
	}
	return d.script.decision(cost, reply), nil
}

// call returns the keys and arguments of the script: KEYS and then ARGV.
func (d *decider) call(key string, cost int64) call {
	state := d.prefix + key + "}"
	c := call{keys: 1 + d.script.logs, args: make([]any, 0, 2+d.script.logs+len(d.script.args))}
	c.args = append(c.args, state)
	for i := range d.script.logs {
		c.args = append(c.args, state+":"+strconv.Itoa(i+1))
	}
	c.args = append(append(c.args, min(cost, exact-1)), d.script.args...)
	return c
}

const (
	// maxFlights is how many exchanges with the server are under way at once. While there are fewer, a call
	// is sent at once. Otherwise calls wait for the next exchange and share it.
	maxFlights = 2
	// maxCalls is the most calls that share an exchange.
	maxCalls = 256
)

// flights sends scripts to a Redis server. Calls that wait at the same time share one exchange.
type flights struct {
	client       fleet.RedisClient
	hash, source string
	// atOnce is maxFlights, most is maxCalls.
	atOnce, most int

	mu      sync.Mutex
	flying  int
	waiting []*flight
}

// call has the arguments of a script: KEYS, of which there are keys, and then ARGV.
type call struct {
	keys int
	args []any
}

// flight is a call under way.
type flight struct {
	call
	command *fleet.RedisCommand
	done    chan struct{}
}

func newFlights(client fleet.RedisClient, hash, source string) *flights {
	return &flights{client: client, hash: hash, source: source, atOnce: maxFlights, most: maxCalls}
}

// run runs the script once. It returns its answer or the error.
func (f *flights) run(c call) *fleet.RedisCommand {
	mine := &flight{call: c, done: make(chan struct{})}
	f.mu.Lock()
	f.waiting = append(f.waiting, mine)
	lead := f.flying < f.atOnce
	if lead {
		f.flying++
	}
	f.mu.Unlock()
	if lead {
		f.fly()
	}
	<-mine.done
	return mine.command
}

// fly sends the waiting calls, and makes sure that calls which come meanwhile are sent too.
func (f *flights) fly() {
	batch := f.next()
	f.send(batch)
	f.mu.Lock()
	more := len(f.waiting) > 0
	if !more {
		f.flying--
	}
	f.mu.Unlock()
	if more {
		go f.fly()
	}
}

// next removes and returns the calls of an exchange.
func (f *flights) next() []*flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.waiting), f.most)
	batch := append([]*flight(nil), f.waiting[:n]...)
	f.waiting = append(f.waiting[:0], f.waiting[n:]...)
	clear(f.waiting[len(f.waiting) : len(f.waiting)+n])
	return batch
}

// send runs the script for all of batch by its digest. It sends the text of the script if a server does not
// know it.
func (f *flights) send(batch []*flight) {
	ctx, cancel := context.WithTimeout(context.Background(), fleet.RedisTimeout)
	defer cancel()
	f.exchange(ctx, batch, "evalsha", f.hash)
	var unknown []*flight
	for _, b := range batch {
		if fleet.UnknownScript(b.command.Err()) {
			unknown = append(unknown, b)
		}
	}
	// A script that a server does not know has not run.
	f.exchange(ctx, unknown, "eval", f.source)
	for _, b := range batch {
		close(b.done)
	}
}

// exchange sends a command for each of batch and waits for all answers. Errors are those of the commands.
func (f *flights) exchange(ctx context.Context, batch []*flight, verb, script string) {
	for _, b := range batch {
		b.command = fleet.NewRedisCommand(ctx, append([]any{verb, script, b.keys}, b.args...)...)
		b.command.SetFirstKeyPos(3)
	}
	switch len(batch) {
	case 0:
	case 1:
		_ = f.client.Process(ctx, once{batch[0].command})
	default:
		pipe := f.client.Pipeline()
		for _, b := range batch {
			_ = pipe.Process(ctx, once{b.command})
		}
		_, _ = pipe.Exec(ctx)
	}
}

// once is a command that is never sent again after a lost answer, since it would count its request twice. It
// follows a redirection to another node of a cluster, where it has not run yet.
type once struct{ *fleet.RedisCommand }

// NoRetry tells the client library not to retry.
func (once) NoRetry() bool { return true }
