//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// BenchmarkCheck measures all of `rlcheck check -`, from NDJSON to the verdict, in a process of its own. It
// reports observations a second of its CPU, and of the time that passed; some of that is spent writing the
// recording. It also reports the most memory held. Its x-shortest is the cost of an observation relative to
// that in the shortest recording. That is 1 where the cost is linear. It is less here, since short recordings
// are also searched exactly and measured whole.
func BenchmarkCheck(b *testing.B) {
	sizes := []int{10_000, 100_000, 1_000_000}
	if os.Getenv("RLCHECK_BENCH_LARGE") != "" {
		sizes = append(sizes, 10_000_000)
	}
	for _, c := range []struct {
		spec string
		// share is how many observations a partition has; 0 puts all into one partition.
		share int
	}{
		{"token-bucket,rate=1000/s,burst=100", 0}, {"gcra,rate=1000/s,burst=100", 0},
		{"leaky-bucket,rate=1000/s,burst=100", 0},
		{"sliding-window-log,rate=100/100ms", 0}, {"fixed-window,rate=100/100ms,phase=30ms", 0},
		{"sliding-window-counter,rate=100/100ms,phase=30ms", 0}, {"token-bucket,rate=1/s,burst=5", 100},
	} {
		shortest := 0.0 // seconds of CPU for an observation
		for _, n := range sizes {
			partitions := 1
			if c.share > 0 {
				partitions = n / c.share
			}
			b.Run(fmt.Sprintf("%s/partitions=%d/%d", c.spec, partitions, n), func(b *testing.B) {
				var cpu, wall float64
				var memory int64
				for b.Loop() {
					r := checkMade(b, c.spec, c.spec, n, partitions)
					if r.code != 0 || !strings.HasPrefix(r.out, "PASS") {
						b.Fatalf("got exit code %d, want 0: %.500s", r.code, r.out)
					}
					cpu, wall, memory = cpu+r.cpu.Seconds(), wall+r.wall.Seconds(), max(memory, r.memory)
				}
				each := cpu / float64(n) / float64(b.N)
				if shortest == 0 {
					shortest = each
				}
				b.ReportMetric(1/each/1e6, "Mobs/cpu-s")
				b.ReportMetric(float64(n)*float64(b.N)/wall/1e6, "Mobs/s")
				b.ReportMetric(each/shortest, "x-shortest")
				b.ReportMetric(float64(memory)/1e6, "MB-at-most")
			})
		}
	}
}
