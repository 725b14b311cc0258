package fleet

import (
	"errors"
	"hash/crc32"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// FuzzPieces: whoever writes to the Redis, a piece and a result are refused, or the recording adds up.
func FuzzPieces(f *testing.F) {
	tl := &timeline.Timeline{Observations: []timeline.Observation{{Arrival: timeline.Arrival{Partition: "k",
		Phase: "p", Cost: 1}, Sent: 1, FirstByte: 2, Answered: true, Status: 200, Outcome: timeline.Allowed}}}
	var whole []byte
	r := &result{Counts: tl.Counts()}
	cut := newCutter(r, func(data []byte) error { whole = append(whole, data...); return nil })
	if err := errors.Join(timeline.Write(cut, tl), cut.cut()); err != nil {
		f.Fatal(err)
	}
	f.Add(whole, 1, 0, int64(0), []byte(`{"kind":"done","part":0,"result":{"pieces":1}}`))
	f.Add([]byte("x"), -1, 3, int64(-1), []byte(`{"kind":"ready","part":9}`))
	f.Fuzz(func(t *testing.T, data []byte, sent, unsent int, shift int64, said []byte) {
		s := plan(2)
		sp := timeline.NewShelf(temporary)
		x := &round{c: &Coordinator{Options: Options{Agents: 1, Say: func(string, ...any) {}}},
			g: &Gathered{schedule: s, planned: []int{6}, shelf: sp, parts: make([]part, 1)}, begun: true}
		defer x.g.Close()
		var report report
		if e := (entry{fields: map[string]string{"m": string(said)}}); e.read(&report) == nil &&
			report.Part == 0 {
			_ = x.heard(report) // it is for the coordinator to say
		}
		p := &x.g.parts[0]
		sum := crc32.Checksum(data, castagnoli)
		if err := p.take(entry{fields: map[string]string{"n": "1", "d": string(data),
			"crc": strconv.FormatUint(uint64(sum), 10)}}, sp); err != nil {
			t.Fatal(err)
		}
		p.result = &result{Pieces: 1, CRC: sum, Counts: timeline.Counts{Planned: sent + unsent, Sent: sent,
			Unsent: unsent, Allowed: sent},
			Shift: time.Duration(shift % 1e18)}
		got, err := x.g.Timeline(temporary, math.MaxInt)
		if c := got.Counts(); err == nil && (c.Sent != sent || c.Planned != sent+unsent) {
			t.Errorf("got %+v, want %d sent and %d unsent", c, sent, unsent)
		}
	})
}
