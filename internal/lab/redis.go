package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// RedisTimeout bounds each exchange with a server.
const RedisTimeout = 2 * time.Second

// RedisClient sends commands to one server, or to the nodes of a cluster.
type RedisClient = redis.UniversalClient

// once is a command that is never sent again after a lost answer, since it would count its request twice. It
// follows a redirection to another node of a cluster, where it has not run yet.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// RedisScript returns a function that runs a script once and returns its numbers. words are KEYS, of which
// there are keys, and then ARGV. A server that does not know the digest of the script has not run it, and
// gets its text.
func RedisScript(client RedisClient, source string) func(keys int, words []any) ([]int64, error) {
	hash := redis.NewScript(source).Hash()
	return func(keys int, words []any) ([]int64, error) {
		ctx, cancel := context.WithTimeout(context.Background(), RedisTimeout)
		defer cancel()
		run := func(verb, script string) *redis.Cmd {
			c := redis.NewCmd(ctx, append([]any{verb, script, keys}, words...)...)
			c.SetFirstKeyPos(3)
			_ = client.Process(ctx, once{c}) // the command has its error
			return c
		}
		c := run("evalsha", hash)
		if redis.HasErrorPrefix(c.Err(), "NOSCRIPT") {
			c = run("eval", source)
		}
		return c.Int64Slice()
	}
}

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
	client, err := redisClientOf(url)
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

func (silent) Printf(context.Context, string, ...any) {}

// poolSize is the most connections to one server.
const poolSize = 64

// errURL is the error for a URL of another form. It does not quote the URL, which may hold a password.
var errURL = errors.New("redis: URL: it is redis://HOST:PORT/DATABASE, rediss://..., " +
	"redis-cluster://HOST:PORT,HOST:PORT or redis-sentinel://HOST:PORT/MASTER")

// redisClientOf returns the client for a URL. It does not connect.
func redisClientOf(where string) (RedisClient, error) {
	scheme, rest, found := strings.Cut(where, "://")
	if !found {
		return nil, errURL
	}
	switch scheme {
	case "redis", "rediss":
		o, err := redis.ParseURL(where)
		if err != nil {
			return nil, errURL
		}
		return singleClient(o), nil
	case "redis-cluster":
		r, err := parseAddresses(rest)
		if err != nil || r.path != "" {
			return nil, errURL
		}
		o := several(r).Cluster()
		o.DisableRoutingPolicies = true
		return redis.NewClusterClient(o), nil
	case "redis-sentinel":
		r, err := parseAddresses(rest)
		if err != nil || r.path == "" {
			return nil, errURL
		}
		return redis.NewFailoverClient(several(r).Failover()), nil
	}
	return nil, errURL
}

// addresses is the part after the scheme in a URL of several servers.
type addresses struct {
	user, password string
	hosts          []string
	path           string
}

// parseAddresses reads [USER[:PASSWORD]@]HOST:PORT[,HOST:PORT]...[/PATH]. net/url cannot parse a list of
// hosts.
func parseAddresses(text string) (addresses, error) {
	var a addresses
	text, a.path, _ = strings.Cut(text, "/")
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		user, password, _ := strings.Cut(text[:i], ":")
		var errUser, errPassword error
		a.user, errUser = url.PathUnescape(user)
		a.password, errPassword = url.PathUnescape(password)
		if err := errors.Join(errUser, errPassword); err != nil {
			return a, err
		}
		text = text[i+1:]
	}
	for host := range strings.SplitSeq(text, ",") {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			return a, err
		}
		if name == "" || port == "" {
			return a, fmt.Errorf("address %q: a server has a host and a port", host)
		}
		a.hosts = append(a.hosts, host)
	}
	return a, nil
}

func singleClient(o *redis.Options) *redis.Client {
	// A script that is sent again after a lost answer would count its request twice.
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = RedisTimeout, RedisTimeout, RedisTimeout,
		RedisTimeout
	o.PoolSize, o.DialerRetries = poolSize, 1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = quiet()
	return redis.NewClient(o)
}

// several returns the options of a client of several servers.
func several(a addresses) *redis.UniversalOptions {
	return &redis.UniversalOptions{Addrs: a.hosts, Username: a.user, Password: a.password, MasterName: a.path,
		MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: RedisTimeout, ReadTimeout: RedisTimeout,
		WriteTimeout: RedisTimeout, PoolTimeout: RedisTimeout, PoolSize: poolSize, DialerRetries: 1,
		DisableIdentity: true, MaintNotificationsConfig: quiet()}
}

// quiet turns off maintenance notices, which only some hosted servers send.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// Exchanger sends commands to a Redis, several in one exchange.
type Exchanger struct {
	RedisClient
	// Prefix begins every key. By it, keys are recognised among the words of a command.
	Prefix string
}

// Exchange sends commands, each a list of words, and returns their answers. An answer is int64, string, nil,
// []any, a map, or the error that the server answered. An error from Exchange means that the exchange failed;
// some commands may have run. Nothing is sent twice.
func (e Exchanger) Exchange(ctx context.Context, commands ...[]any) ([]any, error) {
	pipe := e.Pipeline()
	all := make([]*redis.Cmd, len(commands))
	for i, words := range commands {
		all[i] = redis.NewCmd(ctx, words...)
		all[i].SetFirstKeyPos(e.firstKey(words))
		_ = pipe.Process(ctx, all[i]) // Exec sends it
	}
	var answered redis.Error
	// Note: go-redis v9.19.0 sets no error on the commands if it cannot reach the server.
	if _, err := pipe.Exec(ctx); err != nil && !errors.As(err, &answered) {
		return nil, err
	}
	out := make([]any, len(all))
	for i, c := range all {
		v, err := c.Result()
		switch {
		case err == nil:
			out[i] = v
		case errors.Is(err, redis.Nil):
		case errors.As(err, &answered):
			out[i] = err
		default:
			return nil, err
		}
	}
	return out, nil
}

// firstKey returns the index of the first key among the words of a command; 0 for none.
func (e Exchanger) firstKey(words []any) int8 {
	for i, w := range words {
		if text, ok := w.(string); ok && i > 0 && strings.HasPrefix(text, e.Prefix) {
			return int8(min(i, 127))
		}
	}
	return 0
}

// pumpEvery is how often the embedded server is told the time; its keys do not expire by themselves. Our
// scripts keep their times in the state and use expiry only to forget states that are as good as new. So a
// late expiry changes no decision. A faster pump would only hold the server's lock more often.
const pumpEvery = 20 * time.Millisecond

// EmbedRedis starts a Redis server inside the process (miniredis) on a loopback port. It has the same
// commands and needs no installation. It runs about 3,000 scripts a second, so it is for tests and first
// tries. url is its URL. stop ends it.
func EmbedRedis() (url string, stop func(), err error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return "", nil, fmt.Errorf("embedded redis: %w", err)
	}
	done := make(chan struct{})
	var pump sync.WaitGroup
	pump.Go(func() {
		ticker := time.NewTicker(pumpEvery)
		defer ticker.Stop()
		last := time.Now()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				now := time.Now()
				server.FastForward(now.Sub(last))
				last = now
			}
		}
	})
	stop = func() {
		close(done)
		pump.Wait()
		server.Close()
	}
	return "redis://" + server.Addr() + "/0", stop, nil
}
