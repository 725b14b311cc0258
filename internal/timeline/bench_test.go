package timeline

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// benchLines is a recording of n answered requests of 16 partitions with two header fields each.
func benchTimeline(n int) *Timeline {
	t := &Timeline{Header: Header{Started: time.Unix(1_800_000_000, 0).UTC()}}
	for i := range n {
		at := time.Duration(i) * 100 * time.Microsecond
		o := Observation{
			Arrival: Arrival{Seq: i, Partition: fmt.Sprint("client-", i%16), Phase: "overload", At: at,
				Cost: 1},
			Sent: at + 1021, FirstByte: at + 181_220, Done: at + 190_112, Answered: true, Status: 200,
			Outcome: Allowed,
		}
		if i%10 > 0 {
			o.Status, o.Outcome = 429, Denied
			o.Fields = Fields{{"Retry-After", fmt.Sprint(i % 7)}}
		}
		t.Observations = append(t.Observations, o)
	}
	return t
}

func BenchmarkWrite(b *testing.B) {
	tl := benchTimeline(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, tl); err != nil {
			b.Fatal(err)
		}
	}
	perObservation(b, len(tl.Observations))
}

func BenchmarkRead(b *testing.B) {
	const n = 10_000
	var plain bytes.Buffer
	if err := Write(&plain, benchTimeline(n)); err != nil {
		b.Fatal(err)
	}
	// An unknown object in every line keeps the fast path off.
	slow := bytes.ReplaceAll(plain.Bytes(), []byte(`{"seq"`), []byte(`{"x":{},"seq"`))
	for _, c := range []struct {
		name string
		text []byte
		csv  bool
	}{{"fast", plain.Bytes(), false}, {"slow", slow, false}, {"csv", csvOf(b, benchTimeline(n)), true}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				r := NewReader(bytes.NewReader(c.text), "bench", Options{})
				if c.csv {
					r = NewCSVReader(bytes.NewReader(c.text), "bench", Options{})
				}
				if got := drain(b, r); got != n {
					b.Fatalf("read %d observations, want %d", got, n)
				}
			}
			perObservation(b, n)
		})
	}
}

// BenchmarkSpool is what a long recording costs where it waits to be judged: the time and the bytes of a
// request of a closed loop, and the time to read it again.
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
	tl := benchTimeline(100_000)
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

func drain(tb testing.TB, r *Reader) int {
	var o Observation
	for n := 0; ; n++ {
		if err := r.Next(&o); err == io.EOF {
			return n
		} else if err != nil {
			tb.Fatal(err)
		}
	}
}
