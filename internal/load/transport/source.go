package transport

import (
	"hash/fnv"
	"net/netip"
	"strings"
)

// source returns the loopback address of the partition with number k: its own name where that is an address,
// else the one k after 127.1.0.1, skipping those that end in 0 and 255.
func source(name string, k int) netip.Addr {
	if a, err := netip.ParseAddr(name); err == nil {
		return a
	}
	return netip.AddrFrom4([4]byte{127, byte(1 + k/254/256%254), byte(k / 254 % 256), byte(1 + k%254)})
}

// sources is how many addresses source has to give.
const sources = 254 * 256 * 254

// firstNumber returns the number of the first partition of a run, which follows from its name without the
// digits at its end: so partitions that are new in each run, and have its id in their names, have addresses
// that no run before it used.
func firstNumber(name string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.TrimRight(name, "0123456789"))) // never fails
	return int(h.Sum64() % sources)
}

// number returns the number of a partition, a new one for a name that was not seen before.
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
