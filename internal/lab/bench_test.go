package lab

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkStore measures decisions a second on a real server, with 64 callers over 1,000 partitions. It also
// prints the ratio to one exchange for each decision, measured in the same run.
func BenchmarkStore(b *testing.B) {
	const callers, n = 64, 30_000
	url, _ := startRedis(b)
	store, err := OpenRedis(url)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	limit := redisParse(b, "gcra,rate=100/s,burst=20")
	run := func(atOnce, most int) float64 {
		d, err := store.Decider(limit)
		if err != nil {
			b.Fatal(err)
		}
		d.(*decider).flights.atOnce, d.(*decider).flights.most = atOnce, most
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
		return n / time.Since(began).Seconds()
	}
	run(callers, 1)
	for b.Loop() {
		alone := run(callers, 1)
		shared := run(maxFlights, maxCalls)
		b.ReportMetric(shared, "decisions/s")
		b.ReportMetric(shared/alone, "shared/alone")
	}
	b.ReportMetric(0, "ns/op")
}
