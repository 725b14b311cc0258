package load

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// windows is a fixed-window limiter. Its windows begin at multiples of w on a clock that is off by skew, or
// at the first request of each partition.
type windows struct {
	w, skew time.Duration
	quota   int
	first   bool
	say     func(h http.Header, now, end time.Time, denied bool)
	delay   time.Duration

	mu    sync.Mutex
	begin map[string]time.Time
	count map[string]int
	// edge is, for each partition, the end of the window before the current one.
	edge map[string]time.Time
}

func (l *windows) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(l.delay)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begin == nil {
		l.begin, l.count, l.edge = map[string]time.Time{}, map[string]int{}, map[string]time.Time{}
	}
	key, now := r.Header.Get("X-Api-Key"), time.Now().Add(l.skew)
	begin := l.begin[key]
	if now.Sub(begin) >= l.w {
		l.edge[key] = begin.Add(l.w)
		begin = now
		if !l.first {
			begin = now.Add(-time.Duration(now.UnixNano() % int64(l.w)))
			l.edge[key] = begin
		}
		l.begin[key], l.count[key] = begin, 0
	}
	l.count[key]++
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	denied := l.count[key] > l.quota
	if l.say != nil {
		l.say(w.Header(), now, begin.Add(l.w), denied)
	}
	if denied {
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

func (l *windows) handler() http.HandlerFunc { return l.ServeHTTP }

func TestBoundaryIsFound(t *testing.T) {
	reset := func(value func(now, end time.Time) int64) func(http.Header, time.Time, time.Time, bool) {
		return func(h http.Header, now, end time.Time, _ bool) {
			h.Set("X-RateLimit-Reset", strconv.FormatInt(value(now, end), 10))
			h.Set("X-RateLimit-Limit", "20")
			h.Set("X-RateLimit-Remaining", "1")
		}
	}
	for name, tt := range map[string]struct {
		l      *windows
		aim    timeline.Aim
		probes int
	}{
		"clock, target's clock behind": {&windows{w: 10 * time.Second, skew: -437 * ms}, timeline.AimClock,
			0},
		"clock, far off": {&windows{w: 7 * time.Second, skew: 999*time.Hour + 1*ms,
			delay: 3 * ms}, timeline.AimClock, 0},
		"first": {&windows{w: 2 * time.Second, first: true}, timeline.AimFirst, 0},
		"reset, wait rounded up": {&windows{w: 9700 * ms, skew: 123 * ms, first: true,
			say: reset(func(now, end time.Time) int64 {
				return int64((end.Sub(now) + time.Second - 1) / time.Second)
			})}, timeline.AimReset, 0},
		"reset, instant in seconds": {&windows{w: 10 * time.Second,
			say: reset(func(_, end time.Time) int64 { return end.Unix() })}, timeline.AimReset, 0},
		"reset, instant in ms": {&windows{w: 1500 * ms, first: true,
			say: reset(func(_, end time.Time) int64 { return end.UnixMilli() })}, timeline.AimReset, 0},
		"probe": {&windows{w: time.Second, skew: 333 * ms}, timeline.AimProbe, 100},
	} {
		t.Run(name, func(t *testing.T) {
			tt.l.quota = 20
			virtual(t, tt.l.handler(), func(t *testing.T, o Options) {
				boundaryCase(t, o, tt.l, tt.aim, tt.probes)
			})
		})
	}
}

// boundaryCase sends 10 requests 40 ms before a boundary and 20 requests 40 ms after it. It checks that the
// target saw them on these sides.
func boundaryCase(t *testing.T, o Options, l *windows, aim timeline.Aim, probes int) {
	var arrivals []timeline.Arrival
	for i := range 30 {
		at := -40 * ms
		if i >= 10 {
			at = 40 * ms
		}
		arrivals = append(arrivals, timeline.Arrival{Partition: "k", At: at, Cost: 1})
	}
	zero := time.Now()
	tl := mustRecord(t, schedule(
		timeline.Phase{Name: "b", Shape: timeline.Boundary, Aim: aim, Window: l.w, ProbeRequests: probes,
			Arrivals: arrivals},
		timeline.Phase{Name: "after", Shape: timeline.Constant, Arrivals: each(1, 0, "z", 0)},
	), o)
	got := sends(tl, "b")
	if len(got) != 30 || tl.Header.Unsent != 0 {
		t.Fatalf("got %d requests, notes %q", len(got), tl.Header.Notes)
	}
	edge := l.edge["k"]
	before, after := zero.Add(l.skew+got[0]).Sub(edge), zero.Add(l.skew+got[29]).Sub(edge)
	if before >= 0 || before < -75*ms || after < 0 || after > 75*ms {
		t.Errorf("groups at %v and %v of the boundary, want -40ms and 40ms; notes %q", before, after,
			tl.Header.Notes)
	}
	for _, s := range tl.Header.Spreads {
		if s.Width != 0 {
			t.Errorf("a group was spread over %v", s.Width)
		}
	}
	n := len(sends(tl, "b-aim"))
	if most := map[timeline.Aim]int{timeline.AimClock: 12, timeline.AimReset: 6, timeline.AimFirst: 1,
		timeline.AimProbe: 2*probes + 1}[aim]; n < 1 || n > most {
		t.Errorf("aiming took %d requests, want 1 to %d", n, most)
	}
	for _, o := range tl.Observations {
		if (o.Phase == "after") != (o.Seq == 0) {
			t.Errorf("got seq %d in phase %s, want 0 for the phase after: its number was planned", o.Seq,
				o.Phase)
		}
	}
	if c := tl.Counts(); c.Planned != 31+n {
		t.Errorf("got %+v", c)
	}
}

func TestAnUnknownBoundaryIsToldAndNothingSent(t *testing.T) {
	var jump time.Duration
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		p    timeline.Phase
		want string
	}{
		"no date": {func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = nil },
			timeline.Phase{Aim: timeline.AimClock, Window: time.Second}, "no valid Date"},
		"no reset": {ok, timeline.Phase{Aim: timeline.AimReset, Window: time.Second},
			"no answer announces a reset"},
		"not drained": {ok, timeline.Phase{Aim: timeline.AimProbe, Window: time.Second, ProbeRequests: 5},
			"5 requests did not drain"},
		"never admitted again": {(&windows{w: time.Hour}).handler(),
			timeline.Phase{Aim: timeline.AimProbe, Window: time.Second, ProbeRequests: 5},
			"not admitted again"},
		"too short": {ok, timeline.Phase{Aim: timeline.AimFirst, Window: 50 * ms}, "leaves no time"},
		"clock that jumps": {func(w http.ResponseWriter, _ *http.Request) {
			jump += time.Hour
			w.Header().Set("Date", time.Now().Add(jump).UTC().Format(http.TimeFormat))
		}, timeline.Phase{Aim: timeline.AimClock, Window: time.Second}, "contradict"},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, tt.h, func(t *testing.T, o Options) {
				p := tt.p
				p.Name, p.Shape = "b", timeline.Boundary
				p.Arrivals = []timeline.Arrival{{Partition: "k", At: -10 * ms}, {Partition: "k", At: 10 * ms}}
				tl := mustRecord(t, schedule(p), o)
				if len(sends(tl, "b")) != 0 || tl.Header.Unsent != 2 {
					t.Errorf("got %d sent, %d unsent", len(sends(tl, "b")), tl.Header.Unsent)
				}
				if notes := strings.Join(tl.Header.Notes, "\n"); !strings.Contains(notes, tt.want) {
					t.Errorf("got notes %q, want %q in them", notes, tt.want)
				}
			})
		})
	}
}
