package headers

import (
	"strings"
	"testing"
	"time"
)

// FuzzFields puts arbitrary texts into the fields that a run reads. A Date that is read can be written, an
// announced reset is not past, and an answer from a cache has the field that says so.
func FuzzFields(f *testing.F) {
	f.Add("Date", "Fri, 20 Nov 2026 09:55:29 GMT")
	f.Add("Age", "18446744073709551616")
	f.Add("Cache-Status", "a;hit;ttl=-1, \"b c\";fwd=miss")
	f.Add("X-Cache", "HIT, MISS")
	f.Add("RateLimit", `"a";r=0;t=9223372036854775807`)
	f.Add("X-RateLimit-Reset", "1e308")
	f.Add("RateLimit-Reset", "-5")
	f.Add("Retry-After", "999999999999999")
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, name, value string) {
		get := func(asked string) (string, bool) { return value, strings.EqualFold(asked, name) }
		if field, v, ok := fromCache(get); ok && (!strings.EqualFold(field, name) || v != value) {
			t.Errorf("%s: %q comes from a cache by %s: %q", name, value, field, v)
		}
		wait, unit, ok := AnnouncedReset(get, now)
		if wait < 0 || unit < 0 || !ok && wait > 0 {
			t.Errorf("%s: %q announces %v, to %v, %v", name, value, wait, unit, ok)
		}
		at, err := ParseDate(value)
		if err != nil {
			return
		}
		if again, err := ParseDate(at.Format(imfFixdate)); err != nil || !again.Equal(at) {
			t.Errorf("%q is %v, and that is %v, %v", value, at, again, err)
		}
	})
}
