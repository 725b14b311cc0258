package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestJournalIsTheRecordingSoFar: at each mark the journal has every request that was sent before it. A
// request that was over is as in the recording, any other one is waiting. The last mark has the whole
// recording.
func TestJournalIsTheRecordingSoFar(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Duration(rand.Int64N(int64(900 * time.Millisecond))))
	}
	virtual(t, h, func(t *testing.T, o Options) {
		var b bytes.Buffer
		o.Journal, o.Timeout = timeline.NewJournal(&b, nil), 700*time.Millisecond
		evenly := each(40, 50*time.Millisecond, "k", 10)
		keys := []string{"k"}
		tl := must(Record(context.Background(), schedule(
			timeline.Phase{Name: "gate", Shape: timeline.AtOnce, Arrivals: each(10, 0, "k", 0)},
			timeline.Phase{Name: "open", Shape: timeline.Constant, Arrivals: evenly},
			timeline.Phase{Name: "clients", Shape: timeline.Closed, Clients: 5, Partitions: keys,
				Requests: 30},
		), o))
		time.Sleep(time.Second) // the handlers end
		waited := 0
		for rest := b.Bytes(); ; {
			at := bytes.Index(rest, []byte("\n{\"mark\":"))
			if at < 0 {
				break
			}
			rest = rest[at+1:]
			rest = rest[bytes.IndexByte(rest, '\n'):]
			so := must(timeline.ReadJournal(bytes.NewReader(b.Bytes()[:b.Len()-len(rest)]), "j",
				1000, spillHere(t)))
			waited += soFar(t, tl, so)
			if len(rest) <= 1 {
				if d := cmp.Diff(byNumber(tl), byNumber(so)); d != "" {
					t.Errorf("the whole journal: %s", d)
				}
			}
		}
		if c := tl.Counts(); waited == 0 || c.Unknown == 0 || c.Allowed == 0 {
			t.Errorf("got %d that wait, %+v: too little to see", waited, c)
		}
	})
}

// byNumber indexes the observations by what identifies them. Numbers assigned at the end may differ between
// equal send times.
func byNumber(tl *timeline.Timeline) map[string]int {
	out := map[string]int{}
	for _, o := range tl.Observations {
		out[key(o)]++
	}
	return out
}

func key(o timeline.Observation) string {
	o.Fields = nil
	if o.Phase == "clients" {
		o.Seq = 0
	}
	return fmt.Sprintf("%+v", o)
}

// soFar compares a journal with the recording that followed, and returns how many requests waited at its end.
func soFar(t *testing.T, tl, so *timeline.Timeline) (waited int) {
	t.Helper()
	end := so.Header.Ended
	got := byNumber(so)
	before := 0
	for _, o := range tl.Observations {
		over := o.Done
		if !o.Answered {
			over = max(o.At, o.Sent) + 700*time.Millisecond
		}
		if o.Sent < end {
			before++
		}
		if over < end && got[key(o)] == 0 {
			t.Errorf("until %v: %+v is missing", end, o)
		}
	}
	for _, o := range so.Observations {
		if o.Sent > end || o.FirstByte > end {
			t.Errorf("until %v: %+v came later", end, o)
		}
		if o.Error == timeline.Interrupted {
			waited++
		}
	}
	if len(so.Observations) < before {
		t.Errorf("until %v: got %d requests, %d were sent", end, len(so.Observations), before)
	}
	return waited
}

// full is a device with little free space.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

func (*full) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
func (*full) Close() error                      { return nil }

// TestWhatCannotBeKeptIsNotSent: when the journal cannot be written any more, or the file of a long
// recording, the load stops and the recording says why.
func TestWhatCannotBeKeptIsNotSent(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	slow := func(http.ResponseWriter, *http.Request) { time.Sleep(time.Millisecond) }
	stopped := func(t *testing.T, tl *timeline.Timeline, planned int) {
		t.Helper()
		notes := strings.Join(tl.Header.Notes, "\n")
		sent := tl.Sent()
		if tl.Spool != nil {
			sent = tl.Spool.N
		}
		if sent == 0 || sent > planned/2 || tl.Header.Unsent == 0 ||
			!strings.Contains(notes, "stopped: the recording cannot be kept: no space left") {
			t.Errorf("got %d sent, %d unsent, notes %q", sent, tl.Header.Unsent, notes)
		}
	}
	virtual(t, slow, func(t *testing.T, o Options) {
		o.Journal = timeline.NewJournal(&full{left: 1000}, nil)
		evenly := each(20, 100*time.Millisecond, "k", 0)
		stopped(t, mustRecord(t, schedule(
			timeline.Phase{Name: "a", Shape: timeline.Constant, Arrivals: evenly}), o), 20)
	})
	virtual(t, slow, func(t *testing.T, o Options) {
		o.Spill = func() (timeline.Spill, error) { return &full{}, nil }
		tl := mustRecord(t, schedule(timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 50,
			Requests: LongRecording + 1, Partitions: []string{"a"}}), o)
		defer tl.Close()
		stopped(t, tl, LongRecording)
	})
}

// spillHere makes the files of long recordings.
func spillHere(t *testing.T) func() (timeline.Spill, error) {
	return func() (timeline.Spill, error) { return os.CreateTemp(t.TempDir(), "spill") }
}
