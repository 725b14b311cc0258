package accesslog

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkRead reads the samples over and over. It reports lines a second and memory for each line.
func BenchmarkRead(b *testing.B) {
	for _, c := range samples {
		b.Run(c.file, func(b *testing.B) {
			text, err := os.ReadFile(filepath.Join("testdata", c.file+".log"))
			if err != nil {
				b.Fatal(err)
			}
			lines := bytes.Count(text, []byte("\n"))
			n := 100_000/lines + 1
			log := bytes.Repeat(text, n)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(bytes.NewReader(log), "x", c.o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(lines*n*b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
