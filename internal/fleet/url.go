package fleet

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize is the most connections to one server.
const poolSize = 64

// errURL is the error for a URL of another form. It does not quote the URL, which may hold a password.
var errURL = errors.New("redis: URL: it is redis://HOST:PORT/DATABASE, rediss://..., " +
	"redis-cluster://HOST:PORT,HOST:PORT " +
	"or redis-sentinel://HOST:PORT/MASTER")

// clientOf returns the client for a URL. It does not connect.
func clientOf(where string) (RedisClient, error) {
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
		return clusterClient(r), nil
	case "redis-sentinel":
		r, err := parseAddresses(rest)
		if err != nil || r.path == "" {
			return nil, errURL
		}
		return sentinelClient(r), nil
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

// singleClient returns the client of one server.
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

// clusterClient returns the client of a cluster.
func clusterClient(a addresses) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: a.hosts, Username: a.user, Password: a.password, MaxRetries: -1, ContextTimeoutEnabled: true,
		DialTimeout: RedisTimeout, ReadTimeout: RedisTimeout, WriteTimeout: RedisTimeout,
		PoolTimeout: RedisTimeout,
		PoolSize:    poolSize, DialerRetries: 1, DisableIdentity: true, DisableRoutingPolicies: true,
		MaintNotificationsConfig: quiet(),
	})
}

// sentinelClient returns the client of the master that sentinels name.
func sentinelClient(a addresses) *redis.Client {
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: a.path, SentinelAddrs: a.hosts, Username: a.user, Password: a.password, MaxRetries: -1,
		ContextTimeoutEnabled: true, DialTimeout: RedisTimeout, ReadTimeout: RedisTimeout,
		WriteTimeout: RedisTimeout,
		PoolTimeout:  RedisTimeout, PoolSize: poolSize, DialerRetries: 1, DisableIdentity: true,
	})
}

// quiet turns off maintenance notices, which only some hosted servers send.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
