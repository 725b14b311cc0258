package timeline

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"
)

// benchTimeline is a recording of n answered requests of 16 partitions, with two header fields each.
func benchTimeline(n int) *Timeline {
	t := &Timeline{Header: Header{Started: time.Unix(1_800_000_000, 0).UTC()}}
	for i := range n {
		at := time.Duration(i) * 100 * time.Microsecond
		o := Observation{
			Arrival: Arrival{Seq: i, Partition: fmt.Sprint("client-", i%16), Phase: "overload",
				At:   at,
				Cost: 1},
			Sent: at + 1021, FirstByte: at + 181_220, Done: at + 190_112, Answered: true, Status: 200,
			Outcome: Allowed,
		}
		if i%10 > 0 {
			o.Status, o.Outcome = 429, Denied
			o.Fields = Fields{{Name: "Retry-After", Value: fmt.Sprint(i % 7)}}
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
	// An unknown object in every line keeps the reader off the fast path.
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
				r := NewReader(bytes.NewReader(c.text), "bench", ReadOptions{})
				if c.csv {
					r = NewCSVReader(bytes.NewReader(c.text), "bench", ReadOptions{})
				}
				if got := drain(b, r); got != n {
					b.Fatalf("read %d observations, want %d", got, n)
				}
			}
			perObservation(b, n)
		})
	}
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
