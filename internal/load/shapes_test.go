package load

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const ms = time.Millisecond

func TestConstantSendsEachRequestAtItsTime(t *testing.T) {
	virtual(t, ok, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "steady", Shape: timeline.Constant, Arrivals: each(4, 10*ms, "k", 0),
				Duration: 100 * ms},
			timeline.Phase{Name: "ramp", Shape: timeline.Ramp,
				Arrivals: []timeline.Arrival{{Seq: 4}, {Seq: 5, At: 30 * ms}, {Seq: 6, At: 50 * ms}}},
		), o)
		want := []time.Duration{0, 10 * ms, 20 * ms, 30 * ms}
		if d := cmp.Diff(want, sends(tl, "steady")); d != "" {
			t.Error(d)
		}
		want = []time.Duration{100 * ms, 130 * ms, 150 * ms}
		if d := cmp.Diff(want, sends(tl, "ramp")); d != "" {
			t.Error(d)
		}
		for i, o := range tl.Observations {
			if o.Seq != i || o.At != o.Sent || o.Outcome != timeline.Allowed || o.Status != 200 ||
				!o.Answered {
				t.Errorf("observation %d: got %+v", i, o)
			}
		}
		if c := tl.Counts(); c.Planned != 7 || c.Allowed != 7 || tl.Header.Ended != 150*ms {
			t.Errorf("got %+v, ended %v", c, tl.Header.Ended)
		}
	})
}

func TestAnOverdueRequestIsSentLateAndTheRestIsCounted(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) { time.Sleep(100 * ms) }
	virtual(t, slow, func(t *testing.T, o Options) {
		o.MaxConnections = 2
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "over", Shape: timeline.Constant, Arrivals: each(10, 10*ms, "k", 0),
				Duration: 250 * ms},
		), o)
		want := []time.Duration{0, 10 * ms, 100 * ms, 110 * ms, 200 * ms, 210 * ms}
		if d := cmp.Diff(want, sends(tl, "over")); d != "" {
			t.Error(d)
		}
		for i, o := range tl.Observations {
			if o.At != time.Duration(i)*10*ms || o.FirstByte != o.Sent+100*ms {
				t.Errorf("observation %d: at %v, sent %v, answered %v", i, o.At, o.Sent, o.FirstByte)
			}
		}
		if c := tl.Counts(); c.Unsent != 4 || c.Planned != 10 {
			t.Errorf("got %+v, want 4 of 10 unsent", c)
		}
	})
}

func TestAtOnceReleasesTogetherAndExactlyAfterASilence(t *testing.T) {
	virtual(t, ok, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "a", Shape: timeline.AtOnce, Arrivals: each(20, 0, "k", 0)},
			timeline.Phase{Name: "rest", Shape: timeline.Silence, Duration: time.Second},
			timeline.Phase{Name: "b", Shape: timeline.AtOnce, Arrivals: each(30, 0, "k", 20)},
		), o)
		for _, at := range sends(tl, "a") {
			if at != settle {
				t.Errorf("got %v, want %v: the gate settles first", at, settle)
			}
		}
		for _, at := range sends(tl, "b") {
			if at != settle+time.Second {
				t.Errorf("got %v, want %v", at, settle+time.Second)
			}
		}
		want := []timeline.Spread{{Phase: "a", Requests: 20}, {Phase: "b", Requests: 30}}
		if d := cmp.Diff(want, tl.Header.Spreads); d != "" {
			t.Error(d)
		}
		if tl.Header.Audit.Connections != 30 || len(tl.Observations) != 50 {
			t.Errorf("got %d connections, %d observations", tl.Header.Audit.Connections, len(tl.Observations))
		}
	})
}

func TestABurstLargerThanTheConnectionsFollowsInWaves(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) { time.Sleep(30 * ms) }
	virtual(t, slow, func(t *testing.T, o Options) {
		o.MaxConnections = 4
		var arrivals []timeline.Arrival
		for i, k := range []string{"a", "a", "b", "b", "a", "b"} {
			arrivals = append(arrivals, timeline.Arrival{Seq: i, Partition: k})
		}
		tl := mustRecord(t, schedule(timeline.Phase{Name: "burst", Shape: timeline.AtOnce,
			Arrivals: arrivals}), o)
		want := []time.Duration{settle, settle, settle, settle, settle + 30*ms, settle + 30*ms}
		if d := cmp.Diff(want, sends(tl, "burst")); d != "" {
			t.Error(d)
		}
		if s := tl.Header.Spreads[0]; s.Requests != 4 {
			t.Errorf("got %d gated, want the 4 that had a connection", s.Requests)
		}
	})
}

func TestClosedClientsSendWhenTheirAnswerCame(t *testing.T) {
	var most, now atomic.Int64
	h := func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(10 * ms)
		now.Add(-1)
	}
	virtual(t, h, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "timed", Shape: timeline.Closed, Clients: 2, Partitions: []string{"a", "b"},
				Duration: 95 * ms, Cost: 3},
			timeline.Phase{Name: "counted", Shape: timeline.Closed, Clients: 3, Partitions: []string{"a"},
				Requests: 7},
		), o)
		if got := sends(tl, "timed"); len(got) != 20 || got[0] != 0 || got[19] != 90*ms {
			t.Errorf("got %v", got)
		}
		want := []time.Duration{95 * ms, 95 * ms, 95 * ms, 105 * ms, 105 * ms, 105 * ms, 115 * ms}
		if d := cmp.Diff(want, sends(tl, "counted")); d != "" {
			t.Error(d)
		}
		for i, o := range tl.Observations {
			if o.Seq != i || o.Cost != map[string]int64{"timed": 3, "counted": 1}[o.Phase] {
				t.Errorf("observation %d: seq %d, cost %d", i, o.Seq, o.Cost)
			}
		}
		if tl.Header.Unsent != 0 || most.Load() > 5 {
			t.Errorf("unsent %d, %d at once", tl.Header.Unsent, most.Load())
		}
	})
}

// TestFewClientsAskForManyPartitions: each partition is asked equally often, one after the other.
func TestFewClientsAskForManyPartitions(t *testing.T) {
	virtual(t, func(http.ResponseWriter, *http.Request) { time.Sleep(10 * ms) },
		func(t *testing.T, o Options) {
			p := timeline.Phase{Name: "p", Shape: timeline.Closed, Clients: 3, Requests: 14,
				Partitions: []string{"a", "b", "c", "d", "e", "f", "g"}}
			tl := mustRecord(t, schedule(p), o)
			asked := map[string]int{}
			for _, o := range tl.Observations {
				asked[o.Partition]++
			}
			want := map[string]int{"a": 2, "b": 2, "c": 2, "d": 2, "e": 2, "f": 2, "g": 2}
			if d := cmp.Diff(want, asked); d != "" {
				t.Error(d)
			}
			if tl.Header.Unsent != 0 || tl.Header.Ended != 60*ms {
				t.Errorf("%d unsent by %s, want none by 60ms", tl.Header.Unsent, tl.Header.Ended)
			}
		})
}

// TestALastPhaseOfClientsEndsWithItsRequests: a phase with a number of requests and a duration ends with the
// first of the two, unless another phase follows.
func TestALastPhaseOfClientsEndsWithItsRequests(t *testing.T) {
	virtual(t, func(http.ResponseWriter, *http.Request) { time.Sleep(10 * ms) },
		func(t *testing.T, o Options) {
			p := timeline.Phase{Name: "p", Shape: timeline.Closed, Clients: 2, Partitions: []string{"a"},
				Requests: 4, Duration: time.Second}
			last := p
			last.Name = "last"
			tl := mustRecord(t, schedule(p, last), o)
			if got := sends(tl, "last"); len(got) != 4 || got[0] != time.Second {
				t.Errorf("the last phase sent at %v, want four from 1 s on", got)
			}
			if tl.Header.Ended != time.Second+20*ms || tl.Header.Unsent != 0 {
				t.Errorf("ended at %s with %d unsent, want 1.02 s and none", tl.Header.Ended,
					tl.Header.Unsent)
			}
		})
}

func TestMoreClientsThanConnectionsTakeTurns(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) { time.Sleep(10 * ms) }
	virtual(t, slow, func(t *testing.T, o Options) {
		o.MaxConnections = 2
		tl := mustRecord(t, schedule(timeline.Phase{
			Name: "c", Shape: timeline.Closed, Clients: 6, Partitions: []string{"a", "b", "c"}, Requests: 30,
		}), o)
		count := map[string]int{}
		for _, o := range tl.Observations {
			count[o.Partition]++
		}
		if count["a"] < 6 || count["b"] < 6 || count["c"] < 6 || len(tl.Observations) != 30 {
			t.Errorf("got %v of %d, want every partition to have had its turns", count, len(tl.Observations))
		}
	})
}

func TestATimeoutEndsARequestExactlyThen(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	virtual(t, hang, func(t *testing.T, o Options) {
		o.Timeout = 700 * ms
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "hang", Shape: timeline.Constant, Arrivals: each(3, 100*ms, "k", 0)},
			timeline.Phase{Name: "after", Shape: timeline.Constant, Arrivals: each(5, 100*ms, "k", 3)},
		), o)
		if tl.Header.Ended != 900*ms {
			t.Errorf("ended at %v, want 900ms: the last was sent at 200ms", tl.Header.Ended)
		}
		for i, o := range tl.Observations {
			if o.Error != "timeout" || o.Answered {
				t.Errorf("observation %d: got %+v", i, o)
			}
		}
		if c := tl.Counts(); c.Sent != 3 || c.Unsent != 5 || len(tl.Header.Notes) == 0 ||
			!strings.Contains(strings.Join(tl.Header.Notes, " "),
				"no request was answered by the end of phase hang") {
			t.Errorf("got %+v, notes %q", c, tl.Header.Notes)
		}
		if why, gone := transport.CauseUnreachable(tl); !gone ||
			why != "no request was answered: 3 of 3 timeout: no answer came in time" {
			t.Errorf("got %q, %v", why, gone)
		}
	})
}

// TestAPathThatTheTargetDoesNotKnowIsGivenUp: the second phase is sent only if it asks for another path, or
// if an answer was something else than 404.
func TestAPathThatTheTargetDoesNotKnowIsGivenUp(t *testing.T) {
	for name, x := range map[string]struct {
		path   string
		known  int64
		status int
		unsent int
	}{
		"not found":          {"", 0, 404, 5},
		"one denial":         {"", 1, 404, 0},
		"another path later": {"/other", 0, 404, 0},
		"broken":             {"", 0, 502, 0},
	} {
		t.Run(name, func(t *testing.T) {
			left := atomic.Int64{}
			left.Store(x.known)
			h := func(w http.ResponseWriter, r *http.Request) {
				if left.Add(-1) >= 0 {
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				w.WriteHeader(x.status)
			}
			virtual(t, h, func(t *testing.T, o Options) {
				tl := mustRecord(t, schedule(
					timeline.Phase{Name: "first", Shape: timeline.Constant,
						Arrivals: each(20, 10*ms, "k", 0)},
					timeline.Phase{Name: "after", Shape: timeline.Constant,
						Arrivals: each(5, 10*ms, "k", 20), Request: timeline.Request{Path: x.path}},
				), o)
				if c := tl.Counts(); c.Unsent != x.unsent {
					t.Errorf("got %+v, want %d unsent; notes %q", c, x.unsent, tl.Header.Notes)
				}
			})
		})
	}
}

// Clients of a closed phase would ask a target that is down without end; the run gives up.
func TestATargetThatNeverAnswersIsGivenUp(t *testing.T) {
	down := func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }
	virtual(t, down, func(t *testing.T, o Options) {
		o.Timeout = time.Second
		tl := mustRecord(t, schedule(timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 2,
			Partitions: []string{"k"}, Requests: 1_000}), o)
		if most := 2*o.Timeout + 10*time.Second; tl.Header.Ended > most {
			t.Errorf("ended at %v, want within %v", tl.Header.Ended, most)
		}
		notes := strings.Join(tl.Header.Notes, " ")
		if !strings.Contains(notes, "no request was answered in") {
			t.Errorf("got notes %q", notes)
		}
	})
}

func TestATargetThatStopsAnsweringIsStillAsked(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") == "hang" {
			<-r.Context().Done()
		}
	}
	virtual(t, h, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "a", Shape: timeline.Constant, Arrivals: each(2, 10*ms, "k", 0)},
			timeline.Phase{Name: "b", Shape: timeline.Constant, Arrivals: each(2, 10*ms, "hang", 2)},
			timeline.Phase{Name: "c", Shape: timeline.Constant, Arrivals: each(2, 10*ms, "k", 4)},
		), o)
		if c := tl.Counts(); c.Allowed != 4 || c.Unknown != 2 || c.Unsent != 0 || len(tl.Header.Notes) != 1 {
			t.Errorf("got %+v, notes %q", c, tl.Header.Notes)
		}
		if _, gone := transport.CauseUnreachable(tl); gone {
			t.Error("got unreachable, want reached: four were answered")
		}
	})
}

func TestCancelEndsAllAtOnce(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") == "hang" {
			<-r.Context().Done()
		}
		time.Sleep(ms) // in virtual time, answers that take no time make an endless loop
	}
	virtual(t, hang, func(t *testing.T, o Options) {
		for _, p := range []timeline.Phase{
			{Shape: timeline.Constant, Arrivals: each(100, 10*ms, "hang", 0)},
			{Shape: timeline.AtOnce, Arrivals: each(100, 0, "hang", 0)},
			{Shape: timeline.AtOnce, Arrivals: []timeline.Arrival{{At: 0}, {Seq: 1, At: 400 * ms}}},
			{Shape: timeline.Closed, Clients: 3, Partitions: []string{"x", "hang"}, Duration: time.Hour},
			{Shape: timeline.HonorRetryAfter, Clients: 3, Partitions: []string{"hang"}, Requests: 10},
			{Shape: timeline.Silence, Duration: time.Hour},
			{Shape: timeline.Boundary, Aim: timeline.AimClock, Window: time.Hour,
				Arrivals: []timeline.Arrival{{At: -10 * ms}, {At: 10 * ms}}},
		} {
			p.Name = "p"
			o.MaxConnections = 7
			ctx, cancel := context.WithCancel(context.Background())
			start := time.Now()
			time.AfterFunc(135*ms, cancel)
			tl, err := Record(ctx, schedule(p), o)
			if err != nil {
				t.Fatal(err)
			}
			sane(t, tl)
			if took := time.Since(start); took > 235*ms || !tl.Header.Interrupted {
				t.Errorf("%s: ended after %v, interrupted %v", p.Shape, took, tl.Header.Interrupted)
			}
			if c := tl.Counts(); p.Shape == timeline.Constant && (c.Sent != 7 || c.Unsent != 93) {
				t.Errorf("%s: got %+v, want 7 sent (the connections), 93 unsent", p.Shape, c)
			}
			if c := tl.Counts(); len(p.Arrivals) == 2 && p.Shape == timeline.AtOnce &&
				(c.Sent != 1 || c.Unsent != 1) {
				t.Errorf("%s: got %+v, want the group behind its gate to be unsent", p.Shape, c)
			}
			for _, x := range tl.Observations {
				if x.Partition == "hang" && x.Error != "interrupted" {
					t.Errorf("%s: got error %q", p.Shape, x.Error)
				}
			}
		}
	})
}

func TestCeilingsEndTheRunWithANote(t *testing.T) {
	virtual(t, ok, func(t *testing.T, o Options) {
		phases := schedule(
			timeline.Phase{Name: "a", Shape: timeline.Constant, Arrivals: each(10, 10*ms, "k", 0)},
			timeline.Phase{Name: "b", Shape: timeline.Closed, Clients: 2, Partitions: []string{"k"},
				Requests: 10},
			timeline.Phase{Name: "c", Shape: timeline.AtOnce, Arrivals: each(10, 0, "k", 10)},
		)
		for _, max := range []int{1, 10, 13, 20, 25} {
			o := o
			o.MaxRequests = max
			tl := mustRecord(t, phases, o)
			if c := tl.Counts(); c.Sent != max || c.Planned != 30 || tl.Header.Interrupted ||
				len(tl.Header.Notes) != 1 {
				t.Errorf("ceiling %d: got %+v, notes %q", max, c, tl.Header.Notes)
			}
		}
		o.MaxDuration = 45 * ms
		tl := mustRecord(t, phases, o)
		if c := tl.Counts(); c.Sent != 5 || c.Unsent != 25 || tl.Header.Ended != 45*ms ||
			len(tl.Header.Notes) != 1 {
			t.Errorf("got %+v, notes %q", c, tl.Header.Notes)
		}
	})
}

// TestACeilingCutsPhasesOfClientsShort: a ceiling ends a phase with a duration early, and the requests that
// its clients would have sent count as unsent. Otherwise the run would look complete.
func TestACeilingCutsPhasesOfClientsShort(t *testing.T) {
	denied := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(10 * ms)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	clients := func(name string, shape timeline.Shape) timeline.Phase {
		return timeline.Phase{Name: name, Shape: shape, Clients: 2, Partitions: []string{"k"}, Requests: 1000,
			Duration: 5 * time.Second,
			Retry:    timeline.Retry{Policy: timeline.RetryFixed, Base: 100 * ms}}
	}
	virtual(t, denied, func(t *testing.T, o Options) {
		for _, shape := range []timeline.Shape{timeline.Closed, timeline.HonorRetryAfter, timeline.Backoff} {
			for requests, duration := range map[int]time.Duration{3: 0, 0: 1500 * ms} {
				o := o
				o.MaxRequests, o.MaxDuration = requests, duration
				tl := mustRecord(t, schedule(clients("a", shape), clients("b", shape)), o)
				if c := tl.Counts(); c.Unsent != 4 || tl.Header.Interrupted {
					t.Errorf("%s, at most %d requests, %v: got %+v, want the two clients of two phases to "+
						"have one unsent each", shape, requests, duration, c)
				}
			}
			o := o
			o.MaxDuration = 5*time.Second + ms
			if c := mustRecord(t, schedule(clients("a", shape)), o).Counts(); c.Unsent != 0 {
				t.Errorf("%s: got %+v of a phase that was over, want none unsent", shape, c)
			}
		}
	})
}

func TestProgressIsToldAndAddsUp(t *testing.T) {
	virtual(t, ok, func(t *testing.T, o Options) {
		var got []Progress
		o.Progress = func(p Progress) { got = append(got, p) }
		mustRecord(t, schedule(timeline.Phase{Name: "a", Shape: timeline.Constant,
			Arrivals: each(50, 10*ms, "k", 0)}), o)
		if len(got) < 4 || len(got) > 6 {
			t.Fatalf("told %d times in 490 ms", len(got))
		}
		last := got[len(got)-1]
		if want := (Progress{Allowed: 50, Sent: 50, Planned: 50, Phase: "a"}); last != want {
			t.Errorf("got %+v, want %+v", last, want)
		}
	})
}
