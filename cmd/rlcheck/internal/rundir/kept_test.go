package rundir

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestGarbageIsCollectedOftenWhereMuchIsKept: garbage is collected as usual before that, and after the
// recording is over.
func TestGarbageIsCollectedOftenWhereMuchIsKept(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	for _, tt := range []struct{ kept, want int }{{1 << 20, 100}, {64 << 20, GCPercent}} {
		kept, g := make([]byte, tt.kept), Garbage{}
		for range 1 << 18 {
			if g.Seen(); g.seen == 1 {
				runtime.GC() // counts live memory
			}
		}
		if got := percent(); got != tt.want {
			t.Errorf("%d bytes kept: got %d percent, want %d", tt.kept, got, tt.want)
		}
		if g.Judging(); percent() != GCPercent {
			t.Errorf("%d bytes kept: got %d percent while they are judged, want %d", tt.kept, percent(),
				GCPercent)
		}
		if g.Over(); percent() != 100 {
			t.Errorf("%d bytes kept: got %d percent when it is over, want 100", tt.kept, percent())
		}
		runtime.KeepAlive(kept)
	}
}
