package ndjson

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestWriterRefusesWhatCouldNotBeRead(t *testing.T) {
	good := timeline.Observation{Arrival: timeline.Arrival{Seq: 1, At: 90, Cost: 1}, Sent: 100,
		FirstByte: 200, Done: 300,
		Answered: true, Status: 200, Outcome: timeline.Allowed}
	for name, change := range map[string]func(o *timeline.Observation){
		"its number is negative":               func(o *timeline.Observation) { o.Seq = -1 },
		"sent -1 ns, due 90 ns: a time is not": func(o *timeline.Observation) { o.Sent = -1 },
		"sent 100 ns, due -1 ns: a time is":    func(o *timeline.Observation) { o.At = -1 },
		"sent 49 ns: before the one before it": func(o *timeline.Observation) { o.Sent = 49 },
		"first byte 99 ns: before it was sent": func(o *timeline.Observation) { o.FirstByte = 99 },
		"done 199 ns: before":                  func(o *timeline.Observation) { o.Done = 199 },
		"done 99 ns: before": func(o *timeline.Observation) {
			o.Done, o.Answered = 99,
				false
		},
		"observer -1: they are numbered": func(o *timeline.Observation) { o.Observer = -1 },
		"cost 0: a cost is at least 1":   func(o *timeline.Observation) { o.Cost = 0 },
		"status 1000":                    func(o *timeline.Observation) { o.Status = 1000 },
		"status -1":                      func(o *timeline.Observation) { o.Status = -1 },
		"outcome 3: no such outcome":     func(o *timeline.Observation) { o.Outcome = 3 },
		`partition "\xff"`:               func(o *timeline.Observation) { o.Partition = "\xff" },
		"bytes: a line has at most 1048576": func(o *timeline.Observation) {
			o.Body = strings.Repeat("\x00",
				MaxLine/6)
		},
	} {
		var b bytes.Buffer
		w := NewWriter(&b)
		first := timeline.Observation{Arrival: timeline.Arrival{Cost: 1}, Sent: 50}
		if err := w.Observe(&first); err != nil {
			t.Fatal(err)
		}
		bad := good
		change(&bad)
		if err := w.Observe(&bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
		if err := errors.Join(w.Observe(&good), w.Flush()); err != nil {
			t.Errorf("after %q: %v", name, err)
		}
		if got := mustRead(t, b.Bytes()); len(got.Observations) != 2 || got.Observations[1].Sent != 100 {
			t.Errorf("after %q: %+v", name, got.Observations)
		}
	}
}

func TestWriterRefusesHeadersThatCouldNotBeRead(t *testing.T) {
	for name, h := range map[string]timeline.Header{
		"wall_error_ns -1: the value may not be negative": {WallError: -1},
		"drift_ppm -1: the value may not be negative":     {DriftPPM: -1},
		"drift_ppm 100001: the value is at most 100000":   {DriftPPM: 100_001},
		"unsent -1":          {Unsent: -1},
		"NaN":                {Audit: timeline.Audit{CPUShare: math.NaN()}},
		"a line has at most": {Notes: []string{strings.Repeat("x", MaxLine)}},
	} {
		if err := NewWriter(&bytes.Buffer{}).Header(h); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
	w := NewWriter(&bytes.Buffer{})
	w.Observe(&timeline.Observation{Arrival: timeline.Arrival{Cost: 1}})
	if err := w.Header(timeline.Header{}); err == nil {
		t.Error("a header after an observation is written")
	}
}

// fullDisk accepts whole writes until it is full.
type fullDisk struct {
	b    bytes.Buffer
	left int
}

var errFull = errors.New("disk full")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errFull
	}
	return d.b.Write(p)
}

func TestWhatReachedAFullDiskIsReadable(t *testing.T) {
	d := &fullDisk{left: 1 << 20}
	if err := Write(d, benchTimeline(20_000)); !errors.Is(err, errFull) {
		t.Fatalf("got %v, want %v", err, errFull)
	}
	got := mustRead(t, d.b.Bytes())
	if n := len(got.Observations); n < 2000 || n >= 20_000 {
		t.Errorf("%d observations, want some thousand", n)
	}
	same(t, got, benchTimeline(len(got.Observations)))
}

func TestAWriterThatFailedGoesOnFailing(t *testing.T) {
	w := NewWriter(&fullDisk{})
	o := timeline.Observation{Arrival: timeline.Arrival{Cost: 1}}
	w.Observe(&o)
	for range 2 {
		if err := w.Flush(); err != errFull {
			t.Errorf("flush: got %v, want %v", err, errFull)
		}
		if err := w.Observe(&o); err != errFull {
			t.Errorf("observe: got %v, want %v", err, errFull)
		}
		if err := w.Header(timeline.Header{}); err != errFull {
			t.Errorf("header: got %v, want %v", err, errFull)
		}
	}
}

// TestARecordingWhoseFileIsLostIsNotWritten: the part that is left would be taken for the whole.
func TestARecordingWhoseFileIsLostIsNotWritten(t *testing.T) {
	s := timeline.NewSpool(func() (timeline.Spill, error) { return nil, errFull })
	for i := range 40_000 {
		s.Add(&timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Error: "timeout " +
			strconv.Itoa(i)})
	}
	if err := Write(io.Discard, &timeline.Timeline{Spool: s}); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}
