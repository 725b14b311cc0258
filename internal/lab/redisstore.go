package lab

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"

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

// Close closes the connections, and an embedded server.
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
