package timeline

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestARecordingThatWasPackedWhileItWasMadeIsTheSame, also with a header of several blocks. Where it has
// other numbers, was changed, or its order cost a second run, it is packed anew.
func TestARecordingThatWasPackedWhileItWasMadeIsTheSame(t *testing.T) {
	all := manyObservations(25_000, rand.New(rand.NewPCG(*seed, 6)))
	header := Header{Notes: slices.Repeat([]string{strings.Repeat("note ", 1000)}, 20)}
	for name, tt := range map[string]struct {
		free   int
		all    []Observation
		change func(o *Observation)
		await  bool
		anew   bool
	}{
		"in order":       {free: 7, all: all},
		"other numbers":  {free: 8, all: all, anew: true},
		"changed":        {free: 7, all: all, change: func(o *Observation) { o.Partition = "x" }, anew: true},
		"in two runs":    {free: 7, all: slices.Concat(all[9000:], all[:9000]), anew: true},
		"awaited":        {free: 7, all: slices.Concat(all[1:301], all[:1], all[301:]), await: true},
		"awaited long":   {free: 7, all: slices.Concat(all[9000:], all[:9000]), await: true, anew: true},
		"in one segment": {free: 7, all: all[:3], anew: true},
	} {
		t.Run(name, func(t *testing.T) {
			sorter := NewSorter(tempFile(t))
			sorter.window = 100
			sorter.Pack(7)
			if tt.await {
				sorter.Await(all[0].Sent)
			}
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
