package transport

import (
	"hash/fnv"
	"net/http"
	"net/netip"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// forgery returns the invented client address of a wish, in the notation of the field called name.
func forgery(name string, w Wish) string {
	a := invented(w)
	switch {
	case http.CanonicalHeaderKey(name) != "Forwarded":
		return a.String()
	case a.Is4():
		return "for=" + a.String()
	default:
		// RFC 7239, section 6: an IPv6 address stands in brackets and quotes
		return `for="[` + a.String() + `]"`
	}
}

// invented returns the invented client address for the number of a wish. By default it is in 198.18.0.0/15,
// which is nobody's (RFC 2544 section 7). OneNetwork invents IPv6 addresses of one /64 for each partition
// (2001:db8::/32). TwoSpellings invents one IPv4 address for each partition, in turn plain and IPv4-mapped.
func invented(w Wish) netip.Addr {
	n := w.number
	h := fnv.New32a()
	_, _ = h.Write([]byte(w.Partition)) // a hash returns no error
	own := h.Sum32()
	switch w.addresses() {
	case timeline.OneNetwork:
		return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(own >> 24), byte(own >> 16),
			byte(own >> 8), byte(own), 12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)})
	case timeline.TwoSpellings:
		a := netip.AddrFrom4([4]byte{198, byte(18 + own>>16&1), byte(own >> 8), byte(own)})
		if n%2 == 1 {
			a = netip.AddrFrom16(a.As16())
		}
		return a
	default:
		return netip.AddrFrom4([4]byte{198, byte(18 + n>>16&1), byte(n >> 8), byte(n)})
	}
}

// addresses returns which addresses the phase of a wish invents.
func (w *Wish) addresses() timeline.Addresses {
	if w.Own == nil {
		return ""
	}
	return w.Own.Addresses
}
