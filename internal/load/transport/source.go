package transport

import (
	"hash/fnv"
	"net/netip"
	"strings"
)

// source returns the loopback address of the partition with number k. If its name is an address, that is the
// one. Otherwise it is the one k after 127.1.0.1; addresses that end in 0 or 255 are skipped.
func source(name string, k int) netip.Addr {
	if a, err := netip.ParseAddr(name); err == nil {
		return a
	}
	return netip.AddrFrom4([4]byte{127, byte(1 + k/254/256%254), byte(k / 254 % 256), byte(1 + k%254)})
}

// sources is how many addresses source can return.
const sources = 254 * 256 * 254

// firstNumber returns the number of the first partition of a run. It is a hash of the name without the digits
// at its end. Partitions that are new in each run have the id of the run in their names. So they get
// addresses that no run before used.
func firstNumber(name string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.TrimRight(name, "0123456789"))) // a hash returns no error
	return int(h.Sum64() % sources)
}

// number returns the number of a partition. A new name gets a new number.
func (t *Transport) number(name string) int {
	n, ok := t.numbers[name]
	if !ok {
		if len(t.numbers) == 0 {
			t.first = firstNumber(name)
		}
		n = t.first + len(t.numbers)
		t.numbers[name] = n
	}
	return n
}
