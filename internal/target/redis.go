package target

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// redisTimeout bounds each exchange with a server.
const redisTimeout = 2 * time.Second

// redisStore keeps partitions in a Redis server, 5 or later. Each decision is one script, so it is atomic for all replicas
// of the limiter; its time is the server's, in whole microseconds.
type redisStore struct {
	client redis.UniversalClient
	// stop gives back what serves the store inside the process; may be nil.
	stop func()
}

// RedisStore returns a store in the Redis server at a URL, redis://[USER:PASSWORD@]HOST:PORT/DATABASE or rediss://... for
// TLS. A URL of another form and a server that does not answer within two seconds are errors.
func RedisStore(url string) (Store, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		// The text of err may hold the password.
		return nil, errors.New("redis: URL: it is not redis://HOST:PORT/DATABASE")
	}
	return newRedisStore(o, nil)
}

// newRedisStore connects as o says.
func newRedisStore(o *redis.Options, stop func()) (*redisStore, error) {
	// A script that was sent again after a lost answer would count its request twice.
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = redisTimeout, redisTimeout, redisTimeout, redisTimeout
	o.PoolSize = 64
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	redis.SetLogger(silent{log.New(io.Discard, "", 0)})
	s := &redisStore{client: redis.NewClient(o), stop: stop}
	ctx, cancel := context.WithTimeout(context.Background(), redisTimeout)
	defer cancel()
	if err := s.client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("redis: %s: %w (is the server up?)", o.Addr, err), s.Close())
	}
	return s, nil
}

// silent keeps the client library from writing to standard error.
type silent struct{ *log.Logger }

// Printf drops a line.
func (silent) Printf(context.Context, string, ...any) {}

// Decider returns the script for limit, or an error that says what the store cannot keep.
func (s *redisStore) Decider(limit reference.Limit) (Decider, error) {
	if len(limit) != 1 {
		return nil, errors.New("redis: several policies: a script keeps one (leave the others away, or the store)")
	}
	rule, err := scriptFor(limit[0])
	if err != nil {
		return nil, err
	}
	digest := fnv.New64a()
	// Write of a hash never fails.
	_, _ = io.WriteString(digest, limit.String())
	return &redisDecider{client: s.client, script: rule, prefix: "rlcheck:" + strconv.FormatUint(digest.Sum64(), 36) + ":{"}, nil
}

// Close closes the connections, and an embedded server.
func (s *redisStore) Close() error {
	err := s.client.Close()
	if s.stop != nil {
		s.stop()
	}
	return err
}

// redisDecider runs the script of one policy. Its keys are rlcheck:POLICY:{PARTITION}: one hash tag each, so that a
// partition stays on one node of a cluster, and targets with other limits do not meet.
type redisDecider struct {
	client redis.UniversalClient
	script script
	prefix string
}

// Decide runs the script by its digest, and sends its text where the server has forgotten it.
func (d *redisDecider) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	reply, err := d.script.source.Run(ctx, d.client, []string{d.prefix + key + "}"}, d.script.args(cost)...).Int64Slice()
	if err != nil {
		return Ruling{}, fmt.Errorf("redis: %w", err)
	}
	if len(reply) != d.script.replies {
		return Ruling{}, fmt.Errorf("redis: script returned %d numbers: it has %d", len(reply), d.script.replies)
	}
	return Ruling{Decision: d.script.decision(cost, reply), At: time.Duration(reply[1]) * time.Microsecond}, nil
}

// scriptFor returns the script that keeps p exactly. Numbers in a script are doubles, which are exact for whole numbers below
// 2^53; the reference refuses policies whose quota times window is over 2^62 ns, and that is below 2^53 us.
func scriptFor(p reference.Policy) (script, error) {
	refuse := func(what, why string) (script, error) {
		return script{}, fmt.Errorf("redis: %s: %s (leave the store away)", what, why)
	}
	switch {
	case p.Rate.Per%time.Microsecond != 0 || p.PhaseFrom%time.Microsecond != 0:
		return refuse("rate "+p.Rate.String(), "a script counts time in whole microseconds")
	case p.Start == reference.StartEmpty:
		return refuse(`start "empty"`, "a store forgets idle partitions, which then would be full")
	case p.Tick != 0 || p.Ban != 0:
		return refuse(fmt.Sprintf("policy %q", p), "the scripts know no tick and no ban")
	case p.Refill == reference.RefillInterval:
		return refuse(`refill "interval"`, "the script of a bucket refills continuously")
	case p.Count == reference.CountAll && p.Algorithm != reference.FixedWindow:
		return refuse(`count "all"`, "only the script of a fixed window counts denied requests")
	}
	switch p.Algorithm {
	case reference.TokenBucket, reference.GCRA, reference.LeakyBucket:
		return gcraScript(p), nil
	case reference.FixedWindow:
		return fixedWindowScript(p), nil
	case reference.SlidingWindowLog:
		if p.Boundary == reference.Closed {
			return refuse(`boundary "closed"`, "the script of a log is half-open")
		}
		return slidingLogScript(p), nil
	case reference.SlidingWindowCounter:
		if p.Align == reference.AlignFirst || p.Rounding != "" && p.Rounding != reference.RoundNone && p.Rounding != reference.RoundDown {
			return refuse(fmt.Sprintf("policy %q", p), "the script of a counter has windows aligned to the clock and compares exactly")
		}
		return slidingCounterScript(p), nil
	default:
		return refuse(fmt.Sprintf("algorithm %q", p.Algorithm), "there is no script for it")
	}
}
