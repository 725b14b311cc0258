//go:build unix

package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/pieces"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// BenchmarkStreamPieces measures a Stream that judges one partition in pieces, under the limits of heldSpecs.
// It reports observations a second of CPU, and the bytes held at its end, in all and for each observation.
func BenchmarkStreamPieces(b *testing.B) {
	for _, text := range heldSpecs {
		limit, err := spec.Parse(cmp.Or(text[1], text[0]))
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range benchSizes() {
			b.Run(fmt.Sprintf("%s/%d", cmp.Or(text[1], text[0]), n), func(b *testing.B) {
				obs := servedLong(b, rand.New(rand.NewPCG(1, uint64(n))), text[0], n, 20_000)
				var took time.Duration
				var held int64
				for b.Loop() {
					before, began := live(), cpuTime()
					s := newStream(limit, timeline.Header{}, Options{SkipMeasure: true}, pieces.Caps{})
					for i := range obs {
						if err := s.Observe(&obs[i]); err != nil {
							b.Fatal(err)
						}
					}
					took += cpuTime() - began
					held = live() - before
					began = cpuTime()
					if j, err := s.Finish(); err != nil || j.Verdict != verdict.Pass {
						b.Fatal(err, kindsOf(j))
					}
					took += cpuTime() - began
				}
				b.ReportMetric(float64(n)*float64(b.N)/took.Seconds()/1e6, "Mobs/cpu-s")
				b.ReportMetric(float64(max(held, 0)), "B-held")
				b.ReportMetric(float64(max(held, 0))/float64(n), "B/obs")
			})
		}
	}
}
