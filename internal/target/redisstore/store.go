// Package redisstore keeps what limiters know of partitions in a Redis server, or in one inside the process.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"

	"github.com/rlcheck/rlcheck/internal/redis"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/target/state"
)

// store keeps partitions in a Redis server, 5 or later. Each decision is one script, so it is atomic for
// all replicas of the limiter; its time is the server's, in whole microseconds.
type store struct {
	client redis.Client
	// stop gives back what serves the store inside the process; may be nil.
	stop func()
}

// Open returns a store in the Redis at a URL, as redis.Open reads it. A cluster keeps each partition on
// one node. A replica that takes over from a master may lack its last decisions: Redis replicates after it
// has answered.
func Open(url string) (state.Store, error) {
	client, err := redis.Open(url)
	if err != nil {
		return nil, err
	}
	return &store{client: client}, nil
}

// Embedded returns a store in a Redis server inside the process. It answers about 3,000 decisions a
// second, so it is for tests and first tries; a measured load needs a real server.
func Embedded() (state.Store, error) {
	url, stop, err := redis.Embedded()
	if err != nil {
		return nil, err
	}
	client, err := redis.Open(url)
	if err != nil {
		stop()
		return nil, err
	}
	return &store{client: client, stop: stop}, nil
}

// Decider returns the script for limit, or an error that says what the store cannot keep.
func (s *store) Decider(limit spec.Limit) (state.Decider, error) {
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
		flights: newFlights(s.client, redis.Hash(rule.source), rule.source),
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

// decider runs the script of a limit. Its keys are rlcheck:LIMIT:{:PARTITION}, followed by :1, :2 and so
// on for the logs: one hash tag, never empty, so that all of a partition is on one node of a cluster; and
// targets with other limits do not meet.
type decider struct {
	script  script
	prefix  string
	flights *flights
}

// Decide runs the script, in one exchange with others that are asked at the same time. It does not begin for
// a ctx that has ended; once it has begun it is not given up, since nobody could tell what was charged.
func (d *decider) Decide(ctx context.Context, key string, cost int64) (state.Ruling, error) {
	if err := ctx.Err(); err != nil {
		return state.Ruling{}, err
	}
	reply, err := d.flights.run(d.call(key, cost)).Int64Slice()
	if err != nil {
		return state.Ruling{}, fmt.Errorf("redis: %w", err)
	}
	if want := 2 + perPolicy*len(d.script.policies); len(reply) != want {
		return state.Ruling{}, fmt.Errorf("redis: script returned %d numbers: it has %d", len(reply), want)
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
