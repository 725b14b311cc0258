package headers

import "testing"

func TestAnswersFromCaches(t *testing.T) {
	for _, c := range []struct {
		field, value string
		want         bool
	}{
		{"Age", "3", true},
		{"Age", "0", false}, // Varnish adds it to every answer
		{"Age", "x", false},
		{"X-Cache", "HIT", true},
		{"X-Cache", "MISS", false},
		{"X-Cache", "MISS, HIT", true}, // one of two caches
		{"X-Cache", "Hit from cloudfront", true},
		{"X-Cache", "RefreshHit from cloudfront", false}, // the origin was asked
		{"X-Cache", "Miss from cloudfront", false},
		{"X-Cache", "TCP_MEM_HIT from a", true},
		{"X-Cache", "TCP_REFRESH_HIT from a", false},
		{"X-Cache-Status", "STALE", true},
		{"Cf-Cache-Status", "HIT", true},
		{"Cf-Cache-Status", "DYNAMIC", false},
		{"Cf-Cache-Status", "REVALIDATED", false},
		{"Cache-Status", "OriginCache; hit; ttl=1100, \"CDN Company Here\"; hit; ttl=545", true},
		// RFC 9211 section 2
		{"Cache-Status", "ReverseProxyCache; fwd=uri-miss; collapsed=?0", false},
		{"Cache-Status", "ExampleCache; hit=?0", false},
		{"Via", "1.1 varnish", false}, // a proxy, with or without a cache
	} {
		get := func(name string) (string, bool) { return c.value, name == c.field }
		if field, _, got := fromCache(get); got != c.want || got && field != c.field {
			t.Errorf("%s: %s: got %v (%s), want %v", c.field, c.value, got, field, c.want)
		}
	}
}
