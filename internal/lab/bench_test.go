package lab

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkStore measures decisions a second on a real server, with 64 callers over 1,000 partitions.
func BenchmarkStore(b *testing.B) {
	const callers, n = 64, 30_000
	url, _ := startRedis(b)
	store, err := OpenStore(url)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	limit := redisParse(b, "gcra,rate=100/s,burst=20")
	d, err := store.Decider(limit)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var left atomic.Int64
		left.Store(n)
		var wg sync.WaitGroup
		began := time.Now()
		for range callers {
			wg.Go(func() {
				for i := left.Add(-1); i >= 0; i = left.Add(-1) {
					if _, err := d.Decide(b.Context(), strconv.FormatInt(i%1000, 10), 1); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		b.ReportMetric(n/time.Since(began).Seconds(), "decisions/s")
	}
	b.ReportMetric(0, "ns/op")
}
