package load

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// decided is the field in which a target states when it decided, in nanoseconds on the clock of the tests.
const decided = "X-Decided-Reset"

// TestSoakOfDecisions checks for every protocol that no decision lies outside of its interval. RLCHECK_SOAK=1
// checks a million decisions each, in about ten minutes. RLCHECK_SOAK=100000 checks that number.
func TestSoakOfDecisions(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("RLCHECK_SOAK"))
	switch n {
	case 0:
		n = 2000
		if testing.Short() {
			n = 60
		}
	case 1:
		n = 1_000_000
	}
	for _, w := range append([]way{{name: "gRPC", h2: true, grpc: true}}, ways...) {
		t.Run(w.name, func(t *testing.T) {
			start := time.Now()
			o, ok := w.serve(t, deciding(start, w.grpc))
			if !ok {
				t.Skip("this machine has no such way")
			}
			if w.grpc {
				o.Header = grpcHeader()
			}
			judged, sent := 0, 0
			for judged < n && !t.Failed() {
				in, of := soakRound(t, o, start, min(n, 100_000))
				judged, sent = judged+in, sent+of
			}
			t.Logf("%s: %d decisions of %d requests, each inside its interval: %v", w.name, judged, sent,
				!t.Failed())
		})
	}
}

// deciding decides when a request is there, and states when. For gRPC it decides after the header block of
// its answer.
func deciding(start time.Time, grpc bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !grpc {
			w.Header().Set(decided, strconv.FormatInt(int64(time.Since(start)), 10))
			return
		}
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		w.(http.Flusher).Flush()
		w.Header().Set(http.TrailerPrefix+decided, strconv.FormatInt(int64(time.Since(start)), 10))
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}
}

// soakRound sends about n requests, eight of ten from clients that send again when they are answered, the
// others in bursts and on schedule. It returns how many decisions it has seen, and of how many requests.
func soakRound(t *testing.T, o Options, start time.Time, n int) (judged, sent int) {
	phases := []timeline.Phase{{Name: "closed", Shape: timeline.Closed, Clients: 32, Requests: n * 8 / 10,
		Partitions: []string{"a", "b", "c", "d"}},
		{Name: "steady", Shape: timeline.Constant, Arrivals: each(n/10, 100*time.Microsecond, "b", 2000)}}
	for i := range 5 {
		phases = append(phases, timeline.Phase{Name: fmt.Sprint("burst", i), Shape: timeline.AtOnce,
			Arrivals: each(min(n/50, 400), 0, "a", i*400)})
	}
	o.Timeout = time.Minute
	r := newRecorder(&timeline.Schedule{Phases: phases}, must(o.Complete()))
	if err := r.check(); err != nil {
		t.Fatal(err)
	}
	tl := r.record(t.Context())
	sane(t, tl)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		text, told := o.Fields.Get(decided)
		if !o.Answered || !told { // some are lost if the machine stands still
			continue
		}
		judged++
		at := time.Duration(must(strconv.ParseInt(text, 10, 64))) - r.clock.Start.Sub(start)
		if at < o.Sent || at > o.FirstByte {
			t.Errorf("#%d (%s): decided at %v, outside [%v, %v]", o.Seq, o.Phase, at, o.Sent, o.FirstByte)
		}
	}
	if judged < n/2 {
		t.Fatalf("%d decisions of %d requests; notes %q", judged, n, tl.Header.Notes)
	}
	return judged, len(tl.Observations)
}
