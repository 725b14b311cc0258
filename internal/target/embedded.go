package target

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// pumpEvery is how often the embedded server is told the time. Its keys do not expire by themselves. Our
// scripts keep their times in the state and use expiry only to forget what is as good as new, so a late
// expiry changes no decision; a faster pump would only hold the server's lock more often.
const pumpEvery = 20 * time.Millisecond

// EmbeddedRedis returns a store in a Redis server inside the process (miniredis, on a loopback port): the
// same scripts without a server to install. It answers about 3,000 decisions a second, so it is for tests and
// first tries; a measured load needs a real server.
func EmbeddedRedis() (Store, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("embedded redis: %w", err)
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
	stop := func() {
		close(done)
		pump.Wait()
		server.Close()
	}
	return newRedisStore(singleClient(&redis.Options{Addr: server.Addr()}), stop)
}
