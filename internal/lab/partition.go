package lab

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// key returns the partition of r.
func (t *Target) key(r *http.Request) string {
	if t.opts.OneForAll {
		return t.prefix
	}
	key, ok := t.named(r)
	if !ok {
		key = t.clientKey(r)
	}
	if t.fault.key != nil {
		key = t.fault.key(r, key)
	}
	return t.prefix + key
}

// named returns the partition that r names itself, and whether it names one.
func (t *Target) named(r *http.Request) (string, bool) {
	v := r.Header[t.keyName]
	if len(v) == 0 {
		return "", false
	}
	if t.opts.Owned {
		return ownerOf(v[0]), true
	}
	return v[0], true
}

// clientKey returns the partition of a request without a name: the network of its client, by the field of the
// trusted proxy or by the connection.
func (t *Target) clientKey(r *http.Request) string {
	if v := r.Header[t.client]; t.client != "" && len(v) > 0 {
		last := v[len(v)-1]
		if a, err := netip.ParseAddr(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+
			1:])); err == nil {
			return "\x00" + t.network(a)
		}
	}
	return addressKey(r)
}

// network returns the network of a client with address a, with the fault.
func (t *Target) network(a netip.Addr) string {
	if t.fault.network != nil {
		return t.fault.network(a)
	}
	return networkOf(a)
}

// networkOf returns the network of one client: one IPv4 address, however it is written, or 64 bits of IPv6. A
// client may take another IPv6 address of it for each request.
func networkOf(a netip.Addr) string {
	if a = a.Unmap(); a.Is4() {
		return a.String()
	}
	return netip.PrefixFrom(a.WithZone(""), 64).Masked().String()
}

// addressKey returns the address of the client of a connection, or its network, after a NUL byte. No field
// value can begin with NUL.
func addressKey(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if strings.IndexByte(host, ':') >= 0 {
		if a, err := netip.ParseAddr(host); err == nil {
			host = networkOf(a)
		}
	}
	return "\x00" + host
}
