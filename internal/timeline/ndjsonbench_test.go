package timeline

import (
	"bytes"
	"encoding/json"
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
	for _, c := range []struct {
		name string
		text []byte
		csv  bool
	}{{"ndjson", plain.Bytes(), false}, {"csv", csvOf(b, benchTimeline(n)), true}} {
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

// BenchmarkLines prints how many observations a second are read, and how many times faster that is than
// encoding/json in the same run.
func BenchmarkLines(b *testing.B) {
	const n = 10_000
	var plain bytes.Buffer
	if err := Write(&plain, benchTimeline(n)); err != nil {
		b.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(plain.Bytes()), []byte("\n"))[1:]
	var o struct {
		Seq, Status, Cost         int
		Partition, Phase, Outcome string
		At                        int64 `json:"at_ns"`
		Sent                      int64 `json:"sent_ns"`
		FirstByte                 int64 `json:"first_byte_ns"`
		Done                      int64 `json:"done_ns"`
		Fields                    map[string]string
	}
	begun := time.Now()
	for _, line := range lines {
		if err := json.Unmarshal(line, &o); err != nil {
			b.Fatal(err)
		}
	}
	theirs := time.Since(begun)
	for b.Loop() {
		drain(b, NewReader(bytes.NewReader(plain.Bytes()), "bench", ReadOptions{}))
	}
	perObservation(b, n)
	b.ReportMetric(float64(theirs)*float64(b.N)/float64(b.Elapsed()), "times-encoding/json")
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
