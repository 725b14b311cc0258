package fleet

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// pumpEvery is how often the embedded server is told the time; its keys do not expire by themselves. Our
// scripts keep their times in the state and use expiry only to forget states that are as good as new. So a
// late expiry changes no decision. A faster pump would only hold the server's lock more often.
const pumpEvery = 20 * time.Millisecond

// EmbedRedis starts a Redis server inside the process (miniredis) on a loopback port. It has the same
// commands and needs no installation. It runs about 3,000 scripts a second, so it is for tests and first
// tries. url is its URL. stop ends it.
func EmbedRedis() (url string, stop func(), err error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return "", nil, fmt.Errorf("embedded redis: %w", err)
	}
	done := make(chan struct{})
	var pump sync.WaitGroup
	pump.Go(func() {
		ticker := time.NewTicker(pumpEvery)
		defer ticker.Stop()
		last := time.Now()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				now := time.Now()
				server.FastForward(now.Sub(last))
				last = now
			}
		}
	})
	stop = func() {
		close(done)
		pump.Wait()
		server.Close()
	}
	return "redis://" + server.Addr() + "/0", stop, nil
}
