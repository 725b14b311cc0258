package timeline

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// BenchmarkSpool measures what a long recording costs until it is judged. It reports the time and the bytes
// of a request of a closed loop, and the time to read it again.
func BenchmarkSpool(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	const n = 100_000
	all := make([]Observation, n)
	var f Fields
	for i := range all {
		at := time.Duration(i*16_000 + random.IntN(8000))
		if i%1000 == 0 {
			f = Fields{{"Content-Type", "text/plain"}, {"Date", fmt.Sprint(i)}}
		}
		took := time.Duration(900_000 + random.IntN(300_000))
		all[i] = Observation{Arrival: Arrival{Seq: -1, Partition: fmt.Sprint("client-", random.IntN(64)),
			Phase: "p", At: at, Cost: 1}, Sent: at, FirstByte: at + took, Done: at + took, Answered: true,
			Outcome: Allowed, Status: 200, Fields: f}
	}
	var s *Spool
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			s = NewSpool(func() (Spill, error) { return os.CreateTemp(b.TempDir(), "s") })
			for i := range all {
				s.Add(&all[i])
			}
		}
		perObservation(b, n)
		b.ReportMetric(float64(s.shelf.size+int64(len(s.block)))/n, "B/observation")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			s.Each(func(*Observation) bool { return true })
		}
		perObservation(b, n)
	})
}

func BenchmarkByPartition(b *testing.B) {
	tl := numbered(100_000)
	b.ReportAllocs()
	for b.Loop() {
		if got := len(tl.ByPartition()); got != 16 {
			b.Fatalf("%d parts, want 16", got)
		}
	}
	perObservation(b, len(tl.Observations))
}

func perObservation(b *testing.B, n int) {
	ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(n)
	b.ReportMetric(ns, "ns/observation")
	b.ReportMetric(1e9/ns, "observations/s")
}
