package fleet

import (
	"context"
	"fmt"
	"hash/crc32"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// pieceRequests is the number of requests in a piece. canned is a piece of the size that they take.
const pieceRequests = 1500

var canned = strings.Repeat("0123456789abcdef", 24<<10/16)

// counted counts the exchanges and commands of one client.
type counted struct {
	Conn
	exchanges, commands atomic.Int64
}

// Exchange implements Conn.
func (c *counted) Exchange(ctx context.Context, commands ...[]any) ([]any, error) {
	c.exchanges.Add(1)
	c.commands.Add(int64(len(commands)))
	return c.Conn.Exchange(ctx, commands...)
}

// feign takes a part and does what an agent does. But it sends nothing, and hands in pieces that hold
// nothing.
func feign(ctx context.Context, c Conn, n int, each int, lasts time.Duration) error {
	name := fmt.Sprintf("agent-%d", n)
	stream := keyOf("r", "shards", 1)
	var s shard
	for {
		take := []any{"xreadgroup", "group", group, name, "count", 1, "streams", stream, ">"}
		out, err := c.Exchange(ctx, take)
		if err != nil {
			return err
		}
		if got := delivered(out[0]); len(got) == 1 {
			if err := got[0].read(&s); err != nil {
				return err
			}
			break
		}
		pause(ctx, beatEvery)
	}
	say := func(r report) error {
		r.Part, r.Agent, r.Version, r.Digest = s.Part, name, "v", "d"
		_, err := exchange(ctx, c, add(keyOf("r", "reports", 1), r))
		return err
	}
	if err := say(report{Kind: saysReady}); err != nil {
		return err
	}
	count := 0
	beat := func(bringing bool) ([]any, error) {
		count++
		return exchange(ctx, c, []any{"eval", beatScript, 2, key("r", "lease"), keyOf("r", "beats", 1),
			s.Part, fmt.Sprintf(`{"count":%d,"sent":%d,"bringing":%v}`, count, count, bringing), 1},
			[]any{"xrange", keyOf("r", "control", 1), "-", "+"})
	}
	for begun := time.Duration(0); begun < lasts; begun += beatEvery {
		out, err := beat(false)
		if err != nil {
			return err
		}
		if len(entries(out[1])) == 0 {
			begun = 0
		}
		pause(ctx, beatEvery)
	}
	r := &result{Counts: timeline.Counts{Planned: each, Sent: each, Allowed: each}}
	sum := strconv.FormatUint(uint64(crc32.Checksum([]byte(canned), castagnoli)), 10)
	for r.Pieces = 0; r.Pieces*pieceRequests < each; r.Pieces++ {
		if r.Pieces%8 == 0 {
			if _, err := beat(true); err != nil {
				return err
			}
		}
		words := []any{"xadd", resultsKey("r", 1, s.Part), "*", "n", strconv.Itoa(r.Pieces + 1), "crc", sum,
			"d", canned}
		if err := push(ctx, c, resultsKey("r", 1, s.Part), words); err != nil {
			return err
		}
	}
	return say(report{Kind: saysDone, Result: r})
}

// scale runs agents that plan total requests, and returns what that cost the coordinator.
func scale(t *testing.T, agents, total int, lasts time.Duration) (memory, exchanges, news int64) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		each := total / agents
		plan := &timeline.Schedule{Phases: []timeline.Phase{{Name: "load", Shape: timeline.Closed,
			Clients: agents, Requests: total, Duration: lasts, Partitions: []string{"k"}}}}
		ctx, end := context.WithCancel(t.Context())
		defer end()
		var left sync.WaitGroup
		heap := func() int64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := heap()
		conn := &counted{Conn: s.to(100 * us)}
		c, err := Lead(ctx, conn, Options{Run: "r", Version: "v", Agents: agents, Deal: ByRequests,
			Within: time.Minute, Spill: temporary})
		if err != nil {
			t.Fatal(err)
		}
		for i := range agents {
			left.Go(func() {
				if err := feign(ctx, s.to(100*us), i, each, lasts); err != nil {
					t.Errorf("agent %d: %v", i, err)
				}
			})
		}
		g, err := c.Record(ctx, Recording{Digest: "d", Schedule: plan})
		if err != nil {
			t.Fatal(err)
		}
		left.Wait()
		defer g.Close()
		if why := g.Missing(); why != "" {
			t.Error(why)
		}
		came := 0
		for i := range g.parts {
			came += g.parts[i].came
			news += int64(g.parts[i].came)
		}
		if want := agents * ((each + pieceRequests - 1) / pieceRequests); came != want {
			t.Errorf("%d pieces came of %d", came, want)
		}
		s.set(func(s *server) { s.streams, s.hashes = nil, nil })
		memory, exchanges = heap()-before, conn.exchanges.Load()
		t.Logf("%d agents, %d requests: coordinator %d kB, %d exchanges of %d commands, %d pieces; "+
			"the Redis held %d kB at most", agents, total, memory>>10, exchanges, conn.commands.Load(), came,
			s.biggest>>10)
		if err := c.Close(); err == nil {
			t.Log("closed")
		}
	})
	return memory, exchanges, news
}

// TestAThousandAgents: what a run costs its coordinator grows with the agents, and by sixteen bytes for each
// piece of 1,500 requests. It does not depend on what is planned.
func TestAThousandAgents(t *testing.T) {
	agents, most := 1000, 40_000_000
	if testing.Short() {
		agents, most = 50, 1_000_000
	}
	few, _, fewPieces := scale(t, agents, most/100, 10*time.Second)
	many, _, manyPieces := scale(t, agents, most, 10*time.Second)
	if grown := many - few; grown > 40*(manyPieces-fewPieces)+1<<19 {
		t.Errorf("the memory of the coordinator grew by %d kB for %d more requests", grown>>10, most-most/100)
	}
}

// TestMergingStreams: merging needs no memory for each request, however long the recordings are.
func TestMergingStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // pools keep more where garbage is collected later
	const agents = 20
	held := func(each int) int64 {
		g := &Gathered{schedule: &timeline.Schedule{}, parts: make([]part, agents),
			planned: make([]int, agents), shelf: timeline.NewShelf(temporary)}
		defer g.Close()
		for i := range g.parts {
			p := &g.parts[i]
			p.result = &result{}
			tl := &timeline.Timeline{}
			for k := range each {
				tl.Observations = append(tl.Observations, timeline.Observation{Sent: time.Duration(k) * us,
					Arrival: timeline.Arrival{Seq: k, Cost: 1, Phase: "p"}})
			}
			p.result.Counts = tl.Counts()
			cut := newCutter(p.result, func(data []byte) error {
				x := extent{g.shelf.Size(), int64(len(data))}
				_, err := g.shelf.Write(data)
				p.pieces, p.came, p.crc = append(p.pieces, x), p.came+1, crc32.Update(p.crc, castagnoli, data)
				return err
			})
			if err := timeline.Write(cut, tl); err != nil {
				t.Fatal(err)
			}
			if err := cut.cut(); err != nil {
				t.Fatal(err)
			}
		}
		tl, err := g.Timeline(temporary, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		n, most := 0, int64(0)
		var last time.Duration
		for o := range tl.All() {
			if o.Sent < last || o.Seq != n {
				t.Fatalf("request %d: sent %v after %v", o.Seq, o.Sent, last)
			}
			if last, n = o.Sent, n+1; n%(agents*each/4) == 0 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				most = max(most, int64(m.HeapAlloc))
			}
		}
		if n != agents*each || tl.Header.Unsent != 0 {
			t.Fatalf("%d of %d", n, agents*each)
		}
		return most
	}
	const each = 20_000
	few, many := held(each/20), held(each)
	t.Logf("%d requests: %d kB; %d requests: %d kB", agents*each/20, few>>10, agents*each, many>>10)
	if many-few > int64(agents*each)*5 { // in bytes
		t.Errorf("%d times as many requests took %d kB more", 20, (many-few)>>10)
	}
}

// TestAPlanThatIsNotListedIsDealt: together the agents send each arrival of the plan once, and nothing else.
func TestAPlanThatIsNotListedIsDealt(t *testing.T) {
	for _, n := range []int{1, 2, 10, 61} {
		names := []string{"a", "b", "c", "d"}[:min(n, 4)]
		plan := &timeline.Schedule{Phases: []timeline.Phase{{Name: "p", Shape: timeline.Constant, Requests: n,
			Partitions: names, Arrive: func(i int) timeline.Arrival {
				return timeline.Arrival{Seq: i, Partition: names[i%len(names)], Phase: "p", Cost: 1}
			}}}}
		listed := &timeline.Schedule{Phases: slices.Clone(plan.Phases)}
		listed.Phases[0].Arrive = nil
		for _, a := range plan.Phases[0].All() {
			listed.Phases[0].Arrivals = append(listed.Phases[0].Arrivals, a)
		}
		for _, deal := range []Deal{ByRequests, ByClients} {
			for part := range 3 {
				p := Slice(plan, part, 3, deal).Phases[0]
				want := Slice(listed, part, 3, deal).Phases[0].Arrivals
				var got []timeline.Arrival
				for _, a := range p.All() {
					got = append(got, a)
				}
				planned := Planned(plan, 3, deal)[part]
				if !slices.Equal(got, want) || p.Arrivals != nil || p.Count() != planned {
					t.Errorf("%d by %v, part %d: got %v of %d, want %v", n, deal, part, got, p.Count(), want)
				}
				for i := range p.Partitions { // a recorder asks for as many, to open connections
					p.Arrival(i)
				}
			}
		}
	}
}
