package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// target logs when each request was decided, by the clock of the test.
type target struct {
	mu   sync.Mutex
	at   map[int]time.Time
	last time.Time
	// twice counts requests that came more than once.
	twice int
}

func (x *target) decide(seq int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.at[seq].IsZero() {
		x.twice++
	}
	x.at[seq], x.last = time.Now(), time.Now()
}

// until is when the last request was decided.
func (x *target) until() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last
}

// sim is a Sender that sends its part to a target, and reads a clock of its own.
type sim struct {
	clock    crystal
	schedule *timeline.Schedule
	target   *target
	digest   string
	prepares time.Duration
	// prepared is the number of a request that fails while it is prepared, before all begin.
	prepared int
	// frozen stands still while it is set.
	frozen *atomic.Bool
}

// Prepare is that of a Sender.
func (s *sim) Prepare(_ context.Context, w Work) (*timeline.Schedule, string,
	func(context.Context) (*timeline.Timeline, error), error) {
	send := func(ctx context.Context) (*timeline.Timeline, error) {
		time.Sleep(s.prepares)
		return s.send(ctx, w), nil
	}
	return s.schedule, s.digest, send, nil
}

func (s *sim) send(ctx context.Context, w Work) *timeline.Timeline {
	mine := Slice(s.schedule, w.Part, w.Of, ByRequests)
	start, tl := time.Now(), &timeline.Timeline{}
	now := func() time.Duration { return s.clock.now() - s.clock.at(start) }
	planned, _ := mine.Planned()
	due := time.Duration(0)
	if s.prepared > 0 && s.prepared%w.Of == w.Part {
		lost := timeline.Arrival{Seq: s.prepared, Partition: "k", Phase: "burst", Cost: 1}
		tl.Observations = append(tl.Observations, timeline.Observation{Arrival: lost, Sent: now()})
	}
	for i := range mine.Phases {
		p := &mine.Phases[i]
		var ok bool
		if !w.Turns.Meet(ctx, i) {
			break
		}
		if due, ok = w.Turns.Begin(ctx, i, start, due); !ok {
			break
		}
		for _, a := range p.Arrivals {
			if a.Seq == s.prepared && a.Seq > 0 {
				continue
			}
			pause(ctx, due+a.At-now())
			for s.frozen != nil && s.frozen.Load() {
				time.Sleep(ms)
			}
			if ctx.Err() != nil || !w.Turns.Permit() {
				break
			}
			o := timeline.Observation{Arrival: a, Sent: now(), Answered: true, Status: 200,
				Outcome: timeline.Allowed}
			o.Phase, o.At, o.Cost = p.Name, due+a.At, 1
			time.Sleep(30 * us)
			s.target.decide(a.Seq)
			time.Sleep(30 * us)
			o.FirstByte = now()
			tl.Observations = append(tl.Observations, o)
			w.Turns.Tell(Beat{Sent: len(tl.Observations)})
		}
		if due += p.Duration; p.Duration == 0 {
			due = now()
		}
	}
	tl.Header.Ended, tl.Header.Unsent = now(), planned-len(tl.Observations)
	return tl
}

// world is a coordinator and its agents in virtual time.
type world struct {
	*server
	target *target
	plan   *timeline.Schedule
	agents []*sim
	ways   []*way
	ends   []context.CancelFunc
	left   sync.WaitGroup
	// say prints for the agents, and do for the Recording.
	say func(string, ...any)
	do  func(context.Context, timeline.Event) error
	// served are the errors that Serve returned.
	served  []error
	version []string
	// kept counts the requests that agents kept themselves.
	kept atomic.Int64
}

// plan is a schedule of two phases without a planned end, a silence, and a phase with a planned end.
func plan(n int) *timeline.Schedule {
	each := func(name string, from int, gap time.Duration) []timeline.Arrival {
		var out []timeline.Arrival
		for i := range n {
			out = append(out, timeline.Arrival{Seq: from + i, Partition: "k", Phase: name, Cost: 1,
				At: time.Duration(i) * gap})
		}
		return out
	}
	return &timeline.Schedule{Phases: []timeline.Phase{
		{Name: "burst", Shape: timeline.AtOnce, Arrivals: each("burst", 0, 0)},
		{Name: "steady", Shape: timeline.Constant, Arrivals: each("steady", n, 5*ms)},
		{Name: "rest", Shape: timeline.Silence, Duration: 300 * ms},
		{Name: "again", Shape: timeline.Constant, Arrivals: each("again", 2*n, 10*ms),
			Duration: time.Duration(n) * 10 * ms},
	}}
}

// newWorld returns a world with agents whose clocks differ by seconds and by ppm.
func newWorld(agents int, s *timeline.Schedule) *world {
	w := &world{server: newServer(), target: &target{at: map[int]time.Time{}}, plan: s}
	for i := range agents {
		c := crystal{time.Now(), time.Duration(i)*3*time.Second + time.Hour, int64(i)*15 - 20}
		w.agents = append(w.agents, &sim{clock: c, schedule: s, target: w.target, digest: "d"})
		w.ways = append(w.ways, w.to(100*us))
		w.version = append(w.version, "v")
	}
	w.served = make([]error, agents)
	return w
}

// serve starts the agents.
func (w *world) serve(ctx context.Context) {
	for i, a := range w.agents {
		ctx, end := context.WithCancel(ctx)
		w.ends = append(w.ends, end)
		w.left.Go(func() {
			w.served[i] = Serve(ctx, w.ways[i], AgentOptions{Name: fmt.Sprintf("agent-%d", i+1),
				Version: w.version[i], Sender: a, Now: a.clock.now, At: a.clock.at, Say: w.say,
				Keep: func(_ Work, tl *timeline.Timeline) error { w.kept.Add(int64(tl.Sent())); return nil }})
		})
	}
}

// record records once, runs meanwhile during it, and ends the agents.
func (w *world) record(ctx context.Context, parts int, meanwhile func()) (*Gathered, error) {
	return w.recordBy(ctx, w.to(100*us), parts, meanwhile)
}

func (w *world) recordBy(ctx context.Context, conn Conn, parts int, meanwhile func()) (*Gathered, error) {
	serving, end := context.WithCancel(ctx)
	w.serve(serving)
	c, err := Lead(ctx, conn, Options{Run: "r", Version: "v", Agents: parts, Deal: ByRequests,
		Within: 40 * time.Second, Spill: temporary})
	if err != nil {
		end()
		w.left.Wait()
		return nil, err
	}
	if meanwhile != nil {
		w.left.Go(meanwhile)
	}
	g, err := c.Record(ctx, Recording{Digest: "d", Schedule: w.plan, Do: w.do})
	_ = c.Close()
	time.Sleep(5 * time.Second)
	end()
	w.left.Wait()
	return g, err
}

// spooled checks that a recording that is too long for memory is the same.
func spooled(t *testing.T, g *Gathered, tl *timeline.Timeline) {
	t.Helper()
	if tl.Sent() == 0 {
		return
	}
	file := func() (timeline.Spill, error) { return os.CreateTemp(t.TempDir(), "s") }
	long, err := g.Timeline(file, tl.Sent()-1)
	if err != nil || long.Spool == nil {
		t.Fatalf("got %v, and the spool %v", err, long.Spool)
	}
	defer long.Close()
	var all []timeline.Observation
	for o := range long.All() {
		all = append(all, *o)
	}
	if d := cmp.Diff(tl.Observations, all); d != "" {
		t.Errorf("in memory (-), in a file (+):\n%s", d)
	}
}

// sound checks that every request of a recording was decided once, in its interval, and that the numbers add
// up. It returns the recording and the number of its requests.
func (w *world) sound(t *testing.T, g *Gathered) (*timeline.Timeline, int) {
	t.Helper()
	tl, err := g.Timeline(temporary, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	spooled(t, g, tl)
	zero := tl.Header.Started
	seen := map[int]bool{}
	for i, o := range tl.Observations {
		at, decided := w.target.at[o.Seq]
		d := at.Sub(zero)
		// The wall clock of the coordinator is that of the test, apart from the errors in the header.
		from, to := o.Sent-tl.Header.ClockError-g.WallError(), o.FirstByte+tl.Header.ClockError+g.WallError()
		switch {
		case !decided || seen[o.Seq]:
			t.Fatalf("request %d: decided %v, recorded before %v", o.Seq, decided, seen[o.Seq])
		case d < from || d > to:
			t.Fatalf("request %d: decided at %v, recorded in %v..%v", o.Seq, d, from, to)
		case i > 0 && o.Sent < tl.Observations[i-1].Sent:
			t.Fatalf("request %d: sent before the one before it", o.Seq)
		}
		seen[o.Seq] = true
	}
	planned, _ := w.plan.Planned()
	if c := tl.Counts(); c.Planned != planned || w.target.twice > 0 {
		t.Errorf("got %+v, %d were planned; %d came twice", c, planned, w.target.twice)
	}
	return tl, len(seen)
}

// TestFourAgentsRecordAsOne: the clocks of the agents differ by seconds and drift apart. They record each
// request in the log of the target once, with its decision in its interval. The phases begin together.
func TestFourAgentsRecordAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(4, plan(200))
		g, err := w.record(t.Context(), 4, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		tl, n := w.sound(t, g)
		if planned, _ := w.plan.Planned(); n != planned || n != len(w.target.at) || g.Missing() != "" {
			t.Errorf("got %d of %d, missing %q", n, planned, g.Missing())
		}
		if e := tl.Header.ClockError; e < 100*us || e > 400*us { // ways of 100 us, and drift
			t.Errorf("the clock error is %v", e)
		}
		l := timeline.LatencyOf(tl).Allowed // all values are kept as they are: an answer takes 60 us
		if l.Service.Count != int64(n) || l.Corrected.Count != int64(n) || l.Service.Min < 59*us ||
			l.Service.Max > 61*us {
			t.Errorf("got %d values of %d, from %v to %v", l.Service.Count, n, l.Service.Min, l.Service.Max)
		}
		for _, o := range tl.Observations {
			if late := o.Sent - o.At; o.Phase != "burst" && (late < -ms || late > ms) {
				t.Fatalf("request %d of %s was %v late", o.Seq, o.Phase, late)
			}
		}
		for i, err := range w.served {
			if err != nil {
				t.Errorf("agent %d: %v", i+1, err)
			}
		}
		left := 0
		for _, s := range w.streams {
			left += len(s.entries)
		}
		if left > 10 { // the runs and the last words of control
			t.Errorf("%d entries are left in the Redis", left)
		}
	})
}

// TestARequestThatFailsBeforeTheBegin: requests that leave at once are prepared before all begin. If the
// connection of one ends then, it was sent before the begin, and the recording has it.
func TestARequestThatFailsBeforeTheBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2, plan(40))
		for _, a := range w.agents {
			a.prepared = 7
		}
		g, err := w.record(t.Context(), 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		tl, err := g.Timeline(temporary, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		o, next := tl.Observations[0], tl.Observations[1]
		c := tl.Counts()
		if c.Sent != 120 || o.Seq != 7 || o.Answered || o.Sent < 0 || next.Sent-o.Sent < ahead/2 {
			t.Errorf("got %+v, first %+v and then %+v", c, o, next)
		}
		if at := w.target.at[next.Seq].Sub(tl.Header.Started); at < next.Sent || at > next.FirstByte+ms {
			t.Errorf("request %d was decided at %v, recorded in %v..%v", next.Seq, at, next.Sent,
				next.FirstByte)
		}
		if spread := tl.Header.Spreads; len(spread) > 0 && spread[0].Width > 10*ms {
			t.Errorf("the spread is %v", spread)
		}
	})
}

// TestWhatIsDoneFirst: what is to happen to the target before the first request happens once, before it.
func TestWhatIsDoneFirst(t *testing.T) {
	for _, failing := range []error{nil, errors.New("no shell")} {
		synctest.Test(t, func(t *testing.T) {
			s := plan(40)
			s.Phases = append([]timeline.Phase{{Name: "reset", Shape: timeline.Hook,
				Event: timeline.Event{Action: timeline.Count}}}, s.Phases...)
			w := newWorld(2, s)
			done := 0
			w.do = func(context.Context, timeline.Event) error {
				if !w.target.until().IsZero() {
					t.Error("a request was sent before")
				}
				done++
				return failing
			}
			g, err := w.record(t.Context(), 2, nil)
			if done != 1 || (err != nil) != (failing != nil) {
				t.Fatalf("it happened %d times: %v", done, err)
			}
			if err != nil {
				if err.Error() != "reset: no shell" || !w.target.until().IsZero() {
					t.Errorf("got %v, and requests until %v", err, w.target.until())
				}
				return
			}
			defer g.Close()
			w.sound(t, g)
		})
	}
}

// TestAnAgentSaysThatItHearsOfNoRun: an agent that waits for a run says once that its Redis does not answer.
func TestAnAgentSaysThatItHearsOfNoRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, plan(20))
		w.set(func(s *server) { s.down = true })
		var said []string
		w.say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
		ctx, end := context.WithCancel(t.Context())
		w.serve(ctx)
		time.Sleep(20 * time.Second)
		end()
		w.left.Wait()
		if len(said) != 1 || !strings.Contains(said[0], "cannot ask for one: redis: no route") {
			t.Errorf("got %q", said)
		}
	})
}

// temporary makes the file for pieces.
func temporary() (timeline.Spill, error) {
	f, err := os.CreateTemp("", "rlcheck-test-*")
	if err == nil {
		err = os.Remove(f.Name())
	}
	return f, err
}

// faults are what may go wrong. what says why requests are missing, or why nothing was begun; "" means that
// all is right.
var faults = map[string]struct {
	before, during func(w *world)
	parts          int
	what           string
}{
	"killed agent": {nil, func(w *world) {
		w.ways[1].gone.Store(true)
		w.ends[1]()
	}, 3, "agent agent-2"},
	"agent ended": {nil, func(w *world) { w.ends[1]() }, 3, ""},
	"agent stands still": {func(w *world) {
		w.agents[2].frozen = &atomic.Bool{}
		w.ways[2].cut = w.agents[2].frozen.Load // a stopped process exchanges nothing
	},
		func(w *world) {
			w.agents[2].frozen.Store(true)
			time.Sleep(3 * time.Second)
			w.agents[2].frozen.Store(false)
		}, 3, "agent agent-3: it gave no sign of life"},
	"partition":     {nil, func(w *world) { w.ways[0].gone.Store(true) }, 3, "agent agent-1"},
	"dead Redis":    {nil, func(w *world) { w.set(func(s *server) { s.down = true }) }, 3, "did not answer"},
	"full Redis":    {nil, func(w *world) { w.set(func(s *server) { s.full = true }) }, 3, "agent"},
	"slow Redis":    {func(w *world) { slow(w, 3*ms) }, nil, 3, ""},
	"slower still":  {func(w *world) { slow(w, 30*ms) }, nil, 3, "its clock is known only to"},
	"other version": {func(w *world) { w.version[1] = "w" }, nil, 3, "agent agent-2: it has version w"},
	"other plan": {func(w *world) { w.agents[0].digest = "e" }, nil, 3,
		"agent agent-1: it would send something"},
	"too few":     {nil, nil, 4, "3 of 4 agents came"},
	"a spare one": {nil, nil, 2, ""},
	"never ready": {func(w *world) {
		for _, a := range w.agents {
			a.prepares = time.Hour
		}
	}, nil, 2, "no agent came"},
	"way stands still at first": {func(w *world) {
		start := time.Now()
		w.ways[1].cut = func() bool { return time.Since(start) > 110*ms && time.Since(start) < 1200*ms }
	}, nil, 3, ""},
	"clock is set": {nil, func(w *world) { w.set(func(s *server) { s.skew += 200 * ms }) }, 3,
		"its clock is known only to"},
}

func slow(w *world, d time.Duration) {
	for _, x := range w.ways {
		x.there, x.back = func() time.Duration { return d }, func() time.Duration { return d }
	}
}

// TestWhatGoesWrongIsTold: whatever goes wrong, the run is right, or says what is missing and whose it is.
// What is recorded is sound. The load ends within a second.
func TestWhatGoesWrongIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(3, plan(400))
				if f.before != nil {
					f.before(w)
				}
				var wrong time.Time
				g, err := w.record(t.Context(), f.parts, func() {
					for n := 0; n < 100 && w.target.until().IsZero(); n++ {
						time.Sleep(100 * ms)
					}
					time.Sleep(500 * ms)
					if f.during != nil {
						wrong = time.Now()
						f.during(w)
					}
				})
				told := ""
				var never *Unready
				switch {
				case errors.As(err, &never):
					told = never.Why
				case err != nil:
					t.Fatal(err)
				default:
					defer g.Close()
					w.sound(t, g)
					told = g.Missing()
				}
				if f.what == "" && told != "" || !strings.Contains(told, f.what) {
					t.Errorf("got %q, want %q", told, f.what)
				}
				if last := w.target.until(); !wrong.IsZero() && f.what != "" && name != "clock is set" &&
					last.Sub(wrong) > time.Second {
					t.Errorf("the load went on for %v", last.Sub(wrong))
				}
				if never != nil && !w.target.until().IsZero() {
					t.Error("something was sent")
				}
			})
		})
	}
}

// TestNoLoadWithoutACoordinator: when the coordinator is killed or cut off, all agents stop within a second
// and end.
func TestNoLoadWithoutACoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3, plan(400))
		var cut atomic.Bool
		conn := w.to(100 * us)
		conn.cut = cut.Load
		var wrong time.Time
		ctx, cancel := context.WithCancel(t.Context())
		_, _ = w.recordBy(ctx, conn, 3, func() {
			for n := 0; n < 100 && w.target.until().IsZero(); n++ {
				time.Sleep(100 * ms)
			}
			time.Sleep(500 * ms)
			wrong = time.Now()
			cut.Store(true)
		})
		cancel()
		if d := w.target.until().Sub(wrong); d > time.Second || d < 0 {
			t.Errorf("the load went on for %v", d)
		}
		if kept := int(w.kept.Load()); kept == 0 || kept != len(w.target.at) {
			t.Errorf("the agents keep %d requests of %d", kept, len(w.target.at))
		}
		for i, err := range w.served {
			if !errors.Is(err, ErrNoCoordinator) {
				t.Errorf("agent %d ended with %v", i+1, err)
			}
		}
	})
}

// TestADeadRedisLosesNothing: when the Redis dies, the agents keep what they recorded. The run does not say
// that nothing was sent, but how much was sent at least.
func TestADeadRedisLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3, plan(400))
		g, err := w.record(t.Context(), 3, func() {
			for n := 0; n < 100 && w.target.until().IsZero(); n++ {
				time.Sleep(100 * ms)
			}
			time.Sleep(500 * ms)
			w.set(func(s *server) { s.down = true })
		})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		tl, err := g.Timeline(temporary, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		if c := tl.Counts(); c.Lost == 0 || c.Lost != c.Unsent || c.Planned != c.Sent+c.Unsent {
			t.Errorf("got %+v, want all that is not known to be lost", c)
		}
		if !strings.Contains(g.Missing(), "it had sent at least") {
			t.Errorf("got %q, want how much was sent at least", g.Missing())
		}
		if kept := int(w.kept.Load()); kept == 0 || kept != len(w.target.at) {
			t.Errorf("the agents keep %d requests of %d", kept, len(w.target.at))
		}
	})
}

// TestAPartThatIsNone: a part that no run has is refused before its order is read.
func TestAPartThatIsNone(t *testing.T) {
	for _, s := range []shard{{Part: 0, Of: 0}, {Part: 2, Of: 2}, {Part: -1, Of: 2}, {Part: 0, Of: 1 << 40}} {
		turns := &Turns{a: &agent{}, job: &job{shard: s}}
		if err := turns.do(t.Context()); err == nil || !strings.Contains(err.Error(), "no such part") {
			t.Errorf("%+v: got %v", s, err)
		}
	}
}

// TestLostAgentsAreNamed: if only a few are lost, each is named, since another one may have stood still
// beside the lost one.
func TestLostAgentsAreNamed(t *testing.T) {
	g := &Gathered{parts: make([]part, 7)}
	for i, want := range []string{"", "agent b: gone", "agent b: gone; agent c: gone", "", "", "",
		"agent b: gone; agent c: gone; agent d: gone; agent e: gone; and 2 more of 7 agents for the " +
			"same reason"} {
		g.parts[i].agent = string(rune('a' + i))
		if i > 0 {
			g.parts[i].lost = "gone"
		}
		if got := g.Missing(); got != want && (want != "" || i == 0) {
			t.Errorf("%d lost: got %q, want %q", i, got, want)
		}
	}
}
