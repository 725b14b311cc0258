package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// lookupTimeout bounds the lookup of the addresses of one name.
const lookupTimeout = 2 * time.Second

// preflight refuses, before anything is sent, what could only end in a run without an answer: a port that
// does not exist, an invalid store, and a host with a public address that was not allowed. It reports every
// problem. A name without an address passes, as the recording says so. The address is checked again when it
// is dialled, since a name can change its address.
func preflight(ctx context.Context, chosen []*scenario.Scenario, f runFlags) error {
	var errs []error
	told, red := map[string]bool{}, trial.NewRedactor(chosen, nil, "")
	for _, s := range chosen {
		for _, u := range trial.SecretEndpoints(s) {
			if way := u.Host + " " + s.Target.UnixSocket + " " + s.Target.Proxy; told[way] {
				continue
			} else {
				told[way] = true
			}
			if err := checkWay(ctx, s, u, &f); err != nil {
				errs = append(errs, errors.New(red.Replace(fmt.Sprintf("%s: target %q: %v", s.ID,
					trial.RedactURL(u.String()), err))))
			}
		}
	}
	if f.redis != "" && f.redis != scenario.EmbeddedRedis {
		scheme, _, found := strings.Cut(f.redis, "://")
		if !found || !slices.Contains([]string{"redis", "rediss", "redis-cluster", "redis-sentinel"},
			scheme) {
			errs = append(errs, cli.Usagef("--redis: a store is redis://HOST:PORT/DATABASE, rediss://, "+
				"redis-cluster://, redis-sentinel:// or embedded"))
		}
	}
	return errors.Join(errs...)
}

// checkWay refuses a host that cannot or may not be reached in the way of a scenario.
func checkWay(ctx context.Context, s *scenario.Scenario, u *url.URL, f *runFlags) error {
	if s.Target.UnixSocket != "" {
		return trial.CheckSocket(s.Target.UnixSocket, f.Request.UnixSocket)
	}
	if f.Target == "" || f.filed {
		if err := trial.Borrowed(s, u, f.Allow); err != nil {
			return err
		}
	}
	if s.Target.Proxy == "" {
		return checkHost(ctx, u, f.Allow)
	}
	p, err := url.Parse(s.Target.Proxy) // the decoder has refused an invalid one
	if err != nil {
		return err
	}
	if err = trial.Borrowed(s, p, f.Allow); err == nil {
		err = checkHost(ctx, p, f.Allow)
	}
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	return trial.Proxied(u, f.Allow)
}

// limitSaid refuses to judge a user's target by the limits that scenarios declare of the embedded target.
// These differ, and a right target would fail all but one of them.
func limitSaid(chosen []*scenario.Scenario, red trial.Redactor) error {
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(s *scenario.Scenario) bool { return !s.Assumed })
	if len(chosen) == 0 {
		return nil
	}
	whose := chosen[0].ID
	if n := len(chosen) - 1; n > 0 {
		whose += " and " + text.Plural(n, "other scenario")
	}
	host := chosen[0].Target.URL
	if u, err := url.Parse(host); err == nil {
		host = red.Replace(u.Host)
	}
	has := "has"
	if len(chosen) > 1 {
		has = "have"
	}
	own := ""
	if file := chosen[0].File; !strings.HasPrefix(file, "builtin:") {
		own = "; that of " + file + " counts if its url: names your target instead of builtin"
	}
	return cli.Usagef("run: %s: the limit of your target is not declared: %s %s only an example "+
		"(declare it once, such as --limit token-bucket,rate=10/s,burst=20; rlcheck identify URL finds "+
		"it%s)", host, whose, has, own)
}

// unverified names the scenarios whose target's certificate is not verified. Empty: there are none.
func unverified(chosen []*scenario.Scenario) string {
	var out []string
	for _, s := range chosen {
		secure := func(u *url.URL) bool { return u.Scheme == "https" }
		if s.Target.Insecure && slices.ContainsFunc(trial.SecretEndpoints(s), secure) {
			out = append(out, s.ID)
		}
	}
	if len(out) > 1 && len(out) == len(chosen) {
		return "all scenarios"
	}
	return strings.Join(out, ", ")
}

// checkHost refuses a host that cannot or may not be reached.
func checkHost(ctx context.Context, u *url.URL, allow []string) error {
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("port %q: a port is 1 to 65535", p)
		}
	}
	host := u.Hostname()
	if slices.Contains(allow, host) || slices.Contains(allow, u.Host) {
		return nil
	}
	found := addresses(ctx, host)
	if len(found) == 0 {
		return fmt.Errorf("the name %s has no address, so nothing was sent (check the name; if its address "+
			"is public, it also needs --allow-host %s)", host, host)
	}
	for _, a := range found {
		if why := trial.NeedsAllow(a); why != "" {
			return fmt.Errorf("the address %s is %s, so nothing was sent (if you may load it, add "+
				"--allow-host %s)", a, why, host)
		}
	}
	return nil
}

// addresses returns the addresses of a host. Empty: they are not known.
func addresses(ctx context.Context, host string) []netip.Addr {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found
}

// needsAllow says what a dry run adds to a host whose address needs a flag.
func needsAllow(host string, allow []string) string {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	a, err := netip.ParseAddr(name)
	if err != nil || slices.Contains(allow, name) || slices.Contains(allow, host) {
		return ""
	}
	why := trial.NeedsAllow(a)
	if why == "" {
		return ""
	}
	return fmt.Sprintf(" (the address is %s: needs --allow-host %s)", why, name)
}

// placeless returns the error that issued keys have no place in the requests of any scenario, or nil if they
// have.
func placeless(f *runFlags, chosen []*scenario.Scenario) error {
	used := func(s *scenario.Scenario) bool { return len(s.Keys) > 0 }
	if f.keys == "" || slices.ContainsFunc(chosen, used) {
		return nil
	}
	how := "partition " + string(chosen[0].Partition.Kind)
	if f.Partition != "" {
		how = "--partition " + f.Partition
	}
	return cli.Usagef("--api-keys %s: with %s no request has a place for a key "+
		"(write --partition header:X-Api-Key, or leave out --api-keys)", f.keys, how)
}
