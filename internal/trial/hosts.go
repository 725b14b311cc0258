package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"

	"github.com/rlcheck/rlcheck/internal/scenario"
)

// dialled returns the URLs whose hosts rlcheck itself connects to: the proxy if there is one, else the
// endpoints. rlcheck cannot see which address a proxy connects to, so Proxied checks the host names.
func dialled(s *scenario.Scenario, allow []string, ends *endpoints) ([]*url.URL, error) {
	if s.Target.Proxy == "" {
		return ends.urls(), nil
	}
	for _, u := range ends.urls() {
		if err := Proxied(u, allow); err != nil {
			return nil, err
		}
	}
	p, err := url.Parse(s.Target.Proxy)
	if err == nil {
		err = Borrowed(s, p, allow)
	}
	return []*url.URL{p}, err
}

// Proxied returns an error if a proxy may not be asked for the host of u. Addresses of this host and of
// private networks are fine, and so are names in allow. The proxy may resolve any other name to a public
// address.
func Proxied(u *url.URL, allow []string) error {
	host := u.Hostname()
	if host == "localhost" || slices.Contains(allow, host) || slices.Contains(allow, u.Host) {
		return nil
	}
	if a, err := netip.ParseAddr(host); err == nil && NeedsAllow(a) == "" {
		return nil
	}
	return fmt.Errorf("the proxy may resolve the host %s to any address (if you may load it, add "+
		"--allow-host %s)",
		host, host)
}

// metadata are private networks at which clouds answer with the credentials of the machine: Amazon
// (fd00:ec2::254), Google (fd20:ce::254), Oracle (fd00:c1::a9fe:a9fe). Those of IPv4 are link-local.
var metadata = []netip.Prefix{netip.MustParsePrefix("fd00:ec2::/32"), netip.MustParsePrefix("fd20:ce::/32"),
	netip.MustParsePrefix("fd00:c1::/32")}

// NeedsAllow says what keeps an address from being loaded if nobody allowed it: it is neither of this machine
// nor of a private network. Empty: nothing does.
func NeedsAllow(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	switch {
	case a.IsLinkLocalUnicast(), slices.ContainsFunc(metadata, func(p netip.Prefix) bool {
		return p.Contains(a)
	}):
		return "link-local or that of a cloud's metadata service"
	case a.IsUnspecified():
		return "unspecified"
	case a.IsLoopback(), a.IsPrivate():
		return ""
	default:
		return "public"
	}
}

// Borrowed returns an error if the name of a host has a part from the environment and allow does not name it.
func Borrowed(s *scenario.Scenario, u *url.URL, allow []string) error {
	_, err := netip.ParseAddr(u.Hostname())
	if err == nil || u.Hostname() == "localhost" || !slices.Contains(s.Target.Borrowed, u.Host) ||
		slices.Contains(allow, u.Hostname()) || slices.Contains(allow, u.Host) {
		return nil
	}
	return errors.New("a variable of the environment is in the name of the host, and a lookup would tell " +
		"its value to name servers, so nothing was sent (if that may be, name the target with -t, or the " +
		"host with --allow-host)")
}

// CheckSocket refuses a Unix socket that only a file or an order names: a socket is a door to a daemon of
// this machine. named is the path that the user named.
func CheckSocket(path, named string) error {
	if path == "" || path == named {
		return nil
	}
	return fmt.Errorf("unix socket %s: only a file names it, so nothing was sent (if you may load it, add "+
		"--unix-socket %s)", path, path)
}

// guard returns a check that refuses public addresses, except those of the hosts in allow. It looks those
// hosts up now: if only one of target and origin is allowed, the other may still not be public. It returns
// nil if every host is allowed.
func guard(ctx context.Context, allow []string, urls []*url.URL) func(netip.Addr) error {
	allowed, others := map[netip.Addr]bool{}, false
	for _, u := range urls {
		if !slices.Contains(allow, u.Hostname()) && !slices.Contains(allow, u.Host) {
			others = true
			continue
		}
		// A host that cannot be looked up cannot be dialled either.
		found, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
		for _, a := range found {
			allowed[a.Unmap()] = true
		}
	}
	if !others {
		return nil
	}
	return func(a netip.Addr) error {
		a = a.Unmap()
		why := NeedsAllow(a)
		if why == "" || allowed[a] {
			return nil
		}
		return fmt.Errorf("the address %s is %s (name its host with --allow-host)", a, why)
	}
}
