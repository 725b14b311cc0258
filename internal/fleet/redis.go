package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisTimeout bounds each exchange with a server.
const RedisTimeout = 2 * time.Second

// RedisClient sends commands to one server, or to the nodes of a cluster.
type RedisClient = redis.UniversalClient

// RedisCommand is a command and, once it was processed, its answer.
type RedisCommand = redis.Cmd

// NewRedisCommand returns a command of words.
func NewRedisCommand(ctx context.Context, words ...any) *RedisCommand {
	return redis.NewCmd(ctx, words...)
}

// RedisHash returns the digest by which a server knows a script that it has run before.
func RedisHash(source string) string { return redis.NewScript(source).Hash() }

// UnknownScript tells whether err says that a server does not know the digest of a script.
func UnknownScript(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }

// OpenRedis returns a client of the Redis at a URL:
//
//	redis://[USER:PASSWORD@]HOST:PORT[/DATABASE]             one server; rediss:// for TLS, with
//	                                                         ?skip_verify=true for any certificate
//	redis-cluster://[USER:PASSWORD@]HOST:PORT[,HOST:PORT]... some nodes of a cluster, which name the others
//	redis-sentinel://[USER:PASSWORD@]HOST:PORT[,...]/MASTER  sentinels, and the name of the master they
//	                                                         watch
//
// It returns an error for a URL of another form, and for a Redis that does not answer within Timeout. Its
// errors show no password.
func OpenRedis(url string) (RedisClient, error) {
	client, err := clientOf(url)
	if err != nil {
		return nil, err
	}
	if err := answers(client); err != nil {
		return nil, err
	}
	return client, nil
}

// answers returns an error if the server does not answer, and then closes the client.
func answers(client RedisClient) error {
	redis.SetLogger(silent{log.New(io.Discard, "", 0)})
	ctx, cancel := context.WithTimeout(context.Background(), RedisTimeout)
	defer cancel()
	err := client.Ping(ctx).Err()
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("redis: %w (%s)", err, mend(err)), client.Close())
}

// mend says what helps against an error of the first exchange.
func mend(err error) string {
	untrusted := new(tls.CertificateVerificationError)
	switch {
	case errors.As(err, &untrusted):
		return "trust who signed it with SSL_CERT_FILE=FILE in the environment, or write ?skip_verify=true"
	case redis.HasErrorPrefix(err, "WRONGPASS"), redis.HasErrorPrefix(err, "NOAUTH"):
		return "check the user and the password in the URL, redis://USER:PASSWORD@HOST"
	case redis.HasErrorPrefix(err, "NOPERM"):
		return "the user needs more rights: docs/loadtest.md has them"
	case errors.Is(err, io.EOF):
		return "does the server speak TLS? then the URL begins with rediss://"
	case errors.Is(err, context.DeadlineExceeded):
		return "is the server up, and does it speak TLS where the URL begins with rediss://?"
	}
	return "is the server up?"
}

// silent keeps the client library from writing to standard error.
type silent struct{ *log.Logger }

// Printf drops a line.
func (silent) Printf(context.Context, string, ...any) {}
