package timeline

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestARecordingThatWasPackedWhileItWasMadeIsTheSame: it is the same, even with a header of several blocks.
// It is packed anew if its numbers differ, if it was changed, or if its order cost a second run.
func TestARecordingThatWasPackedWhileItWasMadeIsTheSame(t *testing.T) {
	all := benchTimeline(25_000).Observations
	header := Header{Notes: slices.Repeat([]string{strings.Repeat("note ", 1000)}, 20)}
	for name, tt := range map[string]struct {
		free   int
		all    []Observation
		change func(o *Observation)
		anew   bool
	}{
		"in order":      {free: 7, all: all},
		"other numbers": {free: 8, all: all, anew: true},
		"changed": {free: 7, all: all, change: func(o *Observation) { o.Partition = "x" },
			anew: true},
		"in two runs":    {free: 7, all: slices.Concat(all[8000:], all[:8000]), anew: true},
		"in one segment": {free: 7, all: all[:3], anew: true},
	} {
		t.Run(name, func(t *testing.T) {
			sorter := NewSorter(ndjsonTempFile(t))
			sorter.Beside(NewPacked(ndjsonTempFile(t), 7))
			for _, o := range tt.all {
				o.Seq = -1
				sorter.Add(&o)
			}
			long := &Timeline{Header: header, Spool: sorter.Finish().From(tt.free)}
			defer long.Spool.Close()
			if tt.change != nil {
				long.Spool = long.Spool.With(tt.change)
			}
			var b bytes.Buffer
			if err := Pack(&b, long); err != nil {
				t.Fatal(err)
			}
			same(t, mustRead(t, b.Bytes()), mustRead(t, mustWrite(t, long)))
			var frame zstd.Header
			if err := frame.Decode(b.Bytes()); err != nil || frame.HasCheckSum != tt.anew {
				t.Errorf("got a frame %+v, %v, want one that was packed anew: %t", frame, err, tt.anew)
			}
		})
	}
}
