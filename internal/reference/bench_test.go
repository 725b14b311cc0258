package reference

import (
	"testing"
	"time"
)

// BenchmarkStep measures one decision of each algorithm. The load is ten times the limit, so that one request
// in ten is admitted.
func BenchmarkStep(b *testing.B) {
	for _, spec := range []string{
		"token-bucket,rate=100/s,burst=20",
		"token-bucket,rate=100/s,burst=20,refill=interval,fill=10",
		"gcra,rate=100/s,burst=20",
		"leaky-bucket,rate=100/s,burst=20",
		"leaky-bucket-queue,rate=100/s,queue=20",
		"fixed-window,rate=100/s",
		"sliding-window-log,rate=100/s",
		"sliding-window-log,rate=10000/s",
		"sliding-window-counter,rate=100/s",
		"gcra,rate=100/s,burst=20,tick=1ms",
		"gcra,rate=100/s,burst=20,ban=1ms",
		"token-bucket,rate=100/s,burst=20 + fixed-window,rate=1000/1m",
	} {
		b.Run(spec, func(b *testing.B) {
			s := newSubject(b, spec)
			step := s.limit[0].Rate.Per / time.Duration(10*s.limit[0].Rate.N)
			at := time.Duration(1_800_000_000_000_000_000)
			state := s.limiter.Init()
			b.ReportAllocs()
			for b.Loop() {
				at += step
				state, _ = s.limiter.Step(state, at, 1)
			}
		})
	}
}
