package timeline

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestWriterRefusesWhatCouldNotBeRead(t *testing.T) {
	good := Observation{Arrival: Arrival{Seq: 1, At: 90, Cost: 1}, Sent: 100,
		FirstByte: 200, Done: 300,
		Answered: true, Status: 200, Outcome: Allowed}
	for name, change := range map[string]func(o *Observation){
		"seq -1: observations are numbered":     func(o *Observation) { o.Seq = -1 },
		"sent_ns -1: times count from":          func(o *Observation) { o.Sent = -1 },
		"at_ns -1: times count from":            func(o *Observation) { o.At = -1 },
		"sent_ns 49: the observation before it": func(o *Observation) { o.Sent = 49 },
		"first_byte_ns 99: before it was sent":  func(o *Observation) { o.FirstByte = 99 },
		"done_ns 199: before its first byte":    func(o *Observation) { o.Done = 199 },
		"done_ns 99: before it was sent": func(o *Observation) {
			o.Done, o.Answered = 99,
				false
		},
		"observer: observers are numbered":    func(o *Observation) { o.Observer = -1 },
		"cost -2: a request costs at least 0": func(o *Observation) { o.Cost = -2 },
		"status 1000":                         func(o *Observation) { o.Status = 1000 },
		"status -1":                           func(o *Observation) { o.Status = -1 },
		"outcome 3: no such outcome":          func(o *Observation) { o.Outcome = 3 },
		`partition "\xff"`:                    func(o *Observation) { o.Partition = "\xff" },
		"bytes: a line has at most 1048576": func(o *Observation) {
			o.Body = strings.Repeat("\x00",
				MaxLine/6)
		},
	} {
		var b bytes.Buffer
		w := NewWriter(&b)
		first := Observation{Arrival: Arrival{Cost: 1}, Sent: 50}
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
	for name, h := range map[string]Header{
		"wall_error_ns -1: the value may not be negative": {WallError: -1},
		"drift_ppm -1: the value may not be negative":     {DriftPPM: -1},
		"drift_ppm 100001: the value is at most 100000":   {DriftPPM: 100_001},
		"unsent -1":          {Unsent: -1},
		"NaN":                {Audit: Audit{CPUShare: math.NaN()}},
		"a line has at most": {Notes: []string{strings.Repeat("x", MaxLine)}},
	} {
		if err := NewWriter(&bytes.Buffer{}).Header(h); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
	w := NewWriter(&bytes.Buffer{})
	w.Observe(&Observation{Arrival: Arrival{Cost: 1}})
	if err := w.Header(Header{}); err == nil {
		t.Error("a header after an observation is written")
	}
}

// fullDisk accepts whole writes until it is full.
type fullDisk struct {
	b    bytes.Buffer
	left int
}

var errDiskFull = errors.New("disk full")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errDiskFull
	}
	return d.b.Write(p)
}

func TestWhatReachedAFullDiskIsReadable(t *testing.T) {
	d := &fullDisk{left: 1 << 20}
	if err := Write(d, benchTimeline(20_000)); !errors.Is(err, errDiskFull) {
		t.Fatalf("got %v, want %v", err, errDiskFull)
	}
	got := mustRead(t, d.b.Bytes())
	if n := len(got.Observations); n < 2000 || n >= 20_000 {
		t.Errorf("%d observations, want some thousand", n)
	}
	same(t, got, benchTimeline(len(got.Observations)))
}

func TestAWriterThatFailedGoesOnFailing(t *testing.T) {
	w := NewWriter(&fullDisk{})
	o := Observation{Arrival: Arrival{Cost: 1}}
	w.Observe(&o)
	for range 2 {
		if err := w.Flush(); err != errDiskFull {
			t.Errorf("flush: got %v, want %v", err, errDiskFull)
		}
		if err := w.Observe(&o); err != errDiskFull {
			t.Errorf("observe: got %v, want %v", err, errDiskFull)
		}
		if err := w.Header(Header{}); err != errDiskFull {
			t.Errorf("header: got %v, want %v", err, errDiskFull)
		}
	}
}

// TestARecordingWhoseFileIsLostIsNotWritten: the part that is left would be taken for the whole.
func TestARecordingWhoseFileIsLostIsNotWritten(t *testing.T) {
	s := NewSpool(func() (Spill, error) { return nil, errDiskFull })
	for i := range 40_000 {
		s.Add(&Observation{Arrival: Arrival{Seq: i, Cost: 1}, Error: "timeout " +
			strconv.Itoa(i)})
	}
	if err := Write(io.Discard, &Timeline{Spool: s}); !errors.Is(err, errDiskFull) {
		t.Errorf("got %v, want %v", err, errDiskFull)
	}
}
