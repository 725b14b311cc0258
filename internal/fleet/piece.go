package fleet

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
