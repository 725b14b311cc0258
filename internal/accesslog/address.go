package accesslog

import (
	"bytes"
	"net/netip"
	"regexp"
	"strconv"
)

// withoutPort returns the address of address:port or [address]:port. Text without a port stays as it is.
func withoutPort(b []byte) []byte {
	if bytes.Count(b, []byte(":")) == 1 || len(b) > 0 && b[0] == '[' {
		return cutPort(b)
	}
	return b
}

// cutPort returns the address of a text with a port: 10.0.0.1:80, ::1:80 or [::1]:80.
func cutPort(b []byte) []byte {
	if addr, port, ok := cutLast(b, ':'); ok && digits(port) {
		b = addr
	}
	if len(b) > 1 && b[0] == '[' && b[len(b)-1] == ']' {
		b = b[1 : len(b)-1]
	}
	return b
}

// noAddress tells whether a value cannot be an address or the name of a host: it has a space, a quote or a
// control character, or only digits and dots, or a colon, and is no address. A wrapper of the line may have
// got into it, a hole in the file, or the beginning of another line.
func noAddress(b []byte) bool {
	name := false
	for _, c := range b {
		if c <= ' ' || c == '"' || c == 0x7f {
			return true
		}
		name = name || c != '.' && (c < '0' || c > '9')
	}
	if len(b) == 0 || name && bytes.IndexByte(b, ':') < 0 || bytes.HasPrefix(b, []byte("unix:")) {
		return false
	}
	_, err := netip.ParseAddr(string(b))
	return err != nil
}

// prefixed is the name of a field with /64, or /24/64, behind it.
var prefixed = regexp.MustCompile(`^(.+?)(?:/0*([1-9]|[12]\d|3[0-2]))?/0*([1-9]\d?|1[01]\d|12[0-8])$`)

// prefixBits cuts /64, or /24/64, off the name of a field. One number up to 32 is of IPv4 addresses, and a
// larger one of IPv6.
func prefixBits(name string) (string, [2]int) {
	m := prefixed.FindStringSubmatch(name)
	if m == nil {
		return name, [2]int{}
	}
	first, _ := strconv.Atoi(m[2])
	last, _ := strconv.Atoi(m[3])
	if first == 0 && last <= 32 {
		first, last = last, 0
	}
	return m[1], [2]int{first, last}
}

// client returns the name of the client that an address stands for: IPv6 in the form of RFC 5952, so that all
// spellings are one client, or the network of bits. Text that is no address stays as it is.
func client(b []byte, bits [2]int) []byte {
	if bits == [2]int{} && bytes.IndexByte(b, ':') < 0 {
		return b
	}
	addr, err := netip.ParseAddr(string(b))
	if err != nil {
		return b
	}
	n := bits[1]
	if addr.Is4() {
		n = bits[0]
	}
	if n == 0 {
		return addr.AppendTo(nil)
	}
	network, err := addr.WithZone("").Prefix(n)
	if err != nil {
		return b
	}
	return network.AppendTo(nil)
}
