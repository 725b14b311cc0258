package trial

import (
	"context"
	"net/netip"
	"net/url"
	"testing"
)

// TestGuardHoldsEachHostToItsAddresses: public addresses are refused, unless they are those of an allowed
// host; allowing one of target and origin does not free the other.
func TestGuardHoldsEachHostToItsAddresses(t *testing.T) {
	parse := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	both := &endpoints{target: parse("http://192.0.2.1/"), origin: parse("http://198.51.100.7:8080/")}
	cases := []struct {
		name    string
		allow   []string
		addr    string
		refused bool
	}{
		{"loopback", nil, "127.0.0.1", false},
		{"loopback, mapped", nil, "::ffff:127.0.0.1", false},
		{"private", nil, "192.168.1.1", false},
		{"this host, or another", nil, "0.0.0.0", true},
		{"link-local", nil, "169.254.169.254", true},
		{"link-local, mapped", nil, "::ffff:169.254.169.254", true},
		{"link-local, IPv6", nil, "fe80::1%lo", true},
		{"metadata of Amazon", nil, "fd00:ec2::254", true},
		{"metadata of Google", nil, "fd20:ce::254", true},
		{"metadata of Oracle", nil, "fd00:c1::a9fe:a9fe", true},
		{"private, IPv6", nil, "fd00::1", false},
		{"public", nil, "192.0.2.1", true},
		{"the allowed target", []string{"192.0.2.1"}, "192.0.2.1", false},
		{"the origin that was not allowed", []string{"192.0.2.1"}, "198.51.100.7", true},
		{"the origin allowed with its port", []string{"198.51.100.7:8080"}, "198.51.100.7", false},
		{"a stranger", []string{"192.0.2.1"}, "203.0.113.9", true},
	}
	for _, c := range cases {
		g := guard(context.Background(), c.allow, both.urls())
		if err := g(netip.MustParseAddr(c.addr)); (err != nil) != c.refused {
			t.Errorf("%s: got %v, refused want %v", c.name, err, c.refused)
		}
	}
	if guard(context.Background(), []string{"192.0.2.1", "198.51.100.7"}, both.urls()) != nil {
		t.Error("all hosts allowed: want no guard")
	}
}
