//go:build !linux

package load

import (
	"net/url"
	"testing"
	"time"
)

// bareOpen returns nil, no lower bound: it needs a descriptor that the runtime's poller does not watch.
func bareOpen(testing.TB, *url.URL, int, time.Duration) []time.Duration { return nil }
