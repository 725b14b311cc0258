package fleet

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Deal says what the agents share out.
type Deal string

// The deals. ByRequests: the agents take turns with the requests of every client. Only this shows a limiter
// with a counter for each replica, or a race between two edges. ByClients: one agent sends all requests of a
// client.
const (
	ByRequests Deal = "requests"
	ByClients  Deal = "clients"
)

// Deals returns all deals.
func Deals() []Deal { return []Deal{ByRequests, ByClients} }

// CheckDeal refuses a word that is no deal.
func CheckDeal(d Deal) error {
	if !slices.Contains(Deals(), d) {
		return fmt.Errorf("deal %q: agents share out requests or clients", string(d))
	}
	return nil
}

// dealer deals one schedule to agents.
type dealer struct {
	of   int
	deal Deal
	// number is the number of each partition, by first appearance.
	number map[string]int
}

func newDealer(s *timeline.Schedule, of int, d Deal) *dealer {
	x := &dealer{of: of, deal: d, number: map[string]int{}}
	if d == ByClients {
		for i, name := range Partitions(s) {
			x.number[name] = i
		}
	}
	return x
}

// Partitions lists the partitions of a schedule in the order of their first appearance.
func Partitions(s *timeline.Schedule) []string {
	var names []string
	seen := map[string]bool{}
	see := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for i := range s.Phases {
		for j := range s.Phases[i].Arrivals {
			see(s.Phases[i].Arrivals[j].Partition)
		}
		for _, name := range s.Phases[i].Partitions {
			see(name)
		}
	}
	return names
}

// part returns the agent that sends request, or client, k of a phase.
func (x *dealer) part(k int, partition string) int {
	if x.deal == ByClients {
		return x.number[partition] % x.of
	}
	return k % x.of
}

// Slice returns the part of s that one of several agents sends. Together they send each arrival once, with
// its number, and each client once. Only the first agent finds and sends a boundary.
func Slice(s *timeline.Schedule, part, of int, d Deal) *timeline.Schedule {
	x := newDealer(s, of, d)
	out := &timeline.Schedule{Phases: slices.Clone(s.Phases)}
	for i := range out.Phases {
		p := &out.Phases[i]
		switch {
		case p.Shape == timeline.Boundary:
			if part > 0 {
				*p = timeline.Phase{Name: p.Name, Shape: timeline.Silence}
			}
		case hasClients(p):
			x.clients(p, part)
		case p.Arrive != nil:
			x.unlisted(p, part)
		default:
			p.Arrivals, p.Partitions, p.Requests = x.arrivals(p, part), nil, 0
		}
	}
	return out
}

func hasClients(p *timeline.Phase) bool {
	return p.Shape == timeline.Closed || p.Shape == timeline.HonorRetryAfter || p.Shape == timeline.Backoff
}

func (x *dealer) arrivals(p *timeline.Phase, part int) []timeline.Arrival {
	out := make([]timeline.Arrival, 0, p.Count()/x.of+1)
	for k, a := range p.All() {
		if x.part(k, a.Partition) == part {
			out = append(out, a)
		}
	}
	return out
}

// unlisted keeps a part of a plan that makes its arrivals when they are due. Partitions take turns in it, so
// the places of each part repeat after a round of so many arrivals.
func (x *dealer) unlisted(p *timeline.Phase, part int) {
	all, turns, n := p.Arrive, p.Partitions, p.Requests
	round := min(len(turns)*x.of, n)
	var mine []int
	p.Partitions = nil
	for k := range round {
		if name := turns[k%len(turns)]; x.part(k, name) == part {
			mine, p.Partitions = append(mine, k), append(p.Partitions, name)
		}
	}
	if len(mine) == 0 {
		p.Arrive, p.Requests = nil, 0
		return
	}
	rest, _ := slices.BinarySearch(mine, n%round)
	p.Requests = n/round*len(mine) + rest
	p.Arrive = func(i int) timeline.Arrival { return all(i/len(mine)*round + mine[i%len(mine)]) }
}

// clients keeps a part of the clients of a phase, and of its ceiling of requests.
func (x *dealer) clients(p *timeline.Phase, part int) {
	mine, before := x.mine(p, part), 0
	if p.Requests > 0 {
		for q := range part {
			before += len(x.mine(p, q))
		}
		p.Requests = share(p.Requests, before+len(mine), p.Clients) - share(p.Requests, before, p.Clients)
	}
	if len(mine) == 0 || p.Requests == 0 && p.Duration == 0 {
		*p = timeline.Phase{Name: p.Name, Shape: timeline.Silence, Duration: p.Duration}
		return
	}
	p.Partitions, p.Clients = mine, len(mine)
	p.Retry.Seed += uint64(part)
}

// mine returns the partitions of the clients of a part, one for each client.
func (x *dealer) mine(p *timeline.Phase, part int) []string {
	var out []string
	for k := range p.Clients {
		if name := p.Partitions[k%len(p.Partitions)]; x.part(k, name) == part {
			out = append(out, name)
		}
	}
	return out
}

// share returns the share of n of all in a total.
func share(total, n, all int) int { return int(float64(total)*float64(n)/float64(all) + 0.5) }

// Planned returns how many requests the schedule plans for each of several agents. A recording misses as many
// if that agent is lost.
func Planned(s *timeline.Schedule, of int, d Deal) []int {
	x := newDealer(s, of, d)
	out := make([]int, of)
	for i := range s.Phases {
		p := &s.Phases[i]
		switch {
		case p.Shape == timeline.Boundary:
			out[0] += len(p.Arrivals)
		case hasClients(p):
			sent := make([]int, of)
			for k := range p.Clients {
				sent[x.part(k, p.Partitions[k%len(p.Partitions)])]++
			}
			before := 0
			for q, n := range sent {
				out[q] += share(p.Requests, before+n, p.Clients) - share(p.Requests, before, p.Clients)
				before += n
			}
		default:
			for k, a := range p.All() {
				out[x.part(k, a.Partition)]++
			}
		}
	}
	return out
}

// meets says for each phase whether its begin is agreed on after all agents have ended the phase before. That
// is so if the phase before ends with its last answer, at no planned time, or if something is done to the
// target first.
func meets(s *timeline.Schedule) []bool {
	out := make([]bool, len(s.Phases))
	for i := 1; i < len(out); i++ {
		before := &s.Phases[i-1]
		out[i] = before.Duration == 0 || before.Shape == timeline.Backoff ||
			s.Phases[i].Shape == timeline.Hook
	}
	return out
}

const (
	// pieceSize is how much text of a recording is in one piece: some 1,500 requests. It is compressed to
	// about a tenth.
	pieceSize = 256 << 10
	// mostPieces is how many pieces of an agent the Redis server holds at once.
	mostPieces = 4
	// fullFor is how long an agent tries to add a piece while the Redis server is full or silent.
	fullFor = 20 * time.Second
	// againAfter is how long it waits before it tries again.
	againAfter = 20 * time.Millisecond
)

// castagnoli is the polynomial of the checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// result is an agent's report on its recording at the end. The recording itself comes in pieces.
type result struct {
	// Pieces is the number of pieces, CRC the checksum of all of them in a row.
	Pieces int             `json:"pieces"`
	CRC    uint32          `json:"crc"`
	Counts timeline.Counts `json:"counts"`
	// Shift added to the times of the recording gives the times of the Redis server, since the Unix epoch.
	Shift time.Duration `json:"shift_ns"`
	// Clock is how wrong Shift may be. Drift is how the clock went, in millionths.
	Clock time.Duration `json:"clock_ns"`
	Drift float64       `json:"drift_ppm"`
	// Why says what made the agent stop before its plan was done, in its own words or those of the
	// coordinator. Empty: nothing did.
	Why string `json:"why,omitempty"`
	// Earliest is when the first request was sent. Firsts is when the first answered request of each phase
	// was sent.
	Earliest time.Duration            `json:"earliest_ns,omitempty"`
	Firsts   map[string]time.Duration `json:"firsts_ns,omitempty"`
}

// cutter is a writer that cuts its input into pieces, each a gzip file. All of them in a row are one gzip
// file.
type cutter struct {
	send   func(data []byte) error
	buf    bytes.Buffer
	packed *gzip.Writer
	raw    int
	result *result
}

func newCutter(r *result, send func([]byte) error) *cutter {
	c := &cutter{send: send, result: r}
	c.packed = gzip.NewWriter(&c.buf)
	return c
}

// Write takes whole lines.
func (c *cutter) Write(p []byte) (int, error) {
	if _, err := c.packed.Write(p); err != nil {
		return 0, err
	}
	if c.raw += len(p); c.raw >= pieceSize {
		return len(p), c.cut()
	}
	return len(p), nil
}

// cut sends a piece, unless it is empty.
func (c *cutter) cut() error {
	if c.raw == 0 {
		return nil
	}
	if err := c.packed.Close(); err != nil {
		return err
	}
	c.result.Pieces++
	c.result.CRC = crc32.Update(c.result.CRC, castagnoli, c.buf.Bytes())
	err := c.send(c.buf.Bytes())
	c.buf.Reset()
	c.raw = 0
	c.packed.Reset(&c.buf)
	return err
}

// deliver puts a recording into the Redis server, piece by piece, as the coordinator removes them.
func deliver(ctx context.Context, c Conn, stream string, tl *timeline.Timeline, r *result) error {
	n := 0
	cut := newCutter(r, func(data []byte) error {
		n++
		words := []any{"xadd", stream, "*", "n", strconv.Itoa(n),
			"crc", strconv.FormatUint(uint64(crc32.Checksum(data, castagnoli)), 10), "d", string(data)}
		return push(ctx, c, stream, words)
	})
	if err := timeline.Write(cut, tl); err != nil {
		return err
	}
	return cut.cut()
}

// push adds a piece when there is room for it. It retries if the Redis server is full or away. A piece that
// came twice has the number of an earlier one.
func push(ctx context.Context, c Conn, stream string, words []any) error {
	until := time.Now().Add(fullFor)
	for {
		out, err := exchange(ctx, c, []any{"xlen", stream})
		if err == nil && out[0] != int64(0) {
			if n, _ := out[0].(int64); n >= mostPieces {
				err = errors.New("the coordinator takes no piece out")
			}
		}
		if err == nil {
			keep := []any{"pexpire", stream, keptFor.Milliseconds()}
			if _, err = exchange(ctx, c, words, keep); err == nil {
				return nil
			}
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return fmt.Errorf("results: %w", err)
		}
		pause(ctx, againAfter)
	}
}

// pause waits for d, or until ctx ends. false: ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// extent says where a piece lies among the pieces of all parts, which are in one file in the order in which
// they come.
type extent struct{ at, len int64 }

func inRow(s *timeline.Shelf, all []extent) io.Reader {
	pieces := make([]io.Reader, len(all))
	for i, x := range all {
		pieces[i] = io.NewSectionReader(s, x.at, x.len)
	}
	return io.MultiReader(pieces...)
}

// part is what the coordinator knows of one part of a schedule.
type part struct {
	agent string
	ready *report
	// met and armed are the last phases for which the agent waited.
	met, armed int
	beat       Beat
	// seen is when the last sign of life came. lost says why there will be no more.
	seen time.Duration
	lost string
	// last is the last entry of its results that was read. came is the number of pieces so far.
	last   string
	came   int
	crc    uint32
	pieces []extent
	result *result
}

// complete tells whether all pieces have come.
func (p *part) complete() bool { return p.result != nil && p.came == p.result.Pieces }

// take keeps a piece. It drops a piece that comes again since its sender did not hear that it had come.
func (p *part) take(e entry, s *timeline.Shelf) error {
	p.last = e.id
	n, err := strconv.Atoi(e.fields["n"])
	if err != nil || n > p.came+1 {
		return fmt.Errorf("piece %q of %s: it is number %d that is due", e.fields["n"], p.agent, p.came+1)
	}
	if n <= p.came {
		return nil
	}
	data := e.fields["d"]
	sum := crc32.Checksum([]byte(data), castagnoli)
	if strconv.FormatUint(uint64(sum), 10) != e.fields["crc"] {
		return fmt.Errorf("piece %d of %s: its checksum is wrong", n, p.agent)
	}
	x := extent{s.Size(), int64(len(data))}
	if _, err := s.Write([]byte(data)); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	p.came, p.pieces, p.crc = n, append(p.pieces, x), crc32.Update(p.crc, castagnoli, []byte(data))
	return nil
}
