package transport

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// BenchmarkHotPath measures the processor time that the journal costs senders and readers: each request is
// noted when it is sent and when it is over. The notes are processed elsewhere.
func BenchmarkHotPath(b *testing.B) {
	j := NewJournal(nil, timeline.NewSorter(nil))
	r := new(JournalRequest)
	o := &timeline.Observation{Arrival: timeline.Arrival{Partition: "k", Phase: "p", Cost: 1}}
	began := CPUTime()
	for b.Loop() {
		j.Sent(r, &o.Arrival, false, time.Second)
		j.Ended(r, o, false)
		if len(j.events) >= keepMost { // as if the goroutine of Keep had taken them
			j.events = j.events[:0]
		}
	}
	b.ReportMetric(float64(CPUTime()-began)/float64(b.N)/2, "cpu-ns/note")
}
