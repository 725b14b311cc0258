package load

import (
	"net/http"
	"testing"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestClientsWithSpellingsOfTheirOwnAskAtOnce: several goroutines make the next requests of such clients at
// the same time.
func TestClientsWithSpellingsOfTheirOwnAskAtOnce(t *testing.T) {
	o := Options{URL: loopbackHTTP(t, func(http.ResponseWriter, *http.Request) {}),
		Partition: Partition{Kind: transport.ByHeader, Name: "X-Api-Key"}, MaxConnections: 8}
	p := timeline.Phase{Name: "p", Shape: timeline.Closed, Clients: 8, Requests: 400,
		Partitions: []string{"a", "b", "c", "d", "e", "f", "g", "h"},
		Request: timeline.Request{
			Spellings: []timeline.Spelling{timeline.Plain, timeline.Upper, timeline.Doubled}}}
	if c := mustRecord(t, schedule(p), o).Counts(); c.Sent != 400 {
		t.Errorf("got %+v, want 400 sent", c)
	}
}
