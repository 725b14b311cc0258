package load

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A recording that is too long for memory has each request that the target received, once. That holds for all
// shapes and for late answers. Its beginning is like the recording of a run that was stopped.
func TestALongRecordingIsWhole(t *testing.T) {
	var mu sync.Mutex
	n := 0
	virtual(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		mine := n
		mu.Unlock()
		time.Sleep(time.Duration(mine%7) * time.Millisecond)
		switch {
		case mine%50 == 0:
			time.Sleep(3 * time.Second) // no answer comes in time
		case mine%3 == 0:
			w.Header().Set("Retry-After", strconv.Itoa(mine))
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}, func(t *testing.T, o Options) {
		o.Timeout = time.Second
		o.Spill = func() (timeline.Spill, error) { return os.CreateTemp(t.TempDir(), "spill") }
		steady := each(200, time.Millisecond, "k", 20)
		r := newRecorder(schedule(
			timeline.Phase{Name: "burst", Shape: timeline.AtOnce, Arrivals: each(20, 0, "k", 0)},
			timeline.Phase{Name: "steady", Shape: timeline.Constant, Requests: 200, Partitions: []string{"k"},
				Arrive: func(i int) timeline.Arrival { return steady[i] }},
			timeline.Phase{Name: "closed", Shape: timeline.Closed, Clients: 5, Duration: 4 * time.Second,
				Partitions: []string{"a", "b"}},
		), must(o.Complete()))
		if err := r.check(); err != nil || !r.long {
			t.Fatalf("it is not kept out of memory, or cannot be sent: %v", err)
		}
		r.most = 200
		tl := r.record(t.Context())
		defer tl.Spool.Close()
		all := &timeline.Timeline{Header: tl.Header}
		for x := range tl.All() {
			all.Observations = append(all.Observations, *x)
		}
		sane(t, all)
		c := tl.Counts()
		if c.Sent != n || c != all.Counts() || c.Unsent != 0 || c.Sent < 1000 || c.Unknown != n/50 {
			t.Errorf("got %+v of %d requests", c, n)
		}
		kept := 0
		for _, k := range tl.Header.Phases {
			kept += k.Sent
		}
		if kept != n || len(tl.Header.Phases) != 3 {
			t.Errorf("%d requests in the phases %+v, want %d", kept, tl.Header.Phases, n)
		}
		begins(t, tl, all.Observations)
		var written bytes.Buffer
		if err := timeline.Write(&written, tl); err != nil {
			t.Fatal(err)
		}
		again, err := timeline.Read(&written, "x", timeline.ReadOptions{})
		if err != nil || len(again.Observations) != n || again.Counts() != c {
			t.Errorf("written it has %d requests, %v, want %d", len(again.Observations), err, n)
		}
		time.Sleep(4 * time.Second) // until the target has answered everything
	})
}

// begins checks that the observations of tl are the beginning of all.
func begins(t *testing.T, tl *timeline.Timeline, all []timeline.Observation) {
	t.Helper()
	if len(tl.Observations) != 50 {
		t.Fatalf("%d requests at the beginning", len(tl.Observations))
	}
	cut, open := all[50].Sent, 0
	for i, x := range tl.Observations {
		switch y := all[i]; {
		case x.Seq != y.Seq || x.Sent != y.Sent:
			t.Errorf("%d: got %+v, want %+v", i, x, y)
		case y.Answered && y.FirstByte >= cut:
			if open++; x.Answered || x.Error != timeline.Interrupted || x.Outcome != timeline.Unknown {
				t.Errorf("%d: got %+v, whose answer came after %v", i, x, cut)
			}
		case x.Answered != y.Answered || x.Outcome != y.Outcome:
			t.Errorf("%d: got %+v, want %+v", i, x, y)
		}
	}
	if b := tl.Beginning(); open == 0 || !b.Header.Interrupted || b.Spool != nil {
		t.Errorf("%d had no answer yet; header %+v", open, b.Header)
	}
}

// A plan that needs a file for certain is not sent if no file can be made.
func TestALongRecordingNeedsItsFile(t *testing.T) {
	none := errors.New("no room")
	o := Options{URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}}
	o.Spill = func() (timeline.Spill, error) { return nil, none }
	phase := timeline.Phase{Name: "p", Shape: timeline.Constant}
	phase.Arrivals = make([]timeline.Arrival, LongRecording+1)
	for i := range phase.Arrivals {
		phase.Arrivals[i] = timeline.Arrival{Seq: i, Partition: "a", Phase: "p", Cost: 1}
	}
	if _, err := Record(t.Context(), schedule(phase), o); !errors.Is(err, none) {
		t.Errorf("got %v, want that the file cannot be made", err)
	}
}

// A recording that might have been long but is short stays in memory.
func TestARecordingThatStaysShortIsInMemory(t *testing.T) {
	slow := func(http.ResponseWriter, *http.Request) { time.Sleep(time.Millisecond) }
	virtual(t, slow, func(t *testing.T, o Options) {
		o.Spill = func() (timeline.Spill, error) { panic("nothing is spilled") }
		tl := mustRecord(t, schedule(timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 1,
			Requests: LongRecording + 1, Duration: 10 * time.Millisecond, Partitions: []string{"a"}}), o)
		if tl.Spool != nil || len(tl.Observations) != 10 || tl.Header.Unsent != 0 {
			t.Errorf("got %d observations, %d unsent", len(tl.Observations), tl.Header.Unsent)
		}
	})
}
