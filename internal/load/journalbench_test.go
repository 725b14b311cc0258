package load

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/audit"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// BenchmarkHotPath is what the journal takes of whoever sends and reads, in CPU: a request is noted when it
// is sent and when it is over. What is done with the notes is done elsewhere.
func BenchmarkHotPath(b *testing.B) {
	j := newJournal(&Options{Spill: func() (timeline.Spill, error) { return nil, nil }}, true)
	s := &shot{obs: &timeline.Observation{Arrival: timeline.Arrival{Partition: "k", Phase: "p", Cost: 1}},
		owner: &phase{}}
	began := audit.CPUTime()
	for b.Loop() {
		j.sent(s, time.Second)
		j.ended(s)
		if len(j.events) >= keepMost { // the goroutine of the journal took them
			j.events = j.events[:0]
		}
	}
	b.ReportMetric(float64(audit.CPUTime()-began)/float64(b.N)/2, "cpu-ns/note")
}
