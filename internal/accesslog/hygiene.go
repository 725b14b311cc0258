package accesslog

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// hygiene watches for flaws that a log gets on its way: holes, copies, cut lines, and a clock that was set
// back. Each takes power away from the log. None may add to a finding.
type hygiene struct {
	// held is a line that could not be read, the last so far of its file. heldLine is 0 if there is none.
	// heldFirst: no line of the file could be read before it.
	held      flaw
	heldLine  int
	heldFirst bool
	// read: a line of the file could be read. cut counts the first and last lines that are left out, and
	// cutLine is the first of them.
	read         bool
	cut, cutLine int
	// holes counts lines with zero bytes, holeLine is the first of them, and holed the last so far. torn: one
	// has text before these.
	holes, holeLine, holed int
	torn                   bool
	// wrapper names what stood around the lines.
	wrapper string
	// fine is the coarsest step of the times.
	fine int64
	// lastLine is the end of the request in the line before, and lastFrom the latest beginning since the last
	// jump. jumps counts the lines that ended before lastLine, and eras has those that did so by most, in
	// descending order.
	lastLine, lastFrom int64
	jumps              int
	eras               []era
	// parity is the exclusive or of the hashes of all lines. It is 0 if each stands an even number of times.
	// distinct counts the lines that differ from the line before, whose hash is lastSum.
	parity   uint64
	distinct int
	lastSum  uint32
	// stands counts how often each of the lines near each other stands, until one stands three times: then
	// equal lines are usual.
	stands map[uint32]int
	usual  bool
}

// era begins with a line whose clock is by so much behind that of the line before.
type era struct {
	line int
	back int64
}

// mostEras is how many steps of the clock are believed. If more are about as large, they are those of workers
// that are busy or write their lines together, or of a log that was shuffled, and the times are right.
const mostEras = 3

// mostChance is how many different lines may stand an even number of times by chance.
const mostChance = 10

var hashSeed = maphash.MakeSeed()

// open begins a file.
func (h *hygiene) open() { h.heldLine, h.heldFirst, h.read = 0, false, false }

// seen takes note of a line of a file, and of what is wrong with it. A line that cannot be read is held back
// until it is known whether it is the first or the last one that can be read: then it was cut with the file,
// as traffic before and after it was.
func (h *hygiene) seen(r *reader, number int, f flaw) {
	if h.heldLine > 0 {
		if h.heldFirst && !f.found() {
			h.edge(r)
		} else {
			r.bad(h.heldLine, h.held)
		}
		h.heldLine = 0
	}
	switch {
	case f.found() && f.soft:
		r.bad(number, f)
	case f.found():
		h.held, h.heldLine, h.heldFirst = f, number, !h.read && r.problems.count == 0
	default:
		h.read = true
	}
}

// close ends a file.
func (h *hygiene) close(r *reader) {
	if h.heldLine > 0 && h.read {
		h.edge(r)
	} else if h.heldLine > 0 {
		r.bad(h.heldLine, h.held)
	}
}

// edge leaves out the line that is held.
func (h *hygiene) edge(r *reader) {
	if h.cut++; h.cut == 1 {
		h.cutLine = h.heldLine
	}
	r.skip(timeline.ParseError{Line: h.heldLine, What: h.held.what, Why: h.held.why})
}

// sum notes the hash of a line.
func (h *hygiene) sum(line []byte) time.Duration {
	const near = 4096 // lines
	whole := maphash.Bytes(hashSeed, line)
	sum := uint32(whole)
	if h.parity ^= whole; sum != h.lastSum {
		h.distinct, h.lastSum = h.distinct+1, sum
	}
	if h.stands == nil || len(h.stands) == near {
		h.stands = make(map[uint32]int, near)
	}
	if !h.usual {
		h.stands[sum]++
		h.usual = h.stands[sum] > 2
	}
	return time.Duration(sum)
}

// hole notes zero bytes in a line. Behind the beginning of a file, lines may be missing there.
func (h *hygiene) hole(number int, torn bool) {
	if h.holes++; h.holeLine == 0 {
		h.holeLine = number
	}
	h.holed, h.torn = number, h.torn || torn
}

func (h *hygiene) wrapped(by string) { h.wrapper = cmp.Or(h.wrapper, by) }

// stepped notes a request that ended long before that of the line before. ordered: lines are in the order of
// their ends. Otherwise they may also be in that of their beginnings.
func (h *hygiene) stepped(s span, number int, ordered bool) {
	back := h.lastLine - s.end
	if !ordered {
		back = min(back, h.lastFrom-s.from)
	}
	h.lastFrom = max(h.lastFrom, s.from)
	if h.lastLine != 0 && back > s.disorder {
		h.jumps++
		h.lastFrom = s.from
		at, _ := slices.BinarySearchFunc(h.eras, back, func(e era, back int64) int {
			return cmp.Compare(back, e.back)
		})
		h.eras = slices.Insert(h.eras, at, era{number, back})
		h.eras = h.eras[:min(len(h.eras), mostEras+1)]
	}
	h.lastLine = s.end
}

// flaws says what is wrong with a log that was read.
func (l *Log) flaws(r *reader) {
	h := &r.hygiene
	say := func(line int, format string, a ...any) {
		text := fmt.Sprintf(format, a...)
		if line > 0 {
			text = fmt.Sprintf("line %d: ", line) + text
		}
		l.Flaws = append(l.Flaws, text)
	}
	if h.wrapper != "" {
		say(0, "the lines are wrapped by %s, which is taken off", h.wrapper)
	}
	if h.holes > 0 {
		say(h.holeLine, "%s of zero bytes left out, as a rotation of the file leaves: requests may be "+
			"missing there", text.Plural(h.holes, "hole"))
		l.Lossy = l.Lossy || h.holeLine > 1 || h.torn || r.o.Complete
	}
	if h.cut > 0 {
		say(h.cutLine, "%s at the beginning or the end left out as cut: it cannot be read",
			text.Plural(h.cut, "line"))
	}
	l.Edges, l.Lossy = h.cut, l.Lossy || h.cut > 0 && r.o.Complete
	l.steps(h, say)
	l.copies = copies{fine: h.fine <= millisecond || r.row.unique || !h.usual,
		doubled: h.parity == 0 && h.distinct >= mostChance}
	if r.n > 3 && r.longest > 10*max(r.lastEnd-r.firstTo, second) && r.o.MaxDuration == 0 {
		say(0, "a request took up to %s in a log of %s: if its unit is another, name it (--columns "+
			"NAME=FIELD:ms)", time.Duration(r.longest).Round(time.Millisecond),
			time.Duration(r.lastEnd-r.firstTo).Round(time.Millisecond))
	}
}

// steps finds out where the clock was set back.
func (l *Log) steps(h *hygiene, say func(line int, format string, a ...any)) {
	usual := int64(0) // how far lines are out of order if that is usual
	if len(h.eras) > mostEras {
		usual = 2 * h.eras[mostEras].back
	}
	for _, e := range h.eras {
		if e.back > usual {
			l.eras = append(l.eras, e)
		}
	}
	slices.SortFunc(l.eras, func(a, b era) int { return cmp.Compare(a.line, b.line) })
	if n := h.jumps - len(l.eras); n > 0 && usual > int64(usualLag) {
		say(h.eras[0].line, "the lines are out of order %s, by up to %s; their times are believed",
			text.Plural(n, "time"), time.Duration(h.eras[0].back).Round(time.Millisecond))
	}
	for _, e := range l.eras {
		say(e.line, "its request ended %s before that of the line before: the clock was set back, or "+
			"lines are out of order; what comes before is not counted with what comes after",
			time.Duration(e.back).Round(time.Millisecond))
	}
}

// named returns the name of a partition in the era of a line.
func (l *Log) named(partition string, line int) string {
	for i := len(l.eras) - 1; i >= 0; i-- {
		if line >= l.eras[i].line {
			return fmt.Sprintf("%s (from line %d)", partition, l.eras[i].line)
		}
	}
	return partition
}

// copies finds requests whose lines are equal to the byte. One may be a copy of the other, so only the first
// is known to be a request, and the outcome of the others is unknown. In a log of whole seconds, different
// requests have equal lines. If some of them stand three times, copies are only known if all lines stand an
// even number of times.
type copies struct {
	fine, doubled bool
	// sums are the hashes of requests that began at one instant.
	sent time.Duration
	sums map[time.Duration]bool
}

// copy tells whether a request is a copy, by its beginning and the hash of its line. Requests come in the
// order of their beginnings.
func (c *copies) copy(sent, sum time.Duration) bool {
	if !c.fine && !c.doubled {
		return false
	}
	if c.sums == nil {
		c.sums = map[time.Duration]bool{}
	}
	if sent != c.sent {
		c.sent = sent
		clear(c.sums)
	}
	original := c.sums[sum]
	c.sums[sum] = c.fine || !original
	return original
}

// count counts the copies.
func (l *Log) count() error {
	marks := l.copies
	l.spool.Each(func(o *timeline.Observation) bool {
		if !l.lone[o.Partition] && marks.copy(o.Sent, o.At-o.Sent) {
			if l.Copies++; l.Copies == 1 {
				l.FirstCopy = o.Seq
			}
		}
		return marks.fine || marks.doubled
	})
	return l.spool.Err()
}

// cacheTold finds in a log what package headers reads of an answer. It reads the values that were sent to the
// client and, for nginx, $upstream_cache_status, which says the same of its own cache.
type cacheTold struct {
	slots map[string][]slot
	all   []slot
}

// newCacheTold gives slots to the fields in the names of a server. Of a log without them nothing is known.
func newCacheTold(row *server, t *table) cacheTold {
	c := cacheTold{slots: map[string][]slot{}}
	if row.answered == "" {
		return c
	}
	for _, name := range headers.CacheFields() {
		own := []string{fieldIn(row.answered, name)}
		if own[0] == "sent_http_x_cache_status" {
			own = append(own, "upstream_cache_status")
		}
		for _, one := range own {
			c.all = append(c.all, t.add(one))
			c.slots[name] = append(c.slots[name], c.all[len(c.all)-1])
		}
	}
	return c
}

// get returns the value of a field of the answer in a line, and whether the line has it.
func (c cacheTold) get(v values) func(name string) (string, bool) {
	if !slices.ContainsFunc(c.all, func(s slot) bool { return v[s] != nil }) { // as in most lines
		return func(string) (string, bool) { return "", false }
	}
	return func(name string) (string, bool) {
		for _, s := range c.slots[name] {
			if v[s] != nil {
				return string(v[s]), true
			}
		}
		return "", false
	}
}
