package headers

import (
	"strings"
	"testing"
)

func TestFieldsThatNothingExplainsAreNotRead(t *testing.T) {
	for names, want := range map[string]bool{
		"X-Ratelimit-Limit X-RateLimit-Remaining-Minute X-Rate-Limit-Reset Ratelimit": false,
		"RateLimit-Policy": false,
		"Ratelimit-Reset X-Ratelimit-Userremaining X-Ratelimit-Clientlimit Retry-After Date":         false,
		"X-Rate-Limit X-Rate-Limit-Duration X-Ratelimit X-Ratelimit-Used Ratelimit-Foo X-Ratelimit-": true,
		"X-Ratelimit-Limit-Fortnight X-Ratelimit-Userused X-Acme-Ratelimit-Left X-Ratelimit-Limit-":  true,
	} {
		for _, name := range strings.Fields(names) {
			if got := Unread(name); got != want {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
	}
}
