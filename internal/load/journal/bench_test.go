package journal

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/audit"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// BenchmarkHotPath is what the journal takes of whoever sends and reads, in CPU: a request is noted when it
// is sent and when it is over. What is done with the notes is done elsewhere.
func BenchmarkHotPath(b *testing.B) {
	j := New(nil, timeline.NewSorter(nil))
	r := new(Request)
	o := &timeline.Observation{Arrival: timeline.Arrival{Partition: "k", Phase: "p", Cost: 1}}
	began := audit.CPUTime()
	for b.Loop() {
		j.Sent(r, &o.Arrival, false, time.Second)
		j.Ended(r, o, false)
		if len(j.events) >= keepMost { // the goroutine of the journal took them
			j.events = j.events[:0]
		}
	}
	b.ReportMetric(float64(audit.CPUTime()-began)/float64(b.N)/2, "cpu-ns/note")
}
