package load

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestALedgerHasWhatWasNotDropped: a ledger keeps the observations that were not dropped, in order. They are
// in one chunk if their number was known.
func TestALedgerHasWhatWasNotDropped(t *testing.T) {
	const n = 3000
	for _, most := range []int{0, n, n / 2} {
		l := ledger{most: most}
		var places []*timeline.Observation
		for i := range n {
			o := l.next()
			o.Seq, o.Cost = i, 1
			places = append(places, o)
		}
		one := len(l.chunks) == 1
		for _, i := range []int{0, 1, 63, 1500, n - 1} {
			l.drop(places[i])
		}
		all := l.takeTo(nil)
		if len(all) != n-5 || l.n != 0 || one != (most == n) || one && &all[0] != places[0] {
			t.Fatalf("most %d: got %d of %d, one chunk: %v; it keeps %d", most, len(all), n, one, l.n)
		}
		last := 1
		for _, o := range all {
			if o.Cost == 0 || o.Seq <= last || o.Seq == 63 || o.Seq == 1500 || o.Seq == n-1 {
				t.Fatalf("most %d: got #%d of cost %d after #%d", most, o.Seq, o.Cost, last)
			}
			last = o.Seq
		}
	}
}
